use std::fs;
use std::os::unix::fs::symlink;

use avocet_protocol::access::Trust;
use avocet_protocol::store::{
    EditedFile, FileEntry, Memories, MemoryAuthor, NewMemory, ScopeFilter, ShownMemory,
    conflict_text,
};
use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_testkit::ManualClock;

use super::*;
use crate::WordRecall;

const ANN: &str = "person telegram:main:ann";

struct MirrorHarness {
    store: Arc<SqliteStore>,
    mirror: Arc<FileMirror>,
    directory: PathBuf,
    log: TempStore,
}

impl MirrorHarness {
    async fn new() -> Self {
        Self::on(TempStore::new()).await
    }

    async fn on(log: TempStore) -> Self {
        let store = log.open(Arc::new(ManualClock::default())).await;
        let directory = log.path().join("memory");
        let mirror = Arc::new(FileMirror::new(store.clone(), directory.clone()));
        Self { store, mirror, directory, log }
    }

    /// Ends the process, which loses everything in memory, and starts it again.
    async fn restart(self) -> Self {
        let Self { store, mirror, log, .. } = self;
        drop(mirror);
        Arc::unwrap_or_clone(store).close().await;
        Self::on(log).await
    }

    async fn write(&self, scope: &str, text: &str) -> MemoryId {
        let (scope, text) = (scope.parse().unwrap(), text.to_owned());
        let new = NewMemory { scope, text, trust: Trust::Full, session: None, said_by: None };
        self.store.write_memory(&new, &MemoryAuthor::Process).await.unwrap().memory.id
    }

    async fn sync(&self) -> MirrorReport {
        self.mirror.sync_all().await.unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Saves a file as editors do: at once, and as another file.
    fn save(&self, name: &str, text: &str) {
        fs::create_dir_all(&self.directory).unwrap();
        let new = self.path("editor~");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.path(name)).unwrap();
    }

    fn edit(&self, name: &str, from: &str, to: &str) {
        let text = self.text(name);
        assert!(text.contains(from), "{text}");
        self.save(name, &text.replacen(from, to, 1));
    }

    async fn texts(&self, scope: &str) -> Vec<String> {
        let scope = scope.parse().unwrap();
        let found = self.store.memories_of(&scope).await.unwrap();
        found.memories.into_iter().map(|memory| memory.text).collect()
    }
}

/// The part of a file that shows memories.
fn entries(file: &str) -> Vec<&str> {
    let entries = file.lines().filter_map(|line| line.strip_prefix("- "));
    entries.filter_map(|entry| entry.split_once("--> ")).map(|(_, text)| text).collect()
}

#[tokio::test]
async fn mirror_writes_one_file_for_each_scope_and_follows_the_log() {
    let harness = MirrorHarness::new().await;
    assert_eq!(harness.sync().await, MirrorReport::default());
    assert!(!harness.directory.exists(), "no file without a memory");
    let key = harness.write("everyone", "the key").await;
    harness.write(ANN, "Ann likes tea\nand cake").await;
    harness.sync().await;
    assert_eq!(entries(&harness.text("everyone.md")), ["the key"]);
    let anns = harness.text("person_telegram_main_ann.md");
    assert!(anns.starts_with("# Memory: person telegram:main:ann\n"), "{anns}");
    assert!(anns.ends_with(" --> Ann likes tea\n  and cake\n"), "{anns}");
    harness.store.forget_memory(key, &MemoryAuthor::Process).await.unwrap();
    harness.sync().await;
    assert_eq!(entries(&harness.text("everyone.md")), [""; 0]);
}

#[tokio::test]
async fn edits_of_a_person_reach_the_log_with_a_diff_and_can_be_undone() {
    let harness = MirrorHarness::new().await;
    harness.write("everyone", "the key is here").await;
    harness.write("everyone", "old news").await;
    harness.sync().await;
    harness.edit("everyone.md", "the key is here", "the key is there");
    let text = harness.text("everyone.md");
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains("old news")).collect();
    harness.save("everyone.md", &format!("{}\n\n- a new fact\n", kept.join("\n")));
    assert_eq!(harness.sync().await.taken_in, 3);
    assert_eq!(harness.texts("everyone").await, ["the key is there", "a new fact"]);
    let file = harness.text("everyone.md");
    assert!(file.contains("<!-- m1 r2 full ") && file.contains("<!-- m3 r1 full "), "{file}");
    assert_eq!(harness.sync().await.taken_in, 0);

    let changes = harness.store.memory_changes(&ScopeFilter::All, None, 3).await.unwrap();
    for change in changes {
        assert!(matches!(change.author, MemoryAuthor::File(_)), "{change:?}");
        harness.store.undo_memory_change(change.id, &MemoryAuthor::Process).await.unwrap();
    }
    harness.sync().await;
    assert_eq!(entries(&harness.text("everyone.md")), ["the key is here", "old news"]);
}

