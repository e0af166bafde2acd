//! A deliverer with a real log, a fake channel and a manual clock.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::bus::Deliveries;
use avocet_protocol::channel::OnUnknown;
use avocet_protocol::chat::{
    Attachment, AttachmentKind, AttachmentSource, ChatAddress, Content, Planned, SessionId,
};
use avocet_protocol::ids::DedupeKey;
use avocet_protocol::store::Outbox;
use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_supervise::Group;
use avocet_testkit::{FakeChannel, FakeFiles, ManualClock, OneWorkspace};

use crate::{ChannelRegistry, Deliverer};

pub(super) const SECOND: Duration = Duration::from_secs(1);

pub(super) struct DeliveryHarness {
    pub(super) deliverer: Deliverer,
    pub(super) channel: Arc<FakeChannel>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) store: Arc<SqliteStore>,
    pub(super) files: Arc<FakeFiles>,
    log: TempStore,
}

impl DeliveryHarness {
    pub(super) async fn new() -> Self {
        Self::with_rule(OnUnknown::RepeatMarked).await
    }

    pub(super) async fn with_rule(rule: OnUnknown) -> Self {
        Self::with_channel(FakeChannel::with_rule(rule)).await
    }

    pub(super) async fn with_channel(channel: FakeChannel) -> Self {
        Self::with_log(TempStore::new(), Arc::new(channel)).await
    }

    async fn with_log(log: TempStore, channel: Arc<FakeChannel>) -> Self {
        let clock = Arc::new(ManualClock::default());
        let group = Group::new("test");
        let store = log.open(clock.clone()).await;
        let channels = Arc::new(ChannelRegistry::new(vec![channel.clone()]));
        let files = Arc::<FakeFiles>::default();
        let deliverer = Deliverer::new(
            store.clone(),
            channels,
            Arc::new(OneWorkspace(files.clone())),
            clock.clone(),
            group.child_group("outbox"),
        );
        Self { deliverer, channel, clock, store, files, log }
    }

    /// Kills the daemon like `kill -9` and starts it again.
    pub(super) async fn kill_and_restart(self) -> Self {
        let Self { deliverer, channel, clock, store, log, .. } = self;
        let group = deliverer.chats.group().clone();
        group.abort_tasks();
        group.wait_for_tasks(clock.as_ref(), SECOND).await.unwrap();
        drop((deliverer, store));
        Self::with_log(log, channel).await
    }

    /// Puts a message into the outbox, and wakes the chat.
    pub(super) async fn send(&self, chat: &str, text: &str) {
        self.enqueue_text(chat, text).await;
        self.deliverer.wake(&chat_address(chat));
    }

    /// Puts a message into the outbox.
    pub(super) async fn enqueue_text(&self, chat: &str, text: &str) {
        let key = DedupeKey::parse(text).unwrap();
        self.store.enqueue(&planned_message(chat, text), &key, None).await.unwrap();
    }

    /// Sends like [`Self::send`], with a file of the workspace.
    pub(super) async fn send_file(&self, chat: &str, text: &str, path: &str) {
        let source = AttachmentSource::Workspace(path.to_owned());
        self.send_attached(chat, text, Attachment::new(AttachmentKind::Document, source)).await;
    }

    /// Sends like [`Self::send_file`].
    pub(super) async fn send_attached(&self, chat: &str, text: &str, attachment: Attachment) {
        let content = Content { attachments: vec![attachment], ..Content::text(text) };
        let planned = Planned { address: chat_address(chat), chunks: vec![content] };
        let key = DedupeKey::parse(text).unwrap();
        self.store.enqueue(&planned, &key, None).await.unwrap();
        self.deliverer.wake(&planned.address);
    }

    /// Waits until a task sleeps for this time, and lets the time pass.
    pub(super) async fn pass_time(&self, time: Duration) {
        self.clock.sleeper(time).await;
        self.clock.advance(time);
    }

    /// Waits until all workers have ended.
    pub(super) async fn wait_until_idle(&self) {
        while !self.deliverer.chats.is_empty() {
            tokio::task::yield_now().await;
        }
    }

    pub(super) async fn stop(&self) {
        self.deliverer.stop(SECOND).await.unwrap();
    }
}

/// A message of the chunks that `|` separates.
pub(super) fn planned_message(chat: &str, text: &str) -> Planned {
    let chunks = text.split('|').map(Content::text).collect();
    Planned { address: chat_address(chat), chunks }
}

pub(super) fn chat_address(chat: &str) -> ChatAddress {
    SessionId::parse(&format!("terminal:local:{chat}")).unwrap().address()
}
