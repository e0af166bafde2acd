//! The log's inbound messages: acceptance, deduplication, corrections, cursors, commands.

use std::fmt;

use async_trait::async_trait;

use super::{CancelledTask, NewMemory, Result};
use crate::access::{ChatLink, NewRule, PersonId, SettledPairing, Trust};
use crate::bus::QueueMode;
use crate::chat::{ChatAddress, Cursor, LoggedInbound, NewInbound, Planned, SessionId};
use crate::ids::{
    AccountName, ChannelName, DedupeKey, MemoryId, MessageId, PlatformId, RuleId, SenderId, TurnId,
    WaitId,
};
use crate::model::VoiceMode;
use crate::session::SessionSetting;
use crate::store::Resolution;
use crate::tool::WaitKind;

/// Inbound messages: acceptance, deduplication, cursors, commands.
#[async_trait]
pub trait Inbox: fmt::Debug + Send + Sync {
    /// Commits a message together with the channel's cursor. A message with a key that the chat has
    /// already used is absorbed; the cursor still moves. Durable when this returns. The platform
    /// gets its confirmation only after that. The first poll gives the write its place in the queue:
    /// messages are stored in the order of their first polls.
    async fn accept(&self, message: &NewInbound, cursor: Option<&Cursor>) -> Result<Accepted>;

    /// Commits a correction ([`Inbound::corrects`]) together with the channel's cursor. The
    /// correction replaces the content of a message that still waits. If that message is being
    /// answered, the correction becomes a separate message. A refused correction writes nothing.
    /// Durable when this returns.
    ///
    /// [`Inbound::corrects`]: crate::chat::Inbound::corrects
    async fn correct(&self, message: &NewInbound, cursor: Option<&Cursor>) -> Result<Correction>;

    /// Ends a message that its platform has deleted, with its corrections. Ends the turn too that works
    /// for these alone. Returns what the caller has to stop; `None` if nothing has changed.
    async fn withdraw_message(
        &self,
        chat: &ChatAddress,
        key: &DedupeKey,
    ) -> Result<Option<Withdrawn>>;

    /// Returns the messages of people in an account that wait or are being answered, at most `limit` and
    /// the oldest first.
    async fn list_unanswered(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        limit: u32,
    ) -> Result<Vec<UnansweredMessage>>;

    /// Counts an update that is not for the agent (`reason`) and moves the cursor.
    async fn ignore(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        reason: &str,
        cursor: Option<&Cursor>,
    ) -> Result<()>;

    /// The cursors of an account, one per scope.
    async fn cursors(&self, channel: &ChannelName, account: &AccountName) -> Result<Vec<Cursor>>;

    /// Moves a cursor on its own. Durable when this returns.
    async fn move_cursor(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        cursor: &Cursor,
    ) -> Result<()>;

    /// Accepted commands that have not acted yet, in order.
    async fn open_commands(&self) -> Result<Vec<LoggedInbound>>;

    /// Lets a command act and commits its reply. Acts once: a command that has acted is stale.
    async fn settle_command(
        &self,
        command: MessageId,
        action: &CommandAction,
        reply: &CommandReply,
    ) -> Result<CommandEffect>;

    /// Changes a setting of a session, which may be new, without a command. Durable when this
    /// returns.
    async fn choose_setting(&self, session: &SessionId, setting: &SessionSetting) -> Result<()>;

    /// Ends a message whose sender may no longer be answered, and commits the notice for its chat.
    async fn drop_message(&self, message: MessageId, notice: Option<&Planned>) -> Result<()>;
}

/// A message that waits or is being answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnansweredMessage {
    /// Its chat.
    pub chat: ChatAddress,
    /// Its key on the platform.
    pub key: DedupeKey,
}

/// A message that was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withdrawn {
    /// The session of the message.
    pub session: SessionId,
    /// The turns that were ended, whose workers have to stop.
    pub ended: Vec<TurnId>,
}

/// The result of handing a message to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Its number; that of the first copy if it had arrived before.
    pub id: MessageId,
    /// The effect of the message.
    pub what: AcceptedAs,
}

/// The effect of an accepted message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcceptedAs {
    /// The message waits in its lane.
    Queued,
    /// The message had arrived before.
    Duplicate,
    /// Its key belongs to a different message of the chat, which `id` names. The new message is not
    /// in the log.
    KeyTaken,
    /// The message answered the question of a turn, which continues in this session. That is the
    /// session of the message, or of a scheduled task or job that asked in its chat.
    Answer(SessionId),
    /// The message is the plain word for a choice of the pending question, or for stopping the
    /// session's turn. It acts as the command of that choice, or as `/stop`.
    Decision,
    /// The message waits in its lane behind a question that a person has to decide.
    Behind(OpenQuestion),
    /// The message is a further part of one that this running turn has begun to answer. The turn is
    /// queued again, with both.
    Joined(TurnId),
    /// The message ended the session's turn and its children (queue mode interrupt), and waits.
    Interrupt(Vec<TurnId>),
    /// The message is dropped, and its chat gets one notice. A part of the log is lost and the
    /// message is from that time, so it may have been answered already.
    Unsure,
}

/// A question that a person has to decide, as shown in the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenQuestion {
    /// The wait that it belongs to.
    pub wait: WaitId,
    /// `true` if the author of the message can answer it in the chat with a plain word.
    pub can_answer: bool,
}

