//! Parses vitest: a block ` FAIL  file > suite > test` for each failure, and a line `Tests` at the
//! end.

use super::report::{TestFailure, TestReport, find_location, split_counts};

pub(super) fn parse_vitest(text: &str) -> TestReport {
    let mut report = TestReport::default();
    let (mut open, mut says) = (false, false);
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = line.trim_start().strip_prefix("FAIL  ") {
            let (file, name) = name.split_once(" > ").unwrap_or((name, name));
            // A file that failed to load is named twice: `a.test.ts [ a.test.ts ]`.
            let mut failure = TestFailure::with_name(name.split(" [ ").next().unwrap_or(name));
            failure.file = file
                .split_whitespace()
                .next_back()
                .filter(|word| *word != "]")
                .or_else(|| file.split_whitespace().next())
                .map(str::to_owned);
            report.failures.push(failure);
            (open, says) = (true, true);
        } else if trimmed.starts_with('⎯') {
            open = false;
        } else if let Some(tests) = trimmed.strip_prefix("Tests  ") {
            read_summary(tests, &mut report);
            open = false;
        } else if open && let Some(failure) = report.failures.last_mut() {
            if let Some(at) = trimmed.strip_prefix("❯ ") {
                says = false;
                let place = find_location(at)
                    .filter(|_| failure.line.is_none() && !at.contains("node_modules"));
                if let Some((file, line)) = place {
                    failure.file = Some(file.to_owned());
                    failure.line = Some(line);
                }
            } else if says {
                failure.add_line(trimmed);
            }
        }
    }
    report
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
