//! A turn's own log, as the agent writes it: T1 to T4, and what was too long for a model.

use std::fmt;

use async_trait::async_trait;

use super::Result;
use crate::{
    Attachment, CallId, CallResult, ChatAddress, Evidence, LogWrite, LoggedInbound, MessageId,
    Reasoning, SessionId, ToolCall, ToolClass, Trust, TurnId, TurnRecord, Usage,
};

/// A turn's own log, as the agent writes it: T1 to T4.
#[async_trait]
pub trait TurnLog: fmt::Debug + Send + Sync {
    /// What a session has behind it before the turn `before`: what was condensed, and the turns
    /// since, as many as fit into `budget` bytes of text, whole turns only, the newest in any case.
    /// Of turns before the last [`Past::RECENT`], results and arguments count as if they were
    /// shortened, since they are before a turn is left out; but no more than sixteen times the budget
    /// is read.
    async fn history(&self, session: &SessionId, before: TurnId, budget: usize) -> Result<Past>;

    /// Condenses the past of a session: later requests carry it so. Nothing is lost from the log.
    /// Does nothing if what is condensed has been forgotten meanwhile.
    async fn condense(&self, session: &SessionId, condensed: &Condensed) -> Result<()>;

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

/// What a session has behind it, as far as its requests carry it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Past {
    /// What stands for the turns up to [`Condensed::summary_to`].
    pub condensed: Condensed,
    /// The turns after that, oldest first.
    pub turns: Vec<TurnRecord>,
    /// Whether there are turns between both, for which there was no room.
    pub has_gap: bool,
    /// Up to where an owner has said that what was read may be believed: this turn, up to this step of
    /// it; the messages that it answers included.
    pub believed_to: Option<(TurnId, Option<u32>)>,
}

impl Past {
    /// Turns whose results are never shortened before those of others are.
    pub const RECENT: usize = 2;
    /// Bytes of a result, or of one text of the arguments, that stay when it is shortened; a remark of
    /// [`Past::REMARK`] bytes at most stands for the others.
    pub const SHORT: usize = 400;
    /// See [`Past::SHORT`].
    pub const REMARK: usize = 120;
}

/// How the older part of a session's past goes into its requests. It changes seldom and in large
/// steps, so that requests keep the beginning that they have in common.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Condensed {
    /// What the turns up to `summary_to` came to; none if they are left out.
    pub summary: Option<String>,
    /// The last turn that is left out, if any is.
    pub summary_to: Option<TurnId>,
    /// The last turn whose results and arguments are shortened, if any is.
    pub shortened_to: Option<TurnId>,
    /// The least trust of what the summary was made of.
    pub trust: Trust,
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
    /// See [`ModelReply::written`](crate::ModelReply::written).
    pub written: Option<String>,
    /// What the model wants to have back with them.
    pub reasoning: Option<Reasoning>,
    /// What the model call cost.
    pub usage: Usage,
    /// The least trust of what was in the request.
    pub trust: Trust,
}

/// Whole results of calls whose result was cut.
#[async_trait]
pub trait KeptResults: fmt::Debug + Send + Sync {
    /// The whole result of a call of this session; none if there is none.
    async fn kept_result(&self, session: &SessionId, handle: &str) -> Result<Option<KeptResult>>;
}

/// A whole result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptResult {
    /// As JSON text.
    pub body: String,
    /// How far it may be believed.
    pub trust: Trust,
}
