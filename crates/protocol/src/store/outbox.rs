//! Outgoing messages and previews: order, attempts, what became of them.

use std::fmt;

use async_trait::async_trait;

use super::Result;
use crate::{
    ChatAddress, Content, DedupeKey, Delivery, DeliveryId, Planned, PlatformId, Receipt, Timestamp,
    TurnId,
};

/// Outgoing messages: order, attempts, what became of them.
#[async_trait]
pub trait Outbox: fmt::Debug + Send + Sync {
    /// Commits a message of another process. A message whose key was used before is absorbed; if `said`, the message
    /// before it was planned, is not what the key was used for, the result says so. Durable when this returns.
    async fn enqueue(
        &self,
        message: &Planned,
        key: &DedupeKey,
        said: Option<&Content>,
    ) -> Result<Enqueued>;

    /// Chats that have something to be delivered.
    async fn open_chats(&self) -> Result<Vec<ChatAddress>>;

    /// The next chunk of a chat, without its topic, in the order of the log.
    async fn head(&self, chat: &ChatAddress) -> Result<Option<Head>>;

    /// Marks a chunk as being sent. Durable before the platform sees it.
    async fn start(&self, id: DeliveryId, repeat: bool) -> Result<()>;

    /// Records what became of a chunk that was being sent.
    async fn finish(&self, id: DeliveryId, end: &SendEnd) -> Result<()>;

    /// Begins to show what a running turn is about to say: at most once a turn. Never overtakes
    /// what waits for the chat. Durable before the platform sees it. Whoever ends the turn, in T5
    /// or by stopping it, ends the preview with it.
    async fn begin_preview(
        &self,
        turn: TurnId,
        chat: &ChatAddress,
        content: &Content,
    ) -> Result<Preview>;

    /// Records what became of a showing. Stale once the turn has ended.
    async fn finish_preview(&self, id: DeliveryId, showing: &Showing) -> Result<()>;

    /// The message that shows what a turn that has not ended is about to say, if there is one.
    async fn preview(&self, turn: TurnId) -> Result<Option<PlatformId>>;
}

/// Where the preview of a turn stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preview {
    /// It was begun just now, and its message is to be sent.
    Begun {
        /// The row of the outbox.
        id: DeliveryId,
        /// As [`Delivery::nonce`].
        nonce: String,
    },
    /// The chat has a message that it is shown in.
    Shown(DeliveryId, PlatformId),
    /// Something waits for the chat and goes first; it was not begun.
    Later,
    /// There is none and will be none: the platform refused it, or may have it.
    Over,
}

/// What became of an attempt to show a preview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Showing {
    /// The chat shows this.
    Shown {
        /// What it shows.
        content: Content,
        /// The message that shows it.
        platform_id: PlatformId,
    },
    /// The platform did not take it; what the turn says at last is not sent before this.
    Refused {
        /// Not before.
        not_before: Timestamp,
    },
    /// The platform may have it: nothing more is shown, and what the turn says at last goes by the
    /// channel's rule for unknown outcomes.
    Unknown,
}

/// What became of a message that was handed to the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enqueued {
    /// Its first chunk.
    pub id: DeliveryId,
    /// A message with its key had come before.
    pub duplicate: bool,
    /// That was another message.
    pub key_taken: bool,
}

/// The chunk that a chat is to get next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The chunk.
    pub delivery: Delivery,
    /// Whether an earlier send of it has an unknown outcome.
    pub unknown: bool,
    /// How often it was sent.
    pub attempts: u32,
    /// Not to be sent before this.
    pub not_before: Timestamp,
    /// When `not_before` was set: a wall clock that was set back since then must not prolong the wait.
    pub held_at: Timestamp,
    /// When it failed first; `None` if every send so far was refused only for a while.
    pub failing_since: Option<Timestamp>,
    /// Why the last send failed.
    pub error: Option<String>,
    /// Whether it only tells of another message's fate.
    pub notice: bool,
}

/// What became of one attempt to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendEnd {
    /// The platform has it.
    Sent(Receipt),
    /// The platform does not have it: again, not before this.
    Again {
        /// Not before.
        not_before: Timestamp,
        /// What it said.
        error: String,
        /// Whether it counts as an attempt: not where the platform only asked to wait.
        counts: bool,
        /// [`Delivery::first_sent_at`] before this attempt, which certainly did not arrive.
        first_sent_at: Option<Timestamp>,
    },
    /// Nobody was there to take it: it was no attempt.
    Nobody,
    /// The message that it was to be shown in is gone: it is sent as a new one.
    Anew,
    /// The platform may have it.
    Unknown {
        /// What happened.
        error: String,
    },
    /// The platform may have it, and it is not sent again; the chat and `status` say so.
    Unconfirmed {
        /// What happened.
        error: String,
        /// What the chat is told.
        notice: Option<Planned>,
    },
    /// The platform will not take it; what belongs to the same message and comes after it is given
    /// up too.
    Dead {
        /// What it said.
        error: String,
        /// What the chat is told.
        notice: Option<Planned>,
    },
}
