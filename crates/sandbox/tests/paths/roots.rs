//! Paths from one directory into another. Both may be used, each by its own rules.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use avocet_sandbox::{RootAccess, Workspace, WorkspaceRoots};
use tempfile::TempDir;

use super::operations::OPERATIONS;

const NAMES: [&str; 3] = ["workspace", "notes", "docs"];

/// A workspace and two directories beside it, with links from each into the others.
fn roots(directory: &Path) -> WorkspaceRoots {
    let place = |name: &str| directory.join(name);
    for name in NAMES {
        fs::create_dir(place(name)).unwrap();
        fs::write(place(name).join("a.txt"), format!("of {name}")).unwrap();
    }
    for from in NAMES {
        for to in NAMES.iter().filter(|to| **to != from) {
            let link =
                |name: String, target: &Path| symlink(target, place(from).join(name)).unwrap();
            link(format!("to-{to}"), &place(to));
            link(format!("file-of-{to}"), &place(to).join("a.txt"));
            link(format!("up-to-{to}"), Path::new(&format!("../{to}")));
        }
    }
    let beside = [("notes", RootAccess::Change), ("docs", RootAccess::Read)];
    let beside = beside.map(|(name, access)| Workspace::open_beside(&place(name), access).unwrap());
    WorkspaceRoots::new(Workspace::open(&place("workspace")).unwrap(), beside.into())
}

#[test]
fn roots_refuse_links_from_one_directory_into_another() {
    for from in NAMES {
        for to in NAMES.iter().filter(|to| **to != from) {
            for below in [
                format!("to-{to}/a.txt"),
                format!("to-{to}/new.txt"),
                format!("up-to-{to}/a.txt"),
                format!("file-of-{to}"),
            ] {
                for (name, operation) in OPERATIONS {
                    let directory = TempDir::new().unwrap();
                    let here = directory.path().canonicalize().unwrap();
                    let roots = roots(&here);
                    let given = here.join(from).join(&below).display().to_string();
                    let one = roots.root_of(&given).unwrap();
                    assert_eq!(one.root(), here.join(from));
                    let said = format!("{:?}", operation(one, &one.resolve_path(&given).unwrap()));
                    assert!(!said.contains(&format!("of {to}")), "{name} of {given}: {said}");
                    let names = fs::read_dir(here.join(to)).unwrap().count();
                    let content = fs::read_to_string(here.join(to).join("a.txt")).unwrap();
                    assert_eq!(
                        (names, content),
                        (7, format!("of {to}")),
                        "{name} of {given}: {said}"
                    );
                }
            }
        }
    }
}

#[test]
fn roots_of_dots_into_another_directory_is_that_directory() {
    for from in NAMES {
        for to in NAMES {
            let directory = TempDir::new().unwrap();
            let here = directory.path().canonicalize().unwrap();
            let roots = roots(&here);
            let given = here.join(from).join("none/../..").join(to).join("a.txt");
            let given = given.display().to_string();
            let one = roots.root_of(&given).unwrap();
            assert_eq!(one.root(), here.join(to));
            let path = one.resolve_path(&given).unwrap();
            assert_eq!(one.read(&path), Ok(format!("of {to}").into_bytes()));
            assert_eq!(one.write(&path, b"x").is_ok(), to != "docs", "{given}");
            // From the workspace, a relative path cannot lead elsewhere.
            let relative = format!("../{to}/a.txt");
            assert_eq!(roots.root_of(&relative).is_ok(), to == "workspace", "{relative}");
        }
    }
}
