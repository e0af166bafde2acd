//! The channels in Python: their own tests, run against the program.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use avocet_tests::program;

use crate::client_libraries::assert_passes;

/// The folders in `plugins` whose tests are in Python.
const FOLDERS: [&str; 1] = ["irc"];

fn start(folder: &str) -> Child {
    let place =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("plugins").join(folder);
    let mut tests = Command::new("python3");
    tests.args(["-B", "-m", "unittest", "discover", "-s", "tests"]);
    tests.current_dir(place).env("AVOCET", program!());
    tests.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn python_channels_pass_their_tests() {
    for (folder, tests) in FOLDERS.map(|folder| (folder, start(folder))) {
        assert_passes(folder, tests);
    }
}
