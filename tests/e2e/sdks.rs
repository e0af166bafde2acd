//! The official clients of OpenAI, and other programs for its APIs, against the daemon. Their tests are in `tests/sdks`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::client_libraries::assert_passes;
use crate::http::{HttpHome, TOKEN};
use crate::support::stop;

/// The folder into which `tests/run` installs the clients.
fn installed(client: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let folder = target.join("sdks").join(client);
    assert!(
        folder.exists(),
        "the {client} programs for OpenAI's APIs are not in {}; run tests/run once, which installs it",
        folder.display()
    );
    folder
}

/// Runs the tests of a client against a daemon.
fn run_tests(client: &str, command: &mut Command) {
    let http = HttpHome::start();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sdks").join(client);
    command.current_dir(folder).env("NODE_PATH", installed("node").join("node_modules"));
    command.env("AVOCET_URL", format!("http://{}", http.server)).env("AVOCET_TOKEN", TOKEN);
    // The clients would send their requests to a proxy of the environment.
    command.env("NO_PROXY", "*").env("no_proxy", "*");
    // With this variable, a test runner of Node.js prints for another runner, not for people.
    command.env_remove("NODE_TEST_CONTEXT");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    assert_passes(client, command.spawn().unwrap());
    stop(http.daemon);
}

#[test]
fn sdks_official_python_client_works_with_the_daemon() {
    let python = installed("python").join("bin/python");
    run_tests("python", Command::new(python).args(["-B", "-m", "unittest", "test_openai"]));
}

/// LangChain, pydantic-ai, LiteLLM and `llm`.
#[test]
fn sdks_programs_in_python_work_with_the_daemon() {
    let python = installed("python").join("bin/python");
    run_tests("python", Command::new(python).args(["-B", "-m", "unittest", "test_programs"]));
}

#[test]
fn sdks_ai_sdk_works_with_the_daemon() {
    run_tests("node", Command::new("node").args(["--test", "ai_sdk.test.js"]));
}

#[test]
fn sdks_official_node_client_works_with_the_daemon() {
    run_tests("node", Command::new("node").args(["--test", "openai.test.js"]));
}
