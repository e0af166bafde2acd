use std::fs;
use std::os::unix::fs::symlink;

use avocet_testkit::{SystemPart, skip_without};
use tempfile::TempDir;

use super::*;
use crate::RemoveMode;

/// A workspace, a writable directory and a read-only one, in a directory of their own.
fn world() -> (TempDir, WorkspaceRoots) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().canonicalize().unwrap();
    for name in ["workspace", "notes", "docs"] {
        fs::create_dir(path.join(name)).unwrap();
        fs::write(path.join(name).join("a.txt"), name).unwrap();
    }
    symlink(path.join("docs"), path.join("link")).unwrap();
    let beside = vec![
        Workspace::open_beside(&path.join("notes"), RootAccess::Change).unwrap(),
        Workspace::open_beside(&path.join("link"), RootAccess::Read).unwrap(),
    ];
    let roots = WorkspaceRoots::new(Workspace::open(&path.join("workspace")).unwrap(), beside);
    (directory, roots)
}

/// Does something in the directory of a path. Returns the result as text, without the temporary
/// path.
fn done<T: std::fmt::Debug>(
    (directory, roots): &(TempDir, WorkspaceRoots),
    given: &str,
    work: impl Fn(&Workspace, &WorkspacePath) -> Result<T, FileError>,
) -> Result<T, String> {
    let here = directory.path().canonicalize().unwrap().display().to_string();
    let given = given.replace('$', &here);
    let one = roots.root_of(&given);
    let done = one.and_then(|one| work(one, &one.resolve_path(&given)?));
    done.map_err(|error| error.to_string().replace(&here, "$"))
}

#[test]
fn roots_of_is_the_directory_that_a_path_leads_into() {
    let world = world();
    for (given, content) in [
        ("a.txt", "workspace"),
        ("$/workspace/a.txt", "workspace"),
        ("$/notes/a.txt", "notes"),
        ("$/notes/../notes/./a.txt", "notes"),
        ("$/notes/../workspace/a.txt", "workspace"),
        ("$/workspace/../notes/a.txt", "notes"),
        ("$/docs/a.txt", "docs"),
        ("$/link/a.txt", "docs"),
    ] {
        let read = done(&world, given, Workspace::read);
        assert_eq!(read, Ok(content.as_bytes().to_vec()), "{given}");
    }
}

#[test]
fn roots_error_for_a_path_outside_lists_the_directories() {
    let world = world();
    let error = |given: &str| done(&world, given, Workspace::read).unwrap_err();
    assert_eq!(
        &error("$/notebook/a.txt"),
        "\"$/notebook/a.txt\" resolves to $/notebook/a.txt, which is outside the workspace ($/workspace) and \
         the directories beside it ($/notes, $/docs: read only); give full relative paths from the workspace \
         root, such as src/main.rs, or absolute paths in those directories; did you mean a.txt?",
    );
    for given in ["../notes/a.txt", "/", "$", "$/notesx", "$/notes/..", "$/link/../../a.txt"] {
        assert!(error(given).contains("$/docs: read only"), "{given}");
    }
    let alone = WorkspaceRoots::from(world.1.workspace().clone());
    let error = alone.root_of("/etc/passwd").unwrap_err().to_string();
    assert!(!error.contains("beside"), "{error}");
}

#[test]
fn roots_show_paths_beside_the_workspace_as_absolute() {
    let world = world();
    let shown = |given: &str| done(&world, given, |_, path| Ok(path.to_string())).unwrap();
    assert_eq!(shown("a.txt"), "a.txt");
    for (given, path) in [
        ("$/notes", "notes"),
        ("$/notes/", "notes"),
        ("$/notes//x/../a.txt", "notes/a.txt"),
        ("$/link/a.txt", "docs/a.txt"),
    ] {
        let expected = world.0.path().canonicalize().unwrap().join(path);
        assert_eq!(shown(given), expected.display().to_string(), "{given}");
    }
    let joined =
        done(&world, "$/notes", |_, path| Ok(path.join_name("b").join_name("c").as_given()));
    assert!(joined.unwrap().ends_with("/notes/b/c"));
    let missing = done(&world, "$/notes/b.txt", Workspace::read).unwrap_err();
    assert_eq!(missing, "$/notes/b.txt does not exist; did you mean $/notes/a.txt?");
    fs::write(world.0.path().join("notes/.env"), "").unwrap();
    let secret = done(&world, "$/notes/.env", Workspace::read).unwrap_err();
    assert!(secret.starts_with("$/notes/.env is not opened"), "{secret}");
    assert!(secret.contains("secret_files = [\"$/notes/.env\"]"), "{secret}");
}

