use avocet_protocol::{
    Attachment, AttachmentKind, AttachmentSource, DedupeKey, Destinations, LoadedFile,
    MAX_SENT_FILE_BYTES, OnUnknown, Query, SessionId,
};
use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_testkit::{FakeChannel, FakeFiles, ManualClock, OnSend, OneWorkspace};

use super::*;
use crate::rules::AFTER_UNKNOWN;

const SECOND: Duration = Duration::from_secs(1);

struct World {
    deliverer: Deliverer,
    channel: Arc<FakeChannel>,
    clock: Arc<ManualClock>,
    store: Arc<SqliteStore>,
    files: Arc<FakeFiles>,
    log: TempStore,
}

impl World {
    async fn new() -> Self {
        Self::with_rule(OnUnknown::RepeatMarked).await
    }

    async fn with_rule(rule: OnUnknown) -> Self {
        Self::on(TempStore::new(), Arc::new(FakeChannel::with_rule(rule))).await
    }

    async fn on(log: TempStore, channel: Arc<FakeChannel>) -> Self {
        let clock = Arc::new(ManualClock::default());
        let group = Group::new("test");
        let store = log.open(clock.clone()).await;
        let channels = Arc::new(Channels::new(vec![channel.clone()]));
        let files = Arc::<FakeFiles>::default();
        let deliverer = Deliverer::new(
            store.clone(),
            channels,
            Arc::new(OneWorkspace(files.clone())),
            clock.clone(),
            group.child("outbox"),
        );
        Self { deliverer, channel, clock, store, files, log }
    }

    /// Kills the daemon like `kill -9` and starts it again.
    async fn restart(self) -> Self {
        let Self { deliverer, channel, clock, store, log, .. } = self;
        let group = deliverer.chats.group().clone();
        group.abort();
        group.finish(clock.as_ref(), SECOND).await.unwrap();
        drop((deliverer, store));
        Self::on(log, channel).await
    }

    /// Puts a message into the outbox, and wakes the chat.
    async fn send(&self, chat: &str, text: &str) {
        let address = chat_address(chat);
        let planned = Planned {
            address: address.clone(),
            chunks: text.split('|').map(Content::text).collect(),
        };
        self.store.enqueue(&planned, &DedupeKey::parse(text).unwrap(), None).await.unwrap();
        self.deliverer.wake(&address);
    }

    /// Sends like [`Self::send`], with a file of the workspace.
    async fn send_file(&self, chat: &str, text: &str, path: &str) {
        let source = AttachmentSource::Workspace(path.to_owned());
        let attachments = vec![Attachment::new(AttachmentKind::Document, source)];
        let content = Content { attachments, ..Content::text(text) };
        let planned = Planned { address: chat_address(chat), chunks: vec![content] };
        self.store
            .enqueue(&planned, &DedupeKey::parse(&path.replace('/', "-")).unwrap(), None)
            .await
            .unwrap();
        self.deliverer.wake(&planned.address);
    }

    /// Waits until a task sleeps for this time, and lets the time pass.
    async fn pass(&self, time: Duration) {
        self.clock.sleeper(time).await;
        self.clock.advance(time);
    }

    /// Waits until all workers have ended.
    async fn idle(&self) {
        while !self.deliverer.chats.is_empty() {
            tokio::task::yield_now().await;
        }
    }

    async fn stop(&self) {
        self.deliverer.stop(SECOND).await.unwrap();
    }
}

fn chat_address(chat: &str) -> ChatAddress {
    SessionId::parse(&format!("terminal:local:{chat}")).unwrap().address()
}

#[tokio::test]
async fn deliverer_sends_every_chunk_of_a_chat_once_and_in_order() {
    let world = World::new().await;
    world.send("a", "1|2|3").await;
    world.send("a", "4").await;
    assert_eq!(world.channel.texts(4).await, ["1", "2", "3", "4"]);
    world.stop().await;
    let status = world.store.log_status().await.unwrap();
    assert_eq!((status.pending, status.unconfirmed, status.dead), (0, 0, 0));
}

