//! The result of a test run, and code shared by the parsers.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

/// Failures that are reported; the rest are only counted.
const MOST_FAILURES: usize = 30;
/// Failures kept during parsing, where they are searched by name.
pub(super) const MOST_KEPT: usize = 1000;
/// Characters of a failure's message.
const MOST_MESSAGE: usize = 1200;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TestReport {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    /// Failed tests, and code that failed to build or load.
    #[serde(default)]
    pub(crate) failures: Vec<TestFailure>,
}

/// A failed test or a build error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TestFailure {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u64>,
    #[serde(default)]
    pub(crate) message: String,
}

impl TestFailure {
    pub(super) fn with_name(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Sets the location, unless one is set already.
    pub(super) fn set_location(&mut self, place: Option<(&str, u64)>) {
        if let (None, Some((file, line))) = (&self.file, place) {
            self.file = Some(file.to_owned());
            self.line = Some(line);
        }
    }

    pub(super) fn add_line(&mut self, line: &str) {
        if self.message.len() < 4 * MOST_MESSAGE && !(self.message.is_empty() && line.is_empty()) {
            if !self.message.is_empty() {
                self.message.push('\n');
            }
            self.message.push_str(line.trim_end());
        }
    }
}

impl TestReport {
    /// The report for the model: duplicates removed, and cut to the limits above.
    pub(super) fn limit_failures(mut self) -> Self {
        let mut names = std::collections::HashSet::new();
        self.failures.retain(|failure| {
            names.insert((failure.name.clone(), failure.file.clone(), failure.line))
        });
        self.failures.truncate(MOST_FAILURES);
        for failure in &mut self.failures {
            let message = failure.message.trim();
            let end = message.char_indices().nth(MOST_MESSAGE).map(|(at, _)| at);
            failure.message = match end {
                Some(end) => format!("{}…", &message[..end]),
                None => message.to_owned(),
            };
        }
        self
    }
}

/// Panics if the report exceeds the limits.
#[cfg(any(test, feature = "testing"))]
pub(super) fn assert_limited(report: &TestReport) {
    assert!(report.failures.len() <= MOST_FAILURES);
    let too_long = |one: &TestFailure| one.message.chars().count() > MOST_MESSAGE + 1;
    assert!(!report.failures.iter().any(too_long), "{report:?}");
}

/// Finds `file:line` or `file:line:column` anywhere in a line. The file must have an extension.
pub(super) fn find_location(line: &str) -> Option<(&str, u64)> {
    static PLACE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"([^\s()'"`:]+\.\w+):(\d+)(?::\d+)?"#).ok());
    let found = PLACE.as_ref()?.captures(line)?;
    let file = found.get(1)?.as_str();
    Some((file.strip_prefix("./").unwrap_or(file), found[2].parse().ok()?))
}

/// The number before each word of a summary, such as `2 failed, 1 passed`.
pub(super) fn split_counts(line: &str) -> impl Iterator<Item = (u64, &str)> {
    let words = line.split([' ', ',', '|', '(', ')', ';', '=']).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let pairs = words.windows(2).filter_map(|pair| Some((pair[0].parse().ok()?, pair[1])));
    pairs.collect::<Vec<(u64, &str)>>().into_iter()
}

/// A text without the colours and cursor movements of a terminal.
pub(super) fn strip_escapes(text: &str) -> String {
    static ESCAPE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))").ok()
    });
    match ESCAPE.as_ref() {
        Some(escape) => escape.replace_all(text, "").replace('\r', ""),
        None => text.to_owned(),
    }
}
