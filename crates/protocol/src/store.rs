//! The ports of the durable log, one per role. They state transactions, not SQL: whatever stands
//! behind them commits each method as a whole or not at all.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::{
    AccountName, Attachment, CallId, CallResult, ChannelName, ChatAddress, ChatLink, Content,
    Cursor, DedupeKey, Delivery, DeliveryId, Evidence, LogWrite, LoggedInbound, MessageId,
    NewInbound, Outcome, Planned, PlatformId, QueueMode, Receipt, SessionId, SettledPairing,
    Timestamp, ToolCall, ToolClass, TurnId, TurnRecord, Usage, WaitId, WaitKind,
};

/// Why the log did not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The operator: no room. Nothing was written; the same write succeeds once there is room.
    #[error("the disk that holds {path} is full; free some space, nothing was lost")]
    Full {
        /// The database.
        path: String,
    },
    /// The operator: the disk does not answer as it should. Nothing was written.
    #[error("{path} cannot be written ({detail}); check the disk")]
    Unavailable {
        /// The database.
        path: String,
        /// What the system said.
        detail: String,
    },
    /// The operator: the database is damaged.
    #[error("{path} is damaged ({detail}); stop the daemon and start it again to have it checked")]
    Damaged {
        /// The database.
        path: String,
        /// What the check said.
        detail: String,
    },
    /// Nobody: another daemon has taken over the log; this one must stop.
    #[error("the log now belongs to epoch {theirs}, this process to {ours}; stopping")]
    Fenced {
        /// The epoch of this process.
        ours: i64,
        /// The epoch in the log.
        theirs: i64,
    },
    /// Nobody: the row has moved on, for example because the turn was stopped.
    #[error("{0} is no longer in the state that this needs")]
    Stale(String),
    /// Nobody: the log is closed because the process stops.
    #[error("the log is closed")]
    Closed,
    /// The maintainers: a statement failed that cannot fail.
    #[error("the log refused a statement: {0}")]
    Internal(String),
}

impl StoreError {
    /// Whether the same call can succeed later without anything else having changed here.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::Unavailable { .. })
    }
}

type Result<T, E = StoreError> = std::result::Result<T, E>;

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
    /// It was the answer to the question that the session's turn waited for.
    Answer,
    /// It ended the session's turn and its children (queue mode interrupt) and waits in its lane.
    Interrupt(Vec<TurnId>),
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
    /// Ends the turn of the session that was begun before the command came.
    Stop,
    /// As [`Self::Stop`], and later turns do not see what was said so far.
    Forget,
    /// Changes what happens to messages that arrive during a turn.
    SetMode(QueueMode),
    /// Resolves what the session's turn waits for: that one, or the only one of its kind.
    Resolve {
        /// Which; none for the newest that fits.
        wait: Option<WaitId>,
        /// How.
        resolution: Resolution,
    },
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
    /// These turns were ended; whoever works on them lets go.
    Stopped(Vec<TurnId>),
    /// So many chunks wait in the outbox again.
    Resent(u64),
}

/// Turns as the lanes see them: taken, settled, made to wait, resolved.
#[async_trait]
pub trait Turns: fmt::Debug + Send + Sync {
    /// Takes the session's next turn and marks it running: one that was queued again, or a new one
    /// for the message (in queue mode collect: the messages) next in line. What came after a command
    /// is not in line before the command has acted. Turns that were running when the process died
    /// are only taken if `suspects` is set. In queue mode collect a burst is waited for: no turn
    /// begins before the newest message is `burst` old, or the oldest ten times that. Messages that
    /// came late ([`LoggedInbound::is_late`]) are answered together in every mode, a hundred at most.
    async fn claim(&self, session: &SessionId, suspects: bool, burst: Duration) -> Result<Claim>;

    /// T5: the turn's end. Final step, outbox rows, the messages' outcomes and, for a child, the
    /// parent's result, in one transaction. Durable when this returns. Returns the session that
    /// can go on because of it: the parent's.
    async fn settle(&self, turn: TurnId, settlement: &Settlement) -> Result<Option<SessionId>>;

    /// The call waits, and with it the turn: prompt and writes are committed together with the wait.
    async fn wait(&self, wait: &NewWait) -> Result<WaitId>;

    /// Gives a running turn back without counting an attempt: an orderly stop.
    async fn release(&self, turn: TurnId) -> Result<()>;

    /// Resolves a wait; none if it has been resolved before.
    async fn resolve(&self, wait: WaitId, resolution: &Resolution) -> Result<Option<SessionId>>;

    /// The messages whose words a turn works on: its own, those that steered it, and, for a child,
    /// those of the turn at the root.
    async fn asked_by(&self, turn: TurnId) -> Result<Vec<LoggedInbound>>;

    /// Waits in the order in which they expire.
    async fn open_waits(&self) -> Result<Vec<OpenWait>>;

    /// Sessions that have something to do: at boot, and when wake-ups were lost. Those with a turn
    /// that was begun come first, then those who have waited longest.
    async fn open_sessions(&self) -> Result<Vec<SessionId>>;
}

