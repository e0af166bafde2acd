//! The incoming half of a channel: commits the updates of a platform one after the other, each
//! together with the cursor that covers it.
//!
//! ```text
//! update            transaction                                  result
//! message           accepted: row and cursor                     Accepted | Settled | Repeated
//!                   refused by the bus: counted, and cursor      Refused
//! unreadable        a reply to its sender; counted, and cursor   Ignored
//! of another kind   counted under a reason, and cursor           Ignored
//! ```
//!
//! **The cursor moves with the update**, in its transaction. If it moved before, a crash would lose
//! the update. The reply to an unreadable message is a transaction before that. Its key makes it
//! the same reply if a crash follows and the platform sends the update again.
//!
//! **Confirm after the commit.** A receive loop may be dropped while it waits ([`Intake::run`]), so
//! it confirms an update to its platform only when [`Intake::take`] has returned.
//!
//! **Waiting is the back-pressure.** A write that fails for now, for example on a full disk, is
//! repeated without end. Meanwhile the loop reads nothing, and the platform keeps the later
//! updates. A platform that sends an update again after an error uses [`Intake::with_one_attempt`] instead.
//!
//! **A refusal is final**, and so the cursor passes it: a sender without access would otherwise
//! stop the channel. [`Intake::offer`] leaves the cursor, for callers that use a refused message
//! otherwise.
//!
//! The stages before a commit, and the reason of their order, are in `stages.rs`.

use std::convert::Infallible;

use avocet_protocol::bus::PublishError;
use avocet_protocol::channel::{ChannelContext, ChannelError};
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{ChatAddress, ChatKind, Content, Cursor, Inbound, Quote};
use avocet_protocol::ids::{AccountName, ChannelName, DedupeKey, IdError};
use avocet_protocol::store::{Accepted, AcceptedAs, StoreError, UnansweredMessage};
use avocet_supervise::with_retry;

/// The answer to a pressed button or a command of a person without access. Only that person reads it.
pub const NO_ACCESS: &str = "I do not answer you here: you have no access.";

/// Commits the updates of one account to the log. A write that fails temporarily, for example on a
/// full disk, is retried; meanwhile the platform keeps the later updates.
#[derive(Debug, Clone, Copy)]
pub struct Intake<'a> {
    channel: &'a ChannelName,
    account: &'a AccountName,
    context: &'a ChannelContext,
    attempts: WriteAttempts,
}

/// The treatment of a write that fails temporarily.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteAttempts {
    /// Repeats the write until it succeeds.
    Endless,
    /// Returns the error of the write.
    One,
}

/// An update of the platform, converted.
#[derive(Debug, Clone, PartialEq)]
pub enum Converted {
    /// A message for the agent.
    Inbound(Box<Inbound>),
    /// A message for the agent with content that the channel cannot read.
    Unreadable(Box<Unreadable>),
    /// An update that is ignored and counted under this reason.
    Ignored(&'static str),
}

/// A message with unreadable content. Its sender gets a reply that says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Unreadable {
    /// The message without content. The key is that of the reply.
    inbound: Inbound,
    /// The kind of content, with its article: `a story`.
    kind: String,
    /// In a group, the message to reply to.
    reply_to: Option<DedupeKey>,
}

/// The fate of an update that [`Intake::take`] has committed.
#[derive(Debug, Clone, PartialEq)]
pub enum Taken {
    /// The message is in the log since this attempt, and waits for the agent.
    Accepted,
    /// The message is new in the log, and has ended without the agent. It decided a pending
    /// question, or it may have been answered before a part of the log was lost.
    Settled,
    /// The message was in the log before.
    Repeated,
    /// The bus refused the message. [`Intake::take`] counts it as ignored.
    Refused(PublishError),
    /// The update was ignored or unreadable.
    Ignored,
}

/// The reason why a receive loop ends.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Stopped {
    /// The daemon is stopping.
    #[error("the daemon is stopping")]
    Requested,
    /// The channel failed.
    #[error(transparent)]
    Failed(#[from] ChannelError),
}

impl<'a> Intake<'a> {
    /// Makes the intake of an account.
    #[must_use]
    pub fn new(
        channel: &'a ChannelName,
        account: &'a AccountName,
        context: &'a ChannelContext,
    ) -> Self {
        Self { channel, account, context, attempts: WriteAttempts::Endless }
    }

    /// Tries each write once: for platforms that send an update again after an error.
    #[must_use]
    pub fn with_one_attempt(self) -> Self {
        Self { attempts: WriteAttempts::One, ..self }
    }