/// The result of a correction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Correction {
    /// The waiting message has the new content.
    Replaced(MessageId),
    /// The correction is a separate message.
    Accepted(Accepted),
    /// The message cannot be corrected.
    Refused(NoCorrection),
}

/// The reason why a correction was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoCorrection {
    /// The message was not for the agent, or it is older than the log.
    #[error("corrects a message that was not accepted")]
    Unknown,
    /// The answer stands; the configuration can change that rule.
    #[error("corrects a message that was answered")]
    Answered,
    /// A command acts once.
    #[error("is or corrects a command")]
    Command,
}

/// The effect of a command on the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandAction {
    /// Only the reply.
    None,
    /// Cancels the session's compaction, and its turn if the turn began before the command arrived.
    /// Keeps the answer that the turn was writing.
    Stop(Option<Box<StoppedAnswer>>),
    /// Like [`Self::Stop`] without an answer, and later turns do not see the conversation so far.
    Forget,
    /// Requests a compaction of the conversation for the next time that the session is idle. Does
    /// nothing if one is already requested.
    Compact,
    /// Changes the handling of messages that arrive during a turn.
    SetMode(QueueMode),
    /// Changes a setting of the session.
    Choose(SessionSetting),
    /// Selects the answers of the session that are spoken too.
    SetVoice(VoiceMode),
    /// Resolves a wait of the session's turn, or of one of its children.
    Resolve {
        /// The wait; `None` for the one that was open when the command arrived.
        wait: Option<WaitId>,
        /// The kind that the wait must have.
        kind: WaitKind,
        /// `true` if the wait may belong to any session.
        anywhere: bool,
        /// The result of the wait.
        resolution: Resolution,
    },
    /// Runs a call again that a crash interrupted and a person decides about. Without such a call,
    /// it runs the session's last failed turn again, as a new turn for the same messages. It skips
    /// a turn that failed more than a day ago or before the last `/new`, or that was already run
    /// again. It does nothing while another turn is open.
    Retry {
        /// The wait; `None` for the one that was open when the command arrived.
        wait: Option<WaitId>,
        /// The required author of the failed turn's messages; `None` for an owner, who may run any
        /// turn again.
        sender: Option<SenderId>,
    },
    /// Cancels an open task of the session and the tasks below it. A waiting parent continues.
    CancelTask(TurnId),
    /// Treats everything that the session has read so far as trusted.
    TrustPast,
    /// Sends the recent unconfirmed and dead chunks of the command's chat again.
    Resend,
    /// Approves or denies a stranger's code.
    Decide(SettledPairing),
    /// Links a private chat to the session of another chat.
    Link(ChatLink),
    /// Gives a private chat its own session back.
    Unlink(ChatAddress),
    /// Adds a rule. Does nothing if another addition has taken its id.
    AddRule(NewRule),
    /// Begins the stop of everything. Does nothing if it is in force.
    StopAll {
        /// The author of the command.
        by: PersonId,
        /// The chat of the command.
        chat: ChatAddress,
    },
    /// Ends the stop of everything. Does nothing if none is in force.
    ResumeAll {
        /// The author of the command.
        by: PersonId,
    },
    /// Removes a rule. Does nothing if it is unknown or was removed before.
    RemoveRule {
        /// The rule.
        id: RuleId,
        /// The author of the command.
        by: PersonId,
    },
    /// Does nothing if the memory is unknown or was forgotten before.
    ForgetMemory {
        /// The memory.
        id: MemoryId,
        /// The author of the command.
        by: PersonId,
    },
    /// Writes a memory. Does nothing if its scope has one with the same words.
    WriteMemory {
        /// The memory.
        memory: NewMemory,
        /// The author of the command.
        by: PersonId,
    },
}

/// The part of an answer that a turn has written when it is stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedAnswer {
    /// The turn. The answer is left out if another turn is stopped.
    pub turn: TurnId,
    /// The step that the answer would be. The log may have this step already, if its calls run.
    pub step: u32,
    /// The text as shown so far; may be empty.
    pub text: String,
    /// The trust level of the request.
    pub trust: Trust,
    /// The text with a mark, for the chat of the turn. Without a new step, it only replaces the
    /// preview.
    pub reply: Option<Planned>,
}

/// The reply of a command in its chat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandReply {
    /// The reply if the command acted, or needed no action.
    pub done: Option<Planned>,
    /// The reply if the command found nothing to act on.
    pub nothing: Option<Planned>,
    /// The message that a reply of one chunk replaces. If it is gone, the reply is a new message.
    pub replaces: Option<PlatformId>,
}

impl CommandReply {
    /// Stands for the time of day in the reply to a decision about a stranger.
    pub const TIME: &str = "{time}";
}

/// Tells the caller which workers have to stop or to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEffect {
    /// The command acted, or needed no action.
    Done,
    /// The command found nothing to act on.
    Nothing,
    /// These turns were ended, and the session's compaction if there was one. Their workers have to
    /// stop.
    Stopped(Vec<TurnId>),
    /// Number of chunks that are in the outbox again.
    Resent(u64),
    /// A stranger was admitted, whose kept message waits in the lane of this session.
    Queued(SessionId),
    /// This session has a turn to run: one that waited, or one that failed.
    Resolved(SessionId),
    /// Everything is stopped from now on. The open turns have to be ended.
    StoppedAll,
    /// Everything goes on. All lanes have to look for work.
    ResumedAll,
    /// A task was cancelled.
    Cancelled(CancelledTask),
}
