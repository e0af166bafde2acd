//! The port of turns for the lanes: claim, settle, wait, resolve.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use super::Result;
use crate::access::{ApprovalCard, ApprovalDecision, Grant, PermissionMode, PersonId, Trust};
use crate::chat::{ChatAddress, LoggedInbound, Outcome, Planned, SessionId};
use crate::clock::Timestamp;
use crate::ids::{CallId, DedupeKey, MessageId, TurnId, WaitId};
use crate::model::{Effort, Usage};
use crate::store::{CompactedPast, Head, Spending, UsageEntry};
use crate::tool::{ChildMode, LogWrite, SkillCall, WaitKind};
use crate::turn::{AnswerEnding, DENIED, ResultKind, TurnFailure, TurnRecord};

/// Turns for the lanes: claim, settle, wait, resolve.
#[async_trait]
pub trait Turns: fmt::Debug + Send + Sync {
    /// Claims the session's next turn and marks it running. It was queued again, or is new for the
    /// next message (in queue mode collect: for all waiting messages). Messages behind a command
    /// wait until the command has acted.
    ///
    /// A turn that was running when the process died is claimed with [`Suspects::Include`] only.
    ///
    /// In queue mode collect, a turn waits for the end of a burst: until the newest message is
    /// `burst` old, or the oldest ten times that. Late messages ([`LoggedInbound::is_late`]) are
    /// answered together in every mode, a hundred at most.
    async fn claim(
        &self,
        session: &SessionId,
        suspects: Suspects,
        burst: Duration,
    ) -> Result<Claim>;

    /// Records that a requested compaction begins. If the process dies during it, it is not begun
    /// again. [`StoreError::Stale`](crate::store::StoreError::Stale) if it was stopped or has begun
    /// before.
    async fn begin_compaction(&self, command: MessageId) -> Result<()>;

    /// Ends a compaction: commits the shortened past, if it became shorter, together with the
    /// notice. If the conversation was forgotten meanwhile, neither is written.
    /// [`StoreError::Stale`](crate::store::StoreError::Stale) if the compaction was stopped or has ended
    /// before.
    async fn compacted(
        &self,
        command: MessageId,
        compacted: Option<&CompactedPast>,
        notice: Option<&Planned>,
    ) -> Result<()>;

    /// Ends a turn. Commits the final step, the outbox rows, the messages' outcomes and, for a
    /// child, the parent's result, in one transaction. Durable when this returns.
    async fn settle(&self, turn: TurnId, settlement: &Settlement) -> Result<SettledTurn>;

    /// Reserves the id of a wait that is about to begin, so that its prompt can name it. An unused
    /// id (the process died before [`Turns::wait`]) leaves a gap.
    async fn reserve_wait(&self) -> Result<WaitId>;

    /// Makes calls of one turn, and with them the turn, wait. Prompts and writes are committed
    /// together with the waits. The turn continues when the last of its waits is resolved. Durable
    /// when this returns.
    async fn wait(&self, waits: &[NewWait]) -> Result<()>;

    /// Puts a running turn back into the queue without counting an attempt, for an orderly stop.
    async fn release(&self, turn: TurnId) -> Result<()>;

    /// Resolves a wait; `None` if it was already resolved. A child that is still open then, because
    /// its time is over, is cancelled. Returns the session of the turn, which can continue unless
    /// another of its waits is open.
    async fn resolve(&self, wait: WaitId, resolution: &Resolution) -> Result<Option<SessionId>>;

    /// The messages whose text a turn works on: its own, those that steered it, and, for a child,
    /// those of the root turn.
    async fn asked_by(&self, turn: TurnId) -> Result<Vec<LoggedInbound>>;

    /// The messages of a turn that have an outcome: its own, and those that steered it or answered
    /// its questions. For turns that were ended from outside.
    async fn ended_messages(&self, turn: TurnId) -> Result<Vec<EndedMessage>>;

    /// A turn and its ancestors up to the root.
    async fn lineage(&self, turn: TurnId) -> Result<Vec<LineageTurn>>;

    /// The permissions for the session of a turn's root turn.
    async fn grants_of(&self, turn: TurnId) -> Result<Vec<Grant>>;

    /// Open waits in the order of their expiry.
    async fn open_waits(&self) -> Result<Vec<OpenWait>>;

    /// The latest prompt of each unexpired wait for a person (any kind but [`WaitKind::Child`]),
    /// unless it is still being delivered. A start repeats these prompts.
    async fn open_prompts(&self, now: Timestamp) -> Result<Vec<OpenPrompt>>;

    /// Repeats prompts, each as one more message of its turn, in one transaction. Skips prompts of
    /// waits that were resolved meanwhile.
    async fn repeat_prompts(&self, prompts: &[OpenPrompt]) -> Result<()>;

