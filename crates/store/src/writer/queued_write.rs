//! A write on its way from the queue through a transaction to its answer.

use std::panic::{AssertUnwindSafe, catch_unwind};

use avocet_protocol::ignore_result;
use avocet_protocol::store::StoreError;
use tokio::sync::oneshot;

use crate::tx::{Result, Tx};

/// The point at which a write counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The disk has the write, so that it survives a power failure.
    Synced,
    /// The system has the write: it survives `kill -9`, but a power failure may lose it.
    Process,
}

/// A write, from the queue to its answer.
pub(super) trait WriteJob: Send {
    /// Returns the name of the write's fail points.
    fn name(&self) -> &'static str;
    fn wanted_durability(&self) -> Durability;
    /// Runs inside the batch's transaction.
    fn run(&mut self, tx: &Tx<'_>) -> Result<()>;
    /// Answers the caller once the transaction was committed or has failed.
    fn answer_caller(self: Box<Self>, committed: Result<()>);
}

/// A write of a caller, which waits at the other end of `sender`.
pub(super) struct QueuedWrite<T, F> {
    pub(super) name: &'static str,
    pub(super) durability: Durability,
    pub(super) work: Option<F>,
    pub(super) result: Option<Result<T>>,
    pub(super) sender: oneshot::Sender<Result<T>>,
}

impl<T, F> WriteJob for QueuedWrite<T, F>
where
    T: Send,
    F: FnOnce(&Tx<'_>) -> Result<T> + Send,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn wanted_durability(&self) -> Durability {
        self.durability
    }

    fn run(&mut self, tx: &Tx<'_>) -> Result<()> {
        let Some(work) = self.work.take() else { return Ok(()) };
        let result = catch_unwind(AssertUnwindSafe(|| work(tx)))
            .unwrap_or_else(|_| Err(StoreError::Internal(format!("{} panicked", self.name))));
        let failed = result.as_ref().err().cloned();
        self.result = Some(result);
        failed.map_or(Ok(()), Err)
    }

    fn answer_caller(self: Box<Self>, committed: Result<()>) {
        let result = match (self.result, committed) {
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (Some(result), Ok(())) => result,
            (None, Ok(())) => Err(StoreError::Internal(format!("{} did not run", self.name))),
        };
        ignore_result(
            self.sender.send(result),
            "the caller may have stopped waiting; the write is valid all the same",
        );
    }
}
