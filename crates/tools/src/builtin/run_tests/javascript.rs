//! Parses the output of a package's test script, by the test runner that wrote it.

use super::report::TestReport;
use super::{jest, mocha, node, tap, vitest};

pub(super) fn parse_javascript(text: &str) -> TestReport {
    let has = |is: &dyn Fn(&str) -> bool| text.lines().any(|line| is(line.trim_start()));
    if has(&|line| line.starts_with("Test Files ") || line.starts_with("RUN  v")) {
        vitest::parse_vitest(text)
    } else if has(&|line| {
        line.starts_with("Tests: ") || line.starts_with("Test Suites: ") || line.starts_with("● ")
    }) {
        jest::parse_jest(text)
    } else if has(&|line| line.starts_with("ℹ tests ") || line.starts_with("✖ failing tests:"))
    {
        node::parse_node(text)
    } else if has(&|line| {
        line.starts_with("TAP version") || line.starts_with("ok 1") || line.starts_with("not ok 1")
    }) {
        tap::parse_tap(text)
    } else {
        mocha::parse_mocha(text)
    }
}
