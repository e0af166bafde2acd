use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use avocet_testkit::ManualClock;
use tempfile::TempDir;

use super::*;
use crate::{GitPlace, Isolation};

const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
const EVIL: &str = "[core]\n\tbare = false\n\tfsmonitor = touch /tmp/x\n[user]\n\tname = A\n";

/// A workspace with a repository in `mine`. Its configuration makes git run a filter.
struct World {
    directory: TempDir,
    sandbox: ProgramSandbox,
}

impl World {
    fn new(isolation: Isolation) -> Self {
        let directory = TempDir::new().unwrap();
        let sandbox = ProgramSandbox {
            writable: vec![directory.path().canonicalize().unwrap()],
            secrets_but: None,
            ..ProgramSandbox::new("/nowhere", isolation, Arc::new(ManualClock::default()))
        };
        let world = Self { directory, sandbox };
        world.repository("mine/.git");
        world.put(
            "mine/.git/config",
            &format!("{CONFIG}# own\n[filter \"lfs\"]\n\tclean = git-lfs\n"),
        );
        world.put("mine/.git/hooks/pre-commit", "own");
        world.put("mine/.vscode/settings.json", "own");
        world
    }

    fn repository(&self, path: &str) {
        for directory in ["objects", "refs", "hooks"] {
            fs::create_dir_all(self.at(path).join(directory)).unwrap();
        }
        self.put(&format!("{path}/HEAD"), "ref: refs/heads/main\n");
        self.put(&format!("{path}/config"), CONFIG);
        self.put(&format!("{path}/hooks/update.sample"), "sample");
    }

    fn at(&self, path: &str) -> PathBuf {
        self.sandbox.writable[0].join(path)
    }

