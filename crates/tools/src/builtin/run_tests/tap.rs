//! Parses TAP as node's runner, tape and ava print it: test points, indented if they are subtests,
//! each with details in YAML.

use super::report::{TestFailure, TestReport, find_location};

/// The YAML between `---` and `...`.
#[derive(Default)]
struct TapDetails {
    indent: usize,
    /// The indentation of its keys.
    keys: Option<usize>,
    /// The key whose value continues on the next lines.
    key: String,
    is_suite: bool,
}

#[derive(Default)]
struct TapParser {
    report: TestReport,
    /// The open subtests with their indentation.
    names: Vec<(usize, String)>,
    details: Option<TapDetails>,
    /// `true` if the last point failed; it is then the last in `failures`.
    failed: bool,
    /// The totals at the end: passed, failed, skipped.
    totals: [Option<u64>; 3],
}

pub(super) fn parse_tap(text: &str) -> TestReport {
    let mut parser = TapParser::default();
    text.lines().for_each(|line| parser.read(line));
    let [passed, failed, skipped] = parser.totals;
    let mut report = parser.report;
    report.passed = passed.unwrap_or(report.passed);
    report.skipped = skipped.unwrap_or(report.skipped);
    // A failed parent is counted by its subtests.
    report.failed = match failed {
        Some(failed) if report.failures.is_empty() => failed,
        _ => report.failures.len() as u64,
    };
    report
}

impl TapParser {
    fn read(&mut self, line: &str) {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        if let Some(details) = &mut self.details {
            match trimmed {
                "..." if indent <= details.indent => self.end_details(),
                _ => self.read_detail(indent, trimmed),
            }
        } else if trimmed == "---" {
            self.details = Some(TapDetails { indent, ..TapDetails::default() });
        } else if let Some(name) = trimmed.strip_prefix("# Subtest: ") {
            self.names.retain(|(at, _)| *at < indent);
            self.names.push((indent, name.to_owned()));
        } else if let Some(point) = trimmed.strip_prefix("ok").filter(|rest| is_point(rest)) {
            self.read_point(indent, point, true);
        } else if let Some(point) = trimmed.strip_prefix("not ok").filter(|rest| is_point(rest)) {
            self.read_point(indent, point, false);
        } else if let Some(comment) = trimmed.strip_prefix("# ") {
            self.read_comment(comment);
        }
    }

    fn read_point(&mut self, indent: usize, point: &str, ok: bool) {
        let point =
            point.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let point = point.strip_prefix("- ").unwrap_or(point);
        let (name, directive) = point.split_once(" # ").unwrap_or((point, ""));
        let directive = directive.to_ascii_uppercase();
        self.failed = false;
        if directive.starts_with("SKIP") || directive.starts_with("TODO") {
            self.report.skipped += 1;
        } else if ok {
            self.report.passed += 1;
        } else {
            let parents =
                self.names.iter().filter(|(at, _)| *at < indent).map(|(_, name)| name.as_str());
            let name = parents.chain([name]).collect::<Vec<_>>().join(" > ");
            self.report.failures.push(TestFailure::with_name(name));
            self.failed = true;
        }
    }

    fn read_detail(&mut self, indent: usize, line: &str) {
        let (Some(details), Some(failure)) = (&mut self.details, self.report.failures.last_mut())
        else {
            return;
        };
        if !self.failed {
            return;
        }
        let within = indent <= *details.keys.get_or_insert(indent);
        let pair = line.split_once(':').filter(|_| within && !line.starts_with("- "));
        let (key, value) = match pair {
            Some((key, value)) => {
                key.clone_into(&mut details.key);
                (key, value.trim().trim_matches('\''))
            }
            None => (details.key.as_str(), line),
        };
        match key {
            "error" | "message" if !matches!(value, "|-" | "|" | ">-") => failure.add_line(value),
            "failureType" if value == "subtestsFailed" => details.is_suite = true,
            "stack" | "at" if !value.contains("node:") && !value.contains("node_modules") => {
                failure.set_location(find_location(value));
            }
            _ => {}
        }
    }

    fn end_details(&mut self) {
        let is_suite = self.details.take().is_some_and(|details| details.is_suite);
        if is_suite && self.failed {
            self.report.failures.pop();
            self.failed = false;
        }
    }

    fn read_comment(&mut self, comment: &str) {
        let Some((word, count)) = comment.split_once(' ') else { return };
        let Ok(count) = count.trim().parse::<u64>() else { return };
        match word {
            "pass" => self.totals[0] = Some(count),
            "fail" => self.totals[1] = Some(count),
            "skipped" => self.totals[2] = Some(count),
            "todo" => self.totals[2] = self.totals[2].map(|skipped| skipped.saturating_add(count)),
            _ => {}
        }
    }
}

fn is_point(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}
