//! The log of a turn, as the agent writes it: steps, calls, and results that were too long for a
//! model.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::Result;
use crate::access::Trust;
use crate::chat::{Attachment, ChatAddress, LoggedInbound, SessionId};
use crate::ids::{CallId, MessageId, TurnId};
use crate::memory::RecalledMemory;
use crate::model::{Reasoning, ToolCall, Usage};
use crate::store::UsageEntry;
use crate::tool::{Evidence, LogWrite, ToolClass};
use crate::turn::{AnswerEnding, CallResult, TurnRecord};

/// The log of a turn, as the agent writes it: record step, start call, finish call, close step.
#[async_trait]
pub trait TurnLog: fmt::Debug + Send + Sync {
    /// Returns the past of a session before the turn `before`: the compacted part, and the turns
    /// since. Whole turns only, as many as fit into `budget` bytes of text, and at least the
    /// newest.
    ///
    /// Results and arguments of turns before the last [`Past::RECENT`] count with their shortened
    /// size, because the agent shortens them before it leaves a turn out. At most sixteen times the
    /// budget is read.
    ///
    /// For a turn that has been compacted since, returns the turns before it as a whole.
    async fn history(&self, session: &SessionId, before: TurnId, budget: usize) -> Result<Past>;

    /// Replaces the older past of a session in later requests. The log itself keeps everything.
    /// Does nothing if that past has been forgotten meanwhile.
    async fn record_compaction(&self, session: &SessionId, compacted: &CompactedPast)
    -> Result<()>;

    /// Records the memories that the requests of a turn contain, before the first request: later
    /// requests contain them even if the turn fails.
    async fn record_recalled(&self, turn: TurnId, recalled: &[RecalledMemory]) -> Result<()>;

    /// Record step: commits the assistant's message and its calls, planned.
    async fn record_step(&self, turn: TurnId, step: &NewStep) -> Result<()>;

    /// Start call: a call begins. Durable before the effect for tools of class effect. The start of
    /// a call of class pure need not be recorded, because a planned call runs again, too.
    async fn start_call(
        &self,
        call: CallId,
        class: ToolClass,
        evidence: Option<&Evidence>,
    ) -> Result<()>;

    /// Finish call: commits a call's result together with its writes to the log. `kept` is the
    /// whole result if `result` is cut.
    ///
    /// The last result of a step also closes the step: then returns what
    /// [`close_step`](TurnLog::close_step) returns. `None` if other calls have no result yet.
    async fn finish_call(
        &self,
        call: CallId,
        result: &CallResult,
        kept: Option<&str>,
        writes: &[LogWrite],
    ) -> Result<Option<Vec<LoggedInbound>>>;

    /// Close step: every call of the step has its result. In queue mode steer, the messages that
    /// wait in the lane are bound to the turn here, and returned. Needed only if the last result
    /// did not come from [`finish_call`](TurnLog::finish_call), but from the end of a wait. Fails
    /// with [`StoreError::Stale`](crate::store::StoreError::Stale) if a call has no result, or if the step
    /// is closed.
    async fn close_step(&self, turn: TurnId, step: u32) -> Result<Vec<LoggedInbound>>;

    /// Replaces the attachments of a message that the turn answers, or that steers it.
    /// `attachments` has all of them, in the same order. The rest of the message stays.
    async fn set_attachments(
        &self,
        turn: TurnId,
        message: MessageId,
        attachments: &[Attachment],
    ) -> Result<()>;

    /// The position of a turn among its ancestors and children.
    async fn family(&self, turn: TurnId) -> Result<Family>;

    /// Texts that the message tool has sent to `chat` in this turn.
    async fn sent_texts(&self, turn: TurnId, chat: &ChatAddress) -> Result<Vec<String>>;
}

/// The position of a turn among its ancestors and children.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Family {
    /// Number of ancestors; 0 for a root turn.
    pub depth: u32,
    /// Number of its children that have not ended.
    pub open_children: u32,
}

/// The past of a session, as its requests contain it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Past {
    /// The compacted part, which stands for the turns up to [`CompactedPast::summary_to`].
    pub compacted: CompactedPast,
    /// The turns after that, oldest first.
    pub turns: Vec<Arc<TurnRecord>>,
    /// `true` if turns between both were left out for lack of room.
    pub has_gap: bool,
    /// The position up to which an owner has declared the read text as trusted: the turn, and the
    /// last trusted step in it. `None` as step covers only the messages that the turn answers.
    pub trusted_to: Option<(TurnId, Option<u32>)>,
}

impl Past {
    /// Number of newest turns whose results are shortened last.
    pub const RECENT: usize = 2;
    /// Bytes of a result, or of one text of the arguments, that remain when it is shortened. A
    /// remark of at most [`Past::REMARK`] bytes replaces the rest.
    pub const SHORT: usize = 400;
    /// See [`Past::SHORT`].
    pub const REMARK: usize = 120;
}

/// The form that the older past of a session takes in its requests. It changes seldom and in large
/// steps, so that requests keep a common beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompactedPast {
    /// The summary of the turns up to `summary_to`; `None` if they are left out.
    pub summary: Option<String>,
    /// The last turn that is left out, if any.
    pub summary_to: Option<TurnId>,
    /// The last turn whose results and arguments are shortened, if any.
    pub shortened_to: Option<TurnId>,
    /// The least trust of the summarised text.
    pub trust: Trust,
}

/// An answer of a model that contains calls.
#[derive(Debug, Clone, PartialEq)]
pub struct NewStep {
    /// From 0; one more than the previous step.
    pub number: u32,
    /// The text of the model.
    pub text: String,
    /// The end of the model's text.
    pub ending: AnswerEnding,
    /// The calls, in order. At least one.
    pub calls: Vec<ToolCall>,
    /// See [`ModelReply::written`](crate::model::ModelReply::written).
    pub written: Option<String>,
    /// Reasoning that the model needs back together with these calls.
    pub reasoning: Option<Reasoning>,
    /// The tokens of the model call.
    pub usage: Usage,
    /// The least trust of the text in the request.
    pub trust: Trust,
    /// Usage for the ledger. It is recorded even if the turn has ended meanwhile.
    pub spent: Vec<UsageEntry>,
}

/// Whole results of calls whose result was cut.
#[async_trait]
pub trait KeptResults: fmt::Debug + Send + Sync {
    /// The whole result of a call of this session; `None` if there is none with this handle.
    async fn kept_result(&self, session: &SessionId, handle: &str) -> Result<Option<KeptResult>>;
}

/// A whole result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptResult {
    /// The result as JSON text.
    pub body: String,
    /// Its trust level.
    pub trust: Trust,
}
