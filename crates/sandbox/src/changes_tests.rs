use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

struct World {
    workspace: Workspace,
    outside: TempDir,
    _inside: TempDir,
}

/// A workspace with `src/lib.rs` and secrets, and a directory outside with a file.
fn world() -> World {
    let (inside, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for path in ["src/lib.rs", ".env", "deep/a/b/id_rsa", "home/.ssh/config"] {
        let path = inside.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    fs::write(outside.path().join("file"), "outside").unwrap();
    World { workspace: Workspace::open(inside.path()).unwrap(), outside, _inside: inside }
}

impl World {
    fn path(&self, path: &str) -> WorkspacePath {
        self.workspace.resolve_path(path).unwrap()
    }

    fn remove(&self, path: &str, mode: RemoveMode) -> Result<RemovedKind, String> {
        let removed = self.workspace.remove_entry(&self.path(path), mode);
        removed.map_err(|error| error.to_string())
    }

    fn is_there(&self, path: &str) -> bool {
        self.workspace.root().join(path).symlink_metadata().is_ok()
    }
}

#[test]
fn create_directory_makes_the_parents() {
    let world = world();
    let make = |path: &str| {
        let made = world.workspace.create_directory(&world.path(path));
        made.map_err(|error| error.to_string())
    };
    assert_eq!(make("a/b/c"), Ok(true));
    assert_eq!(make("a/b"), Ok(false));
    assert_eq!(make("."), Ok(false));
    assert_eq!(make("src/lib.rs"), Err("src/lib.rs is not a directory".to_owned()));
    assert!(make("src/lib.rs/x").is_err());
    symlink(world.outside.path(), world.workspace.root().join("door")).unwrap();
    assert!(make("door/x").is_err());
    assert_eq!(fs::read_dir(world.outside.path()).unwrap().count(), 1);
}

#[test]
fn remove_stays_in_the_workspace_and_needs_recursive_for_contents() {
    let world = world();
    let root = world.workspace.root();
    symlink(world.outside.path(), root.join("door")).unwrap();
    symlink("src", root.join("same")).unwrap();
    symlink("../../src", root.join("home/link")).unwrap();
    fs::create_dir_all(root.join("tree/empty")).unwrap();
    symlink(world.outside.path(), root.join("tree/out")).unwrap();
    let full = "tree is a directory with 2 entries in it; to remove it with all of them, set \
                recursive to true";
    assert_eq!(world.remove("tree", RemoveMode::Single), Err(full.to_owned()));
    assert_eq!(world.remove("tree/empty", RemoveMode::Single), Ok(RemovedKind::Directory(0)));
    assert_eq!(world.remove("tree", RemoveMode::Recursive), Ok(RemovedKind::Directory(1)));
    assert!(world.remove("door/file", RemoveMode::Single).unwrap_err().starts_with("door/file: "));
    assert_eq!(world.remove("door", RemoveMode::Recursive), Ok(RemovedKind::Link));
    assert_eq!(world.remove("same", RemoveMode::Recursive), Ok(RemovedKind::Link));
    assert_eq!(fs::read_to_string(world.outside.path().join("file")).unwrap(), "outside");
    assert_eq!(world.remove("src/lib.rs", RemoveMode::Single), Ok(RemovedKind::File));
    assert_eq!(
        world.remove("src/lib.rs", RemoveMode::Single),
        Err("src/lib.rs does not exist".to_owned())
    );
    for path in [".", "", "src/.."] {
        assert!(
            world.remove(path, RemoveMode::Recursive).unwrap_err().ends_with("workspace stays"),
            "{path}"
        );
    }
    assert!(world.is_there("src"));
}

#[test]
fn secrets_are_not_read_written_or_removed_through_links() {
    let world = world();
    let root = world.workspace.root();
    symlink("../.env", root.join("src/notes")).unwrap();
    symlink("home/.ssh", root.join("keys")).unwrap();
    let table = [".env", "src/notes", "keys/config", "deep/a/b/id_rsa", "src/new.pem"];
    for given in table {
        let path = world.path(given);
        let workspace = &world.workspace;
        let errors = [
            workspace.read(&path).map(|_| ()).unwrap_err(),
            workspace.read_if_any(&path).map(|_| ()).unwrap_err(),
            workspace.start_of(&path, 1).map(|_| ()).unwrap_err(),
            workspace.file_size(&path).map(|_| ()).unwrap_err(),
            workspace.write(&path, b"x").unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, FileError::Secret { .. }), "{given}: {error}");
        }
    }
    assert_eq!(
        world.remove(".env", RemoveMode::Single).unwrap_err(),
        ".env is not opened: by its name it holds a password or a key. The operator can allow it \
         with [tools] secret_files = [\".env\"] in the configuration"
    );
    let below = world.remove("deep", RemoveMode::Recursive).unwrap_err();
    assert!(below.starts_with("deep/a/b/id_rsa is not opened"), "{below}");
    assert!(world.is_there("deep/a/b/id_rsa"));
    // The target of the link is the secret, not the link.
    assert_eq!(world.remove("src/notes", RemoveMode::Single), Ok(RemovedKind::Link));
    assert!(world.is_there(".env"));
    let listed = world.workspace.list_entries(&world.path(".")).unwrap();
    assert_eq!(listed[0], DirectoryEntry { name: ".env".to_owned(), kind: EntryKind::Secret });
    let listed = world.workspace.list_entries(&world.path("keys")).unwrap();
    assert_eq!(listed[0], DirectoryEntry { name: "config".to_owned(), kind: EntryKind::Secret });
}

