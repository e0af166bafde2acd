//! Parses `go test -json`: one event per line (go doc test2json), mixed with compiler messages.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::report::{TestFailure, TestReport, find_location};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct GoTestEvent {
    action: String,
    package: String,
    import_path: String,
    test: Option<String>,
    output: String,
    failed_build: Option<String>,
}

/// The events of a test or a package.
#[derive(Default)]
struct GoTestResult {
    outcome: Option<String>,
    output: String,
}

pub(super) fn parse_go(text: &str) -> TestReport {
    let mut seen: BTreeMap<(String, Option<String>), GoTestResult> = BTreeMap::new();
    let mut report = TestReport::default();
    for line in text.lines() {
        let event =
            line.starts_with('{').then(|| serde_json::from_str::<GoTestEvent>(line).ok()).flatten();
        let Some(event) = event else {
            compiler_error(line, &mut report);
            continue;
        };
        if event.action == "build-output" {
            compiler_error(event.output.trim_end(), &mut report);
            continue;
        }
        let package = if event.package.is_empty() { event.import_path } else { event.package };
        let one = seen.entry((package, event.test)).or_default();
        match event.action.as_str() {
            "output" => one.output.push_str(&event.output),
            "pass" | "skip" => one.outcome = Some(event.action),
            // The compiler has reported a failed build already.
            "fail" if event.failed_build.is_none() => one.outcome = Some(event.action),
            _ => {}
        }
    }
    count_tests(&seen, &mut report);
    add_failed_packages(&seen, &mut report);
    report
}

/// Counts the tests; one with subtests is counted by them alone.
fn count_tests(seen: &BTreeMap<(String, Option<String>), GoTestResult>, report: &mut TestReport) {
    let mut tests = seen
        .iter()
        .filter_map(|((package, test), one)| Some((package, test.as_ref()?, one)))
        .peekable();
    while let Some((package, test, one)) = tests.next() {
        let is_made_of_others = tests.peek().is_some_and(|(of, next, _)| {
            *of == package
                && next.strip_prefix(test.as_str()).is_some_and(|rest| rest.starts_with('/'))
        });
        if is_made_of_others {
            continue;
        }
        match one.outcome.as_deref() {
            Some("pass") => report.passed += 1,
            Some("skip") => report.skipped += 1,
            Some(_) => {
                report.failed += 1;
                report.failures.push(failure_of_test(test, one));
            }
            // The output was cut off, or the test killed the whole program.
            None if one.output.contains("panic: ") => {
                report.failed += 1;
                report.failures.push(failure_of_test(test, one));
            }
            None => {}
        }
    }
}

/// Adds packages that failed although none of their tests did: they failed to start or aborted.
fn add_failed_packages(
    seen: &BTreeMap<(String, Option<String>), GoTestResult>,
    report: &mut TestReport,
) {
    let failed = |one: &GoTestResult| one.outcome.as_deref() == Some("fail");
    let with_failed_tests: BTreeSet<&str> = seen
        .iter()
        .filter(|((_, test), one)| {
            test.is_some() && (failed(one) || one.output.contains("panic: "))
        })
        .map(|((package, _), _)| package.as_str())
        .collect();
    for ((package, test), one) in seen {
        let has_failed_test = with_failed_tests.contains(package.as_str());
        if test.is_none()
            && failed(one)
            && !has_failed_test
            && !one.output.contains("[build failed]")
        {
            report.failures.push(failure_of_test(package, one));
        }
    }
}

fn failure_of_test(name: &str, one: &GoTestResult) -> TestFailure {
    let mut failure = TestFailure::with_name(name);
    for line in one.output.lines() {
        let line = line.trim();
        let is_frame = ["=== ", "--- ", "FAIL", "PASS", "exit status"]
            .iter()
            .any(|frame| line.starts_with(frame));
        if is_frame {
            continue;
        }
        failure.set_location(find_location(line).filter(|(file, _)| file.ends_with("_test.go")));
        failure.add_line(line);
    }
    failure
}

/// Parses `./a.go:3:5: undefined: x`.
fn compiler_error(line: &str, report: &mut TestReport) {
    let Some((file, number)) = find_location(line) else { return };
    let Some((_, rest)) = line.split_once(".go:").filter(|_| file.ends_with(".go")) else { return };
    let Some((_, message)) = rest.split_once(": ") else { return };
    let mut failure = TestFailure::with_name("compile error");
    failure.set_location(Some((file, number)));
    failure.add_line(message);
    report.failures.push(failure);
}
