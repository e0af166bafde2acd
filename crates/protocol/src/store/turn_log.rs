//! A turn's own log, as the agent writes it: T1 to T4, and what was too long for a model.

use std::fmt;

use async_trait::async_trait;

use super::Result;
use crate::{
    Attachment, CallId, CallResult, ChatAddress, Evidence, LogWrite, LoggedInbound, MessageId,
    Reasoning, SessionId, ToolCall, ToolClass, TurnId, TurnRecord, Usage,
};

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
    /// What the model wants to have back with them.
    pub reasoning: Option<Reasoning>,
    /// What the model call cost.
    pub usage: Usage,
}

/// Whole results of calls whose result was cut.
#[async_trait]
pub trait KeptResults: fmt::Debug + Send + Sync {
    /// The whole result of a call of this session, as JSON text; none if it was not cut.
    async fn kept_result(&self, session: &SessionId, handle: &str) -> Result<Option<String>>;
}
