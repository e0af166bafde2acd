use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use rustix::fs::{XattrFlags, lgetxattr, lsetxattr};
use tempfile::TempDir;

use super::*;
use crate::attributes::MARK;

struct CopiesWorld {
    home: TempDir,
    copies: KeptCopies,
    session: SessionId,
}

impl CopiesWorld {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("work")).unwrap();
        let copies =
            KeptCopies::open(home.path().join("changes"), vec![home.path().join("work/own")]);
        Self { copies, home, session: SessionId::parse("terminal:main:1").unwrap() }
    }

    fn place(&self, path: &str) -> PathBuf {
        self.home.path().join("work").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.place(path), text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.place(path)).unwrap()
    }

    fn whole(&self) -> [UndoPlace; 1] {
        [UndoPlace { root: self.place(""), paths: vec![], trees: vec![PathBuf::new()] }]
    }

    fn single(&self, path: &str) -> [UndoPlace; 1] {
        [UndoPlace { root: self.place(""), paths: vec![path.into()], trees: vec![] }]
    }

    fn begin(&self, places: &[UndoPlace]) -> Option<Arc<ChangeWindow>> {
        self.copies.begin_changes(&self.session, places).unwrap()
    }

    fn end(&self) {
        self.copies.end_changes(&self.session).unwrap();
    }

    fn changed(&self) -> Vec<String> {
        let changes = self.copies.list_changes(&self.session).unwrap();
        changes.iter().map(|change| change.path.display().to_string()).collect()
    }

    fn undo(&self) -> UndoneChanges {
        self.copies.undo_changes(&self.session).unwrap()
    }

    /// Returns everything below the workspace: paths with kinds, permissions, texts and times.
    fn snapshot(&self) -> Vec<String> {
        let mut open = vec![self.place("")];
        let mut all = Vec::new();
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
                let (path, found) = (entry.path(), entry.path().symlink_metadata().unwrap());
                let (mode, kind) = (found.mode(), found.file_type());
                let content = if kind.is_dir() {
                    open.push(path.clone());
                    String::new()
                } else if kind.is_symlink() {
                    fs::read_link(&path).unwrap().display().to_string()
                } else {
                    format!("{:?} {}", fs::read(&path).unwrap(), found.mtime_nsec())
                };
                let mut value = [0; 8];
                let mark =
                    lgetxattr(&path, MARK, &mut value[..]).map(|length| value[..length].to_vec());
                all.push(format!("{} {mode:o} {mark:?} {content}", path.display()));
            }
        }
        all.sort();
        all
    }
}

#[test]
fn undo_restores_every_kind_of_change_byte_for_byte() {
    let world = CopiesWorld::new();
    world.write("kept.txt", "kept");
    world.write("edited.bin", "a\0b");
    world.write("removed.sh", "echo");
    world.write("to_directory", "a file");
    fs::set_permissions(world.place("removed.sh"), Permissions::from_mode(0o751)).unwrap();
    fs::create_dir_all(world.place("old/deep")).unwrap();
    world.write("old/deep/one", "1");
    symlink("kept.txt", world.place("link")).unwrap();
    symlink("/nowhere/else", world.place("to_file")).unwrap();
    let marked = lsetxattr(world.place("removed.sh"), MARK, b"user", XattrFlags::empty());
    let _no_attributes_here = marked.is_err();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_234_567_891_123_456_789);
    for name in ["edited.bin", "removed.sh"] {
        fs::File::options()
            .write(true)
            .open(world.place(name))
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
    }
    let before = world.snapshot();

    let _window = world.begin(&world.whole());
    world.write("edited.bin", "other");
    fs::remove_file(world.place("removed.sh")).unwrap();
    fs::remove_file(world.place("to_directory")).unwrap();
    fs::create_dir_all(world.place("to_directory/new")).unwrap();
    world.write("to_directory/new/file", "x");
    fs::remove_dir_all(world.place("old")).unwrap();
    world.write("old", "now a file");
    fs::remove_file(world.place("link")).unwrap();
    symlink("edited.bin", world.place("link")).unwrap();
    fs::remove_file(world.place("to_file")).unwrap();
    world.write("to_file", "y");
    fs::set_permissions(world.place("kept.txt"), Permissions::from_mode(0o600)).unwrap();
    world.end();

    let all = "edited.bin kept.txt link old old/deep old/deep/one removed.sh to_directory \
        to_directory/new to_directory/new/file to_file";
    assert_eq!(world.changed().join(" "), all.split_whitespace().collect::<Vec<_>>().join(" "));
    let undone = world.undo();
    assert_eq!((undone.left, undone.failed), (vec![], vec![]));
    assert_eq!(world.snapshot(), before);
    assert!(!world.copies.has_copies(&world.session));
    assert_eq!(fs::read_dir(world.home.path().join("changes")).unwrap().count(), 0);
}

