//! The only writer: one thread, one bounded queue, one transaction for everything that waits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use avocet_protocol::{Clock, LastExchanges, Redactor, StoreError};
use avocet_supervise::fail_point::{Moment, pass};
use avocet_supervise::{Group, LOG_WRITES};
use rusqlite::Connection;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::identity::Identity;
use crate::last::LastFile;
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
    last: Arc<Mutex<LastExchanges>>,
    lost: Arc<Lost>,
}

/// Why this process can write nothing more, once that is so.
#[derive(Debug, Default)]
struct Lost {
    why: OnceLock<StoreError>,
    fires: CancellationToken,
}

impl Lost {
    fn note(&self, error: &StoreError) {
        if error.is_final() && self.why.set(error.clone()).is_ok() {
            self.fires.cancel();
        }
    }
}

/// A database that is open for writing.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    pub(crate) database: Identity,
    /// That of this process.
    pub(crate) epoch: i64,
    pub(crate) last: LastFile,
}

impl Writer {
    pub(crate) fn start(
        opened: Opened,
        clock: Arc<dyn Clock>,
        redactor: Arc<Redactor>,
        group: &Group,
    ) -> std::io::Result<Self> {
        let (queue, orders) = flume::bounded(QUEUE);
        let last = Arc::<Mutex<LastExchanges>>::default();
        let lost = Arc::<Lost>::default();
        let Opened { connection, database, epoch, last: last_file } = opened;
        let mut thread = Thread {
            connection,
            database,
            epoch,
            last_file,
            clock,
            redactor,
            synchronous: None,
            last: last.clone(),
            lost: lost.clone(),
        };
        let ended = CancellationToken::new();
        let end = ended.clone().drop_guard();
        group.thread("store-writer", move || {
            thread.run(&orders);
            drop((orders, end));
        })?;
        Ok(Self { queue, ended, last, lost })
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

    /// The last writes that the disk took, and did not take.
    pub(crate) fn last(&self) -> LastExchanges {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns when nothing can be written any more, with the reason.
    pub(crate) async fn lost(&self) -> StoreError {
        self.lost.fires.cancelled().await;
        self.lost.why.get().cloned().unwrap_or(StoreError::Closed)
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
    database: Identity,
    epoch: i64,
    last_file: LastFile,
    clock: Arc<dyn Clock>,
    redactor: Arc<Redactor>,
    /// The current value of `PRAGMA synchronous`; `None` before the first transaction.
    synchronous: Option<Durability>,
    last: Arc<Mutex<LastExchanges>>,
    lost: Arc<Lost>,
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
                self.close();
                return;
            }
        }
    }

    fn commit(&mut self, mut batch: Vec<Box<dyn Job>>) {
        if batch.is_empty() {
            return;
        }
        let (mut refused, before) = (None, self.connection.total_changes());
        let committed = self.transaction(&mut batch, &mut refused);
        match committed.as_ref().err().or(refused.as_ref()) {
            Some(error) => self.failed(error, batch.len()),
            // What changes nothing reaches no disk.
            None if self.connection.total_changes() == before => {}
            None => self.succeeded(),
        }
        if let Err(error) = &committed {
            self.lost.note(error);
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

    fn succeeded(&self) {
        let mut last = self.last();
        let failures = last.failures_in_a_row();
        last.succeed(self.clock.now());
        if failures > 0 && LOG_WRITES.over("log").is_some() {
            tracing::info!(failures, "the log is written again");
        }
    }

    fn failed(&self, error: &StoreError, writes: usize) {
        let says = error.to_string();
        self.last().fail(self.clock.now(), &says);
        if let Some(repeated) = LOG_WRITES.note("log", &says, self.clock.elapsed()) {
            let next = if error.is_final() { "stopping" } else { "trying again" };
            tracing::warn!(%error, writes, repeated, "the log cannot be written; {next}");
        }
    }

    fn last(&self) -> MutexGuard<'_, LastExchanges> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a batch in one transaction, which counts if it writes anything. A job that fails takes back its own
    /// writes only; `refused` is the first for which the disk is the reason.
    fn transaction(
        &mut self,
        batch: &mut [Box<dyn Job>],
        refused: &mut Option<StoreError>,
    ) -> Result<()> {
        self.database.check()?;
        let synced = self.synchronous(batch)?;
        let before = self.connection.total_changes();
        self.execute("BEGIN IMMEDIATE")?;
        let db = Db { connection: &self.connection, path: self.database.path() };
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
                Err(error) => {
                    if refused.is_none() && error.is_transient() {
                        *refused = Some(error);
                    }
                    self.execute("ROLLBACK TO job")?;
                }
            }
            self.execute("RELEASE job")?;
        }
        let counts = self.connection.total_changes() != before;
        if counts {
            tx.update("UPDATE meta SET commits = ?1 WHERE only = 1", [self.last_file.next()])?;
        }
        batch.iter().for_each(|job| pass(job.name(), Moment::Before));
        self.execute("COMMIT")?;
        if counts {
            self.last_file.committed(synced, now);
        }
        Ok(())
    }

    /// One job that has to reach the disk takes the others of its batch along. Returns whether there is one.
    fn synchronous(&mut self, batch: &[Box<dyn Job>]) -> Result<bool> {
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
        Ok(synced)
    }

    /// Brings the -wal into the database and empties it. From then on the database is the whole log.
    fn close(&mut self) {
        // Another process has the log, or the file is another one.
        if self.lost.why.get().is_some() {
            return;
        }
        let work =
            |tx: &Tx<'_>| tx.update("UPDATE meta SET in_use = 0 WHERE only = 1", ()).map(drop);
        let (name, durability, sender) = ("close", Durability::Process, oneshot::channel().0);
        self.commit(vec![Box::new(Write {
            name,
            durability,
            work: Some(work),
            result: None,
            sender,
        })]);
        match self.execute("PRAGMA wal_checkpoint(TRUNCATE)") {
            Ok(()) => self.last_file.synced(),
            Err(error) => tracing::warn!(%error, "the -wal was not brought into the database"),
        }
    }

    fn execute(&self, sql: &str) -> Result<()> {
        let db = Db { connection: &self.connection, path: self.database.path() };
        let run = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(())?;
            while rows.next()?.is_some() {}
            Ok(())
        };
        run().map_err(|error| db.error(&error))
    }
}
