use avocet_testkit::{ManualClock, START};
use tempfile::TempDir;

use super::*;

const MINUTE: Duration = Duration::from_mins(1);

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A closed database in its own directory.
async fn database() -> TempDir {
    let directory = TempDir::new().unwrap();
    let options = avocet_store::OpenOptions {
        directory: directory.path().to_owned(),
        durability: avocet_store::Durability::Process,
        default_mode: avocet_protocol::bus::QueueMode::Queue,
        answer_edits: false,
        start_empty: false,
        redactor: Arc::default(),
        zone: TimeZone::UTC,
        holder: avocet_store::LogHolder::Command,
    };
    let clock = Arc::new(ManualClock::default());
    let store = avocet_store::SqliteStore::open(options, clock, &Group::new("test")).await;
    store.unwrap().close().await;
    directory
}

fn plan(data_dir: &Path, directory: &Path) -> BackupPlan {
    BackupPlan {
        data_dir: data_dir.to_owned(),
        directory: directory.to_owned(),
        every: Duration::from_hours(6),
        keep: 2,
    }
}

fn copies(plan: BackupPlan) -> (Copies, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    (Copies { plan, clock: clock.clone(), failing: Mutex::default() }, clock)
}

#[test]
fn copy_names_are_read_back_and_other_files_are_not_copies() {
    assert_eq!(name(START), "avocet-20260101T000000Z.db");
    assert_eq!(made_at(&name(START)), Some(START));
    for other in ["avocet.db", "avocet-20260101T000000Z.db.part", "avocet-2026.db", "notes.txt"] {
        assert_eq!(made_at(other), None, "{other}");
    }
}

#[tokio::test]
async fn copies_are_made_on_schedule_and_the_oldest_are_deleted() {
    let (data, target) = (database().await, TempDir::new().unwrap());
    let directory = target.path().join("not/there/yet");
    let (copies, clock) = copies(plan(data.path(), &directory));
    assert_eq!(copies.pause(), Duration::ZERO, "there is none yet");
    for _ in 0..3 {
        copies.copy(&CancelCopy::default()).await;
        assert_eq!(copies.last_fault(), None);
        assert_eq!(copies.pause(), Duration::from_hours(6));
        clock.advance(MINUTE);
        assert_eq!(copies.pause(), Duration::from_hours(6) - MINUTE);
        clock.advance(Duration::from_hours(6) - MINUTE);
        assert_eq!(copies.pause(), Duration::ZERO);
        // Other files in the directory stay, except unfinished copies of a crash.
        fs::write(directory.join("avocet.db"), "precious").unwrap();
        fs::write(directory.join("avocet-20250101T000000Z.db.part"), "half").unwrap();
    }
    let part = "avocet-20250101T000000Z.db.part";
    let expected = [part, "avocet-20260101T060000Z.db", "avocet-20260101T120000Z.db", "avocet.db"];
    assert_eq!(names(&directory), expected);
    copies.copy(&CancelCopy::default()).await;
    assert!(!directory.join(part).exists());
}

#[tokio::test]
async fn copies_after_a_clock_that_was_set_back_come_within_one_interval() {
    let (data, target) = (database().await, TempDir::new().unwrap());
    fs::write(target.path().join("avocet-20990101T000000Z.db"), "from the future").unwrap();
    let (copies, _) = copies(plan(data.path(), target.path()));
    assert_eq!(copies.pause(), Duration::from_hours(6));
}

#[tokio::test]
async fn copies_that_fail_are_counted_until_one_is_made() {
    let (data, target) = (database().await, TempDir::new().unwrap());
    let directory = target.path().join("copies");
    fs::write(&directory, "a file is in the way").unwrap();
    let (copies, _) = copies(plan(data.path(), &directory));
    for times in 1..3 {
        copies.copy(&CancelCopy::default()).await;
        let fault = copies.last_fault().unwrap();
        let expected = format!("{} fail ({times} times so far): ", directory.display());
        assert!(fault.contains(&expected), "{fault}");
        assert_eq!(copies.pause(), RETRY);
    }
    fs::remove_file(&directory).unwrap();
    copies.copy(&CancelCopy::default()).await;
    assert_eq!(copies.last_fault(), None);
    assert_eq!(names(&directory), ["avocet-20260101T000000Z.db"]);
}

#[tokio::test]
async fn copy_that_is_cancelled_leaves_no_file_and_is_no_failure() {
    let (data, target) = (database().await, TempDir::new().unwrap());
    let (copies, _) = copies(plan(data.path(), target.path()));
    let cancel = CancelCopy::default();
    cancel.cancel_copy();
    copies.copy(&cancel).await;
    assert_eq!((names(target.path()), copies.last_fault()), (Vec::new(), None));
}
