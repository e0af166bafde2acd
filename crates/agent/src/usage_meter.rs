//! Keeps the usage of a turn's or a compaction's requests until it is recorded in the ledger.
//!
//! The lane owns a meter and lends it to the loop. The loop adds usage to the meter as attempts
//! end. The usage of an answer is recorded together with its step or with the end of the turn;
//! other usage before the next request. A cancelled loop is dropped and can write nothing; the lane
//! then records the rest.

use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::TurnId;
use avocet_protocol::model::Spent;
use avocet_protocol::store::{
    Ledger, Purpose, RequestOutcome, Spending, StoreError, UsageAtClaim, UsageEntry,
};
use avocet_protocol::turn::FailedRequest;
use parking_lot::Mutex;

/// The usage of one turn or compaction that is not in the ledger yet.
#[derive(Debug)]
pub struct UsageMeter {
    /// `None` for a compaction.
    pub(crate) turn: Option<TurnId>,
    pub(crate) session: SessionId,
    unrecorded: Mutex<Vec<UsageEntry>>,
    last_failure: Mutex<Option<(Purpose, FailedRequest)>>,
    /// The usage that the claim of the turn has read; `None` once a request has counted it.
    at_claim: Mutex<Option<UsageAtClaim>>,
}

impl UsageMeter {
    /// Makes an empty meter. `turn` is `None` for a compaction.
    #[must_use]
    pub fn new(turn: Option<TurnId>, session: SessionId) -> Self {
        Self {
            turn,
            session,
            unrecorded: Mutex::default(),
            last_failure: Mutex::default(),
            at_claim: Mutex::default(),
        }
    }

    /// Returns the meter of a claimed turn, whose first request needs no read of the ledger.
    #[must_use]
    pub fn with_usage_at_claim(self, usage: UsageAtClaim) -> Self {
        Self { at_claim: Mutex::new(Some(usage)), ..self }
    }

    /// Returns the usage that the budgets count for the next request.
    pub(crate) async fn spending(
        &self,
        ledger: &dyn Ledger,
        day_start: Timestamp,
    ) -> Result<Spending, StoreError> {
        let at_claim = self.at_claim.lock().take();
        match at_claim {
            Some(usage) if usage.day_start == day_start => Ok(usage.spending),
            _ => ledger.spent(self.turn, &self.session, day_start).await,
        }
    }

    /// Keeps usage until it is recorded.
    pub fn add_usage(&self, purpose: Purpose, spent: &Spent) {
        self.unrecorded.lock().push(UsageEntry::of_spent(purpose, spent.clone()));
    }

    /// Keeps a failed request that was made again. Its tokens are added for themselves.
    pub(crate) fn add_failed(&self, purpose: Purpose, failed: FailedRequest) {
        self.unrecorded
            .lock()
            .push(UsageEntry { purpose, request: RequestOutcome::Failed(failed) });
    }

    /// Keeps the last failure of the caller. It is recorded only if another request follows; the end
    /// of the turn names it otherwise.
    pub(crate) fn set_last_failure(&self, purpose: Purpose, failed: FailedRequest) {
        *self.last_failure.lock() = Some((purpose, failed));
    }

    /// Adds the last failure, because another request follows.
    pub(crate) fn add_last_failure(&self) {
        let last = self.last_failure.lock().take();
        if let Some((purpose, failed)) = last {
            self.add_failed(purpose, failed);
        }
    }

    /// Takes the unrecorded usage for a write. The log completes a write whose caller is dropped.
    #[must_use]
    pub fn take(&self) -> Vec<UsageEntry> {
        std::mem::take(&mut self.unrecorded.lock())
    }

    /// Puts usage back after its write failed. The log records the usage of a turn that has ended
    /// meanwhile, so that a stale write leaves nothing to put back.
    pub fn put_back(&self, entries: Vec<UsageEntry>, error: &StoreError) {
        if !matches!(error, StoreError::Stale(_)) {
            self.unrecorded.lock().extend(entries);
        }
    }

    /// Writes the unrecorded usage to the ledger.
    ///
    /// # Errors
    /// [`StoreError`] if the ledger refused the usage, which then stays in the meter.
    pub async fn record(&self, ledger: &dyn Ledger) -> Result<(), StoreError> {
        let entries = self.take();
        if entries.is_empty() {
            return Ok(());
        }
        let recorded = ledger.record_usage(self.turn, &self.session, &entries).await;
        recorded.inspect_err(|error| self.put_back(entries, error))
    }
}

#[cfg(test)]
#[path = "spending_tests.rs"]
mod tests;