    /// Sessions with work to do, needed at boot and after lost wake-ups. Sessions with a turn that
    /// has begun come first, then those with the longest wait.
    async fn open_sessions(&self) -> Result<Vec<SessionId>>;
}

/// A message with its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedMessage {
    /// The chat with its topic.
    pub address: ChatAddress,
    /// The channel's name for the message.
    pub key: DedupeKey,
    /// The outcome.
    pub outcome: Outcome,
}

/// The treatment of turns that were running when the process died: one of them may have killed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspects {
    /// Returns [`Claim::Suspect`] instead.
    Exclude,
    /// Claims such a turn like any other.
    Include,
}

/// The result of a lane's request for work.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// There is no work, or a waiting turn occupies the lane.
    Nothing,
    /// The next turn was running when the process died. It can be claimed with
    /// [`Suspects::Include`], while no other suspect runs.
    Suspect {
        /// Number of process deaths while it ran; at least 1.
        deaths: u32,
    },
    /// The conversation is to be compacted. [`Turns::compacted`] ends the compaction.
    Compact {
        /// The command that requested it.
        command: Box<LoggedInbound>,
        /// `true` if it began before without an end: it may have killed the process.
        begun: bool,
    },
    /// A burst of messages is still arriving (queue mode collect). Claim again at this time.
    Later(Timestamp),
    /// The message that is next may get a further part. Claim again at the next message, or at this
    /// time.
    Incomplete(Timestamp),
    /// An owner has stopped everything. The messages wait until the stop ends.
    Stopped,
    /// The turn is running now.
    Turn(Box<Claimed>),
}

/// A turn that a lane has claimed.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// With the steps so far, from which a resumed turn goes on.
    pub turn: TurnRecord,
    /// Number of process deaths while it ran, since its last progress: a recorded step or a
    /// finished call.
    pub attempts: u32,
    /// Number of these deaths while it was the only running turn.
    pub deaths_alone: u32,
    /// The model chosen for the session, as `provider/model`; `None` for the agent's model.
    pub model: Option<String>,
    /// The thinking effort chosen for the session; `None` for the configured one.
    pub effort: Option<Effort>,
    /// Same as [`Turns::lineage`].
    pub lineage: Vec<LineageTurn>,
    /// Approvals for the session, or for the session of the root turn.
    pub grants: Vec<Grant>,
    /// The usage before the turn's first request.
    pub usage: UsageAtClaim,
}

/// The usage that a claim has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageAtClaim {
    /// Same as [`Ledger::spent`](crate::store::Ledger::spent).
    pub spending: Spending,
    /// The beginning of the day that it counts.
    pub day_start: Timestamp,
}

/// A turn or one of its ancestors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineageTurn {
    /// The turn.
    pub turn: TurnId,
    /// Its conversation.
    pub session: SessionId,
    /// The profile chosen for the conversation; `None` if the configuration decides by the
    /// conversation of the root turn.
    pub agent: Option<String>,
    /// The person whose private chat the conversation is; `None` for groups, and for children.
    pub person: Option<PersonId>,
    /// The mode of the conversation. A turn has the narrowest mode of its lineage.
    pub permission_mode: PermissionMode,
    /// The receiver of its final text; [`ChildMode::Awaited`] for a root turn.
    pub mode: ChildMode,
    /// For an ancestor: its calls before the one that started the next descendant, as far as they
    /// may have loaded a skill. Empty for the turn itself.
    pub skills: Vec<SkillCall>,
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// The outcome of its last message; the other messages are merged.
    pub outcome: Outcome,
    /// The final step of the model, if there was one.
    pub answer: Option<Answer>,
    /// The text shown in place of a reply; kept in the history.
    pub notice: Option<String>,
    /// The reason of a missing answer, for programs.
    pub failure: Option<TurnFailure>,
    /// The message for the chat; `None` if the message tool has already sent the answer, or the
    /// turn has no chat.
    pub reply: Option<Planned>,
    /// Usage for the ledger. It is recorded even if the turn has ended meanwhile.
    pub spent: Vec<UsageEntry>,
    /// `true` if the chat of `reply` has no send under way and can be sent to at once. Then the
    /// same transaction starts the send of the chat's next chunk, as
    /// [`Outbox::start`](crate::store::Outbox::start) does, if that chunk has no files, no delay and no
    /// attempt before.
    pub start_send: bool,
    /// `true` to remove the messages of the turn's preview instead of making them the reply. The
    /// chat has the answer already, does not need it, or gets it as a new message that notifies.
    pub removes_preview: bool,
}

impl Settlement {
    /// Makes the end of a turn with this outcome, without an answer, notice, reply or usage.
    #[must_use]
    pub fn new(outcome: Outcome) -> Self {
        let (answer, notice, failure, reply, spent) = (None, None, None, None, Vec::new());
        let (start_send, removes_preview) = (false, false);
        Self { outcome, answer, notice, failure, reply, spent, start_send, removes_preview }
    }
}

