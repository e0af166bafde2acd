//! The port of a channel: one account on one platform.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::{
    AccountName, ChannelName, ChatAddress, Check, Clock, Content, Deliveries, Delivery,
    LastExchanges, PlatformId, Publish, Receipt,
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

    /// Bytes of the largest file that the platform takes in this chat. `None` if it states no limit
    /// below [`crate::MAX_SENT_FILE_BYTES`].
    fn max_file_bytes(&self, chat: &ChatAddress) -> Option<u64> {
        let _ = chat;
        None
    }

    /// The time that a chunk has to wait before the platform lets it pass; zero if it need not.
    fn pause_before(&self, delivery: &Delivery) -> Duration {
        let _ = delivery;
        Duration::ZERO
    }

    /// Waits in line until the platform lets a chunk pass, where chats take turns. Called before the send
    /// is recorded as begun, because a send that has not begun is not repeated after a crash.
    ///
    /// # Errors
    /// The time that the chat has to wait for a reason of its own before it can get in line.
    async fn turn(&self, delivery: &Delivery) -> Result<(), Duration> {
        self.spare_turn(delivery)
    }

    /// As [`Self::turn`], for a preview: it can be left out, and takes a turn only where no chunk
    /// waits for one.
    ///
    /// # Errors
    /// The time until there can be a turn.
    fn spare_turn(&self, delivery: &Delivery) -> Result<(), Duration> {
        match self.pause_before(delivery) {
            Duration::ZERO => Ok(()),
            pause => Err(pause),
        }
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

    /// Whether it works, for `status`.
    fn health(&self) -> Health;

    /// The last exchanges with the platform, for `status`. A channel without a platform has none.
    fn exchanges(&self) -> LastExchanges {
        LastExchanges::default()
    }

    /// Asks the platform, without changing anything there, whether the account can work: its token, and
    /// what the operator has to allow. Nothing is found of a channel without a platform.
    async fn probe(&self) -> Vec<Check> {
        Vec::new()
    }
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
