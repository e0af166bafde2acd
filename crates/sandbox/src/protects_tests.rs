use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::RemoveMode;

const CONFIG: &str =
    "[core]\n\tbare = false\n\thooksPath = team/hooks\n[include]\n\tpath = ../shared\n";

fn workspace() -> (TempDir, Workspace) {
    let directory = TempDir::new().unwrap();
    for path in ["a/.git/objects", "a/.git/refs", "odd/objects", "odd/refs", "src/objects", "plain"]
    {
        fs::create_dir_all(directory.path().join(path)).unwrap();
    }
    fs::write(directory.path().join("a/.git/config"), CONFIG).unwrap();
    symlink("a/.git/hooks", directory.path().join("window")).unwrap();
    symlink("a/.git", directory.path().join("door")).unwrap();
    let workspace = Workspace::open(directory.path()).unwrap();
    (directory, workspace)
}

#[test]
fn is_protected_holds_for_names_and_for_existing_repositories() {
    let (_directory, workspace) = workspace();
    for (path, is_protected) in [
        ("a/.git/hooks/pre-commit", true),
        ("new/.git/config", true),
        (".envrc", true),
        ("a/.vscode/tasks.json", true),
        ("odd/config", true),
        ("odd/hooks", true),
        ("odd/hooks/update", true),
        ("odd/description", false),
        ("src/config", false),
        ("plain/hooks/update", false),
        ("a/team/hooks/pre-push", true),
        ("a/team/notes.md", false),
        ("a/shared", true),
        ("shared", false),
        ("a/src/main.rs", false),
        (".", false),
    ] {
        assert_eq!(
            workspace.is_protected(&workspace.resolve_path(path).unwrap()),
            is_protected,
            "{path}"
        );
    }
    let none = workspace.with_protection(Arc::new(PathProtection::without_patterns()));
    assert!(!none.is_protected(&none.resolve_path(".envrc").unwrap()));
}

#[test]
fn write_refuses_a_link_to_a_protected_path() {
    let (directory, workspace) = workspace();
    fs::create_dir(directory.path().join("a/.git/hooks")).unwrap();
    for path in ["window/pre-commit", "door/config", "door/hooks/x/y"] {
        let path = workspace.resolve_path(path).unwrap();
        for done in [
            workspace.write(&path, b"x"),
            workspace.can_write(&path),
            workspace.create_directory(&path).map(drop),
        ] {
            let error = done.unwrap_err();
            assert!(matches!(&error, FileError::Protected { .. }), "{error:?}");
            assert!(error.to_string().contains("a/.git/"), "{error}");
        }
    }
    let removed =
        workspace.remove_entry(&workspace.resolve_path("door/config").unwrap(), RemoveMode::Single);
    assert!(matches!(removed, Err(FileError::Protected { .. })), "{removed:?}");
    assert_eq!(fs::read_to_string(directory.path().join("a/.git/config")).unwrap(), CONFIG);
    // Under its own name the file can be changed, after a person has allowed that.
    workspace.write(&workspace.resolve_path("a/.git/hooks/pre-commit").unwrap(), b"x").unwrap();
}

#[test]
fn protected_below_finds_protected_paths_in_a_directory() {
    let (_directory, workspace) = workspace();
    for (path, expected) in
        [("", true), ("a", true), ("odd", false), ("src", false), ("plain", false)]
    {
        let below = workspace.protected_below(&workspace.resolve_path(path).unwrap()).unwrap();
        assert_eq!(below.is_some(), expected, "{path} {below:?}");
    }
}