#[tokio::test]
async fn conflict_keeps_both_versions_and_is_reported_until_one_is_removed() {
    let harness = MirrorHarness::new().await;
    let key = harness.write("everyone", "the key is here").await;
    harness.sync().await;
    harness.edit("everyone.md", "is here", "is under the mat");
    let shown = Some(ShownMemory { id: key, revision: 1, trust: Trust::Full });
    let newer = EditedFile {
        scope: MemoryScope::Everyone,
        digest: "a1".to_owned(),
        shown_to: None,
        entries: vec![FileEntry { shown, text: "the key is lost".to_owned() }],
    };
    harness.store.take_in(&newer).await.unwrap();
    harness.sync().await;
    let expected = ["the key is lost".to_owned(), conflict_text(key, "the key is under the mat")];
    assert_eq!(harness.texts("everyone").await, expected);
    assert_eq!(entries(&harness.text("everyone.md")), expected);
    let harness = harness.restart().await;
    assert_eq!(harness.sync().await.conflicts, [MemoryId(2)]);
    harness.edit("everyone.md", "Conflict with m1: ", "");
    let report = harness.sync().await;
    assert_eq!((report.taken_in, report.conflicts), (1, vec![]));
}

/// The process dies after the log has the edits, and before the file is replaced.
#[tokio::test]
async fn edits_are_taken_in_once_if_the_process_dies_before_the_export() {
    let harness = MirrorHarness::new().await;
    harness.write("everyone", "one").await;
    harness.sync().await;
    harness.edit("everyone.md", "--> one", "--> ONE and more\n- two");
    let edited = harness.text("everyone.md");
    assert_eq!(harness.sync().await.taken_in, 2);
    harness.save("everyone.md", &edited);
    let harness = harness.restart().await;
    assert_eq!(harness.sync().await.taken_in, 0);
    assert_eq!(harness.texts("everyone").await, ["ONE and more", "two"]);
    assert_eq!(entries(&harness.text("everyone.md")), ["ONE and more", "two"]);
}

/// The process dies while an export and a version of the person change places.
#[tokio::test]
async fn content_beside_the_file_is_taken_in_at_the_next_start() {
    let harness = MirrorHarness::new().await;
    harness.write("everyone", "one").await;
    harness.sync().await;
    let shown = harness.text("everyone.md");
    harness.save(".everyone.md.other", &format!("{shown}- saved meanwhile\n"));
    harness.save(".everyone.md.part", "# Memory: every");
    let harness = harness.restart().await;
    assert_eq!(harness.sync().await.taken_in, 1);
    assert_eq!(harness.texts("everyone").await, ["one", "saved meanwhile"]);
    assert_eq!(entries(&harness.text("everyone.md")), ["one", "saved meanwhile"]);
    let names = fs::read_dir(&harness.directory).unwrap();
    assert_eq!(names.count(), 1, "nothing is left beside the file");

    fs::write(harness.path(".everyone.md.other"), b"- \xff").unwrap();
    harness.sync().await;
    assert_eq!(fs::read(harness.path("everyone.md.kept-1")).unwrap(), b"- \xff");
}

#[tokio::test]
async fn file_that_cannot_be_read_is_reported_and_stays_as_it_is() {
    let large = format!("- {}", "x".repeat(5 * 1024 * 1024));
    let table: [(&[u8], &str); 3] = [
        (b"- caf\xe9", "not UTF-8 (at byte 5)"),
        (b"# Memory: chat a:b:c\n\n- one", "names another scope, chat a:b:c"),
        (large.as_bytes(), "at most 4194304 are read"),
    ];
    for (bytes, problem) in table {
        let harness = MirrorHarness::new().await;
        harness.write("everyone", "the key").await;
        harness.sync().await;
        fs::write(harness.path("everyone.md"), bytes).unwrap();
        let report = harness.sync().await;
        assert!(report.problems[0].contains(problem), "{report:?}");
        harness.write("everyone", "the door").await;
        assert_eq!(harness.sync().await.problems, report.problems);
        assert_eq!(fs::read(harness.path("everyone.md")).unwrap(), bytes);
        assert_eq!(harness.texts("everyone").await, ["the key", "the door"]);
        fs::remove_file(harness.path("everyone.md")).unwrap();
        assert_eq!(harness.sync().await.problems, [""; 0]);
        assert_eq!(entries(&harness.text("everyone.md")), ["the key", "the door"]);
    }
}