#[test]
fn undo_covers_several_calls_of_a_conversation() {
    let world = CopiesWorld::new();
    world.write("notes.md", "one");
    for text in ["two", "three"] {
        let _window = world.begin(&world.single("notes.md"));
        world.write("notes.md", text);
        world.end();
    }
    let _window = world.begin(&world.single("new/deep/file"));
    fs::create_dir_all(world.place("new/deep")).unwrap();
    world.write("new/deep/file", "x");
    world.end();
    assert_eq!(world.changed(), ["new", "new/deep", "new/deep/file", "notes.md"]);
    assert_eq!(world.undo().restored.len(), 4);
    assert_eq!(world.read("notes.md"), "one");
    assert!(!world.place("new").exists());
}

#[test]
fn changes_by_others_between_the_calls_are_no_changes_of_the_conversation() {
    let world = CopiesWorld::new();
    world.write("theirs.md", "one");
    world.write("removed.md", "gone");
    let _window = world.begin(&world.whole());
    world.write("ours.md", "a");
    world.end();
    world.write("theirs.md", "two");
    fs::remove_file(world.place("removed.md")).unwrap();
    world.write("their_new.md", "new");
    let _window = world.begin(&world.whole());
    world.write("ours.md", "b");
    world.end();
    assert_eq!(world.changed(), ["ours.md"]);
    world.write("their_last.md", "last");
    assert_eq!(world.undo().restored, [world.place("ours.md")]);
    let names = ["theirs.md", "their_new.md", "their_last.md"].map(|name| world.read(name));
    assert_eq!(names, ["two", "new", "last"]);
}

#[test]
fn path_that_was_changed_after_the_question_stays() {
    let world = CopiesWorld::new();
    world.write("a.md", "one");
    world.write("b.md", "one");
    let _window = world.begin(&world.whole());
    world.write("a.md", "two");
    world.write("b.md", "two");
    world.end();
    assert_eq!(world.changed(), ["a.md", "b.md"]);
    world.write("b.md", "three");
    let undone = world.undo();
    assert_eq!(
        (undone.restored, undone.left),
        (vec![world.place("a.md")], vec![world.place("b.md")])
    );
    assert_eq!((world.read("a.md"), world.read("b.md")), ("one".into(), "three".into()));
}

#[test]
fn changes_of_a_call_that_a_crash_has_ended_are_changes() {
    let world = CopiesWorld::new();
    world.write("a.md", "one");
    let _window = world.begin(&world.whole());
    world.write("a.md", "two");
    world.write("b.md", "new");
    // Another process, which knows the disk only.
    let copies = KeptCopies::open(world.home.path().join("changes"), vec![]);
    assert!(copies.has_copies(&world.session));
    let changes = copies.list_changes(&world.session).unwrap();
    let [a, b] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!(a.before, ShownState::Text("one".to_owned()));
    assert_eq!(a.after, ShownState::Text("two".to_owned()));
    assert_eq!((&b.before, &b.after), (&ShownState::Absent, &ShownState::Text("new".to_owned())));
    copies.undo_changes(&world.session).unwrap();
    assert_eq!(world.read("a.md"), "one");
    assert!(!world.place("b.md").exists());
}

