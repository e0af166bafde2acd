use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use avocet_protocol::access::LeastTrust;
use avocet_testkit::{SystemPart, skip_without};
use tempfile::TempDir;

use super::*;
use crate::RootAccess;
use crate::provenance::FileProvenance;

fn world() -> (TempDir, Workspace) {
    let directory = TempDir::new().unwrap();
    let workspace = Workspace::open(directory.path()).unwrap();
    (directory, workspace)
}

fn write(workspace: &Workspace, path: &str, trust: Trust) -> WorkspacePath {
    let path = workspace.resolve_path(path).unwrap();
    workspace.on_behalf(trust, LeastTrust::default()).write(&path, b"x").unwrap();
    path
}

#[test]
fn mark_trusted_raises_a_file_to_full_trust() {
    let (_directory, workspace) = world();
    if !workspace.keeps_marks() {
        return skip_without(SystemPart::ExtendedAttributes);
    }
    for (trust, why) in [
        (Trust::Low, "has content from unknown people"),
        (Trust::User, "has content from somebody who may speak and is not an owner"),
        (Trust::Full, "has no mark as untrusted"),
    ] {
        let path = write(&workspace, "a/b.txt", trust);
        assert_eq!(workspace.explain_trust(&path), Ok(ExplainedTrust { trust, why: why.into() }));
        assert_eq!(workspace.mark_trusted(&path), Ok(trust));
        let own = ExplainedTrust { trust: Trust::Full, why: "has no mark as untrusted".into() };
        assert_eq!(workspace.explain_trust(&path), Ok(own.clone()));
        assert_eq!(workspace.mark_trusted(&path), Ok(Trust::Full), "again");
    }
}

#[test]
fn mark_trusted_works_on_a_read_only_file_and_keeps_its_mode() {
    let (directory, workspace) = world();
    let path = write(&workspace, "a.txt", Trust::Low);
    let mode = || fs::metadata(directory.path().join("a.txt")).unwrap().permissions().mode();
    for given in [0o444, 0o400, 0o644] {
        fs::set_permissions(directory.path().join("a.txt"), Permissions::from_mode(given)).unwrap();
        let directory = workspace.handle();
        workspace.provenance.lower_trust(directory, Some(path.as_path()), Trust::Low).unwrap();
        assert_eq!(workspace.mark_trusted(&path), Ok(Trust::Low), "{given:o}");
        assert_eq!(workspace.explain_trust(&path).unwrap().trust, Trust::Full);
        assert_eq!(mode() & 0o7777, given);
    }
}

#[test]
fn mark_trusted_refuses_a_file_that_is_untrusted_for_another_reason() {
    let (directory, workspace) = world();
    let refused = |workspace: &Workspace, path: &WorkspacePath| {
        workspace.mark_trusted(path).unwrap_err().to_string()
    };
    let inbox = write(&workspace, "inbox/a.txt", Trust::Full);
    assert_eq!(workspace.explain_trust(&inbox).unwrap().why, "came with a message");
    assert!(refused(&workspace, &inbox).starts_with("inbox/a.txt: it came with a message"));
    std::os::unix::fs::symlink("inbox/a.txt", directory.path().join("link")).unwrap();
    let link = workspace.resolve_path("link").unwrap();
    assert_eq!(workspace.explain_trust(&link).unwrap().trust, Trust::Low);
    assert!(refused(&workspace, &link).starts_with("link: it came with a message"));

    let (other, _) = world();
    fs::write(other.path().join("a.txt"), "x").unwrap();
    let beside = Workspace::open_beside(other.path(), RootAccess::Change).unwrap();
    let path = beside.resolve_path("a.txt").unwrap();
    let why = "is outside the workspaces, where others also write";
    assert_eq!(
        beside.explain_trust(&path),
        Ok(ExplainedTrust { trust: Trust::Low, why: why.into() })
    );
    assert!(refused(&beside, &path).contains("copy it into a workspace"));
}

#[test]
fn mark_trusted_refuses_files_that_file_tools_cannot_read() {
    let (directory, workspace) = world();
    rustix::fs::mkfifoat(rustix::fs::CWD, directory.path().join("f"), Mode::RWXU).unwrap();
    fs::write(directory.path().join(".env"), "x").unwrap();
    for (path, expected) in
        [("f", "is not a regular file"), (".env", "password"), ("none", "does not exist")]
    {
        let path = workspace.resolve_path(path).unwrap();
        for error in
            [workspace.mark_trusted(&path).map(drop), workspace.explain_trust(&path).map(drop)]
        {
            let error = error.unwrap_err().to_string();
            assert!(error.contains(expected), "{path}: {error}");
        }
    }
}

#[test]
fn mark_trusted_error_names_the_note_of_an_untrusted_workspace() {
    let (directory, workspace) = world();
    let note = directory.path().join("note");
    let path = write(&workspace, "a.txt", Trust::Full);
    for (marks, expected) in [
        (true, "untrusted content was written there and could not be marked"),
        (false, "its file system has no extended attributes"),
    ] {
        drop(fs::remove_file(&note));
        let mut workspace = workspace.clone();
        workspace.provenance = FileProvenance::new(marks, Some(note.clone())).into();
        assert_eq!(
            workspace.mark_trusted(&path),
            Ok(Trust::Full),
            "no untrusted content was written"
        );
        workspace.provenance.distrust_all();
        assert_eq!(workspace.explain_trust(&path).unwrap().trust, Trust::Low);
        let error = workspace.mark_trusted(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains(&format!("remove {} and restart", note.display())), "{error}");
    }
}

