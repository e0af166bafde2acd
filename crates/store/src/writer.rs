//! The only writer: one thread, one bounded queue, one transaction for everything that waits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use avocet_protocol::{Clock, Redactor, StoreError};
use avocet_supervise::Group;
use avocet_supervise::fail_point::{Moment, pass};
use rusqlite::Connection;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::tx::{Db, Result, Tx};

/// Jobs that may wait for the writer; who wants to write more waits until there is room.
const QUEUE: usize = 1024;
/// Jobs that share one transaction at most, so that the first does not wait too long.
const BATCH: usize = 256;

/// When a write counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// When the disk has it: it survives a power failure.
    Synced,
    /// When the system has it: it survives `kill -9`, and may go with the power.
    Process,
}

/// One write, from the queue to its answer.
trait Job: Send {
    /// What its fail points are called.
    fn name(&self) -> &'static str;
    fn durability(&self) -> Durability;
    /// Runs inside the batch's transaction.
    fn run(&mut self, tx: &Tx<'_>) -> Result<()>;
    /// Tells whoever asked, once it is known whether the transaction was committed.
    fn answer(self: Box<Self>, committed: Result<()>);
}

enum Order {
    Write(Box<dyn Job>),
    Close,
}

/// The queue in front of the writer's thread.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    queue: flume::Sender<Order>,
    /// Fires when the thread has ended: what is still in the queue then has no answer.
    ended: CancellationToken,
}

impl Writer {
    pub(crate) fn start(
        connection: Connection,
        path: PathBuf,
        epoch: i64,
        clock: Arc<dyn Clock>,
        redactor: Arc<Redactor>,
        group: &Group,
    ) -> std::io::Result<Self> {
        let (queue, orders) = flume::bounded(QUEUE);
        let mut thread = Thread { connection, path, epoch, clock, redactor, synchronous: None };
        let ended = CancellationToken::new();
        let end = ended.clone().drop_guard();
        group.thread("store-writer", move || {
            thread.run(&orders);
            drop((orders, end));
        })?;
        Ok(Self { queue, ended })
    }

    /// Runs `work` in a transaction, shared with other writes that wait: it is committed when this
    /// returns, or nothing of it is.
    pub(crate) async fn write<T, F>(
        &self,
        name: &'static str,
        durability: Durability,
        work: F,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        let (sender, answer) = oneshot::channel();
        let write = Write { name, durability, work: Some(work), result: None, sender };
        let order = Order::Write(Box::new(write));
        self.queue.send_async(order).await.map_err(|_| StoreError::Closed)?;
        tokio::select! {
            biased;
            answer = answer => answer.map_err(|_| StoreError::Closed)?,
            () = self.ended.cancelled() => Err(StoreError::Closed),
        }
    }

    /// Writes what waits, brings the log into the database file and ends the thread.
    pub(crate) async fn close(&self) {
        if self.queue.send_async(Order::Close).await.is_ok() {
            self.ended.cancelled().await;
        }
    }
}

struct Write<T, F> {
    name: &'static str,
    durability: Durability,
    work: Option<F>,
    result: Option<Result<T>>,
    sender: oneshot::Sender<Result<T>>,
}

impl<T, F> Job for Write<T, F>
where
    T: Send,
    F: FnOnce(&Tx<'_>) -> Result<T> + Send,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn durability(&self) -> Durability {
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

    fn answer(self: Box<Self>, committed: Result<()>) {
        let result = match (self.result, committed) {
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (Some(result), Ok(())) => result,
            (None, Ok(())) => Err(StoreError::Internal(format!("{} did not run", self.name))),
        };
        // Where nobody waits for the answer any more, the write stands all the same.
        drop(self.sender.send(result));
    }
}

struct Thread {
    connection: Connection,
    path: PathBuf,
    epoch: i64,
    clock: Arc<dyn Clock>,
    redactor: Arc<Redactor>,
    /// What `PRAGMA synchronous` stands on; none before the first transaction.
    synchronous: Option<Durability>,
}

impl Thread {
    fn run(&mut self, orders: &flume::Receiver<Order>) {
        while let Ok(first) = orders.recv() {
            let mut batch = Vec::new();
            let mut close = false;
            for order in std::iter::once(first).chain(orders.try_iter().take(BATCH)) {
                match order {
                    Order::Write(job) => batch.push(job),
                    Order::Close => close = true,
                }
            }
            self.commit(batch);
            if close {
                self.checkpoint();
                return;
            }
        }
    }

    fn commit(&mut self, mut batch: Vec<Box<dyn Job>>) {
        if batch.is_empty() {
            return;
        }
        let committed = self.transaction(&mut batch);
        if let Err(error) = &committed {
            tracing::warn!(%error, writes = batch.len(), "a transaction was not committed");
            if !self.connection.is_autocommit()
                && let Err(error) = self.execute("ROLLBACK")
            {
                tracing::error!(%error, "a transaction could not be taken back");
            }
        }
        for job in batch {
            if committed.is_ok() {
                pass(job.name(), Moment::After);
            }
            job.answer(committed.clone());
        }
    }

    /// Runs a batch in one transaction. A job that fails takes back its own writes only.
    fn transaction(&mut self, batch: &mut [Box<dyn Job>]) -> Result<()> {
        self.synchronous(batch)?;
        self.execute("BEGIN IMMEDIATE")?;
        let db = Db { connection: &self.connection, path: &self.path };
        let (epoch, now) = (self.epoch, self.clock.now());
        let tx = Tx { db, epoch, now, redactor: &self.redactor };
        // An UPDATE carries the epoch itself; this is for the INSERTs.
        tx.check_epoch()?;
        for job in batch.iter_mut() {
            self.execute("SAVEPOINT job")?;
            match job.run(&tx) {
                Ok(()) => {}
                // SQLite has taken back the whole transaction, the jobs before this one included.
                Err(error) if self.connection.is_autocommit() => return Err(error),
                Err(_) => self.execute("ROLLBACK TO job")?,
            }
            self.execute("RELEASE job")?;
        }
        batch.iter().for_each(|job| pass(job.name(), Moment::Before));
        self.execute("COMMIT")
    }

    /// One job that has to reach the disk takes the others of its batch along.
    fn synchronous(&mut self, batch: &[Box<dyn Job>]) -> Result<()> {
        let synced = batch.iter().any(|job| job.durability() == Durability::Synced);
        let (wanted, pragma) = if synced {
            (Durability::Synced, "PRAGMA synchronous = FULL")
        } else {
            (Durability::Process, "PRAGMA synchronous = NORMAL")
        };
        if self.synchronous != Some(wanted) {
            self.execute(pragma)?;
            self.synchronous = Some(wanted);
        }
        Ok(())
    }

    fn checkpoint(&self) {
        if let Err(error) = self.execute("PRAGMA wal_checkpoint(TRUNCATE)") {
            tracing::warn!(%error, "the log was not brought into the database file");
        }
    }

    fn execute(&self, sql: &str) -> Result<()> {
        let db = Db { connection: &self.connection, path: &self.path };
        let run = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(())?;
            while rows.next()?.is_some() {}
            Ok(())
        };
        run().map_err(|error| db.error(&error))
    }
}