#[tokio::test]
async fn deliverer_start_sends_chunks_left_in_the_outbox() {
    let world = World::new().await;
    world.channel.set_reachable(&chat_address("a"), false);
    world.send("a", "1").await;
    let world = world.restart().await;
    world.channel.set_reachable(&chat_address("a"), true);
    world.deliverer.start().await.unwrap();
    assert_eq!(world.channel.texts(1).await, ["1"]);
}

#[tokio::test]
async fn f5_deliverer_repeats_a_send_of_unknown_outcome_once_and_marked() {
    let world = World::new().await;
    world.channel.script([OnSend::TakeAndReset]);
    world.send("a", "1").await;
    world.pass(AFTER_UNKNOWN).await;
    let taken = world.channel.taken(2).await;
    let repeats: Vec<_> = taken.iter().map(|one| (one.content.text.as_str(), one.repeat)).collect();
    assert_eq!(repeats, [("1", false), ("1", true)]);
    world.send("a", "2").await;
    assert_eq!(world.channel.texts(3).await, ["1", "1", "2"]);
}

#[tokio::test]
async fn deliverer_reports_an_outcome_that_stays_unknown_as_unconfirmed() {
    let world = World::new().await;
    world.channel.script([OnSend::TakeAndReset, OnSend::TakeAndReset]);
    world.send("a", "1").await;
    world.send("a", "2").await;
    world.pass(AFTER_UNKNOWN).await;
    world.pass(AFTER_UNKNOWN).await;
    let notice = "I could not confirm that this message arrived: “1” /resend sends it again.";
    assert_eq!(world.channel.texts(4).await, ["1", "1", "2", notice]);
    assert_eq!(world.store.log_status().await.unwrap().unconfirmed, 1);
}

#[tokio::test]
async fn unconfirmed_notice_is_retried_during_the_outage_that_it_reports() {
    let world = World::new().await;
    world.channel.script([OnSend::TakeAndReset, OnSend::TakeAndReset]);
    world.channel.script([OnSend::Say(SendError::Unknown("reset".to_owned()))]);
    world.send("a", "1").await;
    for _ in 0..3 {
        world.pass(AFTER_UNKNOWN).await;
    }
    let taken = world.channel.taken(3).await;
    assert!(taken[2].repeat && taken[2].content.text.starts_with("I could not confirm"));
}

#[tokio::test]
async fn wake_repeats_an_unconfirmed_chunk_at_once_when_the_chat_is_reachable() {
    let world = World::new().await;
    let chat = chat_address("a");
    world.channel.script([OnSend::Hang]);
    world.send("a", "1").await;
    world.clock.sleeper(SEND_LIMIT).await;
    world.channel.set_reachable(&chat, false);
    world.clock.advance(SEND_LIMIT);
    world.idle().await;
    world.channel.set_reachable(&chat, true);
    world.deliverer.wake(&chat);
    assert!(world.channel.taken(1).await[0].repeat);
}

#[tokio::test]
async fn deliverer_repeats_unmarked_if_the_platform_recognises_repetitions() {
    let world = World::with_rule(OnUnknown::RepeatSafe).await;
    let unknown = || OnSend::Say(SendError::Unknown("reset".to_owned()));
    world.channel.script([unknown(), unknown(), unknown()]);
    world.send("a", "1").await;
    // The waits grow, so that the retries may outlast the failure.
    for attempts in 1..=3 {
        world.pass(rules::wait_after(attempts)).await;
    }
    assert!(!world.channel.taken(1).await[0].repeat);
}

#[tokio::test]
async fn deliverer_treats_a_crash_during_a_send_as_an_unknown_outcome() {
    let world = World::new().await;
    world.channel.script([OnSend::Hang]);
    world.send("a", "1").await;
    world.clock.sleeper(SEND_LIMIT).await;
    let world = world.restart().await;
    world.deliverer.start().await.unwrap();
    assert!(world.channel.taken(1).await[0].repeat);

    world.channel.script([OnSend::Hang]);
    world.send("a", "2").await;
    world.clock.sleeper(SEND_LIMIT).await;
    let world = world.restart().await;
    world.channel.script([OnSend::Hang]);
    world.deliverer.start().await.unwrap();
    world.clock.sleeper(SEND_LIMIT).await;
    let world = world.restart().await;
    world.deliverer.start().await.unwrap();
    let texts = world.channel.texts(2).await;
    assert!(texts[1].starts_with("I could not confirm"), "at most two copies: {texts:?}");
}