/// Returns the trust of a call that has read a file, or listed a directory.
fn read(workspace: &Workspace, path: &str) -> Trust {
    let shown = LeastTrust::default();
    let used = workspace.on_behalf(Trust::Full, shown.clone());
    let path = used.resolve_path(path).unwrap();
    if used.is_directory(&path) {
        used.list_entries(&path).unwrap();
    } else {
        used.read(&path).unwrap();
    }
    shown.get()
}

#[test]
fn mark_untrusted_lowers_a_file_and_mark_trusted_takes_that_back() {
    let (_directory, workspace) = world();
    let path = write(&workspace, "a/b.txt", Trust::Full);
    if !workspace.keeps_marks() {
        return skip_without(SystemPart::ExtendedAttributes);
    }
    assert_eq!(workspace.mark_untrusted(&path), Ok(Trust::Full));
    assert_eq!(read(&workspace, "a/b.txt"), Trust::Low);
    assert_eq!(workspace.mark_untrusted(&path), Ok(Trust::Low), "again");
    assert_eq!(workspace.mark_trusted(&path), Ok(Trust::Low));
    assert_eq!(read(&workspace, "a/b.txt"), Trust::Full);
}

#[test]
fn mark_untrusted_of_a_directory_lowers_its_present_and_future_files() {
    for start in ["a", ""] {
        let (directory, workspace) = world();
        if !workspace.keeps_marks() {
            return skip_without(SystemPart::ExtendedAttributes);
        }
        write(&workspace, "a/b/old.txt", Trust::Full);
        write(&workspace, "c.txt", Trust::Full);
        let start = workspace.resolve_path(start).unwrap();
        assert_eq!(workspace.mark_untrusted(&start), Ok(Trust::Full));
        let explained = workspace.explain_trust(&start).unwrap();
        assert_eq!(explained.why, "is marked as untrusted, with everything in it");
        fs::write(directory.path().join("a/b/new.txt"), "x").unwrap();
        for path in ["a/b/old.txt", "a/b/new.txt"] {
            assert_eq!(read(&workspace, path), Trust::Low, "{path}");
        }
        assert_eq!(read(&workspace, "c.txt") == Trust::Low, start.is_root());
        let old = workspace.resolve_path("a/b/old.txt").unwrap();
        let explained = workspace.explain_trust(&old).unwrap();
        assert_eq!(explained.why, "is in a directory that is marked as untrusted");
        let error = workspace.mark_trusted(&old).unwrap_err().to_string();
        assert!(error.contains("avocet trust --believe DIRECTORY"), "{error}");
        // A file that a program moves out of the directory stays untrusted, and the program has
        // read it.
        let watch = workspace.watch_program();
        fs::rename(directory.path().join("a/b/new.txt"), directory.path().join("moved.txt"))
            .unwrap();
        fs::read(directory.path().join("a/b/old.txt")).unwrap();
        assert_eq!(watch.settle_trust(), Trust::Low);
        assert_eq!(read(&workspace, "moved.txt"), Trust::Low);
        assert_eq!(workspace.mark_trusted(&start), Ok(Trust::Low));
        for path in ["a/b/old.txt", "a/b", "a"] {
            assert_eq!(read(&workspace, path), Trust::Full, "{path}");
        }
        let trust = workspace.explain_trust(&start).unwrap().trust;
        // The moved file is marked itself. In the root, `mark_trusted` has removed that mark, too.
        assert_eq!(trust, Trust::Full, "{start}");
    }
}

#[test]
fn explain_trust_of_a_directory_counts_its_untrusted_files() {
    let (_directory, workspace) = world();
    if !workspace.keeps_marks() {
        return skip_without(SystemPart::ExtendedAttributes);
    }
    write(&workspace, "a/own.txt", Trust::Full);
    let a = workspace.resolve_path("a").unwrap();
    assert_eq!(workspace.explain_trust(&a).unwrap().trust, Trust::Full);
    write(&workspace, "a/b/low.txt", Trust::Low);
    write(&workspace, "a/user.txt", Trust::User);
    let explained = workspace.explain_trust(&a).unwrap();
    assert_eq!((explained.trust, &*explained.why), (Trust::Low, "has 2 untrusted files in it"));
    assert_eq!(workspace.mark_trusted(&a), Ok(Trust::Low));
    assert_eq!(workspace.explain_trust(&a).unwrap().trust, Trust::Full);
    write(&workspace, "inbox/m.txt", Trust::Low);
    let inbox = workspace.resolve_path("inbox").unwrap();
    assert!(
        workspace.mark_trusted(&inbox).unwrap_err().to_string().contains("it came with a message")
    );
}

#[test]
fn mark_untrusted_without_attributes_is_refused_with_the_reason() {
    let (directory, mut workspace) = world();
    let path = write(&workspace, "a.txt", Trust::Full);
    let note = directory.path().join("note");
    workspace.provenance = FileProvenance::new(false, Some(note)).into();
    for path in [path, workspace.resolve_path("").unwrap()] {
        let error = workspace.mark_untrusted(&path).unwrap_err().to_string();
        assert!(error.contains("has no extended attributes"), "{error}");
    }
}