#[test]
fn changes_that_were_taken_back_are_none() {
    let world = CopiesWorld::new();
    world.write("a.md", "one");
    let _window = world.begin(&world.whole());
    world.write("a.md", "two");
    world.write("b.md", "new");
    world.end();
    world.write("a.md", "one");
    fs::remove_file(world.place("b.md")).unwrap();
    assert_eq!(world.changed(), [""; 0]);
    world.copies.forget_copies(&world.session);
    assert!(!world.copies.has_copies(&world.session));
}

#[test]
fn begin_changes_refuses_what_cannot_be_kept() {
    let world = CopiesWorld::new();
    let sparse = fs::File::create(world.place("sparse")).unwrap();
    sparse.set_len(MOST_BYTES + 1).unwrap();
    let refused = world.copies.begin_changes(&world.session, &world.whole());
    assert_eq!(refused.unwrap_err().to_string(), "the files have more than 128 MiB");
    fs::remove_file(world.place("sparse")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.place("socket")).unwrap();
    let refused = world.copies.begin_changes(&world.session, &world.whole());
    let refused = refused.unwrap_err().to_string();
    assert_eq!(refused, "socket is neither a file, a directory nor a link with a name in UTF-8");
    // A single file is kept all the same.
    assert!(world.begin(&world.single("a.md")).is_none());
}

#[test]
fn changes_by_others_during_a_program_are_left_out() {
    let world = CopiesWorld::new();
    let other = SessionId::parse("terminal:main:2").unwrap();
    let window = world.begin(&world.whole());
    assert!(window.is_some());
    let paths = [world.place("theirs/a.md").display().to_string()];
    drop(world.copies.note_paths(&other, &paths).now_or_never().unwrap());
    fs::create_dir(world.place("theirs")).unwrap();
    world.write("theirs/a.md", "x");
    world.copies.note_left_paths(&other, &paths);
    world.write("ours.md", "y");
    fs::create_dir(world.place("inbox")).unwrap();
    world.write("inbox/photo.jpg", "z");
    world.end();
    drop(window);
    assert_eq!(world.changed(), ["ours.md"]);
}

#[test]
fn directory_belongs_to_one_conversation_until_the_review() {
    let world = CopiesWorld::new();
    let other = SessionId::parse("terminal:main:2").unwrap();
    let _window = world.begin(&world.single("a.md"));
    world.write("a.md", "x");
    world.end();
    // Also after a restart.
    let again = KeptCopies::open(world.home.path().join("changes"), vec![]);
    for copies in [&world.copies, &again] {
        let busy = copies.begin_changes(&other, &world.single("b.md"));
        assert!(matches!(busy, Err(KeepError::Busy)), "{busy:?}");
        assert!(!copies.has_copies(&other));
    }
    let elsewhere = world.home.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let place = UndoPlace { root: elsewhere, paths: vec!["b.md".into()], trees: vec![] };
    world.copies.begin_changes(&other, &[place]).unwrap();
    world.copies.forget_copies(&other);
    world.undo();
    world.copies.begin_changes(&other, &world.whole()).unwrap();
}

