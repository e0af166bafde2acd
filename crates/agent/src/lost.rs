//! What requests have cost that came to nothing, until it is in the ledger: a request is given up by
//! dropping it, and what is dropped can write nothing.

use std::sync::{Mutex, PoisonError};

use avocet_protocol::{Ledger, Purpose, SessionId, Spent, StoreError, TurnId};

use crate::AgentLoop;
use crate::budgets::Bill;

/// What requests have cost that came to nothing, and is not in the ledger yet.
#[derive(Debug, Default)]
pub struct Lost(Mutex<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    turn: Option<TurnId>,
    session: SessionId,
    purpose: Purpose,
    spent: Spent,
}

impl Lost {
    /// Keeps it until it is booked.
    pub(crate) fn add(&self, bill: Bill<'_>, spent: &Spent) {
        let Bill { turn, session, purpose, .. } = bill;
        let entry = Entry { turn, session: session.clone(), purpose, spent: spent.clone() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    async fn book(&self, ledger: &dyn Ledger) -> Result<(), StoreError> {
        let entries = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for Entry { turn, session, purpose, spent } in entries {
            ledger.record_usage(turn, &session, purpose, &[spent]).await?;
        }
        Ok(())
    }
}

impl AgentLoop {
    /// Writes down what came to nothing. Whoever drops a turn or a compaction before its end does this
    /// afterwards.
    ///
    /// # Errors
    /// [`StoreError`] if the ledger refused it.
    pub async fn book_lost(&self) -> Result<(), StoreError> {
        self.lost.book(self.ledger.as_ref()).await
    }
}
