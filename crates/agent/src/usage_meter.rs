//! Keeps the usage of a turn's or a compaction's requests until it is recorded in the ledger.
//!
//! The lane owns a meter and lends it to the loop. The loop adds usage to the meter as attempts
//! end, and records it after each request. A cancelled loop is dropped and can write nothing; the
//! lane then records the rest.

use std::sync::{Mutex, MutexGuard, PoisonError};

use avocet_protocol::{Ledger, Purpose, SessionId, Spent, StoreError, TurnId};

/// The usage of one turn or compaction that is not in the ledger yet.
#[derive(Debug)]
pub struct UsageMeter {
    /// `None` for a compaction.
    pub(crate) turn: Option<TurnId>,
    pub(crate) session: SessionId,
    unrecorded: Mutex<Vec<UnrecordedUsage>>,
}

#[derive(Debug)]
struct UnrecordedUsage {
    purpose: Purpose,
    spent: Spent,
}

impl UsageMeter {
    /// Makes an empty meter. `turn` is `None` for a compaction.
    #[must_use]
    pub fn new(turn: Option<TurnId>, session: SessionId) -> Self {
        Self { turn, session, unrecorded: Mutex::default() }
    }

    /// Keeps usage until [`Self::record`].
    pub(crate) fn add(&self, purpose: Purpose, spent: &Spent) {
        self.unrecorded().push(UnrecordedUsage { purpose, spent: spent.clone() });
    }

    /// Writes the unrecorded usage to the ledger, entry by entry, so that a cancelled call loses at
    /// most the entry that it is writing.
    ///
    /// # Errors
    /// [`StoreError`] if the ledger refused an entry. The entry stays in the meter.
    pub async fn record(&self, ledger: &dyn Ledger) -> Result<(), StoreError> {
        loop {
            let Some(entry) = self.unrecorded().pop() else { return Ok(()) };
            let spent = std::slice::from_ref(&entry.spent);
            let recorded = ledger.record_usage(self.turn, &self.session, entry.purpose, spent);
            if let Err(error) = recorded.await {
                self.unrecorded().push(entry);
                return Err(error);
            }
        }
    }

    fn unrecorded(&self) -> MutexGuard<'_, Vec<UnrecordedUsage>> {
        self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "spending_tests.rs"]
mod tests;
