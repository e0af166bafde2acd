//! Keeps the cost of requests until it is recorded in the ledger. A request is cancelled by
//! dropping it, and a dropped future can write nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use avocet_protocol::{Ledger, Purpose, SessionId, Spent, StoreError, TurnId};

use crate::AgentLoop;
use crate::budgets::Bill;

/// Costs of requests that are still to be recorded in the ledger.
#[derive(Debug, Default)]
pub struct Unbooked(Mutex<Vec<UnrecordedUsage>>);

#[derive(Debug)]
struct UnrecordedUsage {
    turn: Option<TurnId>,
    session: SessionId,
    purpose: Purpose,
    spent: Spent,
}

impl Unbooked {
    /// Keeps a cost until it is recorded.
    pub(crate) fn add(&self, bill: Bill<'_>, spent: &Spent) {
        let Bill { turn, session, purpose, .. } = bill;
        let entry =
            UnrecordedUsage { turn, session: session.clone(), purpose, spent: spent.clone() };
        self.entries().push(entry);
    }

    /// Records the costs one by one, so that a cancelled call loses at most one of them.
    async fn book(&self, ledger: &dyn Ledger) -> Result<(), StoreError> {
        loop {
            let Some(entry) = self.entries().pop() else { return Ok(()) };
            let UnrecordedUsage { turn, session, purpose, spent } = &entry;
            let spent = std::slice::from_ref(spent);
            if let Err(error) = ledger.record_usage(*turn, session, *purpose, spent).await {
                self.entries().push(entry);
                return Err(error);
            }
        }
    }

    fn entries(&self) -> MutexGuard<'_, Vec<UnrecordedUsage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AgentLoop {
    /// Records the costs of requests. After dropping a turn or a compaction early, the caller has
    /// to call this.
    ///
    /// # Errors
    /// [`StoreError`] if the ledger refused an entry.
    pub async fn book_costs(&self) -> Result<(), StoreError> {
        self.unbooked.book(self.ledger.as_ref()).await
    }
}