    fn put(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn get(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap_or_else(|error| error.to_string())
    }

    /// Returns the texts about files set aside after `work`, with paths from the root.
    fn ran(&self, rights: &ProgramRights, work: impl FnOnce(&Self)) -> Vec<String> {
        let guard = self.sandbox.guard_protected_paths(rights);
        work(self);
        let guarded = guard.settle_changes();
        let root = format!("{}/", self.sandbox.writable[0].display());
        guarded.aside.iter().map(|aside| aside.replace(&root, "")).collect()
    }

    fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.at(path)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn settle_sets_aside_hooks_and_configuration_of_a_new_repository() {
    for isolation in [Isolation::Namespaces, Isolation::Landlock] {
        let world = World::new(isolation);
        let aside = world.ran(&ProgramRights::Ordinary, |world| {
            for git_dir in ["a/.git", "deep/er/bare", "a/.git/modules/part", "x/.GIT"] {
                world.repository(git_dir);
                world.put(&format!("{git_dir}/config"), EVIL);
                world.put(&format!("{git_dir}/hooks/post-checkout"), "evil");
            }
        });
        for git_dir in ["a/.git", "deep/er/bare", "a/.git/modules/part", "x/.GIT"] {
            let of = |what: &str| aside.iter().any(|aside| *aside == format!("{git_dir}/{what}"));
            assert!(
                of("config: removed: core.fsmonitor; original: config.avocet-quarantine"),
                "{aside:?}"
            );
            assert!(
                of("hooks/post-checkout: set aside as post-checkout.avocet-quarantine"),
                "{aside:?}"
            );
            let config = world.get(&format!("{git_dir}/config"));
            assert_eq!(config, "[core]\n\tbare = \"false\"\n[user]\n\tname = \"A\"\n");
            assert_eq!(world.get(&format!("{git_dir}/config.avocet-quarantine")), EVIL);
            let hooks = world.names(&format!("{git_dir}/hooks"));
            assert_eq!(hooks, ["post-checkout.avocet-quarantine", "update.sample"]);
        }
        assert_eq!(aside.len(), 8);
        assert!(world.get("mine/.git/config").contains("# own"), "what was there stays");
    }
}

#[test]
fn settle_leaves_a_new_repository_that_runs_nothing() {
    let world = World::new(Isolation::Namespaces);
    let quoted = format!("{CONFIG}[remote \"a\"]\n\turl = \"/srv/#1\"\n");
    let aside = world.ran(&ProgramRights::Ordinary, |world| {
        world.repository("a/.git");
        world.repository("b/.git");
        world.put("b/.git/config", &quoted);
    });
    assert_eq!(aside, [""; 0]);
    assert_eq!(world.get("a/.git/config"), CONFIG);
    // It is rewritten, so that every reader reads it alike.
    assert!(world.get("b/.git/config").ends_with("[remote \"a\"]\n\turl = \"/srv/#1\"\n"));
    assert_eq!(world.names("b/.git"), ["HEAD", "config", "hooks", "objects", "refs"]);
}

#[test]
fn settle_sets_aside_an_unreadable_configuration_and_a_link() {
    let world = World::new(Isolation::Namespaces);
    let aside = world.ran(&ProgramRights::Ordinary, |world| {
        for (name, text) in [("a", "[core"), ("b", "[x \"]\n[core] fsmonitor = y \"]\n")] {
            world.repository(&format!("{name}/.git"));
            world.put(&format!("{name}/.git/config"), text);
        }
        for name in ["c", "d"] {
            world.repository(&format!("{name}/.git"));
        }
        world.put("evil", EVIL);
        fs::remove_file(world.at("c/.git/config")).unwrap();
        symlink("../../evil", world.at("c/.git/config")).unwrap();
        fs::remove_dir_all(world.at("d/.git/hooks")).unwrap();
        symlink("../../evil", world.at("d/.git/hooks")).unwrap();
    });
    let names: Vec<_> = aside.iter().map(|aside| aside.split(':').next().unwrap()).collect();
    assert_eq!(names, ["a/.git/config", "b/.git/config", "c/.git/config", "d/.git/hooks"]);
    for name in ["a", "b", "c"] {
        assert!(!world.get(&format!("{name}/.git/config")).contains("fsmonitor"));
    }
    assert!(!world.at("d/.git/hooks").exists());
}

#[test]
fn settle_without_namespaces_removes_additions_and_keeps_the_rest() {
    let world = World::new(Isolation::Landlock);
    let aside = world.ran(&ProgramRights::Ordinary, |world| {
        world.put(
            "mine/.git/config",
            "[filter \"lfs\"]\n\tclean = git-lfs\n\tsmudge = evil\n[core]\n\tbare = true\n",
        );
        world.put("mine/.git/hooks/pre-commit", "evil");
        world.put("mine/.vscode/settings.json", "evil");
        world.put("mine/.vscode/tasks.json", "evil");
        world.put(".envrc", "evil");
    });
    assert_eq!(
        aside,
        [
            ".envrc: set aside as .envrc.avocet-quarantine",
            "mine/.git/config: removed: filter.lfs.smudge; original: config.avocet-quarantine",
            "mine/.git/hooks/pre-commit: set aside as pre-commit.avocet-quarantine",
            "mine/.vscode/settings.json: set aside as settings.json.avocet-quarantine",
            "mine/.vscode/tasks.json: set aside as tasks.json.avocet-quarantine",
        ]
    );
    let config = world.get("mine/.git/config");
    assert_eq!(config, "[filter \"lfs\"]\n\tclean = \"git-lfs\"\n[core]\n\tbare = \"true\"\n");
}

#[test]
fn settle_with_namespaces_leaves_the_changes_of_others() {
    let world = World::new(Isolation::Namespaces);
    let aside = world.ran(&ProgramRights::Ordinary, |world| {
        world.put("mine/.git/hooks/pre-push", "a person's");
        world.put("mine/.vscode/tasks.json", "a person's");
        // A change of the configuration may be the program's: git replaces the file, which ends its
        // protection.
        world.put("mine/.git/config", EVIL);
        world.put("mine/.idea/new.xml", "a program's");
    });
    assert_eq!(
        aside,
        [
            "mine/.git/config: removed: core.fsmonitor; original: config.avocet-quarantine",
            "mine/.idea/new.xml: set aside as new.xml.avocet-quarantine",
        ]
    );
    assert_eq!(world.get("mine/.git/hooks/pre-push"), "a person's");
}

#[test]
fn settle_of_git_keeps_checked_out_files_and_no_hooks() {
    let world = World::new(Isolation::Namespaces);
    let rights = ProgramRights::Git(vec![GitPlace { worktree: None, git_dirs: Vec::new() }]);
    let other = world.sandbox.guard_protected_paths(&ProgramRights::Ordinary);
    let aside = world.ran(&rights, |world| {
        world.repository("clone/.git");
        world.put("clone/.git/hooks/post-checkout", "evil");
        world.put("clone/.vscode/settings.json", "of the clone");
        world.put("mine/.envrc", "of a branch");
        let branch = "[branch \"a\"]\n\tremote = origin\n[filter \"lfs\"]\n\tclean = git-lfs\n";
        world.put("mine/.git/config", &format!("{CONFIG}{branch}"));
    });
    let hook = "clone/.git/hooks/post-checkout: set aside as post-checkout.avocet-quarantine";
    assert_eq!(aside, [hook]);
    assert_eq!(world.get("clone/.vscode/settings.json"), "of the clone");
    // Another program, which ran at the same time, is not blamed.
    assert_eq!(other.settle_changes().aside, [""; 0]);
    assert_eq!(world.get("mine/.envrc"), "of a branch");
}

#[test]
fn settle_reports_changed_configurations_that_run_nothing_new() {
    let world = World::new(Isolation::Namespaces);
    let guard = world.sandbox.guard_protected_paths(&ProgramRights::Ordinary);
    world.put("mine/.git/config", &format!("{CONFIG}[branch \"a\"]\n\tremote = origin\n"));
    world.repository("new/.git");
    assert_eq!(guard.settle_changes().kept, [world.at("mine/.git/config")]);
}

#[test]
fn settle_leaves_an_approved_file_until_it_changes_again() {
    for is_changed_again in [false, true] {
        let world = World::new(Isolation::Namespaces);
        let aside = world.ran(&ProgramRights::Ordinary, |world| {
            world.put(".envrc", "approved");
            world.sandbox.protection.approve_change(&world.at(".envrc"));
            if is_changed_again {
                fs::remove_file(world.at(".envrc")).unwrap();
                world.put(".envrc", "evil");
            }
        });
        assert_eq!(aside.len(), usize::from(is_changed_again), "{aside:?}");
    }
}

#[test]
fn settle_checks_the_hooks_directory_that_a_configuration_names() {
    for is_absolute in [false, true] {
        let world = World::new(Isolation::Namespaces);
        let named = if is_absolute { world.at("mine/team") } else { "team".into() };
        let config = format!("{CONFIG}\thooksPath = {}\n", named.display());
        world.put("mine/.git/config", &config);
        let aside =
            world.ran(&ProgramRights::Ordinary, |world| world.put("mine/team/pre-commit", "evil"));
        let expected = "mine/team/pre-commit: set aside as pre-commit.avocet-quarantine";
        assert_eq!(aside, [expected], "{}", named.display());
    }
}

#[test]
fn settle_sets_a_second_file_aside_under_another_name() {
    let world = World::new(Isolation::Namespaces);
    for expected in [".envrc.avocet-quarantine", ".envrc.avocet-quarantine-2"] {
        let aside = world.ran(&ProgramRights::Ordinary, |world| world.put(".envrc", "evil"));
        assert_eq!(aside, [format!(".envrc: set aside as {expected}")]);
    }
}

#[test]
fn guard_settles_when_dropped_and_does_nothing_without_paths() {
    let world = World::new(Isolation::Namespaces);
    let guard = world.sandbox.guard_protected_paths(&ProgramRights::Ordinary);
    world.put(".envrc", "evil");
    drop(guard);
    assert!(!world.at(".envrc").exists());
    let sandbox = ProgramSandbox {
        protection: Arc::new(PathProtection::without_patterns()),
        ..world.sandbox.clone()
    };
    let guard = sandbox.guard_protected_paths(&ProgramRights::Ordinary);
    world.put(".envrc", "fine");
    assert_eq!(guard.settle_changes(), ProtectedChanges::default());
    assert!(world.directory.path().join(".envrc").exists());
}