#[test]
fn roots_refuse_every_change_in_a_read_only_directory() {
    type WriteCall = fn(&Workspace, &WorkspacePath) -> Result<(), FileError>;
    let changes: [(&str, WriteCall); 7] = [
        ("write", |one, path| one.write(path, b"x")),
        ("write_any", |one, path| one.write_any(path, b"x")),
        ("write_as", |one, path| one.write_as(path, b"x", Trust::Full)),
        ("can_write", Workspace::can_write),
        ("can_change", Workspace::can_change),
        ("create_directory", |one, path| one.create_directory(path).map(drop)),
        ("remove", |one, path| one.remove_entry(path, RemoveMode::Recursive).map(drop)),
    ];
    let world = world();
    for (name, change) in changes {
        for given in ["$/docs/a.txt", "$/docs/new/b.txt", "$/link/a.txt"] {
            let error = done(&world, given, change).unwrap_err();
            let expected = "is read only, by [tools] read in the configuration. The operator can allow changes \
                by naming it in [tools] write instead";
            assert!(error.contains(&format!("$/docs {expected}")), "{name} {given}: {error}");
        }
        let fresh = ["$/notes/new", "new"];
        for given in fresh.into_iter().filter(|_| name != "remove") {
            done(&world, given, change).unwrap_or_else(|error| panic!("{name} {given}: {error}"));
            let path = given.replace("new", "").replace('$', &world.0.path().display().to_string());
            let place =
                if path.is_empty() { world.0.path().join("workspace") } else { path.into() };
            drop(fs::remove_file(place.join("new")));
            drop(fs::remove_dir(place.join("new")));
        }
    }
    assert_eq!(fs::read_dir(world.0.path().join("docs")).unwrap().count(), 1);
    let stays = done(&world, "$/notes", |one, path| one.remove_entry(path, RemoveMode::Recursive))
        .unwrap_err();
    assert_eq!(stays, "$/notes: a directory that the configuration names stays");
}

#[test]
fn roots_read_untrusted_content_beside_the_workspace() {
    let (directory, roots) = world();
    for (name, expected) in
        [("workspace", Trust::Full), ("notes", Trust::Low), ("docs", Trust::Low)]
    {
        let place = directory.path().canonicalize().unwrap().join(name);
        let given = |below: &str| place.join(below).display().to_string();
        if name != "docs" {
            let one = roots.root_of(&given("own.txt")).unwrap();
            one.write(&one.resolve_path(&given("own.txt")).unwrap(), b"x").unwrap();
        }
        type FileCheck = fn(&Workspace, &WorkspacePath);
        // Ordinary names lower no trust.
        let looks: [(&str, Trust, FileCheck); 3] = [
            ("a.txt", expected, |one, path| drop(one.read(path).unwrap())),
            ("", Trust::Full, |one, path| drop(one.list_entries(path).unwrap())),
            ("b.txt", Trust::Full, |one, path| drop(one.read(path).unwrap_err())),
        ];
        for (below, expected, look) in looks {
            let shown = LeastTrust::default();
            let roots = roots.on_behalf(Trust::Full, &shown);
            let one = roots.root_of(&given(below)).unwrap();
            look(one, &one.resolve_path(&given(below)).unwrap());
            assert_eq!(shown.get(), expected, "{name}/{below}");
        }
    }
}

#[test]
fn roots_mark_files_written_beside_the_workspace() {
    let (directory, roots) = world();
    if !roots.workspace().keeps_marks() {
        return skip_without(SystemPart::ExtendedAttributes);
    }
    for name in ["workspace", "notes"] {
        let place = directory.path().canonicalize().unwrap().join(name).join("new.txt");
        for (trust, mark) in
            [(Trust::Low, Some(&b"low"[..])), (Trust::User, Some(b"user")), (Trust::Full, None)]
        {
            let given = place.display().to_string();
            let roots = roots.on_behalf(trust, &LeastTrust::default());
            let one = roots.root_of(&given).unwrap();
            one.write(&one.resolve_path(&given).unwrap(), b"x").unwrap();
            let mut value = [0; 8];
            let read = rustix::fs::getxattr(&place, "user.avocet.trust", &mut value[..]);
            assert_eq!(read.ok().map(|length| &value[..length]), mark, "{name} {trust:?}");
        }
    }
}

#[test]
fn beside_does_not_write_to_a_read_only_directory() {
    use std::os::unix::fs::MetadataExt;
    let directory = TempDir::new().unwrap();
    let changed = || {
        let found = fs::metadata(directory.path()).unwrap();
        (found.ctime(), found.ctime_nsec())
    };
    let before = changed();
    // The clock of a file system ticks seldom, so wait for a tick.
    let other = TempDir::new().unwrap();
    while fs::metadata(other.path()).map(|it| (it.ctime(), it.ctime_nsec())).unwrap() <= before {
        fs::write(other.path().join("x"), "").unwrap();
        fs::remove_file(other.path().join("x")).unwrap();
    }
    Workspace::open_beside(directory.path(), RootAccess::Read).unwrap();
    assert_eq!(changed(), before);
}

#[test]
fn beside_names_a_directory_that_cannot_be_used() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    for name in ["none", "file"] {
        let path = directory.path().join(name);
        let error = Workspace::open_beside(&path, RootAccess::Change).unwrap_err().to_string();
        let expected =
            format!("the directory beside the workspace {} cannot be used", path.display());
        assert!(error.starts_with(&expected), "{error}");
    }
    assert!(!directory.path().join("none").exists(), "it is not made");
}

#[test]
fn place_is_equal_for_every_name_of_a_path() {
    let (directory, roots) = world();
    let here = directory.path().canonicalize().unwrap().display().to_string();
    for (given, place) in [
        ("a.txt", "$/workspace/a.txt"),
        ("./b/../a.txt", "$/workspace/a.txt"),
        ("$/workspace/a.txt", "$/workspace/a.txt"),
        ("", "$/workspace"),
        ("$/docs/a.txt", "$/docs/a.txt"),
        ("$/link/./a.txt", "$/docs/a.txt"),
        ("$/link", "$/docs"),
        ("$/elsewhere/../x", "$/elsewhere/../x"),
        ("../notes/a.txt", "../notes/a.txt"),
    ] {
        let [given, place] = [given, place].map(|path| path.replace('$', &here));
        assert_eq!(roots.canonical_name(&given), place);
    }
}
