//! Retries a turn's log writes, so that a full disk delays them instead of losing them. Tool
//! messages wake their delivery once they are logged, and attachments of steering messages are
//! fetched before the turn reads them. Usage records are retried too.

use std::sync::Arc;

use avocet_outbox::Deliverer;
use avocet_protocol::{
    Attachment, CallId, CallResult, ChatAddress, Clock, Condensed, Deliveries, Evidence, Ledger,
    LogWrite, LoggedInbound, MessageId, NewStep, Past, Purpose, SessionId, Spending, Spent,
    StoreError, Timestamp, ToolClass, TurnId, TurnLog,
};
use avocet_supervise::patiently;
use tokio_util::sync::CancellationToken;

use crate::fetch::Fetcher;
use crate::running::RunningTurns;

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Retries of both logs, as long as the error is transient.
#[derive(Debug, Clone)]
pub(crate) struct Patience {
    pub(crate) running: Arc<RunningTurns>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Cancelled when retries must end.
    pub(crate) stop: CancellationToken,
}

impl Patience {
    /// Runs `work` with retries. Each attempt is a sign of life, because a turn that waits for disk
    /// space is not stuck.
    async fn patiently<T, W>(
        &self,
        turn: impl Into<Option<TurnId>> + Send,
        work: impl Fn() -> W + Send,
    ) -> Result<T>
    where
        W: Future<Output = Result<T>> + Send,
    {
        let turn = turn.into();
        let work = || {
            turn.into_iter().for_each(|turn| self.running.sign(turn));
            work()
        };
        patiently(self.clock.as_ref(), &self.stop, work).await
    }
}

/// A [`TurnLog`] with retries.
#[derive(Debug, Clone)]
pub(crate) struct PatientLog {
    pub(crate) log: Arc<dyn TurnLog>,
    pub(crate) deliverer: Deliverer,
    pub(crate) fetcher: Fetcher,
    pub(crate) patience: Patience,
}

#[async_trait::async_trait]
impl TurnLog for PatientLog {
    async fn history(&self, session: &SessionId, before: TurnId, budget: usize) -> Result<Past> {
        self.patience.patiently(before, || self.log.history(session, before, budget)).await
    }

    async fn condense(&self, session: &SessionId, condensed: &Condensed) -> Result<()> {
        let condense = || {
            self.patience.running.sign_session(session);
            self.log.condense(session, condensed)
        };
        self.patience.patiently(None, condense).await
    }

    async fn record_step(&self, turn: TurnId, step: &NewStep) -> Result<()> {
        self.patience.patiently(turn, || self.log.record_step(turn, step)).await
    }

    async fn start_call(
        &self,
        call: CallId,
        class: ToolClass,
        evidence: Option<&Evidence>,
    ) -> Result<()> {
        self.patience.patiently(call.turn, || self.log.start_call(call, class, evidence)).await
    }

    async fn finish_call(
        &self,
        call: CallId,
        result: &CallResult,
        kept: Option<&str>,
        writes: &[LogWrite],
    ) -> Result<()> {
        let _wake_guard = DeliveryWakeGuard { deliverer: &self.deliverer, writes };
        self.patience
            .patiently(call.turn, || self.log.finish_call(call, result, kept, writes))
            .await
    }

    async fn close_step(&self, turn: TurnId, step: u32) -> Result<Vec<LoggedInbound>> {
        let mut steered = self.patience.patiently(turn, || self.log.close_step(turn, step)).await?;
        self.fetcher.fetch(turn, &mut steered, self).await?;
        Ok(steered)
    }

    async fn set_attachments(
        &self,
        turn: TurnId,
        message: MessageId,
        attachments: &[Attachment],
    ) -> Result<()> {
        self.patience.patiently(turn, || self.log.set_attachments(turn, message, attachments)).await
    }

    async fn sent_texts(&self, turn: TurnId, chat: &ChatAddress) -> Result<Vec<String>> {
        self.patience.patiently(turn, || self.log.sent_texts(turn, chat)).await
    }
}

/// A [`Ledger`] with retries.
#[derive(Debug, Clone)]
pub(crate) struct PatientLedger {
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) patience: Patience,
}

#[async_trait::async_trait]
impl Ledger for PatientLedger {
    async fn record_usage(
        &self,
        turn: Option<TurnId>,
        session: &SessionId,
        purpose: Purpose,
        spent: &[Spent],
    ) -> Result<()> {
        let record = || self.ledger.record_usage(turn, session, purpose, spent);
        self.patience.patiently(turn, record).await
    }

    async fn spent(
        &self,
        turn: Option<TurnId>,
        session: &SessionId,
        day_start: Timestamp,
    ) -> Result<Spending> {
        self.patience.patiently(turn, || self.ledger.spent(turn, session, day_start)).await
    }
}

/// Messages of a tool. Dropping the value wakes their deliveries, even if the turn is cancelled
/// during the write, because logged messages are sent.
pub(crate) struct DeliveryWakeGuard<'a> {
    pub(crate) deliverer: &'a Deliverer,
    pub(crate) writes: &'a [LogWrite],
}

impl Drop for DeliveryWakeGuard<'_> {
    fn drop(&mut self) {
        for write in self.writes {
            if let LogWrite::Message(message) = write {
                self.deliverer.wake(&message.address);
            }
        }
    }
}

#[cfg(test)]
#[path = "patient_tests.rs"]
mod tests;
