//! The ports of the bus: inbound messages, outbound destinations, and wake-ups of the outbox.

mod program_file;
mod program_request;
mod publish_order;
mod queue_mode;

pub use program_file::{ProgramFile, ProgramFiles};
pub use program_request::{
    END_OF_INSTRUCTIONS, ProgramCall, ProgramMessage, ProgramRequest, ProgramTool, SENT_TO_PROGRAM,
};
pub use publish_order::{OrderHold, OrderTicket, PublishOrder};
pub use queue_mode::QueueMode;

use std::fmt;

use async_trait::async_trait;

use crate::chat::{ChatAddress, Content, Cursor, Inbound, Outbound, Planned, SessionId};
use crate::ids::{AccountName, ChannelName, DedupeKey, IdError};
use crate::store::{Accepted, Enqueued, NoCorrection, StoreError, UnansweredMessage};

/// The bus, as channels and the gateway use it.
#[async_trait]
pub trait Publish: fmt::Debug + Send + Sync {
    /// Hands an inbound message to the agent. It counts as accepted when this returns.
    ///
    /// # Errors
    /// [`PublishError`]: the message is not in the log.
    async fn publish(
        &self,
        inbound: Inbound,
        cursor: Option<Cursor>,
    ) -> Result<Accepted, PublishError>;

    /// Publishes a message whose later ones `hold` keeps back. An implementation that knows when the
    /// message has its place in the queue of the log releases it then; otherwise the caller does after
    /// the commit.
    ///
    /// # Errors
    /// As for [`Self::publish`]. The hold of a refused message may still be unreleased.
    async fn publish_in_order(
        &self,
        inbound: Inbound,
        cursor: Option<Cursor>,
        _hold: &OrderHold,
    ) -> Result<Accepted, PublishError> {
        self.publish(inbound, cursor).await
    }

    /// Sends a notice to the author of a message that the agent cannot process. The notice is sent
    /// once, even if the message arrives again.
    ///
    /// # Errors
    /// [`PublishError::NotAllowed`] if the author is not admitted. A stranger gets the usual hint.
    async fn decline(&self, inbound: Inbound, line: Content) -> Result<(), PublishError>;

    /// Moves a cursor over an update that is not for the agent, and counts it under `reason`.
    ///
    /// # Errors
    /// [`PublishError::Log`]: the cursor has not moved.
    async fn ignore(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        reason: &str,
        cursor: Option<Cursor>,
    ) -> Result<(), PublishError>;

    /// Takes back a message that its platform has deleted. A message that waits is not answered, and a
    /// turn for this message alone is stopped. A turn for several messages goes on, and an unknown or
    /// answered message changes nothing. `chat` is the chat of the message, in any topic.
    ///
    /// # Errors
    /// [`PublishError::Log`]: the message is not taken back.
    async fn withdraw_message(
        &self,
        chat: &ChatAddress,
        key: &DedupeKey,
    ) -> Result<(), PublishError>;

    /// Returns the messages of people in an account that wait or are being answered, at most `limit` and
    /// the oldest first.
    ///
    /// # Errors
    /// [`PublishError::Log`]: the log cannot be read.
    async fn list_unanswered(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        limit: u32,
    ) -> Result<Vec<UnansweredMessage>, PublishError>;

    /// Returns every cursor of an account.
    ///
    /// # Errors
    /// [`PublishError::Log`]: the log cannot be read.
    async fn cursors(
        &self,
        channel: &ChannelName,
        account: &AccountName,
    ) -> Result<Vec<Cursor>, PublishError>;

    /// Moves a cursor without a message.
    ///
    /// # Errors
    /// [`PublishError::Log`]: the cursor has not moved.
    async fn move_cursor(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        cursor: Cursor,
    ) -> Result<(), PublishError>;

    /// Enqueues a message of another process for delivery. It counts as accepted when this returns.
    ///
    /// # Errors
    /// [`PublishError`]: the message is not in the log.
    async fn send(&self, message: Outbound, key: DedupeKey) -> Result<Enqueued, PublishError>;

    /// Enqueues a message as [`Self::send`] does, and treats `hold` as [`Self::publish_in_order`] does.
    ///
    /// # Errors
    /// As for [`Self::send`].
    async fn send_in_order(
        &self,
        message: Outbound,
        key: DedupeKey,
        _hold: &OrderHold,
    ) -> Result<Enqueued, PublishError> {
        self.send(message, key).await
    }
}