/// The result of the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledTurn {
    /// The session of the parent if its turn can continue.
    pub parent: Option<SessionId>,
    /// `true` if the session has more work for its lane. Later work wakes the lane.
    pub more: bool,
    /// The chunk whose send this transaction has started ([`Settlement::start_send`]), as it was
    /// before the start.
    pub started: Option<Head>,
    /// The messages that this transaction has ended.
    pub ended: Vec<EndedMessage>,
}

/// The step that ends a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its number.
    pub step: u32,
    /// The final text of the turn.
    pub text: String,
    /// The end of the model's text.
    pub ending: AnswerEnding,
    /// The tokens of the model call.
    pub usage: Usage,
    /// The least trust of the text in the request.
    pub trust: Trust,
}

/// A wait that is about to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWait {
    /// From [`Turns::reserve_wait`]; used once.
    pub id: WaitId,
    /// Gets the result of the wait.
    pub call: CallId,
    /// The kind of event that ends the wait.
    pub kind: WaitKind,
    /// The time at which it expires.
    pub expires_at: Timestamp,
    /// The prompt for the chat; names the wait.
    pub prompt: Option<Planned>,
    /// Prompts for other chats, whose people can decide; they name the wait.
    pub notices: Vec<Planned>,
    /// The tool's writes to the log.
    pub writes: Vec<LogWrite>,
    /// The grant that an approval for the session adds.
    pub grant: Option<Grant>,
    /// For an approval: a digest of the shown question. The call keeps it once it is approved.
    pub shown: Option<String>,
    /// For an approval: a remark for the audit table, beside the arguments of the call.
    pub remark: Option<String>,
    /// For an approval: the question, for people who decide outside of these chats.
    pub card: Option<ApprovalCard>,
    /// The chats whose channel can edit a message: their prompts become the outcome.
    pub editable: Vec<ChatAddress>,
}

impl NewWait {
    /// Makes a wait without a prompt.
    #[must_use]
    pub fn new(id: WaitId, call: CallId, kind: WaitKind, expires_at: Timestamp) -> Self {
        let (prompt, notices, writes, grant, shown) = (None, Vec::new(), Vec::new(), None, None);
        let (remark, card, editable) = (None, None, Vec::new());
        Self {
            id,
            call,
            kind,
            expires_at,
            prompt,
            notices,
            writes,
            grant,
            shown,
            remark,
            card,
            editable,
        }
    }
}

/// A wait without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenWait {
    /// Its id.
    pub id: WaitId,
    /// The conversation.
    pub session: SessionId,
    /// The kind of event that ends the wait.
    pub kind: WaitKind,
    /// The time at which it expires.
    pub expires_at: Timestamp,
}

/// An undecided question that was shown in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPrompt {
    /// The wait that it belongs to.
    pub wait: WaitId,
    /// The prompt, with its chat.
    pub prompt: Planned,
    /// The time of its first send.
    pub said_at: Timestamp,
    /// `true` if it repeats the prompt that began the wait.
    pub is_repeated: bool,
}

/// The result of a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// The call is approved, or is to be run again although it may have taken effect.
    Run,
    /// The call is approved, together with the grant for the session ([`NewWait::grant`]).
    RunAlways,
    /// The call has this text as its result: the answer to a question, or the result of a child.
    Answer {
        /// Becomes the result of the call.
        text: String,
        /// The trust level of the text.
        trust: Trust,
    },
    /// The call was denied or skipped, or the wait expired.
    Error {
        /// The error that the model reads.
        text: String,
        /// The kind of the call's result.
        kind: ResultKind,
    },
}

impl Resolution {
    /// Makes an error of the usual kind.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self::Error { text: text.into(), kind: ResultKind::Usual }
    }

    /// Makes the error of a call whose approval was denied or expired.
    #[must_use]
    pub fn denied(text: impl Into<String>) -> Self {
        Self::Error { text: text.into(), kind: ResultKind::Denied }
    }

    /// Makes the error of an interrupted call that may have had its effect.
    #[must_use]
    pub fn outcome_unknown(text: impl Into<String>) -> Self {
        Self::Error { text: text.into(), kind: ResultKind::OutcomeUnknown }
    }
}

impl From<&ApprovalDecision> for Resolution {
    fn from(decision: &ApprovalDecision) -> Self {
        match decision {
            ApprovalDecision::Once => Self::Run,
            ApprovalDecision::ForSession => Self::RunAlways,
            ApprovalDecision::Denied { why: Some(why) } => {
                Self::denied(format!("{DENIED}; the reason: {why}"))
            }
            ApprovalDecision::Denied { why: None } => Self::denied(format!(
                "{DENIED}; do not try to get the same result in another way. Continue without it, \
                    or say why you need it"
            )),
        }
    }
}
