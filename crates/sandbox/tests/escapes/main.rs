//! Runs real programs in a sandbox: attempts to get out, which must fail, and everyday commands,
//! which must work. The cases are in `tests/corpus/escapes`. Each runs with namespaces and without,
//! as the user of the test and, if that is root, once more as an ordinary user.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod corpus;
mod death;
mod host;
mod submounts;
mod trial;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use avocet_testkit::{SystemPart, copy_program, skip_without};
use tempfile::TempDir;

use trial::{Trials, toolchain};

/// A variable with the directory of the parts, for a test that runs as an ordinary user, to whom
/// the build's directory is closed.
const PARTS: &str = "AVOCET_TEST_PARTS";
/// A user without other processes. The limit of processes counts all of a user, and the tests of the
/// whole program, which may run at the same time, start some as `nobody`.
const ORDINARY: u32 = 65533;

#[tokio::test]
async fn sandbox_holds_every_escape_of_the_corpus() {
    let trials = Trials::new(parts(), None);
    trials.escapes(include_str!("../../../../tests/corpus/escapes/shell.toml")).await;
}

#[test]
fn sandbox_of_an_ordinary_user_holds_every_escape_of_the_corpus() {
    as_an_ordinary_user("sandbox_holds_every_escape_of_the_corpus");
}

#[tokio::test]
async fn sandbox_permits_everyday_work() {
    let trials = Trials::new(parts(), toolchain());
    trials.works(include_str!("../../../../tests/corpus/escapes/works.toml")).await;
}

#[test]
fn sandbox_of_an_ordinary_user_permits_everyday_work() {
    as_an_ordinary_user("sandbox_permits_everyday_work");
}

/// Programs that the trials need, in a place that is open to everybody.
struct TrialPrograms {
    /// The program of the stages.
    stage: PathBuf,
    /// `id` with the set-user-ID bit of another user.
    set_user_id: Option<PathBuf>,
    _directory: Option<TempDir>,
}

fn parts() -> TrialPrograms {
    #[expect(clippy::disallowed_methods, reason = "how this test tells itself where its parts are")]
    if let Some(directory) = std::env::var_os(PARTS).map(PathBuf::from) {
        return TrialPrograms {
            stage: directory.join("avocet-sandbox-stage"),
            set_user_id: Some(directory.join("id")).filter(|path| path.exists()),
            _directory: None,
        };
    }
    let directory = TempDir::new().unwrap();
    TrialPrograms {
        stage: env!("CARGO_BIN_EXE_avocet-sandbox-stage").into(),
        set_user_id: set_user_id(directory.path()),
        _directory: Some(directory),
    }
}

/// Makes a copy of `id` that runs as user 1; `None` if the user of the test may not do that.
fn set_user_id(directory: &Path) -> Option<PathBuf> {
    let path = directory.join("id");
    copy_program("/usr/bin/id", &path).ok()?;
    chown(&path, Some(1), Some(1)).ok()?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).unwrap();
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    Some(path)
}

/// Runs a test of this file as an ordinary user, if this one is root.
fn as_an_ordinary_user(test: &str) {
    if !nix::unistd::geteuid().is_root() {
        return skip_without(SystemPart::Root);
    }
    let directory = TempDir::new().unwrap();
    set_user_id(directory.path()).unwrap();
    let stage = directory.path().join("avocet-sandbox-stage");
    copy_program(env!("CARGO_BIN_EXE_avocet-sandbox-stage"), stage).unwrap();
    let ourselves = directory.path().join("escapes");
    copy_program(std::env::current_exe().unwrap(), &ourselves).unwrap();
    let id = ORDINARY.to_string();
    let Ok(ran) = Command::new("setpriv")
        .args(["--reuid", &id, "--regid", &id, "--clear-groups", "--"])
        .arg(&ourselves)
        .args([test, "--exact", "--nocapture"])
        .env(PARTS, directory.path())
        .current_dir("/")
        .output()
    else {
        return skip_without(SystemPart::Setpriv);
    };
    let (said, wrong) =
        (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    println!("{said}\n{wrong}");
    assert!(ran.status.success() && said.contains("1 passed"), "{test} as an ordinary user");
}
