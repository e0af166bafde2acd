//! What requests have cost, until it is in the ledger: a request is given up by dropping it, and what is
//! dropped can write nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use avocet_protocol::{Ledger, Purpose, SessionId, Spent, StoreError, TurnId};

use crate::AgentLoop;
use crate::budgets::Bill;

/// What requests have cost that is not in the ledger yet.
#[derive(Debug, Default)]
pub struct Unbooked(Mutex<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    turn: Option<TurnId>,
    session: SessionId,
    purpose: Purpose,
    spent: Spent,
}

impl Unbooked {
    /// Keeps it until it is booked.
    pub(crate) fn add(&self, bill: Bill<'_>, spent: &Spent) {
        let Bill { turn, session, purpose, .. } = bill;
        let entry = Entry { turn, session: session.clone(), purpose, spent: spent.clone() };
        self.entries().push(entry);
    }

    /// One after the other, so that whoever is given up meanwhile takes at most one with it.
    async fn book(&self, ledger: &dyn Ledger) -> Result<(), StoreError> {
        loop {
            let Some(entry) = self.entries().pop() else { return Ok(()) };
            let Entry { turn, session, purpose, spent } = &entry;
            let spent = std::slice::from_ref(spent);
            if let Err(error) = ledger.record_usage(*turn, session, *purpose, spent).await {
                self.entries().push(entry);
                return Err(error);
            }
        }
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AgentLoop {
    /// Writes down what requests have cost. Whoever drops a turn or a compaction before its end does
    /// this afterwards.
    ///
    /// # Errors
    /// [`StoreError`] if the ledger refused it.
    pub async fn book_costs(&self) -> Result<(), StoreError> {
        self.unbooked.book(self.ledger.as_ref()).await
    }
}
