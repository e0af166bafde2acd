//! Parses `cargo test`: the output of libtest for each binary in turn, and rustc's errors.

use super::report::{MOST_KEPT, TestFailure, TestReport, find_location, split_counts};

/// Beginnings of cargo's summary errors, which name no fault of the code.
const SUMMARIES: [&str; 5] =
    ["test failed", "doctest failed", "could not compile", "aborting due to", "doctests failed"];

#[derive(Default)]
struct CargoTestParser {
    report: TestReport,
    /// Counts of the current binary from its lines: passed, failed, skipped.
    running: [u64; 3],
    /// The block that the lines belong to.
    within: LineContext,
}

#[derive(Default, PartialEq, Eq, Clone, Copy)]
enum LineContext {
    #[default]
    Nothing,
    /// The output of a failed test, the last in `failures`.
    Test,
    Panic,
    /// A compiler error; its location follows.
    Compiler,
    /// The details of an error from cargo.
    Cargo,
}

pub(super) fn parse_cargo(text: &str) -> TestReport {
    let mut parser = CargoTestParser::default();
    text.lines().for_each(|line| parser.read(line));
    parser.close_binary();
    parser.report
}

impl CargoTestParser {
    fn read(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            return self.read_result(result);
        }
        if let Some(name) = match_block(line) {
            return self.begin_block(name);
        }
        if let Some((name, outcome)) = match_outcome(line) {
            return self.read_outcome(name, outcome);
        }
        if let Some(error) = line.strip_prefix("error") {
            return self.read_error(error);
        }
        if line == "failures:" || line.starts_with("     Running ") {
            self.within = LineContext::Nothing;
        }
        self.read_detail(line);
    }

    fn read_result(&mut self, result: &str) {
        self.running = [0; 3];
        self.within = LineContext::Nothing;
        for (count, word) in split_counts(result) {
            match word {
                "passed" => self.running[0] = count,
                "failed" => self.running[1] = count,
                "ignored" => self.running[2] = count,
                _ => {}
            }
        }
        self.close_binary();
    }

    fn close_binary(&mut self) {
        let [passed, failed, skipped] = std::mem::take(&mut self.running);
        self.report.passed = self.report.passed.saturating_add(passed);
        self.report.failed = self.report.failed.saturating_add(failed);
        self.report.skipped = self.report.skipped.saturating_add(skipped);
    }

    /// Begins the output block of a failed test.
    fn begin_block(&mut self, name: &str) {
        let failures = &mut self.report.failures;
        // Another binary may have a test of the same name.
        let open = |one: &TestFailure| one.name == name && one.message.is_empty();
        let failure = match failures.iter().rposition(open) {
            Some(at) => failures.remove(at),
            None => TestFailure::with_name(name),
        };
        self.add_failure(failure, LineContext::Test);
    }

    fn read_outcome(&mut self, name: &str, outcome: &str) {
        match outcome.split([',', ' ']).next() {
            Some("ok") => self.running[0] += 1,
            Some("FAILED") => {
                self.running[1] += 1;
                self.add_failure(TestFailure::with_name(name), self.within);
            }
            Some("ignored") => self.running[2] += 1,
            _ => {}
        }
    }

    /// Parses `error: why` or `error[E0000]: why`.
    fn read_error(&mut self, error: &str) {
        let Some((code, why)) = error.split_once(": ") else { return };
        let is_code = code.is_empty() || code.starts_with('[') && code.ends_with(']');
        let is_summary = SUMMARIES.iter().any(|summary| why.starts_with(summary))
            || why.ends_with("target failed:")
            || why.ends_with("targets failed:");
        if !is_code || is_summary {
            self.within = LineContext::Nothing;
            return;
        }
        let mut failure = TestFailure::with_name(format!("error{code}"));
        failure.add_line(why);
        self.add_failure(failure, LineContext::Compiler);
    }

    /// Adds a failure; the next lines may belong to it.
    fn add_failure(&mut self, failure: TestFailure, within: LineContext) {
        if self.report.failures.len() < MOST_KEPT {
            self.report.failures.push(failure);
            self.within = within;
        } else {
            self.within = LineContext::Nothing;
        }
    }

    fn read_detail(&mut self, line: &str) {
        let Some(failure) = self.report.failures.last_mut() else { return };
        match self.within {
            LineContext::Nothing => {}
            LineContext::Test => {
                if let Some((_, at)) = line
                    .split_once(" panicked at ")
                    .filter(|(before, _)| before.starts_with("thread '"))
                {
                    failure.set_location(find_location(at));
                    failure.message.clear();
                    // Before Rust 1.73 the message was on the same line.
                    if let Some((message, _)) =
                        at.strip_prefix('\'').and_then(|at| at.rsplit_once("', "))
                    {
                        failure.add_line(message);
                        self.within = LineContext::Nothing;
                        return;
                    }
                    self.within = LineContext::Panic;
                } else if line.starts_with("note: test did not panic") {
                    failure.set_location(find_location(line));
                    failure.add_line(&line["note: ".len()..]);
                } else if line.starts_with("error") || !line.starts_with("note: ") {
                    failure.add_line(line);
                }
            }
            LineContext::Panic
                if line.starts_with("stack backtrace:")
                    || line.starts_with("note: ")
                    || line.is_empty() =>
            {
                // Skip the rest: the backtrace and further panics add nothing.
                self.within = LineContext::Nothing;
            }
            LineContext::Panic => failure.add_line(line),
            LineContext::Compiler => match line.trim_start().strip_prefix("--> ") {
                Some(at) => {
                    failure.set_location(find_location(at));
                    self.within = LineContext::Nothing;
                }
                None if line.is_empty() => self.within = LineContext::Cargo,
                None => failure.add_line(line),
            },
            LineContext::Cargo => {
                if line.starts_with("Caused by:") || line.starts_with("  ") {
                    failure.add_line(line);
                }
            }
        }
    }
}

/// Matches `---- name stdout ----`.
fn match_block(line: &str) -> Option<&str> {
    let name = line.strip_prefix("---- ")?.strip_suffix(" ----")?;
    name.strip_suffix(" stdout").or_else(|| name.strip_suffix(" stderr"))
}

/// Matches `test name ... ok`.
fn match_outcome(line: &str) -> Option<(&str, &str)> {
    let (name, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    Some((name.strip_suffix(" - should panic").unwrap_or(name), outcome))
}
