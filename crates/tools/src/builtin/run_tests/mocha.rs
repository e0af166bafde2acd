//! Parses mocha: `2 passing`, `1 failing`, then a numbered block for each failure.

use super::report::{TestFailure, TestReport, find_location};

pub(super) fn parse_mocha(text: &str) -> TestReport {
    let mut report = TestReport::default();
    let mut failing = false;
    let (mut in_name, mut says) = (false, false);
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some((count, word)) = match_count(trimmed) {
            match word {
                "passing" => report.passed = count,
                "pending" => report.skipped = count,
                _ => {
                    report.failed = count;
                    failing = true;
                }
            }
        } else if !failing {
        } else if let Some(name) = match_numbered(trimmed) {
            report.failures.push(TestFailure::with_name(name.trim_end_matches(':')));
            (in_name, says) = (!name.ends_with(':'), true);
        } else if let Some(failure) = report.failures.last_mut() {
            if in_name {
                // Suites and test have a line each; the last line ends with a colon.
                failure.name = format!("{} > {}", failure.name, trimmed.trim_end_matches(':'));
                in_name = !trimmed.ends_with(':') && !trimmed.is_empty();
            } else if trimmed.starts_with("at ") {
                says = false;
                failure.set_location(
                    find_location(trimmed).filter(|_| {
                        !trimmed.contains("node_modules") && !trimmed.contains("node:")
                    }),
                );
            } else if says {
                failure.add_line(trimmed);
            }
        }
    }
    report
}

/// Parses `2 passing (5ms)`.
fn match_count(line: &str) -> Option<(u64, &str)> {
    let (count, rest) = line.split_once(' ')?;
    let word = rest.split(' ').next()?;
    let count = count.parse().ok()?;
    matches!(word, "passing" | "pending" | "failing").then_some((count, word))
}

/// Parses `1) suite`.
fn match_numbered(line: &str) -> Option<&str> {
    let (number, name) = line.split_once(") ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(name)
}
