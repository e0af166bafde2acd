//! Parses `pytest -ra --tb=short`: the summary names the failures, the sections explain them.

use std::collections::HashMap;

use super::report::{TestFailure, TestReport, find_location, split_counts};

/// A section, `____ title ____`, of a failed test or an unreadable file.
#[derive(Default)]
struct PytestSection {
    title: String,
    failure: TestFailure,
}

pub(super) fn parse_pytest(text: &str) -> TestReport {
    let mut report = TestReport::default();
    let mut sections: Vec<PytestSection> = Vec::new();
    let mut in_sections = false;
    for line in text.lines() {
        if let Some(title) = match_heading(line, '=') {
            in_sections = matches!(title, "FAILURES" | "ERRORS");
            read_summary(title, &mut report);
        } else if let Some(failure) = match_short_summary(line) {
            report.failures.push(failure);
            in_sections = false;
        } else if let Some(title) = match_heading(line, '_').filter(|_| in_sections) {
            sections.push(PytestSection { title: title.to_owned(), ..PytestSection::default() });
        } else if in_sections && let Some(section) = sections.last_mut() {
            section.read(line);
        } else if line.contains(" in ") && line.ends_with('s') {
            // With -q the last line has no frame.
            read_summary(line, &mut report);
        }
    }
    if report.failures.is_empty() {
        report.failures = sections.into_iter().map(PytestSection::into_failure).collect();
        return report;
    }
    let mut by_test: HashMap<&str, &TestFailure> = HashMap::new();
    for section in &sections {
        by_test.entry(section.test_title()).or_insert(&section.failure);
    }
    for failure in &mut report.failures {
        if let Some(of) = by_test.get(title_of_id(&failure.name).as_str()) {
            // The failing file may differ from the test's file.
            failure.line = of.line;
            failure.file = of.file.clone().or(failure.file.take());
            if !of.message.is_empty() {
                failure.message.clone_from(&of.message);
            }
        }
    }
    report
}

impl PytestSection {
    fn read(&mut self, line: &str) {
        if let Some(said) = line.strip_prefix("E  ") {
            self.failure.add_line(said.strip_prefix(' ').unwrap_or(said));
        } else if let Some((file, number)) = find_location(line).filter(|_| !line.starts_with(' '))
        {
            // The last location is the failing one.
            self.failure.file = Some(file.to_owned());
            self.failure.line = Some(number);
        }
    }

    /// The title without the phase in which the test failed.
    fn test_title(&self) -> &str {
        let title = self.title.as_str();
        ["ERROR at setup of ", "ERROR at teardown of "]
            .iter()
            .find_map(|what| title.strip_prefix(what))
            .unwrap_or(title)
    }

    fn into_failure(self) -> TestFailure {
        TestFailure { name: self.title, ..self.failure }
    }
}

/// The section title of a test id: `TestB.test_c[1]` for `tests/test_a.py::TestB::test_c[1]`.
fn title_of_id(id: &str) -> String {
    let Some((_, names)) = id.split_once("::") else { return format!("ERROR collecting {id}") };
    let before_values = names.split('[').next().unwrap_or(names);
    names.replacen("::", ".", before_values.matches("::").count())
}

/// Matches `==== title ====`.
fn match_heading(line: &str, frame: char) -> Option<&str> {
    let line = line.trim_end();
    let title = line.trim_matches(frame);
    let is_framed = line.starts_with([frame; 2].iter().collect::<String>().as_str())
        && title.starts_with(' ')
        && title.ends_with(' ');
    is_framed.then(|| title.trim())
}

/// Parses `2 failed, 1 passed, 1 error in 0.12s`.
fn read_summary(line: &str, report: &mut TestReport) {
    if !line.contains(" in ") {
        return;
    }
    for (count, word) in split_counts(line) {
        match word {
            "passed" | "xpassed" => report.passed = report.passed.saturating_add(count),
            "failed" | "error" | "errors" => report.failed = report.failed.saturating_add(count),
            "skipped" | "xfailed" => report.skipped = report.skipped.saturating_add(count),
            _ => {}
        }
    }
}

/// Parses `FAILED tests/test_a.py::test_b - assert 1 == 2`.
fn match_short_summary(line: &str) -> Option<TestFailure> {
    let rest = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "))?;
    // The values of a parametrised test may contain any text.
    let from = rest.find("::").and_then(|at| Some(at + rest[at..].find(']')?)).unwrap_or(0);
    let from = if rest[..from].contains('[') { from } else { 0 };
    let end = rest[from..].find(" - ").map_or(rest.len(), |at| from + at);
    let id = rest[..end].trim();
    let file = id.split("::").next().filter(|file| file.contains('.'))?;
    let mut failure = TestFailure::with_name(id);
    failure.file = Some(file.to_owned());
    failure.add_line(rest[end..].strip_prefix(" - ").unwrap_or_default());
    Some(failure)
}
