use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use avocet_protocol::LeastTrust;
use tempfile::TempDir;

use super::*;
use crate::Access;
use crate::provenance::Provenance;

fn world() -> (TempDir, Workspace) {
    let directory = TempDir::new().unwrap();
    let workspace = Workspace::open(directory.path()).unwrap();
    (directory, workspace)
}

fn write(workspace: &Workspace, path: &str, trust: Trust) -> WorkspacePath {
    let path = workspace.resolve(path).unwrap();
    workspace.on_behalf(trust, LeastTrust::default()).write(&path, b"x").unwrap();
    path
}

#[test]
fn a_person_who_has_read_a_file_can_say_so() {
    let (_directory, workspace) = world();
    if !workspace.marks() {
        println!("skipped: no extended attributes here");
        return;
    }
    for (trust, why) in [
        (Trust::Low, "has words in it that anybody may have written"),
        (Trust::User, "has words in it of somebody who may speak and is no owner"),
        (Trust::Full, "has no mark of others' words"),
    ] {
        let path = write(&workspace, "a/b.txt", trust);
        assert_eq!(workspace.standing(&path), Ok(Standing { trust, why }));
        assert_eq!(workspace.believe(&path), Ok(trust));
        let own = Standing { trust: Trust::Full, why: "has no mark of others' words" };
        assert_eq!(workspace.standing(&path), Ok(own));
        assert_eq!(workspace.believe(&path), Ok(Trust::Full), "again");
    }
}

#[test]
fn a_file_that_may_not_be_written_to_is_believed_and_stays_so() {
    let (directory, workspace) = world();
    let path = write(&workspace, "a.txt", Trust::Low);
    let mode = || fs::metadata(directory.path().join("a.txt")).unwrap().permissions().mode();
    for given in [0o444, 0o400, 0o644] {
        fs::set_permissions(directory.path().join("a.txt"), Permissions::from_mode(given)).unwrap();
        let directory = workspace.handle();
        workspace.provenance.lower(directory, Some(path.as_path()), Trust::Low).unwrap();
        assert_eq!(workspace.believe(&path), Ok(Trust::Low), "{given:o}");
        assert_eq!(workspace.standing(&path).unwrap().trust, Trust::Full);
        assert_eq!(mode() & 0o7777, given);
    }
}

#[test]
fn a_file_is_not_believed_whose_mark_is_not_the_reason() {
    let (directory, workspace) = world();
    let refused = |workspace: &Workspace, path: &WorkspacePath| {
        workspace.believe(path).unwrap_err().to_string()
    };
    let inbox = write(&workspace, "inbox/a.txt", Trust::Full);
    assert_eq!(workspace.standing(&inbox).unwrap().why, "came with a message");
    assert!(refused(&workspace, &inbox).starts_with("inbox/a.txt: it came with a message"));
    std::os::unix::fs::symlink("inbox/a.txt", directory.path().join("link")).unwrap();
    let link = workspace.resolve("link").unwrap();
    assert_eq!(workspace.standing(&link).unwrap().trust, Trust::Low);
    assert!(refused(&workspace, &link).starts_with("link: it came with a message"));

    let (other, _) = world();
    fs::write(other.path().join("a.txt"), "x").unwrap();
    let beside = Workspace::beside(other.path(), Access::Change).unwrap();
    let path = beside.resolve("a.txt").unwrap();
    let why = "is outside the workspaces, where others write, too";
    assert_eq!(beside.standing(&path), Ok(Standing { trust: Trust::Low, why }));
    assert!(refused(&beside, &path).contains("copy it into a workspace"));
}

#[test]
fn only_what_a_file_tool_reads_is_believed() {
    let (directory, workspace) = world();
    fs::create_dir(directory.path().join("d")).unwrap();
    fs::write(directory.path().join(".env"), "x").unwrap();
    for (path, expected) in
        [("d", "is not a regular file"), (".env", "password"), ("none", "does not exist")]
    {
        let path = workspace.resolve(path).unwrap();
        for error in [workspace.believe(&path).map(drop), workspace.standing(&path).map(drop)] {
            let error = error.unwrap_err().to_string();
            assert!(error.contains(expected), "{path}: {error}");
        }
    }
}

#[test]
fn where_nothing_is_believed_any_more_the_note_is_named() {
    let (directory, workspace) = world();
    let note = directory.path().join("note");
    let path = write(&workspace, "a.txt", Trust::Full);
    for (marks, expected) in [
        (true, "something foreign was written there that could not be marked"),
        (false, "its file system keeps no extended attributes"),
    ] {
        drop(fs::remove_file(&note));
        let mut workspace = workspace.clone();
        workspace.provenance = Provenance::new(marks, Some(note.clone())).into();
        assert_eq!(workspace.believe(&path), Ok(Trust::Full), "nothing foreign was written");
        workspace.provenance.fall_for_good();
        assert_eq!(workspace.standing(&path).unwrap().trust, Trust::Low);
        let error = workspace.believe(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains(&format!("remove {} and start", note.display())), "{error}");
    }
}