#[test]
fn secrets_opened_by_the_operator_exclude_the_daemons_files() {
    let World { workspace, _inside: inside, .. } = world();
    let own = [workspace.root().join("src"), "/elsewhere".into(), workspace.root().to_owned()];
    let open =
        Workspace::open(inside.path()).unwrap().with_secret_rules(&[".env".to_owned()], &own);
    let open = open.unwrap();
    let read = |path: &str| open.read(&open.resolve_path(path).unwrap()).map_err(|e| e.to_string());
    assert_eq!(read(".env"), Ok(b"x".to_vec()));
    assert!(read("src/lib.rs").unwrap_err().contains("it is the daemon's own"));
    assert!(read("deep/a/b/id_rsa").is_err());
    assert!(open.remove_entry(&open.resolve_path("src").unwrap(), RemoveMode::Recursive).is_err());
}

#[test]
fn remove_refuses_a_directory_that_contains_the_daemons_files() {
    let World { workspace, outside, _inside: inside } = world();
    let root = workspace.root();
    fs::create_dir_all(root.join("etc/avocet")).unwrap();
    fs::create_dir_all(root.join("var/state/empty")).unwrap();
    symlink(outside.path(), root.join("etc/avocet/all")).unwrap();
    symlink(root.join("etc/avocet/all/file"), root.join("etc/config.toml")).unwrap();
    symlink(root, outside.path().join("back")).unwrap();
    for (own, removed) in [
        ("etc/config.toml", "etc"),
        ("etc/config.toml", "etc/avocet"),
        ("etc/avocet/all/new", "etc"),
        ("var/state", "var"),
        ("var/state/empty", "var"),
    ] {
        for own in [root.join(own), outside.path().join("back").join(own)] {
            let guarded =
                Workspace::open(inside.path()).unwrap().with_secret_rules(&[], &[own]).unwrap();
            let refused = guarded
                .remove_entry(&guarded.resolve_path(removed).unwrap(), RemoveMode::Recursive)
                .unwrap_err();
            assert!(refused.to_string().contains("it is the daemon's own"), "{refused}");
        }
        assert!(root.join(own).parent().unwrap().exists() && root.join(removed).exists(), "{own}");
    }
    let kind = workspace.kind(&workspace.resolve_path("etc/config.toml").unwrap());
    assert_eq!(kind, Ok(Some(EntryKind::Link)));
    // A directory without that link may be removed.
    let own = root.join("etc/config.toml");
    let guarded = Workspace::open(inside.path()).unwrap().with_secret_rules(&[], &[own]).unwrap();
    assert_eq!(
        guarded.remove_entry(&guarded.resolve_path("var").unwrap(), RemoveMode::Recursive),
        Ok(RemovedKind::Directory(2))
    );
}

#[test]
fn below_root_compares_whole_names() {
    for (path, root, expected) in [
        ("/work/space/a", "/work/space", Some("a")),
        ("/work/space", "/work/space", Some("")),
        ("/work/space2", "/work/space", None),
        ("/work", "/work/space", None),
        ("/a/b", "/", Some("a/b")),
    ] {
        let below = below_root(Path::new(path), Path::new(root));
        assert_eq!(below, expected.map(Path::new), "{path} {root}");
    }
}