/// What a lane finds when it asks for work.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// Nothing to do, or a turn that waits holds the lane's place.
    Nothing,
    /// The next turn was running when the process died: it is taken alone, with `suspects`.
    Suspect,
    /// A burst of messages is still coming (queue mode collect): not before this.
    Later(Timestamp),
    /// The turn is running now.
    Turn(Box<Claimed>),
}

/// A turn that a lane has taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// The turn.
    pub turn: TurnRecord,
    /// How often a process died while it ran.
    pub attempts: u32,
    /// How often a process died while it was the only one that ran.
    pub deaths_alone: u32,
}

/// How a turn ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// How its last message ends; the others are merged.
    pub outcome: Outcome,
    /// The final step of the model, if it came to one.
    pub answer: Option<Answer>,
    /// What the chat is shown instead, kept in the history.
    pub notice: Option<String>,
    /// What goes to the chat; none where the message tool has said it, or nobody listens.
    pub reply: Option<Planned>,
}

/// The step that ends a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Which step.
    pub step: u32,
    /// The text.
    pub text: String,
    /// What it cost.
    pub usage: Usage,
}

/// A turn about to wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWait {
    /// The call that waits.
    pub call: CallId,
    /// For what.
    pub kind: WaitKind,
    /// Until when.
    pub expires_at: Timestamp,
    /// What is said in the chat. `{wait}` in its texts becomes the id of the wait.
    pub prompt: Option<Planned>,
    /// What the tool writes.
    pub writes: Vec<LogWrite>,
}

/// A turn that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenWait {
    /// Which wait.
    pub id: WaitId,
    /// The conversation.
    pub session: SessionId,
    /// For what.
    pub kind: WaitKind,
    /// Until when.
    pub expires_at: Timestamp,
}

/// What a wait came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// The call is allowed, or is to be run again although it may have happened.
    Run,
    /// The call has this text as its result: the answer to a question, what a child came to.
    Answer(String),
    /// The call was denied, skipped, or nobody answered in time.
    Error(String),
}

/// A turn's own log, as the agent writes it: T1 to T4.
#[async_trait]
pub trait TurnLog: fmt::Debug + Send + Sync {
    /// The turns of a session before `turn`, oldest first, as many as fit into `budget` bytes of
    /// text, whole turns only.
    async fn history(
        &self,
        session: &SessionId,
        before: TurnId,
        budget: usize,
    ) -> Result<Vec<TurnRecord>>;

    /// T1: the assistant's message and its calls, planned.
    async fn record_step(&self, turn: TurnId, step: &NewStep) -> Result<()>;

    /// T2: a call starts. Durable before the effect for tools of class effect.
    async fn start_call(
        &self,
        call: CallId,
        class: ToolClass,
        evidence: Option<&Evidence>,
    ) -> Result<()>;

    /// T3: a call has its result; what it writes to the log is committed with it. `kept` is the
    /// whole result where `result` is cut.
    async fn finish_call(
        &self,
        call: CallId,
        result: &CallResult,
        kept: Option<&str>,
        writes: &[LogWrite],
    ) -> Result<()>;

    /// T4: every call of the step has its result. In queue mode steer the messages that wait in the
    /// lane are bound to the turn here, and returned.
    async fn close_step(&self, turn: TurnId, step: u32) -> Result<Vec<LoggedInbound>>;

    /// What became of the attachments of a message that the turn answers, or that steers it: all of
    /// them, in their order. The rest of the message stays.
    async fn set_attachments(
        &self,
        turn: TurnId,
        message: MessageId,
        attachments: &[Attachment],
    ) -> Result<()>;

    /// Texts that the message tool has sent to `chat` in this turn.
    async fn sent_texts(&self, turn: TurnId, chat: &ChatAddress) -> Result<Vec<String>>;
}

/// What a model answered, with calls to make.
#[derive(Debug, Clone, PartialEq)]
pub struct NewStep {
    /// From 0; one more than the step before.
    pub number: u32,
    /// What the model said.
    pub text: String,
    /// The calls, in order. Not empty.
    pub calls: Vec<ToolCall>,
    /// What the model call cost.
    pub usage: Usage,
}

/// Whole results of calls whose result was cut.
#[async_trait]
pub trait KeptResults: fmt::Debug + Send + Sync {
    /// The whole result of a call of this session, as JSON text; none if it was not cut.
    async fn kept_result(&self, session: &SessionId, handle: &str) -> Result<Option<String>>;
}

/// Outgoing messages: order, attempts, what became of them.
#[async_trait]
pub trait Outbox: fmt::Debug + Send + Sync {
    /// Commits a message of another process. One whose key was used before is absorbed. Durable
    /// when this returns.
    async fn enqueue(&self, message: &Planned, key: &DedupeKey) -> Result<Enqueued>;

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
    Begun(DeliveryId),
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
    /// It had come before.
    pub duplicate: bool,
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

/// Long-term memory, reading side. Written through [`LogWrite::Note`].
#[async_trait]
pub trait Notes: fmt::Debug + Send + Sync {
    /// Notes that match any word of `query`, best first; the newest if `query` is empty.
    async fn search(&self, query: &str, limit: u32) -> Result<Vec<Note>>;
}

/// Something that was to be remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its number.
    pub id: i64,
    /// When it was written.
    pub written_at: Timestamp,
    /// The text.
    pub text: String,
}
