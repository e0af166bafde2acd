use std::fs;
use std::os::unix::fs::symlink;

use avocet_protocol::access::LeastTrust;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tempfile::TempDir;

use super::*;

const CONFIG: &str = "[core]\n\tbare = false\n[filter \"lfs\"]\n\tclean = x\n";

struct World {
    workspace: Workspace,
    _directory: TempDir,
}

impl World {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        Self { workspace: Workspace::open(directory.path()).unwrap(), _directory: directory }
    }

    fn repository(&self, git_dir: &str, trust: Trust) {
        for name in ["objects", "refs"] {
            fs::create_dir_all(self.workspace.root().join(git_dir).join(name)).unwrap();
        }
        self.put(&format!("{git_dir}/HEAD"), "ref: refs/heads/main\n", Trust::Full);
        self.put(&format!("{git_dir}/config"), CONFIG, trust);
    }

    fn put(&self, path: &str, text: &str, trust: Trust) {
        let used = self.workspace.on_behalf(trust, LeastTrust::default());
        used.write(&used.resolve_path(path).unwrap(), text.as_bytes()).unwrap();
    }

    fn look(&self, path: &str) -> GitRepository {
        self.workspace.find_repository(&self.workspace.resolve_path(path).unwrap()).unwrap()
    }

    fn untrusted(&self, path: &str) -> Option<String> {
        self.look(path).untrusted
    }
}

#[test]
fn repository_is_the_nearest_one_with_its_directories_and_filters() {
    let world = World::new();
    world.repository("a/.git", Trust::Full);
    world.repository("a/.git/modules/part", Trust::Full);
    world.put("a/part/.git", "gitdir: ../.git/modules/part\n", Trust::Full);
    world.put("a/.git/worktrees/side/HEAD", "x", Trust::Full);
    world.put("a/.git/worktrees/side/commondir", "../..\n", Trust::Full);
    world.put("side/.git", "gitdir: ../a/.git/worktrees/side\n", Trust::Full);
    world.repository("bare", Trust::Full);
    fs::create_dir_all(world.workspace.root().join("a/src/deep")).unwrap();
    let at = |path: &str| world.workspace.root().join(path);
    for (path, worktree, git_dirs) in [
        ("a", Some("a"), &["a/.git"][..]),
        ("a/src/deep", Some("a"), &["a/.git"]),
        ("a/part", Some("a/part"), &["a/.git/modules/part"]),
        ("side", Some("side"), &["a/.git/worktrees/side", "a/.git"]),
        ("bare", None, &["bare"]),
    ] {
        let found = world.look(path);
        let git_dirs = git_dirs.iter().map(|path| at(path)).collect();
        assert_eq!(found.place, Some(GitPlace { worktree: worktree.map(at), git_dirs }), "{path}");
        assert_eq!((found.untrusted, found.filters), (None, vec!["lfs".to_owned()]), "{path}");
    }
    assert_eq!(world.look("").place, None);
}

