//! The port of a channel: one account on one platform.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::{
    AccountName, ChannelName, ChatAddress, Clock, Content, Deliveries, Delivery, PlatformId,
    Publish, Receipt,
};

/// One account on one platform.
#[async_trait]
pub trait Channel: fmt::Debug + Send + Sync {
    /// The platform adapter's name.
    fn name(&self) -> ChannelName;

    /// The bot login.
    fn account(&self) -> AccountName;

    /// Receives until `context.stop` fires, or until the platform says that it is pointless.
    ///
    /// # Errors
    /// [`ChannelError`] says whether running it again can help.
    async fn run(&self, context: ChannelContext) -> Result<(), ChannelError>;

    /// Sends one chunk.
    ///
    /// # Errors
    /// [`SendError`] says what is known of the outcome.
    async fn deliver(&self, delivery: &Delivery) -> Result<Receipt, SendError>;

    /// Cuts a reply into what the platform takes at once. Pure; never empty; called before the turn
    /// is settled, so that the chunks are rows of the outbox. Which chunk says what it replies to is
    /// not its concern ([`crate::Destinations`] lets the first do it).
    fn plan(&self, reply: &Content) -> Vec<Content>;

    /// How long a chunk waits before its send begins, so that the platform lets it pass; zero if it
    /// need not. A send that has not begun is not repeated after a crash.
    fn pause_before(&self, delivery: &Delivery) -> Duration {
        let _ = delivery;
        Duration::ZERO
    }

    /// Whether anybody is there to take a message for the chat. A chat where nobody is waits in
    /// the outbox until the channel calls [`Deliveries::wake`] for it.
    fn reachable(&self, chat: &ChatAddress) -> bool {
        let _ = chat;
        true
    }

    /// How often a message that grows while the model writes may be edited; none if nothing is shown
    /// before it is complete.
    fn preview_interval(&self) -> Option<Duration> {
        None
    }

    /// Shows that somebody writes, for as long as the platform shows it. May fail; nobody minds.
    async fn typing(&self, chat: &ChatAddress) {
        let _ = chat;
    }

    /// Takes a message back that need not be seen any more. May fail; nobody minds much.
    async fn retract(&self, chat: &ChatAddress, message: &PlatformId) {
        let (_, _) = (chat, message);
    }

    /// The bytes of an attachment that the platform keeps (`AttachmentSource::Platform`).
    ///
    /// # Errors
    /// [`FetchError`] says whether fetching again can help.
    async fn fetch(&self, reference: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
        let (_, _) = (reference, limit);
        Err(FetchError::Gone("this channel keeps no files".to_owned()))
    }

    /// What a send of unknown outcome is followed by.
    fn on_unknown(&self) -> OnUnknown {
        OnUnknown::RepeatMarked
    }

    /// Whether the platform loses what is pressed while nobody listens. Whoever pressed believes that
    /// it is done; what is still to be decided is said again then.
    fn forgets_presses(&self) -> bool {
        false
    }

    /// What `status` shows.
    fn health(&self) -> Health;
}

/// What a channel is given to run.
#[derive(Debug, Clone)]
pub struct ChannelContext {
    /// Where its messages go.
    pub publish: Arc<dyn Publish>,
    /// Whom it tells that somebody is there again.
    pub deliveries: Arc<dyn Deliveries>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// The commands of the chat, for platforms that complete them.
    pub commands: Arc<[CommandHelp]>,
    /// Fires when it is to stop receiving. Delivering goes on.
    pub stop: CancellationToken,
}

/// A command of the chat, as people are shown it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandHelp {
    /// The word after the slash: lower-case letters.
    pub name: &'static str,
    /// What comes after it; may be empty.
    pub argument: &'static str,
    /// What it does, in a line.
    pub help: &'static str,
}

/// Bytes, as limits on attachments are counted.
const MEGABYTE: u64 = 1024 * 1024;

/// Why the bytes of an attachment could not be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The sender: it is larger than what is fetched.
    #[error("it is larger than {} MB", limit / MEGABYTE)]
    TooLarge {
        /// Bytes.
        limit: u64,
    },
    /// Nobody: the platform does not have it (any more).
    #[error("{0}")]
    Gone(String),
    /// A retry: the platform could not be asked.
    #[error("{0}")]
    Failed(String),
}

/// What a send of unknown outcome is followed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnUnknown {
    /// It is sent again once, visibly marked; after that it is unconfirmed.
    RepeatMarked,
    /// It can be sent again: the platform recognises it, or it is an edit.
    RepeatSafe,
}

/// How a channel fares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// It works.
    Up,
    /// It does not, and this is why.
    Down(String),
}

/// Why a channel stopped receiving.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// The operator: running it again is pointless until something is changed.
    #[error("{0}")]
    Fatal(String),
    /// Nobody: it is run again after a while.
    #[error("{0}")]
    Interrupted(String),
}

/// What is known of a send that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The platform does not have it and wants to be left alone for a while.
    #[error("the platform asks to wait {0:?}")]
    RetryAfter(Duration),
    /// The platform does not have it; the same send may succeed later.
    #[error("not sent: {0}")]
    Failed(String),
    /// Nobody is there to take it; it waits until the channel wakes the chat.
    #[error("nobody is there")]
    Nobody,
    /// The message that it was to be shown in ([`Delivery::shown_as`]) is not there any more, or
    /// cannot be changed: the same content can be sent as a new one.
    #[error("the message to be edited is gone")]
    Gone,
    /// The platform will never take it.
    #[error("refused: {0}")]
    Refused(String),
    /// The platform may or may not have it.
    #[error("outcome unknown: {0}")]
    Unknown(String),
}
