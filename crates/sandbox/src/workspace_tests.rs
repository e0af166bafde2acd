use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use tempfile::TempDir;

use super::*;
use crate::{DirectoryEntry, EntryKind};

struct World {
    workspace: Workspace,
    outside: TempDir,
    _inside: TempDir,
}

/// A workspace with `src/lib.rs`, and a directory outside with `secret`.
fn world() -> World {
    let (inside, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::create_dir(inside.path().join("src")).unwrap();
    fs::write(inside.path().join("src/lib.rs"), "fn main() {}").unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    World { workspace: Workspace::open(inside.path()).unwrap(), outside, _inside: inside }
}

impl World {
    fn read(&self, path: &str) -> Result<String, FileError> {
        let bytes = self.workspace.read(&self.workspace.resolve_path(path)?)?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    fn write(&self, path: &str, text: &str) -> Result<(), FileError> {
        self.workspace.write(&self.workspace.resolve_path(path)?, text.as_bytes())
    }

    fn list(&self, path: &str) -> Result<Vec<DirectoryEntry>, FileError> {
        self.workspace.list_entries(&self.workspace.resolve_path(path)?)
    }

    fn real(&self, path: &str) -> PathBuf {
        self.workspace.root().join(path)
    }
}

#[test]
fn workspace_reads_writes_and_lists_files_below_the_root() {
    let world = world();
    assert_eq!(world.read("src/lib.rs"), Ok("fn main() {}".to_owned()));
    world.write("new/deep/file.txt", "hello").unwrap();
    world.write("new/deep/file.txt", "hello again").unwrap();
    let absolute = world.real("new/deep/file.txt");
    assert_eq!(world.read(absolute.to_str().unwrap()), Ok("hello again".to_owned()));
    let entry = |name: &str, kind| DirectoryEntry { name: name.to_owned(), kind };
    let expected = [entry("new", EntryKind::Directory), entry("src", EntryKind::Directory)];
    assert_eq!(world.list(".").unwrap(), expected);
    assert_eq!(world.list("new/deep").unwrap(), [entry("file.txt", EntryKind::File(11))]);
}

#[test]
fn workspace_refuses_links_that_lead_outside() {
    let world = world();
    let outside = world.outside.path();
    symlink(outside, world.real("door")).unwrap();
    symlink(outside.join("secret"), world.real("window")).unwrap();
    symlink("../../../../../../etc/passwd", world.real("relative")).unwrap();
    for path in ["door/secret", "window", "relative"] {
        assert!(matches!(world.read(path), Err(FileError::Refused { .. })), "{path}");
    }
    assert!(world.list("door").is_err());
    assert!(world.write("door/new", "x").is_err());
    assert!(world.write("door/sub/new", "x").is_err());
    assert!(matches!(world.write("window", "x"), Err(FileError::WrongKind { .. })));
    assert_eq!(fs::read(outside.join("secret")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(outside).unwrap().count(), 1);
}

#[test]
fn workspace_follows_a_link_inside() {
    let world = world();
    symlink("src/lib.rs", world.real("inside")).unwrap();
    assert_eq!(world.read("inside"), Ok("fn main() {}".to_owned()));
}

#[test]
fn workspace_reads_and_writes_regular_files_only() {
    let world = world();
    assert!(Command::new("mkfifo").arg(world.real("pipe")).status().unwrap().success());
    let not_regular = |path: &str| {
        Err(FileError::WrongKind { path: path.to_owned(), expected: "a regular file" })
    };
    assert_eq!(world.read("pipe"), not_regular("pipe"));
    assert_eq!(world.read("src"), not_regular("src"));
    assert_eq!(world.write("src", "x"), not_regular("src").map(|_| ()));
    assert_eq!(world.write("pipe", "x"), not_regular("pipe").map(|_| ()));
    assert_eq!(world.write(".", "x"), not_regular(".").map(|_| ()));
    let error = world.list("src/lib.rs").unwrap_err();
    assert_eq!(error.to_string(), "src/lib.rs is not a directory");
}

#[test]
fn read_of_a_missing_file_suggests_similar_paths() {
    let world = world();
    for path in ["crates/a/src/lib.rs", "crates/b/src/lib.rs", "docs/guide.md", ".git/lib.rs"] {
        world.write(path, "x").unwrap();
    }
    let error = world.read("lib.rs").unwrap_err().to_string();
    assert_eq!(
        error,
        "lib.rs does not exist; did you mean one of these? Give its full path: src/lib.rs, \
         crates/a/src/lib.rs, crates/b/src/lib.rs"
    );
    let error = world.read("doc/giude.md").unwrap_err().to_string();
    assert_eq!(error, "doc/giude.md does not exist; did you mean docs/guide.md?");
    let error = world.read("zzz").unwrap_err().to_string();
    assert_eq!(error, "zzz does not exist");
    let error = world.list("doc").unwrap_err().to_string();
    assert_eq!(error, "doc does not exist; did you mean docs?");
}

#[test]
fn read_of_a_path_outside_suggests_a_file_of_that_name_inside() {
    let world = world();
    for path in ["/home/user/project/src/lib.rs", "/lib.rs", "../lib.rs"] {
        let error = world.read(path).unwrap_err().to_string();
        assert!(error.contains("outside the workspace"), "{error}");
        assert!(error.ends_with("such as src/main.rs; did you mean src/lib.rs?"), "{error}");
    }
    let error = world.read("/etc/passwd").unwrap_err().to_string();
    assert!(error.ends_with("such as src/main.rs"), "{error}");
}

#[test]
fn resolve_accepts_both_names_of_a_workspace_behind_a_link() {
    let world = world();
    let link = world.outside.path().join("link");
    symlink(world.workspace.root(), &link).unwrap();
    let workspace = Workspace::open(&link).unwrap();
    for root in [link.as_path(), world.workspace.root()] {
        let given = root.join("src/lib.rs");
        let path = workspace.resolve_path(given.to_str().unwrap()).unwrap();
        assert_eq!(path.to_string(), "src/lib.rs");
    }
}

#[test]
fn read_error_shows_the_resolved_and_the_given_path() {
    let world = world();
    fs::write(world.real("large"), vec![0; MAX_FILE_BYTES as usize + 1]).unwrap();
    for (given, error) in [
        ("./src", "src (given as \"./src\") is not a regular file"),
        ("src//zzz", "src/zzz (given as \"src//zzz\") does not exist"),
        ("./large", "large (given as \"./large\") is 10485761 bytes long"),
    ] {
        let found = world.read(given).unwrap_err().to_string();
        assert!(found.starts_with(error), "{found}");
    }
}

#[test]
fn write_keeps_permissions_and_removes_stale_temporary_files() {
    let world = world();
    world.write("run.sh", "1").unwrap();
    fs::set_permissions(world.real("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(world.real(".run.sh.1-7.avocet-tmp"), "half").unwrap();
    fs::write(world.real(".other.1-7.avocet-tmp"), "half").unwrap();
    fs::write(world.real(".run.sh.bak.1-7.avocet-tmp"), "of another file").unwrap();
    world.write("run.sh", "2").unwrap();
    let mode = fs::metadata(world.real("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert!(!world.real(".run.sh.1-7.avocet-tmp").exists());
    assert!(world.real(".other.1-7.avocet-tmp").exists());
    assert!(world.real(".run.sh.bak.1-7.avocet-tmp").exists());
    assert_eq!(world.list(".").unwrap().len(), 4);
}

#[test]
fn write_clears_setuid_and_never_widens_permissions() {
    let world = world();
    for (mode, after) in [(0o4755, 0o755), (0o2775, 0o775), (0o600, 0o600), (0o640, 0o640)] {
        world.write("file", "1").unwrap();
        fs::set_permissions(world.real("file"), fs::Permissions::from_mode(mode)).unwrap();
        world.write("file", "2").unwrap();
        let found = fs::metadata(world.real("file")).unwrap().permissions().mode();
        assert_eq!(found & 0o7777, after, "{mode:o}");
    }
}

#[test]
fn read_refuses_a_hard_linked_file_unless_the_operator_opens_it() {
    let world = world();
    fs::create_dir(world.real("store")).unwrap();
    fs::write(world.real("store/file"), "text").unwrap();
    fs::hard_link(world.real("store/file"), world.real("copy")).unwrap();
    let error = world.read("./copy").unwrap_err().to_string();
    assert_eq!(
        error,
        "copy (given as \"./copy\") is not opened: it has 2 names (hard links), and the others may \
         be outside the workspace. Use a copy of it; the operator can allow paths like this one with \
         [tools] secret_files"
    );
    assert_eq!(world.list("store").unwrap()[0].kind, EntryKind::Secret);
    let opened = Workspace::open(world.workspace.root()).unwrap();
    let opened = opened.with_secret_rules(&["store/*".to_owned()], &[]).unwrap();
    let read = |path: &str| opened.read(&opened.resolve_path(path).unwrap());
    assert_eq!(read("store/file"), Ok(b"text".to_vec()));
    assert!(matches!(read("copy"), Err(FileError::Shared { .. })));
    // The name gets a new file; the shared one stays.
    world.write("copy", "new").unwrap();
    assert_eq!(fs::read_to_string(world.real("store/file")).unwrap(), "text");
}

#[test]
fn workspace_refuses_to_read_or_write_a_large_file() {
    let world = world();
    let file = fs::File::create(world.real("large")).unwrap();
    file.set_len(MAX_FILE_BYTES + 1).unwrap();
    let limit = MAX_FILE_BYTES;
    let refused = FileError::TooLarge { path: "large".to_owned(), bytes: limit + 1, limit };
    assert_eq!(world.read("large"), Err(refused));
    let text = "x".repeat(usize::try_from(MAX_FILE_BYTES).unwrap() + 1);
    assert!(matches!(world.write("other", &text), Err(FileError::TooLarge { .. })));
}

#[test]
fn open_names_a_workspace_that_cannot_be_used() {
    let world = world();
    let file = world.real("src/lib.rs");
    let error = Workspace::open(&file).unwrap_err().to_string();
    assert!(error.starts_with(&format!("the workspace {} cannot be used (", file.display())));
}

#[test]
fn digest_is_sha_256() {
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(digest_bytes(b""), empty);
}

#[test]
fn size_of_a_file_needs_no_read() {
    let world = world();
    fs::write(world.real("five"), "12345").unwrap();
    symlink("/etc/passwd", world.real("way-out")).unwrap();
    let size = |path: &str| world.workspace.file_size(&world.workspace.resolve_path(path).unwrap());
    assert_eq!(size("five"), Ok(5));
    assert!(matches!(size("src"), Err(FileError::WrongKind { .. })));
    assert!(matches!(size("six"), Err(FileError::NotFound { .. })));
    assert!(matches!(size("way-out"), Err(FileError::Refused { .. })));
}

#[test]
fn resolve_refuses_a_workspace_that_was_replaced() {
    type RootChange = fn(&Path, &Path);
    let remake: RootChange = |root, _| fs::create_dir(root).unwrap();
    let link_elsewhere: RootChange = |root, other| symlink(other, root).unwrap();
    let link_back: RootChange = |root, _| symlink(root.with_extension("old"), root).unwrap();
    let put_back: RootChange = |root, _| fs::rename(root.with_extension("old"), root).unwrap();
    for (change, refused) in [
        (remake, Some("another directory is there now")),
        (link_elsewhere, Some("another directory is there now")),
        (|_, _| (), Some("No such file or directory")),
        (link_back, None),
        (put_back, None),
    ] {
        let home = TempDir::new().unwrap();
        let root = home.path().canonicalize().unwrap().join("workspace");
        let workspace = Workspace::open(&root).unwrap();
        workspace.write(&workspace.resolve_path("a").unwrap(), b"x").unwrap();
        fs::rename(&root, root.with_extension("old")).unwrap();
        change(&root, home.path());
        let resolved = workspace.resolve_path("a").map(|path| workspace.read(&path));
        match refused {
            None => assert_eq!(resolved, Ok(Ok(b"x".to_vec()))),
            Some(now) => {
                let error = resolved.unwrap_err().to_string();
                let root = root.display().to_string();
                assert!(
                    [&root, now, "restart the daemon"].iter().all(|part| error.contains(*part)),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn is_missing_is_true_only_for_a_name_without_an_entry() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("here"), "").unwrap();
    symlink("nowhere", directory.path().join("link")).unwrap();
    let workspace = Workspace::open(directory.path()).unwrap();
    let table = [
        ("SOUL.md", true),
        ("here", false),
        ("link", false),
        ("..", false),
        ("skills/none", false),
        ("bad\0name", false),
    ];
    for (name, expected) in table {
        assert_eq!(workspace.is_missing(name), expected, "{name:?}");
    }
}
