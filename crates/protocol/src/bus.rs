//! The ports of the bus: where messages enter, and how the outbox is woken.

use std::fmt;

use async_trait::async_trait;

use crate::{
    Accepted, AccountName, ChannelName, ChatAddress, Content, Cursor, DedupeKey, Enqueued, IdError,
    Inbound, NoCorrection, Outbound, Planned, StoreError,
};

/// The bus, as channels and the gateway see it.
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

    /// Says something to whoever wrote what the agent cannot be given; once, however often it comes.
    ///
    /// # Errors
    /// [`PublishError::NotAllowed`] if they may not speak: then they are told as any stranger.
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

    /// Every cursor of an account.
    ///
    /// # Errors
    /// [`PublishError::Log`]: the log cannot be read.
    async fn cursors(
        &self,
        channel: &ChannelName,
        account: &AccountName,
    ) -> Result<Vec<Cursor>, PublishError>;

    /// Moves a cursor on its own.
    ///
    /// # Errors
    /// [`PublishError::Log`]: it has not moved.
    async fn move_cursor(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        cursor: Cursor,
    ) -> Result<(), PublishError>;

    /// Has a message delivered that another process says. It counts as accepted when this returns.
    ///
    /// # Errors
    /// [`PublishError`]: the message is not in the log.
    async fn send(&self, message: Outbound, key: DedupeKey) -> Result<Enqueued, PublishError>;
}

/// Why the bus did not take a message. Nothing is in the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The operator: this sender is not on the channel's allow-list.
    #[error("{sender} may not speak on {channel}; add it to [channels.{channel}] allow")]
    NotAllowed {
        /// The channel.
        channel: String,
        /// Who wanted to speak.
        sender: String,
    },
    /// The sender: there is nothing in the message.
    #[error("the message is empty after control and invisible characters were removed")]
    Empty,
    /// The sender: the message is larger than one message may be.
    #[error("the message is {bytes} bytes long; at most {limit} are taken, send a file instead")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Nobody: programs would answer each other for ever.
    #[error("{sender} is a program and may write {limit} times a minute in a chat")]
    BotTooOften {
        /// The program.
        sender: String,
        /// Messages a minute.
        limit: usize,
    },
    /// The sender: the key belongs to another message.
    #[error(
        "the key {key:?} was used in this chat for another message ({used_for}); send this one with a new key"
    )]
    KeyTaken {
        /// The key.
        key: String,
        /// The message that has it.
        used_for: String,
    },
    /// The sender: there is nothing to correct.
    #[error("this {0}")]
    NoCorrection(#[from] NoCorrection),
    /// The sender: an id does not parse.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The sender: there is no such place to send to.
    #[error(transparent)]
    Destination(#[from] NoDestination),
    /// Nobody: the daemon stops; the message is taken at its next start.
    #[error("the daemon is stopping; send it again when it is back")]
    Stopping,
    /// The operator, or a retry: the log could not be written.
    #[error(transparent)]
    Log(#[from] StoreError),
}

impl PublishError {
    /// The words under which a message is counted as ignored.
    #[must_use]
    pub fn counted_as(&self) -> &'static str {
        match self {
            Self::NotAllowed { .. } => "not allowed",
            Self::Empty => "empty",
            Self::TooLong { .. } => "too long",
            Self::BotTooOften { .. } => "of a bot, too often",
            Self::NoCorrection(NoCorrection::Unknown) => "an edit of the unknown",
            Self::NoCorrection(NoCorrection::Answered) => "an edit too late",
            Self::NoCorrection(NoCorrection::Command) => "an edit of a command",
            Self::KeyTaken { .. }
            | Self::Id(_)
            | Self::Destination(_)
            | Self::Stopping
            | Self::Log(_) => "refused",
        }
    }
}

/// Where messages can be sent, and how they are cut there.
pub trait Destinations: fmt::Debug + Send + Sync {
    /// Cuts `content` into chunks for the chat; the first refers to what it replies to.
    ///
    /// # Errors
    /// [`NoDestination`] if the chat is on no channel of this daemon.
    fn plan(&self, address: &ChatAddress, content: &Content) -> Result<Planned, NoDestination>;

    /// [`crate::Channel::max_file_bytes`] of the channel that serves the chat.
    fn max_file_bytes(&self, address: &ChatAddress) -> Option<u64>;
}

/// The channel or account is not configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{address} is on no configured channel; there are: {known}")]
pub struct NoDestination {
    /// Where the message was to go.
    pub address: String,
    /// What is configured, as `channel:account`.
    pub known: String,
}

/// The outbox, as seen by whoever knows that there is something to deliver.
pub trait Deliveries: fmt::Debug + Send + Sync {
    /// Looks at the chat's outbox. Costs nothing if there is nothing.
    fn wake(&self, chat: &ChatAddress);
}
