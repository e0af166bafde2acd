//! Puts retries around the log and the ledger, so that a full disk delays the writes of a turn
//! instead of losing them. A tool's messages wake their delivery once they are logged.

use std::sync::Arc;

use avocet_protocol::bus::Deliveries;
use avocet_protocol::chat::{Attachment, ChatAddress, LoggedInbound, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, MessageId, TurnId};
use avocet_protocol::memory::RecalledMemory;
use avocet_protocol::store::{
    CompactedPast, Family, Ledger, NewStep, Past, Purpose, Spending, StoreError, TurnLog,
    UsageEntry,
};
use avocet_protocol::tool::{Evidence, LogWrite, ToolClass};
use avocet_protocol::turn::CallResult;

use crate::running::RunningTurns;

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A [`TurnLog`] with retries.
#[derive(Debug)]
pub struct RetryingLog {
    log: Arc<dyn TurnLog>,
    running: Arc<RunningTurns>,
    deliveries: Arc<dyn Deliveries>,
}

impl RetryingLog {
    /// Retries the operations of `log` until `running` must be released.
    #[must_use]
    pub fn new(
        log: Arc<dyn TurnLog>,
        running: Arc<RunningTurns>,
        deliveries: Arc<dyn Deliveries>,
    ) -> Self {
        Self { log, running, deliveries }
    }
}

#[async_trait::async_trait]
impl TurnLog for RetryingLog {
    async fn history(&self, session: &SessionId, before: TurnId, budget: usize) -> Result<Past> {
        self.running.with_retry(before, || self.log.history(session, before, budget)).await
    }

    async fn record_compaction(
        &self,
        session: &SessionId,
        compacted: &CompactedPast,
    ) -> Result<()> {
        let record_compaction = || {
            self.running.sign_session(session);
            self.log.record_compaction(session, compacted)
        };
        self.running.with_retry(None, record_compaction).await
    }

    async fn record_recalled(&self, turn: TurnId, recalled: &[RecalledMemory]) -> Result<()> {
        self.running.with_retry(turn, || self.log.record_recalled(turn, recalled)).await
    }

    async fn record_step(&self, turn: TurnId, step: &NewStep) -> Result<()> {
        self.running.with_retry(turn, || self.log.record_step(turn, step)).await
    }

    async fn start_call(
        &self,
        call: CallId,
        class: ToolClass,
        evidence: Option<&Evidence>,
    ) -> Result<()> {
        self.running.with_retry(call.turn, || self.log.start_call(call, class, evidence)).await
    }

    async fn finish_call(
        &self,
        call: CallId,
        result: &CallResult,
        kept: Option<&str>,
        writes: &[LogWrite],
    ) -> Result<Option<Vec<LoggedInbound>>> {
        let finish = || self.log.finish_call(call, result, kept, writes);
        let steered = self.running.with_retry(call.turn, finish).await?;
        wake_deliveries(self.deliveries.as_ref(), writes);
        if writes.iter().any(|write| matches!(write, LogWrite::Spawn(_))) {
            self.running.tasks_started.notify_one();
        }
        Ok(steered)
    }

    async fn close_step(&self, turn: TurnId, step: u32) -> Result<Vec<LoggedInbound>> {
        self.running.with_retry(turn, || self.log.close_step(turn, step)).await
    }

    async fn set_attachments(
        &self,
        turn: TurnId,
        message: MessageId,
        attachments: &[Attachment],
    ) -> Result<()> {
        let set = || self.log.set_attachments(turn, message, attachments);
        self.running.with_retry(turn, set).await
    }

    async fn family(&self, turn: TurnId) -> Result<Family> {
        self.running.with_retry(turn, || self.log.family(turn)).await
    }

    async fn sent_texts(&self, turn: TurnId, chat: &ChatAddress) -> Result<Vec<String>> {
        self.running.with_retry(turn, || self.log.sent_texts(turn, chat)).await
    }
}

/// Wakes the deliveries of a tool's messages.
pub(crate) fn wake_deliveries(deliveries: &dyn Deliveries, writes: &[LogWrite]) {
    for write in writes {
        if let LogWrite::Message(message) = write {
            deliveries.wake(&message.address);
        }
    }
}

/// A [`Ledger`] with retries.
#[derive(Debug)]
pub struct RetryingLedger {
    ledger: Arc<dyn Ledger>,
    running: Arc<RunningTurns>,
}

impl RetryingLedger {
    /// Retries the operations of `ledger` until `running` must be released.
    #[must_use]
    pub fn new(ledger: Arc<dyn Ledger>, running: Arc<RunningTurns>) -> Self {
        Self { ledger, running }
    }
}

#[async_trait::async_trait]
impl Ledger for RetryingLedger {
    async fn record_usage(
        &self,
        turn: Option<TurnId>,
        session: &SessionId,
        entries: &[UsageEntry],
    ) -> Result<()> {
        let record = || self.ledger.record_usage(turn, session, entries);
        self.running.with_retry(turn, record).await
    }

    async fn spent(
        &self,
        turn: Option<TurnId>,
        session: &SessionId,
        day_start: Timestamp,
    ) -> Result<Spending> {
        self.running.with_retry(turn, || self.ledger.spent(turn, session, day_start)).await
    }

    async fn has_usage(&self, turn: TurnId, purpose: Purpose) -> Result<bool> {
        self.running.with_retry(Some(turn), || self.ledger.has_usage(turn, purpose)).await
    }
}

#[cfg(test)]
#[path = "retrying_log_tests.rs"]
mod tests;