#[tokio::test]
async fn link_in_place_of_a_file_is_neither_read_nor_written() {
    let harness = MirrorHarness::new().await;
    harness.write("everyone", "the key").await;
    harness.sync().await;
    let target = harness.directory.join("../target");
    fs::write(&target, "- from elsewhere").unwrap();
    fs::remove_file(harness.path("everyone.md")).unwrap();
    symlink(&target, harness.path("everyone.md")).unwrap();
    harness.write("everyone", "the door").await;
    let report = harness.sync().await;
    assert!(report.problems[0].ends_with("it is not a regular file"), "{report:?}");
    assert_eq!(fs::read_to_string(target).unwrap(), "- from elsewhere");
    assert_eq!(harness.texts("everyone").await, ["the key", "the door"]);
}

#[tokio::test]
async fn lines_that_are_no_entries_stay_in_the_file_and_are_reported() {
    let harness = MirrorHarness::new().await;
    harness.save("everyone.md", "My notes\n\n- a fact\n\n1. numbered\n");
    let report = harness.sync().await;
    assert!(report.problems[0].contains("lines that are not part of the memory (2)"), "{report:?}");
    assert_eq!(harness.texts("everyone").await, ["a fact"]);
    harness.write("everyone", "more").await;
    harness.sync().await;
    let file = harness.text("everyone.md");
    assert!(file.ends_with("\n\nMy notes\n1. numbered\n"), "{file}");
    let cut = file.find("\n## Not taken in").unwrap();
    harness.save("everyone.md", &file[..cut]);
    assert_eq!(harness.sync().await.problems, [""; 0]);
    assert_eq!(harness.texts("everyone").await, ["a fact", "more"]);
}

#[tokio::test]
async fn empty_or_missing_file_forgets_nothing() {
    let harness = MirrorHarness::new().await;
    harness.write("everyone", "the key").await;
    harness.sync().await;
    harness.save("everyone.md", "");
    harness.sync().await;
    assert_eq!(entries(&harness.text("everyone.md")), ["the key"]);
    fs::remove_file(harness.path("everyone.md")).unwrap();
    harness.sync().await;
    assert_eq!(entries(&harness.text("everyone.md")), ["the key"]);
}

#[tokio::test]
async fn file_that_a_person_begins_is_read_if_its_name_fits_its_scope() {
    let harness = MirrorHarness::new().await;
    let heading = format!("# Memory: {ANN}\n- likes tea\n");
    harness.save("person_telegram_main_ann.md", &heading);
    harness.save("ann.md", &heading);
    harness.save("notes.md", "- a note");
    let report = harness.sync().await;
    let expected = [
        "ann.md: the file of person telegram:main:ann has the name person_telegram_main_ann.md",
        "notes.md: it has no heading with a scope",
    ];
    assert_eq!(report.problems, expected);
    assert_eq!(harness.texts(ANN).await, ["likes tea"]);
    assert_eq!(harness.texts("everyone").await, [""; 0]);
}

#[tokio::test]
async fn recall_sees_edits_of_its_scopes_before_it_searches() {
    let harness = MirrorHarness::new().await;
    let recall = WordRecall::new(harness.store.clone());
    let recall = MirroredRecall::new(Arc::new(recall), harness.mirror.clone());
    harness.save("everyone.md", "- the cello is in the cellar");
    harness.save("person_telegram_main_ann.md", "- Anns cello is red");
    let scopes = [MemoryScope::Everyone];
    let recalled = recall.recall(&scopes, "where is the cello", 600).await.unwrap();
    let texts: Vec<_> = recalled.into_iter().map(|recalled| recalled.text).collect();
    assert_eq!(texts, ["the cello is in the cellar"]);
    assert_eq!(harness.texts(ANN).await, [""; 0], "the file of another scope is left alone");
    harness.edit("everyone.md", "cellar", "attic");
    let recalled = recall.recall(&scopes, "where is the cello", 600).await.unwrap();
    assert_eq!(recalled[0].text, "the cello is in the attic");
}

#[tokio::test]
async fn run_exports_after_each_change_and_sleeps_otherwise() {
    let harness = MirrorHarness::new().await;
    harness.write("everyone", "one").await;
    let run = harness.mirror.run();
    tokio::pin!(run);
    for number in 0..3 {
        let text = format!("text {number}");
        harness.write("everyone", &text).await;
        tokio::select! {
            () = &mut run => unreachable!("it never returns"),
            () = shown(&harness, &text) => {}
        }
    }
    // The next change is in the log, but the mirror does not run.
    harness.write("everyone", "last").await;
    assert!(!harness.text("everyone.md").contains("last"));
}

/// Waits until the file shows a text.
async fn shown(harness: &MirrorHarness, text: &str) {
    while !fs::read_to_string(harness.path("everyone.md")).is_ok_and(|file| file.contains(text)) {
        tokio::task::yield_now().await;
    }
}
