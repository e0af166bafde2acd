//! The web console in a browser: the console's own tests, run against the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use avocet_tests::program;

use crate::client_libraries::assert_passes;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("plugins/web/console")
}

/// Covers the built files, too: `built.test.js` compares them with their sources.
#[test]
fn web_console_passes_its_tests_in_a_browser() {
    for needed in
        [folder().join("node_modules/playwright-core"), "/usr/bin/chromium-headless-shell".into()]
    {
        assert!(needed.exists(), "{} does not exist; `tests/run` installs it", needed.display());
    }
    let files = fs::read_dir(folder().join("test")).unwrap();
    let mut names: Vec<_> = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".test.js"))
        .collect();
    names.sort();
    assert!(names.len() >= 12, "{names:?}");
    let mut tests = Command::new("node");
    tests.arg("--test").args(names).current_dir(folder()).env("AVOCET", program!());
    // With this variable, a test runner of Node.js prints for another runner, not for people.
    tests.env_remove("NODE_TEST_CONTEXT");
    tests.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    assert_passes("node --test", tests.spawn().unwrap());
}
