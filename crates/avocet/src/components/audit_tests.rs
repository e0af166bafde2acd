use avocet_protocol::access::{People, PersonId};
use avocet_store::{Durability, LogHolder, OpenOptions, SqliteStore};
use avocet_testkit::ManualClock;
use tempfile::TempDir;

use super::*;

struct World {
    directory: TempDir,
    clock: Arc<ManualClock>,
    store: Arc<SqliteStore>,
    bits: std::sync::atomic::AtomicU8,
}

impl World {
    async fn new() -> Self {
        let (directory, clock) = (TempDir::new().unwrap(), Arc::new(ManualClock::default()));
        let options = OpenOptions {
            directory: directory.path().join("data"),
            durability: Durability::Process,
            default_mode: avocet_protocol::bus::QueueMode::Queue,
            answer_edits: false,
            start_empty: false,
            redactor: Arc::default(),
            zone: jiff::tz::TimeZone::UTC,
            holder: LogHolder::Daemon,
        };
        let store = SqliteStore::open(options, clock.clone(), &Group::new("test")).await.unwrap();
        Self { directory, clock, store: Arc::new(store), bits: 0.into() }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("head")
    }

    /// Appends a row.
    async fn append(&self) -> AuditHead {
        let chat: avocet_protocol::chat::ChatAddress = "a:b:c".parse().unwrap();
        let session =
            format!("x:y:{}", self.bits.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let link = avocet_protocol::access::ChatLink { chat, session: session.parse().unwrap() };
        self.store.link(&link).await.unwrap();
        self.store.audit_head().await.unwrap().unwrap()
    }

    async fn keep(&self) -> (Arc<Keeper>, Group) {
        let group = Group::new("keeper");
        let clock: Arc<dyn Clock> = self.clock.clone();
        let keeper = Keeper::start(&self.store, &self.file(), &clock, &group);
        self.clock.sleeper(EVERY).await;
        (keeper, group)
    }

    async fn fault(&self) -> Option<String> {
        check_audit(self.store.as_ref(), &self.file()).await.unwrap().fault
    }
}

#[tokio::test]
async fn audit_head_is_written_at_the_start_and_after_changes() {
    let world = World::new().await;
    let first = world.append().await;
    let (keeper, group) = world.keep().await;
    assert_eq!(read(&world.file()).unwrap(), Some(first.clone()));
    let second = world.append().await;
    assert_eq!(read(&world.file()).unwrap(), Some(first), "the head is noted once per interval");
    world.clock.advance(EVERY);
    world.clock.sleeper(EVERY).await;
    assert_eq!(read(&world.file()).unwrap(), Some(second));
    let third = world.append().await;
    group.cancel_tasks();
    keeper.note_head().await;
    assert_eq!(read(&world.file()).unwrap(), Some(third), "and when it stops");
    assert_eq!((world.fault().await, keeper.known_fault()), (None, None));
}

#[tokio::test]
async fn audit_head_of_another_table_is_kept_and_reported() {
    let world = World::new().await;
    let last = world.append().await;
    let noted = AuditHead { sequence: last.sequence + 1, ..last };
    write(&world.file(), &noted).unwrap();
    let (keeper, _group) = world.keep().await;
    let fault = keeper.known_fault().unwrap();
    assert!(fault.contains("row 1 is the last, but there was a row 2"), "{fault}");
    world.append().await;
    world.clock.advance(EVERY);
    world.clock.sleeper(EVERY).await;
    assert_eq!(read(&world.file()).unwrap(), Some(noted));
    let fault = world.fault().await.unwrap();
    assert!(fault.contains("row 2 is not the one"), "{fault}");
}

#[tokio::test]
async fn audit_head_errors_are_reported_and_stop_nothing() {
    let world = World::new().await;
    fs::write(world.file(), "nonsense").unwrap();
    let fault = world.fault().await.unwrap();
    assert!(fault.contains("cannot be read"), "{fault}");
    fs::remove_file(world.file()).unwrap();
    assert_eq!(world.fault().await, None);
    fs::create_dir(world.file()).unwrap();
    world.append().await;
    let (keeper, _group) = world.keep().await;
    keeper.note_head().await;
    assert!(world.file().is_dir());
    let person: PersonId = "a:b:c".parse().unwrap();
    assert_eq!(world.store.remove_person(&person).await, Ok(false));
}