#[tokio::test]
async fn deliverer_treats_a_channel_timeout_or_panic_as_an_unknown_outcome() {
    let world = World::new().await;
    world.channel.script([OnSend::Hang]);
    world.send("a", "1").await;
    world.pass(SEND_LIMIT).await;
    world.pass(AFTER_UNKNOWN).await;
    assert!(world.channel.taken(1).await[0].repeat);
    world.channel.script([OnSend::Panic]);
    world.send("a", "2").await;
    world.pass(AFTER_UNKNOWN).await;
    assert!(world.channel.taken(2).await[1].repeat);
}

#[tokio::test]
async fn f6_retry_after_delays_only_its_chat() {
    let world = World::new().await;
    let hour = Duration::from_hours(1);
    world.channel.script([OnSend::Say(SendError::RetryAfter(hour))]);
    world.send("a", "1").await;
    world.clock.sleeper(hour).await;
    world.send("a", "2").await;
    world.send("b", "other").await;
    assert_eq!(world.channel.texts(1).await, ["other"]);
    world.clock.advance(hour);
    assert_eq!(world.channel.texts(3).await, ["other", "1", "2"]);
}

#[tokio::test]
async fn f6_retry_after_survives_a_restart() {
    let world = World::new().await;
    let hour = Duration::from_hours(1);
    world.channel.script([OnSend::Say(SendError::RetryAfter(hour))]);
    world.send("a", "1").await;
    world.clock.sleeper(hour).await;
    let world = world.restart().await;
    world.deliverer.start().await.unwrap();
    world.pass(hour).await;
    assert_eq!(world.channel.texts(1).await, ["1"]);
}

#[tokio::test]
async fn deliverer_waits_for_wake_if_a_chat_is_unreachable() {
    let world = World::new().await;
    let chat = chat_address("a");
    world.channel.script([OnSend::Say(SendError::Unreachable)]);
    world.send("a", "1").await;
    world.idle().await;
    world.channel.set_reachable(&chat, false);
    world.deliverer.wake(&chat);
    world.send("b", "other").await;
    assert_eq!(world.channel.texts(1).await, ["other"]);
    world.channel.set_reachable(&chat, true);
    world.deliverer.wake(&chat);
    let taken = world.channel.taken(2).await;
    assert_eq!((taken[1].content.text.as_str(), taken[1].repeat), ("1", false));
}

#[tokio::test]
async fn deliverer_reports_a_refused_message_but_not_a_refused_notice() {
    let world = World::new().await;
    let refused = || OnSend::Say(SendError::Refused("chat not found".to_owned()));
    world.channel.script([refused()]);
    world.send("a", "1|2").await;
    let notice =
        "I could not send this message: “1” (chat not found). /resend tries it again.".to_owned();
    assert_eq!(world.channel.texts(1).await, [notice]);
    world.channel.script([refused(), refused()]);
    world.send("a", "3").await;
    world.stop().await;
    let status = world.store.log_status().await.unwrap();
    assert_eq!((status.dead, status.pending), (4, 0), "1, 2, 3 and the notice");
}

#[tokio::test]
async fn deliverer_loads_the_bytes_of_a_file_for_its_chunk_only() {
    let world = World::new().await;
    world.files.put("out/report.pdf", b"%PDF");
    world.send_file("a", "here", "out/report.pdf").await;
    let taken = world.channel.taken(1).await;
    let file = LoadedFile { name: "report.pdf".to_owned(), bytes: b"%PDF".as_slice().into() };
    assert_eq!(taken[0].files, [file]);
    world.send("a", "and text").await;
    assert_eq!(world.channel.taken(2).await[1].files, []);
}