    /// Runs a receive loop until it ends or the daemon stops. The loop may be dropped while it
    /// waits, so it confirms an update to the platform only after [`Self::take`] has returned.
    ///
    /// # Errors
    /// The error with which the loop ended.
    pub async fn run(
        self,
        receive: impl Future<Output = Result<Infallible, Stopped>>,
    ) -> Result<(), ChannelError> {
        tokio::select! {
            biased;
            () = self.context.stop.cancelled() => Ok(()),
            ended = receive => match ended {
                Ok(never) => match never {},
                Err(Stopped::Requested) => Ok(()),
                Err(Stopped::Failed(error)) => Err(error),
            },
        }
    }

    /// Commits an update. The cursor covers it whether it is accepted, refused or ignored.
    ///
    /// # Errors
    /// [`Stopped`]: the update is not in the log.
    pub async fn take(&self, update: Converted, cursor: Option<Cursor>) -> Result<Taken, Stopped> {
        self.commit_update(&update, cursor).await
    }

    /// Commits an update like [`Self::take`], for a caller that needs the update afterwards.
    pub(crate) async fn commit_update(
        &self,
        update: &Converted,
        cursor: Option<Cursor>,
    ) -> Result<Taken, Stopped> {
        let (reason, taken) = match update {
            Converted::Inbound(inbound) => match self.offer(inbound, cursor.as_ref()).await? {
                Taken::Refused(error) => {
                    let chat = &inbound.address;
                    tracing::info!(%chat, %error, "the bus refused a message; it is ignored");
                    (error.counted_as(), Taken::Refused(error))
                }
                taken => return Ok(taken),
            },
            Converted::Unreadable(message) => {
                self.decline(message).await?;
                ("of an unsupported kind", Taken::Ignored)
            }
            Converted::Ignored(reason) => (*reason, Taken::Ignored),
        };
        self.ignore(reason, cursor).await?;
        Ok(taken)
    }

    /// Commits a message and the cursor together. A refusal is not counted, and the cursor stays,
    /// so that the caller can use a refused message in another way.
    ///
    /// # Errors
    /// [`Stopped`]: the message is not in the log.
    pub async fn offer(
        &self,
        message: &Inbound,
        cursor: Option<&Cursor>,
    ) -> Result<Taken, Stopped> {
        let publish = || self.context.publish.publish(message.clone(), cursor.cloned());
        Ok(match self.with_retry(publish).await? {
            Ok(Accepted { what: AcceptedAs::Duplicate, .. }) => Taken::Repeated,
            Ok(Accepted { what: AcceptedAs::Decision | AcceptedAs::Unsure, .. }) => Taken::Settled,
            Ok(_) => Taken::Accepted,
            Err(error) => Taken::Refused(error),
        })
    }

    /// Counts an ignored update under this reason, and moves the cursor over it.
    ///
    /// # Errors
    /// [`Stopped`]: the update is not counted.
    pub async fn ignore(&self, reason: &str, cursor: Option<Cursor>) -> Result<(), Stopped> {
        let Self { channel, account, context, .. } = self;
        let ignore = || context.publish.ignore(channel, account, reason, cursor.clone());
        Ok(self.with_retry(ignore).await??)
    }

    /// Takes back a message that the platform has deleted: it gets no answer any more.
    ///
    /// # Errors
    /// [`Stopped`]: the message is not taken back.
    pub async fn withdraw_message(
        &self,
        chat: &ChatAddress,
        key: &DedupeKey,
    ) -> Result<(), Stopped> {
        let withdraw = || self.context.publish.withdraw_message(chat, key);
        Ok(self.with_retry(withdraw).await??)
    }

    /// Returns the messages of the account that wait or are being answered, at most `limit` and the
    /// oldest first: a platform may have deleted them while nobody listened.
    ///
    /// # Errors
    /// [`Stopped`] if the log cannot be read.
    pub async fn list_unanswered(&self, limit: u32) -> Result<Vec<UnansweredMessage>, Stopped> {
        let Self { channel, account, context, .. } = self;
        let list = || context.publish.list_unanswered(channel, account, limit);
        Ok(self.with_retry(list).await??)
    }

    /// Returns every cursor of the account.
    ///
    /// # Errors
    /// [`Stopped`] if the log cannot be read.
    pub async fn cursors(&self) -> Result<Vec<Cursor>, Stopped> {
        let Self { channel, account, context, .. } = self;
        Ok(self.with_retry(|| context.publish.cursors(channel, account)).await??)
    }

    /// Moves a cursor without an update.
    ///
    /// # Errors
    /// [`Stopped`]: the cursor has not moved.
    pub async fn move_cursor(&self, cursor: Cursor) -> Result<(), Stopped> {
        let Self { channel, account, context, .. } = self;
        let move_cursor = || context.publish.move_cursor(channel, account, cursor.clone());
        Ok(self.with_retry(move_cursor).await??)
    }

