//! Tries to leave a workspace by paths. The cases are in `tests/corpus/escapes/paths.toml`. Each is
//! tried by every operation, in a workspace and in directories beside one. Then
//! a directory is swapped for a link while it is used. All of it runs as the user of the test
//! and, if that is root, once more as an ordinary user.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod operations;
mod race;
mod roots;
mod swaps;
mod world;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use avocet_testkit::{SystemPart, copy_program, skip_without};
use serde::Deserialize;
use tempfile::TempDir;

use operations::OPERATIONS;
use world::{CANARY, KINDS, RootKind, World};

/// The user id of `nobody` on every system.
const ORDINARY: u32 = 65534;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PathCorpus {
    case: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    make: Vec<String>,
    #[serde(default)]
    opened: Vec<String>,
    #[serde(default)]
    later: Vec<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    reads: Vec<String>,
    refused: Option<String>,
}

#[test]
fn workspace_refuses_every_escaping_path_of_the_corpus() {
    let text = include_str!("../../../../tests/corpus/escapes/paths.toml");
    let corpus: PathCorpus = toml::from_str(text).unwrap();
    assert!(corpus.case.len() >= 60, "{} cases", corpus.case.len());
    KINDS.iter().for_each(|kind| try_all(&corpus, *kind));
}

fn try_all(corpus: &PathCorpus, kind: RootKind) {
    let (mut done, mut refused, mut skipped, mut wrong) = (0, 0, 0, Vec::new());
    for case in &corpus.case {
        assert!(!(case.paths.is_empty() && case.reads.is_empty()), "{}: no paths", case.name);
        let in_memory = !case.make.iter().any(|step| step.starts_with("device"));
        for path in case.paths.iter().chain(&case.reads) {
            for (name, operation) in OPERATIONS {
                let world = World::new(in_memory, kind);
                if let Err(error) = case.make.iter().try_for_each(|step| world.make(step)) {
                    println!("left out: {}: {error}", case.name);
                    // An ordinary user may make no devices, anywhere.
                    if nix::unistd::geteuid().is_root() {
                        skip_without(SystemPart::Devices);
                    }
                    skipped += 1;
                    break;
                }
                let path = world.given(&world.filled(path));
                let before = world.state();
                let roots = world.open();
                case.opened.iter().try_for_each(|step| world.make(step)).unwrap();
                let before = if case.opened.is_empty() { before } else { world.state() };
                let resolved =
                    roots.root_of(&path).and_then(|one| Ok((one, one.resolve_path(&path)?)));
                case.later.iter().try_for_each(|step| world.make(step)).unwrap();
                let unchanged = world.unchanged();
                let result = resolved.map_err(|error| error.to_string());
                let result = result.and_then(|(one, path)| operation(one, &path));
                let said = format!("{result:?}");
                *(if result.is_ok() { &mut done } else { &mut refused }) += 1;
                assert_eq!(world.unchanged(), unchanged, "{}: {name} of {path:?}", case.name);
                let after = world.state();
                let is_refused =
                    |text: &String| result.as_ref().is_err_and(|error| error.contains(text));
                assert!(
                    case.refused.as_ref().is_none_or(is_refused),
                    "{}: {name}: {said}",
                    case.name
                );
                if said.contains(CANARY) || before != after {
                    let path = path.chars().take(80).collect::<String>();
                    let what = format!("{}: {name} of {path:?}: {said}", case.name);
                    wrong.push(format!("{what}\n{before}\nbecame\n{after}"));
                }
            }
        }
        for path in &case.reads {
            let world = World::new(in_memory, kind);
            case.make.iter().chain(&case.later).try_for_each(|step| world.make(step)).unwrap();
            let (roots, path) = (world.open(), world.given(&world.filled(path)));
            let one = roots.root_of(&path).unwrap();
            let read = one.read(&one.resolve_path(&path).unwrap());
            assert_eq!(read, Ok(b"plain".to_vec()), "{kind:?} {}", case.name);
        }
    }
    let count = corpus.case.len();
    println!(
        "{kind:?}: {count} cases: {done} operations done, {refused} refused, {skipped} paths skipped"
    );
    assert!(wrong.is_empty(), "{kind:?}: {}", wrong.join("\n\n"));
}

#[test]
fn workspace_of_an_ordinary_user_refuses_every_escaping_path() {
    as_an_ordinary_user("workspace_refuses_every_escaping_path_of_the_corpus");
}

/// Runs a test of this file as an ordinary user, if this one is root.
fn as_an_ordinary_user(test: &str) {
    if !nix::unistd::geteuid().is_root() {
        return skip_without(SystemPart::Root);
    }
    let directory = TempDir::new().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let ourselves = directory.path().join("paths");
    copy_program(std::env::current_exe().unwrap(), &ourselves).unwrap();
    let id = ORDINARY.to_string();
    let Ok(ran) = Command::new("setpriv")
        .args(["--reuid", &id, "--regid", &id, "--clear-groups", "--"])
        .arg(&ourselves)
        .args([test, "--exact", "--nocapture"])
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
