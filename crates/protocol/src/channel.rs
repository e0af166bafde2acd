//! The port of a channel: one account on one platform.

mod address_file;
mod attach;
mod bot_setup;
mod capabilities;
mod config;
mod fetch_attachments;
mod web_console;
mod webhook;

pub use address_file::{AddressFile, FetchAddress};
pub use attach::{Attach, AttachPlatform, ClientFile, ForClient, Handover, PieceRequest};
pub use bot_setup::{BotForm, BotIntroduction, BotSetup, OwnerCandidate};
pub use capabilities::{ChannelCapabilities, OnUnknown};
pub use config::{ChannelAccounts, ChannelConfig, ProgramConfig};
pub use fetch_attachments::FetchAttachments;
pub use web_console::{
    UploadError, UploadSink, UploadedFile, Uploads, WEB_ACCOUNT, WEB_CHANNEL, WebAsset, WebBrowser,
    WebConsole, WebError, WebLink,
};
pub use webhook::{ChannelWebhook, Webhook, WebhookError};

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::bus::{Deliveries, Publish};
use crate::chat::{ChatAddress, Content, Delivery, DraftError, Outcome, Receipt};
use crate::clock::Clock;
use crate::daemon::{Check, LastExchanges};
use crate::ids::{AccountName, ChannelName, DedupeKey, PlatformId, TurnId};

/// One account on one platform.
#[async_trait]
pub trait Channel: fmt::Debug + Send + Sync {
    /// The name of the platform adapter.
    fn name(&self) -> ChannelName;

    /// The login of the bot.
    fn account(&self) -> AccountName;

    /// The abilities of the platform.
    fn capabilities(&self) -> ChannelCapabilities {
        ChannelCapabilities::default()
    }

    /// Receives until `context.stop` fires, or until an error.
    ///
    /// # Errors
    /// [`ChannelError`] shows whether the caller runs the channel again.
    async fn run(&self, context: ChannelContext) -> Result<(), ChannelError>;

    /// Sends one chunk.
    ///
    /// # Errors
    /// [`SendError`] shows how certain the outcome is.
    async fn deliver(&self, delivery: &Delivery) -> Result<Receipt, SendError>;

    /// Splits a reply into chunks that the platform accepts. Pure; returns at least one chunk.
    /// Called before the turn is settled, so that the chunks are rows of the outbox.
    /// [`crate::bus::Destinations`] sets the reply reference on the first chunk; others keep theirs.
    fn plan(&self, reply: &Content) -> Vec<Content>;

    /// Splits the beginning of a reply like [`Self::plan`], for a preview. A chunk stays the same
    /// while the text behind it grows.
    fn plan_preview(&self, reply: &Content) -> Vec<Content> {
        self.plan(reply)
    }

    /// Bytes of the largest file that the platform accepts in this chat. `None` if its limit is at
    /// least [`crate::chat::MAX_SENT_FILE_BYTES`] or not stated.
    fn max_file_bytes(&self, chat: &ChatAddress) -> Option<u64> {
        let _ = chat;
        None
    }

    /// The time that a chunk has to wait before the platform accepts it; zero if it need not wait.
    fn pause_before(&self, delivery: &Delivery) -> Duration {
        let _ = delivery;
        Duration::ZERO
    }

    /// Waits for this chunk's turn to be sent, if the chats of the channel take turns. Called
    /// before the start of the send is recorded, so that a crash during the wait repeats nothing.
    ///
    /// # Errors
    /// The time that this chat has to wait before it can queue behind other chats.
    async fn turn(&self, delivery: &Delivery) -> Result<(), Duration> {
        self.spare_turn(delivery)
    }

    /// Like [`Self::turn`], for a preview. A preview is optional, so it takes a turn only if no
    /// chunk waits for one.
    ///
    /// # Errors
    /// The time until a turn can be free.
    fn spare_turn(&self, delivery: &Delivery) -> Result<(), Duration> {
        match self.pause_before(delivery) {
            Duration::ZERO => Ok(()),
            pause => Err(pause),
        }
    }

    /// Returns `true` if a message for the chat can be delivered at present. Otherwise the chat's
    /// messages stay in the outbox until the channel calls [`Deliveries::wake`] for it.
    fn reachable(&self, chat: &ChatAddress) -> bool {
        let _ = chat;
        true
    }

    /// Returns `true` if the platform lets the bot write nothing into a chat, as its last refusal
    /// there says. An owner then learns of it in another chat.
    fn is_closed(&self, chat: &ChatAddress) -> bool {
        let _ = chat;
        false
    }

    /// Returns `true` if a new message with this content sends a notification, which an edit does not.
    /// The growing answer is then removed, and the answer is a new message.
    fn notifies(&self, content: &Content) -> bool {
        let _ = content;
        false
    }

    /// Returns `true` if the chat may show a growing answer by [`Self::show_draft`].
    fn shows_drafts(&self, chat: &ChatAddress) -> bool {
        let _ = chat;
        false
    }

    /// Shows the beginning of the answer of a turn as a draft. A draft is no message: the platform
    /// removes it by itself, within 30 seconds or with the next message. A crash loses it.
    ///
    /// # Errors
    /// [`DraftError`] shows if the answer needs a message instead.
    async fn show_draft(
        &self,
        chat: &ChatAddress,
        turn: TurnId,
        content: &Content,
    ) -> Result<(), DraftError> {
        let (_, _, _) = (chat, turn, content);
        Err(DraftError::Unsupported)
    }

    /// Shows "typing" for as long as the platform displays it. Failures are ignored.
    async fn typing(&self, chat: &ChatAddress) {
        let _ = chat;
    }

