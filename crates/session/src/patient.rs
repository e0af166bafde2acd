//! The log of a turn, written patiently: what a full disk delays is not lost.

use std::sync::Arc;

use avocet_protocol::{
    CallId, CallResult, ChatAddress, Clock, Evidence, LogWrite, LoggedInbound, NewStep, SessionId,
    StoreError, ToolClass, TurnId, TurnLog, TurnRecord,
};
use avocet_supervise::patiently;
use tokio_util::sync::CancellationToken;

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A [`TurnLog`] that writes again for as long as the reason passes by itself.
#[derive(Debug, Clone)]
pub(crate) struct PatientLog {
    pub(crate) log: Arc<dyn TurnLog>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Fires when there is no more time to be patient.
    pub(crate) stop: CancellationToken,
}

impl PatientLog {
    async fn patiently<T, W>(&self, write: impl Fn() -> W + Send) -> Result<T>
    where
        W: Future<Output = Result<T>> + Send,
    {
        patiently(self.clock.as_ref(), &self.stop, write).await
    }
}

#[async_trait::async_trait]
impl TurnLog for PatientLog {
    async fn history(
        &self,
        session: &SessionId,
        before: TurnId,
        budget: usize,
    ) -> Result<Vec<TurnRecord>> {
        self.patiently(|| self.log.history(session, before, budget)).await
    }

    async fn record_step(&self, turn: TurnId, step: &NewStep) -> Result<()> {
        self.patiently(|| self.log.record_step(turn, step)).await
    }

    async fn start_call(
        &self,
        call: CallId,
        class: ToolClass,
        evidence: Option<&Evidence>,
    ) -> Result<()> {
        self.patiently(|| self.log.start_call(call, class, evidence)).await
    }

    async fn finish_call(
        &self,
        call: CallId,
        result: &CallResult,
        kept: Option<&str>,
        writes: &[LogWrite],
    ) -> Result<()> {
        self.patiently(|| self.log.finish_call(call, result, kept, writes)).await
    }

    async fn close_step(&self, turn: TurnId, step: u32) -> Result<Vec<LoggedInbound>> {
        self.patiently(|| self.log.close_step(turn, step)).await
    }

    async fn sent_texts(&self, turn: TurnId, chat: &ChatAddress) -> Result<Vec<String>> {
        self.patiently(|| self.log.sent_texts(turn, chat)).await
    }
}
