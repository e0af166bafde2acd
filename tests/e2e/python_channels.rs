//! The channels in Python: their own tests, run against the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use avocet_tests::program;

use crate::client_libraries::assert_passes;

fn tests_of(folder: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join("plugins").join(folder).join("tests")
}

fn start(tests: &Path, name: &str) -> Child {
    let mut python = Command::new("python3");
    python.args(["-B", "-m", "unittest", "discover", "-p", name]);
    python.current_dir(tests).env("AVOCET", program!());
    python.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs the files of a folder side by side.
fn assert_all_pass(tests: &Path) {
    let files = fs::read_dir(tests).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let names: Vec<_> = names.filter(|name| name.starts_with("test_")).collect();
    assert!(!names.is_empty(), "{} has no tests", tests.display());
    let runs: Vec<_> = names.iter().map(|name| (name, start(tests, name))).collect();
    for (name, run) in runs {
        assert_passes(&format!("{}/{name}", tests.display()), run);
    }
}

#[test]
fn python_channel_email_passes_its_tests() {
    assert_all_pass(&tests_of("email"));
}

#[test]
fn python_channel_irc_passes_its_tests() {
    assert_all_pass(&tests_of("irc"));
}

#[test]
fn python_channel_matrix_passes_its_tests() {
    assert_all_pass(&tests_of("matrix"));
}

#[test]
fn python_channel_template_passes_its_tests() {
    assert_all_pass(&tests_of("template-python"));
}

/// `tests/foreign/install` installs the servers.
#[test]
fn python_channels_hold_against_real_servers() {
    assert_all_pass(&Path::new(env!("CARGO_MANIFEST_DIR")).join("foreign"));
}
