//! Files of the inbox become messages, in order, or are refused with a reason.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::bus::{Publish, PublishError};
use avocet_protocol::chat::{ChatAddress, ChatKind, Content, Cursor, Inbound, Outbound};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{AccountName, ChannelName, DedupeKey};
use avocet_protocol::store::{Accepted, Enqueued, UnansweredMessage};
use avocet_testkit::FakeBus;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::geteuid;

use crate::World;

const MAX_BYTES: usize = 256 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn complete_files_become_messages_in_the_order_of_their_names() {
    let world = World::new();
    let _running = world.start().await;
    for (name, content) in [
        ("2.txt", "two\r\n\n"),
        ("1.txt", "  # One\n\n**bold**"),
        ("ä b.txt", "/new\n"),
        (".3.txt", "hidden"),
        ("4.txt.tmp", "temporary"),
        ("5.txt~", "a backup of an editor"),
    ] {
        world.put(name, content);
    }
    let status = fs::metadata(world.path("inbox/1.txt")).unwrap();
    world.poll().await;
    let taken = world.bus.taken(3).await;
    let texts: Vec<_> = taken.iter().map(|inbound| inbound.content.text.as_str()).collect();
    assert_eq!(texts, ["  # One\n\n**bold**", "two", "/new"]);
    assert_eq!(world.names("inbox"), [".3.txt", "4.txt.tmp", "5.txt~"]);
    assert!(world.names("refused").is_empty());

    let first = &taken[0];
    assert_eq!(first.address.to_string(), "directory:main:files");
    assert_eq!(first.sender.id.as_str(), format!("uid:{}", geteuid().as_raw()));
    assert_eq!(first.chat, ChatKind::Private);
    assert_eq!(
        first.written_at,
        Some(Timestamp(status.mtime() * 1000 + status.mtime_nsec() / 1_000_000))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn file_is_taken_first_and_removed_after_its_commit() {
    let mut world = World::new();
    let running = world.start().await;
    world.stop.cancel();
    running.await.unwrap().unwrap();
    world.put("a.txt", "hello");
    world.put("b.txt", "and");
    // The daemon dies after the first commit.
    world.stop = Default::default();
    let running = world.run_with(Arc::new(DyingBus(world.bus.clone())));
    let key = world.bus.taken(1).await[0].key.clone();
    assert_eq!(world.names("taken"), ["a.txt", "b.txt"]);
    let status = fs::metadata(world.path("taken/a.txt")).unwrap();
    assert_eq!(key.as_str(), format!("a.txt {}.{:09}", status.ctime(), status.ctime_nsec()));
    running.abort();
    // A program puts the next file into the inbox before the daemon is back.
    world.put("a.txt", "next");

    let _running = world.start().await;
    world.bus.taken(2).await;
    assert_eq!((world.names("inbox").len(), world.names("taken").len()), (1, 0));
    world.poll().await;
    let taken = world.bus.taken(3).await;
    let texts: Vec<_> = taken.iter().map(|inbound| inbound.content.text.as_str()).collect();
    assert_eq!(texts, ["hello", "and", "next"]);
    assert_eq!((world.names("inbox").len(), world.names("taken").len()), (0, 0));
}

/// Commits messages, but never confirms them.
#[derive(Debug)]
struct DyingBus(Arc<FakeBus>);

#[async_trait]
impl Publish for DyingBus {
    async fn publish(
        &self,
        inbound: Inbound,
        cursor: Option<Cursor>,
    ) -> Result<Accepted, PublishError> {
        self.0.publish(inbound, cursor).await?;
        std::future::pending().await
    }

    async fn decline(&self, _: Inbound, _: Content) -> Result<(), PublishError> {
        unreachable!("the channel can read all that it accepts")
    }

    async fn withdraw_message(&self, _: &ChatAddress, _: &DedupeKey) -> Result<(), PublishError> {
        unreachable!("the channel reports no deleted message")
    }

    async fn list_unanswered(
        &self,
        _: &ChannelName,
        _: &AccountName,
        _: u32,
    ) -> Result<Vec<UnansweredMessage>, PublishError> {
        unreachable!("the channel reports no deleted message")
    }

    async fn ignore(
        &self,
        _: &ChannelName,
        _: &AccountName,
        _: &str,
        _: Option<Cursor>,
    ) -> Result<(), PublishError> {
        unreachable!("no file is refused")
    }

    async fn cursors(&self, _: &ChannelName, _: &AccountName) -> Result<Vec<Cursor>, PublishError> {
        unreachable!("the channel has no cursor")
    }

    async fn move_cursor(
        &self,
        _: &ChannelName,
        _: &AccountName,
        _: Cursor,
    ) -> Result<(), PublishError> {
        unreachable!("the channel has no cursor")
    }

    async fn send(&self, _: Outbound, _: DedupeKey) -> Result<Enqueued, PublishError> {
        unreachable!("the channel only publishes")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn later_file_with_the_same_name_is_a_new_message() {
    let world = World::new();
    let _running = world.start().await;
    let put = || {
        world.put("daily.txt", "report");
        let status = fs::metadata(world.path("inbox/daily.txt")).unwrap();
        (status.ctime(), status.ctime_nsec())
    };
    put();
    world.poll().await;
    // The clock of the file system is coarse.
    let earlier = put();
    while put() == earlier {}
    world.poll().await;
    assert_eq!(world.bus.taken(2).await.len(), 2);
}

/// Makes something in the inbox that is to be refused.
type Put = fn(&World);

#[tokio::test(flavor = "multi_thread")]
async fn unusable_file_is_moved_away_with_a_reason() {
    let long = "x".repeat(250) + ".txt";
    let table: [(&str, Put, &str); 10] = [
        (
            "a.md",
            |world| world.put("a.md", "text"),
            "its name is not UTF-8, or does not end in .txt",
        ),
        ("a.txt", |world| world.put("a.txt", b"\xff\xfe"), "it is not UTF-8 text"),
        (
            "b.txt",
            |world| world.put("b.txt", vec![b'x'; MAX_BYTES + 1]),
            "it is longer than 262144 bytes",
        ),
        (
            "a..b.txt",
            |world| world.put("a..b.txt", "text"),
            "its name cannot be used: idempotency key \"a..b.txt ",
        ),
        (
            &long,
            |world| world.put(&("x".repeat(250) + ".txt"), "text"),
            "its name cannot be used: idempotency key",
        ),
        (
            "a\u{fffd}.txt",
            |world| {
                let name = world.path("inbox").join(OsStr::from_bytes(b"a\xff.txt"));
                fs::write(name, "text").unwrap();
            },
            "its name is not UTF-8, or does",
        ),
        (
            "dir.txt",
            |world| fs::create_dir_all(world.path("inbox/dir.txt/inner")).unwrap(),
            "it is not a regular file that the daemon's user may read",
        ),
        (
            "link.txt",
            |world| {
                fs::write(world.path("secret"), "secret").unwrap();
                symlink(world.path("secret"), world.path("inbox/link.txt")).unwrap();
            },
            "it is not a regular file that the daemon's user may read",
        ),
        (
            "pipe.txt",
            |world| {
                let path = world.path("inbox/pipe.txt");
                mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0).unwrap();
            },
            "it is not a regular file that the daemon's user may read",
        ),
        (
            "socket.txt",
            |world| drop(UnixListener::bind(world.path("inbox/socket.txt")).unwrap()),
            "it is not a regular file that the daemon's user may read",
        ),
    ];
    for (name, put, reason) in table {
        let world = World::new();
        let _running = world.start().await;
        put(&world);
        world.put("z.txt", "the next one");
        world.poll().await;
        let taken = world.bus.taken(1).await;
        assert_eq!((taken.len(), taken[0].content.text.as_str()), (1, "the next one"), "{name}");
        assert_eq!(world.bus.ignored(1).await, ["of an unsupported kind"], "{name}");
        assert!(world.names("inbox").is_empty(), "{name}");
        let moved = world.names("refused");
        assert!(moved.contains(&name.to_owned()), "{name}: {moved:?}");
        // No space for the end of the name: only the log has the reason.
        if name != long {
            let error = fs::read_dir(world.path("refused")).unwrap().map(|entry| entry.unwrap());
            let error = error
                .map(|entry| entry.path())
                .find(|path| path.extension() == Some("error".as_ref()));
            let error = fs::read_to_string(error.unwrap()).unwrap();
            assert!(error.starts_with(reason), "{name}: {error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reason_replaces_a_link_of_its_name_without_following_it() {
    let world = World::new();
    let _running = world.start().await;
    fs::write(world.path("other"), "unchanged").unwrap();
    symlink(world.path("other"), world.path("inbox/a.md.error")).unwrap();
    world.poll().await;
    world.put("a.md", "text");
    world.poll().await;
    assert_eq!(world.read("other"), "unchanged");
    assert_eq!(world.names("refused"), ["a.md", "a.md.error", "a.md.error.error"]);
    assert!(world.read("refused/a.md.error").starts_with("its name"));
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_of_the_bus_is_the_reason() {
    let world = World::new();
    let _running = world.start().await;
    world.bus.refuse([PublishError::Empty]);
    world.put("a.txt", "\u{200b}");
    world.poll().await;
    assert_eq!(world.names("refused"), ["a.txt", "a.txt.error"]);
    assert_eq!(world.read("refused/a.txt.error"), format!("{}\n", PublishError::Empty));
    assert_eq!(world.bus.ignored(1).await, ["empty"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn file_that_cannot_be_moved_leaves_the_others_unaffected() {
    let world = World::new();
    let running = world.start().await;
    fs::create_dir_all(world.path("refused/a.md/full")).unwrap();
    fs::create_dir(world.path("inbox/a.md")).unwrap();
    world.put("b.txt", "hello");
    world.clock.advance(crate::POLL);
    let error = running.await.unwrap().unwrap_err().to_string();
    assert!(error.starts_with("cannot move ") && error.ends_with("not empty"), "{error}");
    assert_eq!(world.bus.taken(1).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn run_ends_when_the_daemon_stops() {
    let world = World::new();
    let running = world.start().await;
    world.stop.cancel();
    assert_eq!(running.await.unwrap(), Ok(()));
    let mode = fs::metadata(world.path("inbox")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}