#[tokio::test]
async fn deliverer_abandons_an_unreadable_file_before_sending_and_names_it() {
    let world = World::new().await;
    world.files.put("large.bin", &vec![0; usize::try_from(MAX_SENT_FILE_BYTES).unwrap() + 1]);
    world.send_file("a", "gone", "gone.pdf").await;
    world.send_file("a", "large", "large.bin").await;
    let texts = world.channel.texts(2).await;
    assert!(texts[0].contains("could not send") && texts[0].contains("gone.pdf does not exist"));
    assert!(texts[1].contains("could not send") && texts[1].contains("large.bin is"), "{texts:?}");
    world.stop().await;
    let status = world.store.log_status().await.unwrap();
    assert_eq!((status.dead, status.pending, status.unconfirmed), (2, 0, 0));
}

#[tokio::test]
async fn deliverer_reports_a_deleted_file_that_may_have_arrived_as_unconfirmed() {
    let world = World::new().await;
    world.files.put("report.pdf", b"%PDF");
    world.channel.script([OnSend::TakeAndReset]);
    world.send_file("a", "here", "report.pdf").await;
    world.channel.taken(1).await;
    world.files.remove("report.pdf");
    world.pass(AFTER_UNKNOWN).await;
    assert!(world.channel.texts(2).await[1].starts_with("I could not confirm"));
    assert_eq!(world.store.log_status().await.unwrap().unconfirmed, 1);
}

#[tokio::test]
async fn send_timeout_is_longer_for_a_large_file() {
    let world = World::new().await;
    world.files.put("large.bin", &vec![0; 32 * 1024 * 1024]);
    world.channel.script([OnSend::Hang]);
    world.send_file("a", "here", "large.bin").await;
    world.clock.sleeper(SEND_LIMIT + 256 * SECOND).await;
}

#[tokio::test]
async fn deliverer_stop_leaves_a_delayed_chunk_pending() {
    let world = World::new().await;
    let hour = Duration::from_hours(1);
    world.channel.script([OnSend::Take, OnSend::Say(SendError::RetryAfter(hour))]);
    world.send("a", "1|2").await;
    world.clock.sleeper(hour).await;
    world.stop().await;
    assert_eq!(world.channel.texts(1).await, ["1"]);
    assert_eq!(world.store.log_status().await.unwrap().pending, 1);
}

/// Advances the clock until a chat has tried this number of sends. If `others` is set, another chat
/// gets a message every minute.
async fn fail_until_tried(world: &World, times: usize, others: bool) {
    let mut sent = 0;
    for attempt in 1..=times {
        world.channel.tried(attempt + sent).await;
        let wait = rules::wait_after(u32::try_from(attempt).unwrap());
        world.clock.sleeper(wait).await;
        if others {
            sent += 1;
            world.send("b", &format!("b{sent}")).await;
            world.channel.tried(attempt + sent).await;
            world.channel.taken(sent).await;
        }
        world.clock.advance(wait);
    }
}

fn server_error() -> SendError {
    SendError::Unknown("HTTP 500".to_owned())
}

#[tokio::test]
async fn deliverer_abandons_a_chunk_that_fails_alone_and_sends_the_next() {
    let world = World::with_rule(OnUnknown::RepeatSafe).await;
    world.channel.set_failing("cursed", Some(server_error()));
    world.send("a", "cursed").await;
    world.send("a", "behind it").await;
    fail_until_tried(&world, 8, true).await;
    let texts = world.channel.texts(8 + 2).await;
    let notice = "I could not confirm that this message arrived: “cursed” /resend sends it again.";
    assert_eq!(texts[8..], ["behind it", notice]);
    assert_eq!(world.clock.elapsed(), 255 * SECOND);
    world.idle().await;
    let status = world.store.log_status().await.unwrap();
    assert_eq!((status.unconfirmed, status.pending, status.dead), (1, 0, 0));
}

#[tokio::test]
async fn deliverer_keeps_retrying_a_chunk_while_no_chat_of_the_account_succeeds() {
    let world = World::with_rule(OnUnknown::RepeatSafe).await;
    let no_route = SendError::Failed("no route".to_owned());
    world.channel.set_failing("of the evening", Some(no_route));
    world.send("a", "of the evening").await;
    fail_until_tried(&world, 100, false).await;
    // The other chat is the first to succeed in the morning, and the next attempt still fails.
    world.send("b", "good morning").await;
    world.channel.taken(1).await;
    world.channel.tried(102).await;
    world.clock.sleeper(rules::wait_after(99)).await;
    world.channel.set_failing("of the evening", None);
    world.clock.advance(rules::wait_after(99));
    assert_eq!(world.channel.texts(2).await, ["good morning", "of the evening"]);
}