/// The reason why the bus refused a message. The log is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The sender is not in the allow-list of the channel. The operator can change that list.
    #[error("{sender} may not speak on {channel}; add it to [channels.{channel}] allow")]
    NotAllowed {
        /// The name, as in `[channels.NAME]`.
        channel: String,
        /// The platform's id of the person, as `allow` takes it.
        sender: String,
    },
    /// The message is empty.
    #[error("the message is empty after control and invisible characters were removed")]
    Empty,
    /// The message exceeds the size limit.
    #[error("the message is {bytes} bytes long; at most {limit} are accepted, send a file instead")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The most bytes that are accepted.
        limit: usize,
    },
    /// A program exceeded its rate limit, which stops endless exchanges between programs.
    #[error("{sender} is a bot and may send {limit} messages a minute in a chat")]
    BotTooOften {
        /// The program.
        sender: String,
        /// The most messages per minute.
        limit: usize,
    },
    /// The key belongs to another message.
    #[error(
        "the key {key:?} was used in this chat for another message ({used_for}); send this one with a new key"
    )]
    KeyTaken {
        /// The idempotency key of the refused message.
        key: String,
        /// The message that used it first.
        used_for: String,
    },
    /// The correction was refused.
    #[error("this {0}")]
    NoCorrection(#[from] NoCorrection),
    /// An id is malformed.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The destination does not exist.
    #[error(transparent)]
    Destination(#[from] NoDestination),
    /// A job cannot run as it is described.
    #[error("{0}")]
    Job(String),
    /// The daemon is stopping; it can accept the message after its next start.
    #[error("the daemon is stopping; send it again when it is back")]
    Stopping,
    /// The log returned an error. A retry or the operator can help.
    #[error(transparent)]
    Log(#[from] StoreError),
}

impl PublishError {
    /// The reason under which a refused message is counted as ignored.
    #[must_use]
    pub fn counted_as(&self) -> &'static str {
        match self {
            Self::NotAllowed { .. } => "not allowed",
            Self::Empty => "empty",
            Self::TooLong { .. } => "too long",
            Self::BotTooOften { .. } => "too many from a bot",
            Self::NoCorrection(NoCorrection::Unknown) => "an edit of an unknown message",
            Self::NoCorrection(NoCorrection::Answered) => "an edit too late",
            Self::NoCorrection(NoCorrection::Command) => "an edit of a command",
            Self::KeyTaken { .. }
            | Self::Id(_)
            | Self::Destination(_)
            | Self::Job(_)
            | Self::Stopping
            | Self::Log(_) => "refused",
        }
    }
}

/// The places that can receive messages, with the chunk limits of each.
pub trait Destinations: fmt::Debug + Send + Sync {
    /// Splits `content` into chunks for the chat. The first chunk refers to the message that is
    /// answered.
    ///
    /// # Errors
    /// [`NoDestination`] if the chat is on no channel of this daemon.
    fn plan(&self, address: &ChatAddress, content: &Content) -> Result<Planned, NoDestination>;

    /// Returns `true` if the channel that serves the chat can change its messages.
    fn can_edit(&self, address: &ChatAddress) -> bool;

    /// Returns [`crate::channel::Channel::max_file_bytes`] of the channel that serves the chat.
    fn max_file_bytes(&self, address: &ChatAddress) -> Option<u64>;
}

/// The channel or account is not configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{address} is on no configured channel; there are: {known}")]
pub struct NoDestination {
    /// The requested destination.
    pub address: String,
    /// The configured accounts, as `channel:account`.
    pub known: String,
}

/// Wakes lanes, for work that the daemon itself puts into the log.
pub trait WakeLanes: fmt::Debug + Send + Sync {
    /// Wakes the lane of a session. Cheap if there is no work.
    fn wake_lane(&self, session: SessionId);
}

/// Wakes delivery workers, for callers that add or unblock chunks.
pub trait Deliveries: fmt::Debug + Send + Sync {
    /// Wakes the delivery worker of the chat. Cheap if there is nothing to deliver.
    fn wake(&self, chat: &ChatAddress);

    /// Wakes the delivery workers of all chats of an account that have pending messages.
    fn wake_account(&self, channel: &ChannelName, account: &AccountName);
}
