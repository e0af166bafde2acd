//! Parses jest: a block with `●` for each failure, and a line `Tests:` at the end.

use super::report::{TestFailure, TestReport, find_location, split_counts};

pub(super) fn parse_jest(text: &str) -> TestReport {
    let mut report = TestReport::default();
    let mut file = None;
    let (mut open, mut says) = (false, false);
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix("● ").filter(|name| !name.starts_with("Console"))
        {
            let mut failure = TestFailure::with_name(name.replace(" › ", " > "));
            failure.file.clone_from(&file);
            report.failures.push(failure);
            (open, says) = (true, true);
        } else if let Some(of) = trimmed.strip_prefix("FAIL ") {
            file = of.split_whitespace().next().map(str::to_owned);
            open = false;
        } else if let Some(tests) = line.strip_prefix("Tests:") {
            read_summary(tests, &mut report);
            open = false;
        } else if trimmed.starts_with("PASS ") || trimmed.starts_with("Test Suites:") {
            open = false;
        } else if open && let Some(failure) = report.failures.last_mut() {
            if trimmed.starts_with("at ") {
                says = false;
                if !trimmed.contains("node_modules")
                    && !trimmed.contains("node:")
                    && failure.line.is_none()
                {
                    failure.file = None;
                    failure.set_location(find_location(trimmed));
                    failure.file = failure.file.take().or_else(|| file.clone());
                }
            } else if is_code(trimmed) {
                says = false;
            } else if says {
                failure.add_line(trimmed);
            }
        }
    }
    report
}

/// Matches `> 4 |   expect(add(1, 2)).toBe(4);`.
fn is_code(line: &str) -> bool {
    let line = line.trim_start_matches('>').trim_start();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.trim_start().starts_with('|')
        && (rest.len() < line.len()
            || rest.trim_start().trim_start_matches('|').trim().starts_with('^'))
}

fn read_summary(tests: &str, report: &mut TestReport) {
    for (count, word) in split_counts(tests) {
        match word {
            "passed" => report.passed = count,
            "failed" => report.failed = count,
            "skipped" | "todo" => report.skipped = report.skipped.saturating_add(count),
            _ => {}
        }
    }
}
