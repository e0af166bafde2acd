//! Turns as the lanes see them: taken, settled (T5), made to wait, resolved.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use super::Result;
use crate::{
    CallId, Condensed, Grant, LogWrite, LoggedInbound, MessageId, Outcome, Planned, SessionId,
    Timestamp, Trust, TurnId, TurnRecord, Usage, WaitId, WaitKind,
};

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

    /// The compaction that a command wants begins: if the process dies under it, it is not begun
    /// again. [`StoreError::Stale`](crate::StoreError::Stale) if it was stopped or has begun before.
    async fn begin_compaction(&self, command: MessageId) -> Result<()>;

    /// The end of a compaction: what the past has become, if it has become shorter, and what is said
    /// of it, in one transaction. What was forgotten meanwhile is not condensed, and nothing is said.
    /// [`StoreError::Stale`](crate::StoreError::Stale) if it was stopped or has ended before.
    async fn compacted(
        &self,
        command: MessageId,
        condensed: Option<&Condensed>,
        notice: Option<&Planned>,
    ) -> Result<()>;

    /// T5: the turn's end. Final step, outbox rows, the messages' outcomes and, for a child, the
    /// parent's result, in one transaction. Durable when this returns. Returns the session that
    /// can go on because of it: the parent's.
    async fn settle(&self, turn: TurnId, settlement: &Settlement) -> Result<Option<SessionId>>;

    /// Reserves the id of a wait that is about to begin, so that its prompt can name it. An id that is
    /// never used (the process died before [`Turns::wait`]) leaves a gap.
    async fn reserve_wait(&self) -> Result<WaitId>;

    /// The call waits, and with it the turn: prompt and writes are committed together with the wait.
    /// Durable when this returns.
    async fn wait(&self, wait: &NewWait) -> Result<()>;

    /// Gives a running turn back without counting an attempt: an orderly stop.
    async fn release(&self, turn: TurnId) -> Result<()>;

    /// Resolves a wait; none if it has been resolved before.
    async fn resolve(&self, wait: WaitId, resolution: &Resolution) -> Result<Option<SessionId>>;

    /// The messages whose words a turn works on: its own, those that steered it, and, for a child,
    /// those of the turn at the root.
    async fn asked_by(&self, turn: TurnId) -> Result<Vec<LoggedInbound>>;

    /// Waits in the order in which they expire.
    async fn open_waits(&self) -> Result<Vec<OpenWait>>;

    /// The prompts of waits for a person (all but [`WaitKind::Child`]) that have not expired now, the
    /// latest of each, unless it is still on its way: what may have to be said again.
    async fn open_prompts(&self, now: Timestamp) -> Result<Vec<OpenPrompt>>;

    /// Says prompts again, each as one more message of its turn; one whose wait has been resolved
    /// meanwhile is left out. All of them in one transaction.
    async fn say_again(&self, prompts: &[OpenPrompt]) -> Result<()>;

    /// Sessions that have something to do: at boot, and when wake-ups were lost. Those with a turn
    /// that was begun come first, then those who have waited longest.
    async fn open_sessions(&self) -> Result<Vec<SessionId>>;
}

/// What a lane finds when it asks for work.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// Nothing to do, or a turn that waits holds the lane's place.
    Nothing,
    /// The next turn was running when the process died: it is taken with `suspects`, while no other suspect runs.
    Suspect {
        /// How often a process died while it ran; at least 1.
        deaths: u32,
    },
    /// What was said so far is to be condensed. [`Turns::compacted`] ends that.
    Compact {
        /// The command that wants it.
        command: Box<LoggedInbound>,
        /// Whether it was begun before and came to no end: the process may have died of it.
        begun: bool,
    },
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
    /// How often a process died while it ran, since it last came further: a recorded step or a finished call.
    pub attempts: u32,
    /// Of these, how often it was the only turn that ran.
    pub deaths_alone: u32,
    /// The model that the session has chosen, as `provider/model`; none for the agent's.
    pub model: Option<String>,
    /// What a person has allowed for the session, or for that of the turn at the root.
    pub grants: Vec<Grant>,
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
    /// The least trust of what was in the request.
    pub trust: Trust,
}

/// A turn about to wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWait {
    /// From [`Turns::reserve_wait`]; used once.
    pub id: WaitId,
    /// The call that waits.
    pub call: CallId,
    /// For what.
    pub kind: WaitKind,
    /// Until when.
    pub expires_at: Timestamp,
    /// What is said in the chat; names the wait.
    pub prompt: Option<Planned>,
    /// What is said elsewhere, to people who can decide; names the wait.
    pub notices: Vec<Planned>,
    /// What the tool writes.
    pub writes: Vec<LogWrite>,
    /// What is allowed with the call if it is allowed for the session.
    pub grant: Option<Grant>,
    /// For an approval: a digest of what is shown, which goes to the call once it is allowed.
    pub shown: Option<String>,
}

impl NewWait {
    /// A wait without a prompt.
    #[must_use]
    pub fn new(id: WaitId, call: CallId, kind: WaitKind, expires_at: Timestamp) -> Self {
        let (prompt, notices, writes, grant, shown) = (None, Vec::new(), Vec::new(), None, None);
        Self { id, call, kind, expires_at, prompt, notices, writes, grant, shown }
    }
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

/// What a chat was asked and has not decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPrompt {
    /// What it is about.
    pub wait: WaitId,
    /// What was said, or is to be said.
    pub prompt: Planned,
    /// When it was said.
    pub said_at: Timestamp,
}

/// What a wait came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// The call is allowed, or is to be run again although it may have happened.
    Run,
    /// The call is allowed, and what goes with it for the session ([`NewWait::grant`]).
    RunAlways,
    /// The call has this text as its result: the answer to a question, what a child came to.
    Answer {
        /// The text.
        text: String,
        /// How far it may be believed.
        trust: Trust,
    },
    /// The call was denied, skipped, or nobody answered in time.
    Error(String),
}