#[test]
fn repository_is_untrusted_if_any_file_that_git_obeys_is() {
    type Make = fn(&World);
    let table: [(&str, &str, Make); 9] = [
        ("a", "a/.git/config", |world| world.put("a/.git/config", CONFIG, Trust::Low)),
        ("a/src", "a/.git/config", |world| world.put("a/.git/config", CONFIG, Trust::User)),
        ("a", "a/.git/config.worktree", |world| {
            world.put("a/.git/config.worktree", CONFIG, Trust::Low);
        }),
        ("a", "a/shared", |world| {
            world.put("a/.git/config", "[include]\n\tpath = ../shared\n", Trust::Full);
            world.put("a/shared", CONFIG, Trust::Low);
        }),
        ("a", "a/.git/commondir", |world| world.put("a/.git/commondir", "../../evil", Trust::Low)),
        ("a", "a/.git/config", |world| world.put("a/.git/config", "[core", Trust::Full)),
        ("b", "b/.git", |world| world.put("b/.git", "gitdir: ../a/.git", Trust::Low)),
        ("b", "b/.git", |world| world.put("b/.git", "gitdir: /elsewhere", Trust::Full)),
        ("c", "c/.git", |world| {
            fs::create_dir(world.workspace.root().join("c")).unwrap();
            symlink("/", world.workspace.root().join("c/.git")).unwrap();
        }),
    ];
    for (path, expected, make) in table {
        let world = World::new();
        world.repository("a/.git", Trust::Full);
        fs::create_dir(world.workspace.root().join("a/src")).unwrap();
        make(&world);
        assert_eq!(world.untrusted(path).as_deref(), Some(expected), "{path}");
    }
    let world = World::new();
    world.repository("inbox/a/.git", Trust::Full);
    assert_eq!(world.untrusted("inbox/a").as_deref(), Some("inbox/a/.git/config"));
    // One bare repository in another repository, and one repository around another.
    world.repository("b/.git", Trust::Full);
    world.repository("b/odd", Trust::Low);
    assert_eq!(world.untrusted("b/odd").as_deref(), Some("b/odd/config"));
    world.repository("c/.git", Trust::Low);
    world.repository("c/d/.git", Trust::Full);
    assert_eq!(world.untrusted("c/d").as_deref(), Some("c/.git/config"));
}

#[test]
fn repository_names_an_untrusted_one_below() {
    let world = World::new();
    world.repository("a/.git", Trust::Full);
    world.repository("b/.git", Trust::Low);
    assert_eq!(world.look("a").untrusted_below, None);
    world.repository("a/deep/er/.git", Trust::Full);
    assert_eq!(world.look("a").untrusted_below, None);
    world.repository("a/deep/.git", Trust::Low);
    let found = world.look("a");
    assert_eq!(found.untrusted_below.as_deref(), Some("a/deep/.git/config"));
    assert_eq!(found.untrusted, None);
}

#[test]
fn repository_is_untrusted_while_an_untrusted_program_may_write_it() {
    let world = World::new();
    world.repository("a/.git", Trust::Full);
    let low = world.workspace.on_behalf(Trust::Low, LeastTrust::default());
    let watch = low.watch_program();
    assert_eq!(world.untrusted("a"), None);
    fs::write(world.workspace.root().join("a/.git/config"), CONFIG).unwrap();
    assert_eq!(world.untrusted("a").as_deref(), Some("a/.git/config"));
    assert_eq!(watch.settle_trust(), Trust::Low);
    assert_eq!(world.untrusted("a").as_deref(), Some("a/.git/config"));
}

#[test]
fn git_text_reads_regular_files_and_no_secret_through_a_link() {
    let world = World::new();
    world.repository("a/.git", Trust::Full);
    let root = world.workspace.root();
    fs::create_dir_all(root.join(".ssh")).unwrap();
    fs::write(root.join(".ssh/config"), CONFIG).unwrap();
    symlink(".ssh", root.join("keys")).unwrap();
    symlink("../../.ssh/config", root.join("a/.git/config.worktree")).unwrap();
    symlink("config", root.join("a/.git/second")).unwrap();
    fs::write(root.join("long"), vec![b'\n'; usize::try_from(MOST_CONFIG).unwrap() + 1]).unwrap();
    mkfifo(&root.join("pipe"), Mode::S_IRWXU).unwrap();
    for (path, expected) in [
        ("a/.git/config", Some(CONFIG)),
        ("a/.git/second", Some(CONFIG)),
        (".ssh/config", None),
        ("keys/config", None),
        ("a/.git/config.worktree", None),
        ("long", None),
        ("pipe", None),
        ("a/.git", None),
        ("missing", None),
    ] {
        assert_eq!(world.workspace.git_text(Path::new(path)).as_deref(), expected, "{path}");
    }
    assert_eq!(world.untrusted("a").as_deref(), Some("a/.git/config.worktree"));
}
