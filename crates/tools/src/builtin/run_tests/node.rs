//! Parses node's test runner in its format for people: `✔`, `✖`, `ℹ`.

use super::report::{TestFailure, TestReport, find_location};

pub(super) fn parse_node(text: &str) -> TestReport {
    let mut report = TestReport::default();
    let mut failing = false;
    let mut at = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if let Some(count) = trimmed.strip_prefix("ℹ ") {
            read_summary(count, &mut report);
        } else if trimmed.starts_with("✖ failing tests:") {
            failing = true;
        } else if !failing {
        } else if let Some(place_of_test) = trimmed.strip_prefix("test at ") {
            at = find_location(place_of_test);
        } else if let Some(name) = trimmed.strip_prefix("✖ ") {
            let mut failure = TestFailure::with_name(without_time(name));
            failure.set_location(at.take());
            report.failures.push(failure);
        } else if let Some(failure) = report.failures.last_mut() {
            // The test's location is known, so skip the stack trace.
            if !trimmed.starts_with("at ") && !trimmed.is_empty() {
                failure.add_line(trimmed);
            }
        }
    }
    report
}

/// Parses `pass 2`.
fn read_summary(count: &str, report: &mut TestReport) {
    let Some((word, count)) = count.split_once(' ') else { return };
    let Ok(count) = count.trim().parse::<u64>() else { return };
    match word {
        "pass" => report.passed = count,
        "fail" | "cancelled" => report.failed = report.failed.saturating_add(count),
        "skipped" | "todo" => report.skipped = report.skipped.saturating_add(count),
        _ => {}
    }
}

/// Strips the time from `name (0.76ms)`.
fn without_time(name: &str) -> &str {
    name.rsplit_once(" (").filter(|(_, time)| time.ends_with("ms)")).map_or(name, |(name, _)| name)
}