#[tokio::test]
async fn deliverer_does_not_prolong_a_wait_if_the_clock_is_set_back() {
    let minutes = Duration::from_mins;
    for restarts in [false, true] {
        let mut world = World::new().await;
        world.channel.script([OnSend::Say(SendError::RetryAfter(minutes(30)))]);
        world.send("a", "1").await;
        world.clock.sleeper(minutes(30)).await;
        world.clock.advance(minutes(10));
        world.clock.set_back(Duration::from_hours(3));
        let left = if restarts { minutes(30) } else { minutes(20) };
        if restarts {
            world = world.restart().await;
            world.clock.set_back(Duration::from_hours(3));
            world.deliverer.start().await.unwrap();
        }
        world.clock.sleeper_within(left..=left).await;
        world.clock.advance(left);
        assert_eq!(world.channel.texts(1).await, ["1"], "restarts: {restarts}");
    }
}

#[tokio::test]
async fn destinations_plan_and_limit_files_by_the_channel_of_the_address() {
    let channels = Channels::new(vec![Arc::new(FakeChannel::default())]);
    let content = Content::text("x".repeat(FakeChannel::LIMIT + 1));
    let planned = channels.plan(&chat_address("a"), &content).unwrap();
    assert_eq!(planned.chunks.len(), 2);
    let reply = Content { reply_to: Some("m1".parse().unwrap()), ..content.clone() };
    let planned = channels.plan(&chat_address("a"), &reply).unwrap();
    let refers: Vec<_> = planned.chunks.iter().map(|chunk| chunk.reply_to.is_some()).collect();
    assert_eq!(refers, [true, false], "the first says what is replied to");
    let limits = |address: &ChatAddress| channels.max_file_bytes(address);
    let nowhere: ChatAddress = "icq:local:a".parse().unwrap();
    assert_eq!(limits(&chat_address("a")), Some(FakeChannel::MAX_FILE_BYTES));
    assert_eq!(limits(&nowhere), None);
    let error = channels.plan(&nowhere, &content).unwrap_err().to_string();
    assert_eq!(error, "icq:local:a is on no configured channel; there are: terminal:local");
}

#[tokio::test]
async fn deliverer_sends_a_chunk_queued_for_its_turn_unmarked_after_a_crash() {
    let world = World::new().await;
    world.channel.give_turns(false);
    world.send("a", "hello").await;
    world.channel.in_line(1).await;
    let world = world.restart().await;
    world.deliverer.start().await.unwrap();
    world.channel.in_line(2).await;
    world.channel.give_turns(true);
    let taken = world.channel.taken(1).await;
    assert!(!taken[0].repeat, "{taken:?}");
    world.idle().await;
    assert_eq!(world.channel.texts(1).await, ["hello"]);
}

#[tokio::test]
async fn deliverer_stop_leaves_a_chunk_queued_for_its_turn_pending() {
    let world = World::new().await;
    world.channel.give_turns(false);
    world.send("a", "hello").await;
    world.channel.in_line(1).await;
    world.stop().await;
    assert_eq!(world.store.log_status().await.unwrap().pending, 1);
}

#[tokio::test]
async fn deliverer_begins_no_send_during_a_platform_pause_and_sends_unmarked_later() {
    let world = World::new().await;
    world.channel.set_pause(SECOND);
    world.send("a", "hello").await;
    world.clock.sleeper(SECOND).await;
    let world = world.restart().await;
    world.deliverer.start().await.unwrap();
    world.clock.sleeper(SECOND).await;
    world.channel.set_pause(Duration::ZERO);
    world.clock.advance(SECOND);
    let taken = world.channel.taken(1).await;
    assert!(!taken[0].repeat, "{taken:?}");
    world.idle().await;
    assert_eq!(world.channel.texts(1).await, ["hello"]);
}
