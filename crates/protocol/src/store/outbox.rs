//! The port of outgoing messages and previews: order, attempts, outcome.

use std::fmt;

use async_trait::async_trait;

use super::Result;
use crate::chat::{ChatAddress, Content, Delivery, Planned, Receipt};
use crate::clock::Timestamp;
use crate::ids::{DedupeKey, DeliveryId, PlatformId, TurnId};

/// Outgoing messages: order, attempts, outcome.
#[async_trait]
pub trait Outbox: fmt::Debug + Send + Sync {
    /// Commits a message of another process. Ignores a message with a used key; the result reports
    /// if that key belonged to a different message. The comparison uses `original`, the content
    /// before it was split into chunks. Durable when this returns. As for [`Inbox::accept`], the first
    /// poll gives the write its place in the queue.
    ///
    /// [`Inbox::accept`]: crate::store::Inbox::accept
    async fn enqueue(
        &self,
        message: &Planned,
        key: &DedupeKey,
        original: Option<&Content>,
    ) -> Result<Enqueued>;

    /// Returns the chats with chunks to be delivered.
    async fn open_chats(&self) -> Result<Vec<ChatAddress>>;

    /// Returns the next chunk of a chat in the order of the log. `chat` has no topic.
    async fn head(&self, chat: &ChatAddress) -> Result<Option<Head>>;

    /// Marks a chunk as being sent. Durable before the platform sees it.
    async fn start(&self, id: DeliveryId, repeat: bool) -> Result<()>;

    /// Records the outcome of a send. Returns `true` if the chat has an open chunk.
    async fn finish(&self, id: DeliveryId, end: &SendEnd) -> Result<bool>;

    /// Begins a part of the preview of a running turn's answer: a message, numbered from 0 without
    /// a gap. Each part begins at most once a turn. It never overtakes chunks that wait for the
    /// chat. Durable before the platform sees it. The transaction that settles or stops the turn
    /// ends the preview too: the parts become the chunks of the reply, or are removed.
    async fn begin_preview(
        &self,
        turn: TurnId,
        part: usize,
        chat: &ChatAddress,
        content: &Content,
    ) -> Result<Preview>;

    /// Records the outcome of a preview update. Stale once the turn has ended.
    async fn finish_preview(&self, id: DeliveryId, showing: &Showing) -> Result<()>;

    /// Returns the message that shows the beginning of an open turn's preview; `None` if that
    /// message cannot change any more.
    async fn preview(&self, turn: TurnId) -> Result<Option<PlatformId>>;
}

/// The state of a part of a turn's preview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preview {
    /// The part has just begun, and its message is to be sent.
    Begun {
        /// The row of the outbox.
        id: DeliveryId,
        /// Same as [`Delivery::nonce`].
        nonce: String,
    },
    /// The part is shown in this message of the chat.
    Shown(DeliveryId, PlatformId),
    /// The part's message shows exactly the requested content.
    Complete(DeliveryId, PlatformId),
    /// The part has not begun, because chunks wait for the chat and go first.
    Later,
    /// This part of the preview is over: the platform refused it, or may have it.
    Over,
}

/// The outcome of an attempt to show a preview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Showing {
    /// The chat shows the preview.
    Shown {
        /// The shown content.
        content: Content,
        /// The message that shows it.
        platform_id: PlatformId,
    },
    /// Like `Shown`, but the message must not change again before the end of the turn.
    Complete {
        /// The shown content.
        content: Content,
        /// The message that shows it.
        platform_id: PlatformId,
    },
    /// The platform refused the preview; the turn's answer waits for this time, too.
    Refused {
        /// The earliest time of the next send.
        not_before: Timestamp,
    },
    /// The platform may have the preview. Nothing more is shown, and the turn's answer follows the
    /// channel's rule for unknown outcomes.
    Unknown,
}

/// The result of handing a message to the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enqueued {
    /// The id of its first chunk.
    pub id: DeliveryId,
    /// `true` if a message with this key had arrived before.
    pub duplicate: bool,
    /// `true` if that earlier message was a different one.
    pub key_taken: bool,
}

/// The next chunk for a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The chunk.
    pub delivery: Delivery,
    /// `true` if an earlier send of it has an unknown outcome.
    pub unknown: bool,
    /// Number of sends.
    pub attempts: u32,
    /// The earliest time of the next send.
    pub not_before: Timestamp,
    /// The time at which `not_before` was set. A wall clock that was set back since then must not
    /// prolong the wait.
    pub held_at: Timestamp,
    /// The time of the first failure; `None` before that. A rate limit of the platform does not
    /// count as a failure.
    pub failing_since: Option<Timestamp>,
    /// The error of the last send.
    pub error: Option<String>,
    /// `true` if the chunk only reports the outcome of another message.
    pub notice: bool,
    /// `true` if it only replaces the content of [`Delivery::shown_as`], or removes that message.
    /// Without that message, there is nothing to send.
    pub is_edit: bool,
}

impl Head {
    /// Returns `true` if the message [`Delivery::shown_as`] is to be removed.
    #[must_use]
    pub fn is_removal(&self) -> bool {
        self.is_edit && self.delivery.content.is_empty()
    }
}

/// The outcome of one send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendEnd {
    /// The platform has the chunk.
    Sent(Receipt),
    /// The platform does not have the chunk; it is sent again.
    Again {
        /// The earliest time of the next send.
        not_before: Timestamp,
        /// The error of the platform.
        error: String,
        /// `true` if it counts as an attempt; `false` if the platform only asked to wait.
        counts: bool,
        /// [`Delivery::first_sent_at`] before this attempt, which certainly did not arrive.
        first_sent_at: Option<Timestamp>,
    },
    /// The chat had no client for the chunk. This does not count as an attempt.
    Unreachable,
    /// The message to be edited is gone: the chunk is sent as a new message.
    Anew,
    /// The platform may have the chunk.
    Unknown {
        /// The timeout, panic or error that left it open.
        error: String,
    },
    /// The platform may have the chunk, and it is not sent again. The chat and `status` report
    /// that.
    Unconfirmed {
        /// The error of the last send.
        error: String,
        /// The notice for the chat.
        notice: Option<Planned>,
    },
    /// The platform will never accept the chunk. Later chunks of the same message are abandoned
    /// too.
    Dead {
        /// The error of the platform.
        error: String,
        /// The notice for the chat.
        notice: Option<Planned>,
    },
    /// The platform has some messages of the chunk; the rest ended in this way. A later send is a
    /// repetition.
    Partly(Box<Self>),
}