    /// Sends a text into the chat of an update that is no message, once for its key, and only if its
    /// sender is admitted.
    ///
    /// # Errors
    /// [`Stopped`]: the text is not in the log.
    pub async fn greet_group(&self, inbound: &Inbound, text: &Content) -> Result<(), Stopped> {
        let decline = || self.context.publish.decline(inbound.clone(), text.clone());
        if let Err(error) = self.with_retry(decline).await? {
            tracing::info!(chat = %inbound.address, %error, "a chat gets no greeting");
        }
        Ok(())
    }

    /// Replies once to an unreadable message, if its sender is admitted.
    async fn decline(&self, message: &Unreadable) -> Result<(), Stopped> {
        let Unreadable { inbound, kind, reply_to } = message;
        let text = format!(
            "I cannot read this kind of message: {kind}. Send me a text, a photo, a voice message \
             or a file."
        );
        let reply = notices::Unreadable.for_reader(readers::EVERYBODY, text);
        let reply = Content { reply_to: reply_to.clone(), ..reply };
        let decline = || self.context.publish.decline(inbound.clone(), reply.clone());
        match self.with_retry(decline).await? {
            Ok(()) => {}
            Err(error @ PublishError::NotAllowed { .. }) => {
                tracing::info!(sender = %inbound.sender.id, %error, "an unreadable message \
                    gets no reply");
            }
            Err(error) => {
                tracing::warn!(chat = %inbound.address, %error, "cannot reply to an \
                    unreadable message");
            }
        }
        Ok(())
    }

    /// Retries a write until the log accepts it, or the bus refuses its content. With
    /// [`Self::with_one_attempt`], an error of the log ends the retries.
    async fn with_retry<T, W>(
        &self,
        write: impl Fn() -> W,
    ) -> Result<Result<T, PublishError>, Stopped>
    where
        W: Future<Output = Result<T, PublishError>>,
    {
        let write = async || match write().await {
            Err(PublishError::Stopping) => Err(StoreError::Closed),
            Err(PublishError::Log(error)) => Err(error),
            done => Ok(done),
        };
        let ChannelContext { clock, stop, .. } = self.context;
        let done = match self.attempts {
            WriteAttempts::Endless => with_retry(clock.as_ref(), stop, write).await,
            WriteAttempts::One => write().await,
        };
        match done {
            Ok(done) => Ok(done),
            Err(StoreError::Closed) => Err(Stopped::Requested),
            Err(_) if stop.is_cancelled() => Err(Stopped::Requested),
            Err(error) => Err(ChannelError::Interrupted(error.to_string()).into()),
        }
    }
}

impl Converted {
    /// Puts a line above the text of a message, unless that is a command.
    pub fn put_above(&mut self, line: &str) {
        if let Self::Inbound(inbound) = self
            && !inbound.content.text.starts_with('/')
        {
            inbound.content.text = format!("{line}\n{}", inbound.content.text);
        }
    }

    /// Sets the earlier messages of the chat.
    pub fn set_earlier(&mut self, earlier: Vec<Quote>) {
        if let Self::Inbound(inbound) = self {
            inbound.content.earlier = earlier;
        }
    }

    /// Adds notes to the earlier messages of the chat, as the newest ones.
    pub fn add_earlier(&mut self, notes: Vec<Quote>) {
        if let Self::Inbound(inbound) = self {
            inbound.content.earlier.extend(notes);
        }
    }

    /// Sets the platform's roles of the author.
    pub fn set_author_roles(&mut self, roles: Vec<String>) {
        match self {
            Self::Inbound(inbound) => inbound.content.author_roles = roles,
            Self::Unreadable(message) => message.inbound.content.author_roles = roles,
            Self::Ignored(_) => {}
        }
    }

    /// A message for the agent. With an invalid id it is ignored: each platform has its own rules
    /// for ids.
    #[must_use]
    pub fn inbound(message: Result<Inbound, IdError>) -> Self {
        message.map_or_else(Self::from, |inbound| Self::Inbound(Box::new(inbound)))
    }
}

/// An update with an invalid id is ignored.
impl From<IdError> for Converted {
    fn from(error: IdError) -> Self {
        tracing::warn!(%error, "cannot read the ids of an update; ignoring it");
        Self::Ignored("with an unreadable id")
    }
}

impl Unreadable {
    /// Describes an unreadable message. `kind` includes the article: `a story`.
    ///
    /// # Errors
    /// [`IdError`] if the key of the reply would be too long.
    pub fn new(message: Inbound, kind: impl Into<String>) -> Result<Self, IdError> {
        let key = DedupeKey::parse(&format!("unreadable {}", message.key))?;
        let reply_to = (message.chat == ChatKind::Group).then_some(message.key);
        let inbound = Inbound { key, content: Content::default(), ..message };
        Ok(Self { inbound, kind: kind.into(), reply_to })
    }
}

impl From<PublishError> for Stopped {
    fn from(error: PublishError) -> Self {
        ChannelError::Interrupted(error.to_string()).into()
    }
}

#[cfg(test)]
#[path = "intake_tests.rs"]
mod tests;