#[test]
fn release_copies_frees_a_directory_unless_a_program_runs() {
    let world = CopiesWorld::new();
    let other = SessionId::parse("terminal:main:2").unwrap();
    let window = world.begin(&world.whole());
    world.write("a.md", "x");
    world.end();
    assert_eq!(world.copies.find_holders(&other, &world.single("b.md")), None);
    world.copies.release_copies(&world.session);
    assert!(world.copies.has_copies(&world.session));
    drop(window);
    // Also after a restart.
    let again = KeptCopies::open(world.home.path().join("changes"), vec![]);
    for copies in [&again, &world.copies] {
        let holders = copies.find_holders(&other, &world.single("b.md"));
        assert_eq!(holders, Some(vec![world.session.clone()]));
        assert_eq!(copies.list_conversations().len(), 1);
    }
    world.copies.release_copies(&world.session);
    assert_eq!(world.copies.list_conversations(), []);
    world.copies.begin_changes(&other, &world.single("b.md")).unwrap();
    assert_eq!(world.read("a.md"), "x");
}

#[test]
fn copies_of_an_earlier_version_have_no_known_conversation() {
    let world = CopiesWorld::new();
    let other = SessionId::parse("terminal:main:2").unwrap();
    let _window = world.begin(&world.single("a.md"));
    let changes = world.home.path().join("changes");
    let path = changes.join(directory_name(&world.session)).join("index.json");
    let mut index: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    index.as_object_mut().unwrap().remove("session").unwrap();
    fs::write(&path, index.to_string()).unwrap();
    let copies = KeptCopies::open(changes, vec![]);
    assert_eq!(copies.find_holders(&other, &world.single("b.md")), None);
    assert_eq!(copies.list_conversations(), []);
    assert!(copies.has_copies(&world.session));
}

#[test]
fn files_of_the_daemon_are_neither_copied_nor_restored() {
    let world = CopiesWorld::new();
    fs::create_dir(world.place("own")).unwrap();
    world.write("own/log.db", "one");
    let _window = world.begin(&world.whole());
    world.write("own/log.db", "two");
    world.write("a.md", "a");
    world.end();
    assert_eq!(world.changed(), ["a.md"]);
    world.undo();
    assert_eq!(world.read("own/log.db"), "two");
}

#[test]
fn new_directory_in_which_others_have_put_something_stays() {
    let world = CopiesWorld::new();
    let _window = world.begin(&world.single("new/a.md"));
    fs::create_dir(world.place("new")).unwrap();
    world.write("new/a.md", "x");
    world.end();
    world.write("new/theirs.md", "y");
    let undone = world.undo();
    assert_eq!(
        (undone.restored, undone.left),
        (vec![world.place("new/a.md")], vec![world.place("new")])
    );
    assert_eq!(world.read("new/theirs.md"), "y");
}

#[test]
fn changes_in_a_directory_that_is_gone_need_no_review() {
    let world = CopiesWorld::new();
    let _window = world.begin(&world.whole());
    world.write("a.md", "x");
    fs::remove_dir_all(world.place("")).unwrap();
    assert_eq!(world.changed(), [""; 0]);
    assert_eq!(world.undo(), UndoneChanges::default());
}

#[test]
fn change_between_the_copy_and_the_call_is_not_undone() {
    let world = CopiesWorld::new();
    world.write("a.md", "one");
    let _window = world.begin(&world.single("a.md"));
    world.write("a.md", "two");
    world.copies.renew_copies(&world.session).unwrap();
    world.write("a.md", "three");
    world.end();
    assert_eq!(world.undo().restored, [world.place("a.md")]);
    assert_eq!(world.read("a.md"), "two");
}

#[test]
fn program_that_changes_a_file_of_another_conversation_again_is_reviewed() {
    let world = CopiesWorld::new();
    let other = SessionId::parse("terminal:main:2").unwrap();
    let _window = world.begin(&world.whole());
    let paths = ["kept.md", "changed.md"].map(|name| world.place(name).display().to_string());
    let change = world.copies.note_paths(&other, &paths).now_or_never().unwrap();
    world.write("kept.md", "theirs");
    world.write("changed.md", "theirs");
    drop(change);
    world.copies.note_left_paths(&other, &paths);
    world.write("changed.md", "ours");
    world.end();
    assert_eq!(world.changed(), ["changed.md"]);
}
