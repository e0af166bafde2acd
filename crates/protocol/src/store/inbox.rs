//! The log's inbound messages: acceptance, dedupe, corrections, cursors, commands.

use std::fmt;

use async_trait::async_trait;

use super::Result;
use crate::{
    AccountName, ChannelName, ChatAddress, ChatLink, Cursor, LoggedInbound, MessageId, NewInbound,
    Planned, QueueMode, Resolution, SenderId, SessionId, SettledPairing, TurnId, WaitId, WaitKind,
};

/// Inbound messages: acceptance, dedupe, cursors, commands.
#[async_trait]
pub trait Inbox: fmt::Debug + Send + Sync {
    /// Commits a message together with the channel's cursor. A message whose key the chat has
    /// already used is absorbed; the cursor moves all the same. Durable when this returns: only
    /// then is the platform told.
    async fn accept(&self, message: &NewInbound, cursor: Option<&Cursor>) -> Result<Accepted>;

    /// Commits a correction ([`Inbound::corrects`]) together with the channel's cursor. A message that
    /// waits says from now on what its correction says; the correction of one that is being answered
    /// is a message of its own. Where it is refused nothing is written. Durable when this returns.
    ///
    /// [`Inbound::corrects`]: crate::Inbound::corrects
    async fn correct(&self, message: &NewInbound, cursor: Option<&Cursor>) -> Result<Correction>;

    /// Counts an update that is not for the agent (`reason`) and moves the cursor.
    async fn ignore(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        reason: &str,
        cursor: Option<&Cursor>,
    ) -> Result<()>;

    /// How far an account has been read, in every scope.
    async fn cursors(&self, channel: &ChannelName, account: &AccountName) -> Result<Vec<Cursor>>;

    /// Moves a cursor on its own. Durable when this returns.
    async fn move_cursor(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        cursor: &Cursor,
    ) -> Result<()>;

    /// Commands that were accepted and have not acted, in order.
    async fn open_commands(&self) -> Result<Vec<LoggedInbound>>;

    /// Lets a command act and commits its reply. Acts once: a command that has acted is stale.
    async fn settle_command(
        &self,
        command: MessageId,
        action: &CommandAction,
        reply: &CommandReply,
    ) -> Result<CommandEffect>;

    /// Ends a message that may no longer be answered, and says so in its chat.
    async fn drop_message(&self, message: MessageId, notice: Option<&Planned>) -> Result<()>;
}

/// What became of a message that was handed to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Its number; that of the first copy if it had come before.
    pub id: MessageId,
    /// What follows.
    pub what: AcceptedAs,
}

/// What an accepted message leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcceptedAs {
    /// It waits in its lane.
    Queued,
    /// It had come before.
    Duplicate,
    /// Its key was used for another message of the chat, which is the one that is named. It is not in the log.
    KeyTaken,
    /// It was the answer to the question that the session's turn waited for.
    Answer,
    /// It decides about what the session's turn waits for: it is the command of a choice, and acts as one.
    Decision,
    /// It waits in its lane behind a question that a person has to decide.
    Behind(OpenQuestion),
    /// It ended the session's turn and its children (queue mode interrupt) and waits in its lane.
    Interrupt(Vec<TurnId>),
    /// A part of the log is lost, and the message was written while that part was used: it may have been answered.
    /// So it is dropped, and its chat is told once.
    Unsure,
}

/// A question that a person has to decide, and that the chat was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenQuestion {
    /// What it is about.
    pub wait: WaitId,
    /// Whether the person who wrote can answer it in the chat with a plain word.
    pub can_answer: bool,
}

/// What became of a correction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Correction {
    /// The message that waits says this now.
    Replaced(MessageId),
    /// It is a message of its own.
    Accepted(Accepted),
    /// There is nothing to correct.
    Refused(NoCorrection),
}

/// Why a correction corrects nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoCorrection {
    /// It was never meant for the agent, or it is older than the log.
    #[error("corrects a message that was not accepted")]
    Unknown,
    /// The answer stands; the configuration can say otherwise.
    #[error("corrects a message that was answered")]
    Answered,
    /// A command acts once.
    #[error("is or corrects a command")]
    Command,
}

/// What a command does to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandAction {
    /// Nothing but its reply.
    None,
    /// Ends the turn of the session that was begun before the command came, and a compaction.
    Stop,
    /// As [`Self::Stop`], and later turns do not see what was said so far.
    Forget,
    /// Has what was said so far condensed, when the session does nothing else; nothing where that is
    /// wanted already.
    Compact,
    /// Changes what happens to messages that arrive during a turn.
    SetMode(QueueMode),
    /// Has another model answer the session (`provider/model`); none for the agent's.
    SetModel(Option<String>),
    /// Resolves a wait of the session's turn, or of one of its children.
    Resolve {
        /// Which; none for what was asked when the command came.
        wait: Option<WaitId>,
        /// Of which kind it has to be.
        kind: WaitKind,
        /// Of whatever session it is.
        anywhere: bool,
        /// How.
        resolution: Resolution,
    },
    /// Runs a call again that a crash interrupted and a person decides about. Where no call waits for that, runs
    /// the session's last failed turn again: a new turn for the same messages. A turn that failed more than a day
    /// ago, before the last `/new`, or that was run again already, is left alone, and so is every turn while another
    /// one is open.
    Retry {
        /// Which wait; `None` for the one that was open when the command came.
        wait: Option<WaitId>,
        /// Whose messages the failed turn must have; `None` for an owner, who may run any turn again.
        sender: Option<SenderId>,
    },
    /// What the session has read so far may be believed.
    Believe,
    /// Sends again what was given up as unconfirmed or dead in the command's chat.
    Resend,
    /// Decides about a stranger's code.
    Decide(SettledPairing),
    /// Lets a private chat speak in another's session.
    Link(ChatLink),
    /// Gives a private chat its own session back.
    Unlink(ChatAddress),
}

/// What a command says in its chat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandReply {
    /// If it did something, or nothing was to be done.
    pub done: Option<Planned>,
    /// If there was nothing to act on.
    pub nothing: Option<Planned>,
}

/// What a command has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEffect {
    /// What it said it would do, or nothing was asked.
    Done,
    /// There was nothing to act on.
    Nothing,
    /// These turns were ended, and the compaction of the session if there was one; whoever works on
    /// them lets go.
    Stopped(Vec<TurnId>),
    /// So many chunks wait in the outbox again.
    Resent(u64),
    /// This session has a turn to run: one that waited, or one that failed.
    Resolved(SessionId),
}