    /// Notes the outcome of a message that a turn was about, for platforms on which the bot can
    /// react to it. Must not block; a crash may skip it.
    fn note_outcome(&self, chat: &ChatAddress, key: &DedupeKey, outcome: Outcome) {
        let (_, _, _) = (chat, key, outcome);
    }

    /// Deletes a message of the bot that has become superfluous. A message that is gone already
    /// counts as deleted.
    ///
    /// # Errors
    /// [`SendError`] shows if a retry can help.
    async fn retract(&self, chat: &ChatAddress, message: &PlatformId) -> Result<(), SendError> {
        let (_, _) = (chat, message);
        Ok(())
    }

    /// Fetches the bytes of an attachment that the platform keeps (`AttachmentSource::Platform`).
    ///
    /// # Errors
    /// [`FetchError`] shows whether a retry can help.
    async fn fetch(&self, reference: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
        let (_, _) = (reference, limit);
        Err(FetchError::Gone("this channel keeps no files".to_owned()))
    }

    /// The state of the channel, for `status`.
    fn health(&self) -> Health;

    /// The last exchanges with the platform, for `status`. Empty for a channel without a platform.
    fn exchanges(&self) -> LastExchanges {
        LastExchanges::default()
    }

    /// Returns `true` before the first exchange with the platform, successful or not. The daemon
    /// reports itself ready after it.
    fn is_starting(&self) -> bool {
        false
    }

    /// Returns `true` while the platform refuses the account itself. A reload of the configuration
    /// starts such an account again, so that it asks the platform at once.
    fn is_refused(&self) -> bool {
        false
    }

    /// Returns the time by which the receive loop is late, if it hangs. A platform that is down is
    /// no reason, because failed requests are repeated. systemd then restarts the daemon.
    fn overdue(&self) -> Option<Duration> {
        None
    }

    /// Asks the platform, without changing anything there, if the account can work: its token, and
    /// the permissions that the operator has to give. Empty for a channel without a platform.
    async fn probe(&self) -> Vec<Check> {
        Vec::new()
    }
}

/// The context in which a channel runs.
#[derive(Debug, Clone)]
pub struct ChannelContext {
    /// The bus for inbound messages.
    pub publish: Arc<dyn Publish>,
    /// The outbox, which the channel wakes when a chat is reachable again.
    pub deliveries: Arc<dyn Deliveries>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The commands of the chat, for platforms that complete them.
    pub commands: Arc<[CommandHelp]>,
    /// Fires when the channel should stop receiving. Delivery continues.
    pub stop: CancellationToken,
}

/// A command of the chat, in the form shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandHelp {
    /// The word after the slash: lower-case letters.
    pub name: &'static str,
    /// Describes the argument; empty for a command without one.
    pub argument: &'static str,
    /// The words that the argument can be; empty if it is free.
    pub choices: &'static [&'static str],
    /// The purpose in one line.
    pub help: &'static str,
    /// The people and chats that may use it.
    pub access: CommandAccess,
}

impl CommandHelp {
    /// A command for everybody, with a free argument.
    #[must_use]
    pub const fn new(name: &'static str, argument: &'static str, help: &'static str) -> Self {
        Self { name, argument, choices: &[], help, access: CommandAccess::Everybody }
    }
}

/// The people and chats that may use a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandAccess {
    /// Everyone with access, in any of their chats.
    Everybody,
    /// Owners, in any of their chats.
    Owners,
    /// Owners, in private chats.
    OwnersInPrivate,
}

/// The unit in which attachment limits are shown.
const MEGABYTE: u64 = 1024 * 1024;

/// The reason why an attachment could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The file is larger than the limit. Only the sender can change that.
    #[error("it is larger than {} MB", limit / MEGABYTE)]
    TooLarge {
        /// Bytes.
        limit: u64,
    },
    /// The file is gone from the platform, so a retry is useless.
    #[error("{0}")]
    Gone(String),
    /// The request to the platform failed. A retry can help.
    #[error("{0}")]
    Failed(String),
}

/// The state of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// The channel works.
    Up,
    /// The channel is down, for this reason.
    Down(String),
}

/// The reason why a channel stopped receiving.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// The operator has to change something before another run is useful.
    #[error("{0}")]
    Fatal(String),
    /// A temporary failure: the channel is run again after a delay.
    #[error("{0}")]
    Interrupted(String),
}

/// The outcome of an unsuccessful send.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The platform refused the message and asks the bot to wait for this time.
    #[error("the platform asks to wait {0:?}")]
    RetryAfter(Duration),
    /// The message was not sent; the same send may succeed later.
    #[error("not sent: {0}")]
    Failed(String),
    /// The chat has no client at present; the chunk waits until the channel wakes the chat.
    #[error("no client is connected")]
    Unreachable,
    /// The message to be edited ([`Delivery::shown_as`]) is gone or cannot be changed. The content
    /// can be sent as a new message.
    #[error("the message to be edited is gone")]
    Gone,
    /// The platform will never accept the message.
    #[error("refused: {0}")]
    Refused(String),
    /// The platform may or may not have the message.
    #[error("outcome unknown: {0}")]
    Unknown(String),
    /// The platform has some messages of the chunk. The rest ended with this error. The channel
    /// continues there as long as it runs.
    #[error("sent in part; the rest: {0}")]
    Partly(Box<Self>),
}

impl SendError {
    /// Returns the error of the messages that are still to be sent.
    #[must_use]
    pub fn of_rest(&self) -> &Self {
        match self {
            Self::Partly(rest) => rest.of_rest(),
            error => error,
        }
    }
}
