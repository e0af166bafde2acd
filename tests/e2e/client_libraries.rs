//! The client libraries: their own tests, run against the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use avocet_tests::program;

fn folder(library: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("clients").join(library)
}

fn start(library: &str, command: &[&str]) -> Child {
    let mut tests = Command::new(command[0]);
    tests.args(&command[1..]).current_dir(folder(library)).env("AVOCET", program!());
    // With this variable, a test runner of Node.js prints for another runner, not for people.
    tests.env_remove("NODE_TEST_CONTEXT");
    tests.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

pub(crate) fn assert_passes(name: &str, tests: Child) {
    let ran = tests.wait_with_output().unwrap();
    let [out, err] = [ran.stdout, ran.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(ran.status.success(), "{name}: {}\n{out}\n{err}", ran.status);
}

/// Covers the generated files, too: `test_schema.py` compares them with the schema.
#[test]
fn clients_python_passes_its_tests() {
    let files = fs::read_dir(folder("python").join("tests")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let names: Vec<_> = names.filter(|name| name.starts_with("test_")).collect();
    assert!(names.len() >= 5, "{names:?}");
    let runs = names.iter().map(|name| {
        let command = ["python3", "-B", "-m", "unittest", "discover", "-s", "tests", "-p", name];
        (name, start("python", &command))
    });
    for (name, tests) in runs.collect::<Vec<_>>() {
        assert_passes(name, tests);
    }
}

/// Runs the built files of the repository. `built.test.js` compares them with their sources.
#[test]
fn clients_typescript_passes_its_tests() {
    assert_passes("node --test", start("typescript", &["node", "--test"]));
}
