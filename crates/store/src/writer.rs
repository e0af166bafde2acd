//! The only writer: one thread with a bounded queue. All queued writes share one transaction.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use avocet_protocol::{Clock, EventSeq, LastExchanges, Redactor, StoreError};
use avocet_supervise::fail_point::{Moment, pass};
use avocet_supervise::{Group, LOG_WRITES};
use jiff::tz::TimeZone;
use rusqlite::Connection;
use tokio::sync::{Notify, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::identity::OpenFileIdentity;
use crate::last::LastFile;
use crate::past_cache::PastCache;
use crate::rows::events;
use crate::tx::{ChangeMarks, Db, Result, Tx};

/// Capacity of the queue; callers wait while it is full.
const QUEUE: usize = 1024;
/// Maximum number of writes in a transaction, which limits the wait of the first one.
const BATCH: usize = 256;

/// The point at which a write counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The disk has the write, so that it survives a power failure.
    Synced,
    /// The system has the write: it survives `kill -9`, but a power failure may lose it.
    Process,
}

/// A write, from the queue to its answer.
trait Job: Send {
    /// Returns the name of the write's fail points.
    fn name(&self) -> &'static str;
    fn durability(&self) -> Durability;
    /// Runs inside the batch's transaction.
    fn run(&mut self, tx: &Tx<'_>) -> Result<()>;
    /// Answers the caller once the transaction was committed or has failed.
    fn answer(self: Box<Self>, committed: Result<()>);
}

enum WriterOrder {
    Write(Box<dyn Job>),
    Close,
}

/// The queue in front of the writer thread.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    queue: flume::Sender<WriterOrder>,
    /// Cancelled when the thread has ended; writes still in the queue then get no answer.
    ended: CancellationToken,
    last: Arc<Mutex<LastExchanges>>,
    lost: Arc<LogLoss>,
}

/// The reason why this process has lost the log, once there is one.
#[derive(Debug, Default)]
struct LogLoss {
    why: OnceLock<StoreError>,
    fires: CancellationToken,
}

impl LogLoss {
    fn note(&self, error: &StoreError) {
        if error.is_final() {
            self.set(error.clone());
        }
    }

    fn set(&self, error: StoreError) {
        if self.why.set(error).is_ok() {
            self.fires.cancel();
        }
    }
}

/// A database that is open for writing.
#[derive(Debug)]
pub(crate) struct OpenDatabase {
    pub(crate) connection: Connection,
    pub(crate) database: OpenFileIdentity,
    /// The epoch of this process.
    pub(crate) epoch: i64,
    pub(crate) last: LastFile,
}

/// The parts that the writer shares with the rest of the program.
#[derive(Debug)]
pub(crate) struct WriterParts {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) zone: TimeZone,
    pub(crate) changed: Arc<ChangeNotices>,
    pub(crate) pasts: Arc<PastCache>,
}

/// The notices of committed changes. Each [`Notify`] has one waiter.
#[derive(Debug, Default)]
pub(crate) struct ChangeNotices {
    pub(crate) memories: Notify,
    pub(crate) consolidations: Notify,
    pub(crate) schedules: Notify,
    /// The newest committed event. Read-only logs leave it at 0.
    pub(crate) newest_event: watch::Sender<EventSeq>,
}

impl ChangeNotices {
    fn notify(&self, changed: &ChangeMarks) {
        let notices = [
            (&changed.memories, &self.memories),
            (&changed.memories, &self.consolidations),
            (&changed.schedules, &self.schedules),
        ];
        for (changed, notice) in notices {
            if changed.get() {
                notice.notify_one();
            }
        }
    }
}

impl Writer {
    pub(crate) fn start(
        opened: OpenDatabase,
        parts: WriterParts,
        group: &Group,
    ) -> std::io::Result<Self> {
        let (queue, orders) = flume::bounded(QUEUE);
        let last = Arc::<Mutex<LastExchanges>>::default();
        let lost = Arc::<LogLoss>::default();
        let OpenDatabase { connection, database, epoch, last: last_file } = opened;
        let mut thread = Thread {
            connection,
            database,
            epoch,
            last_file,
            parts,
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

    /// Runs `work` in a transaction shared with other queued writes. On return, its writes are
    /// committed, or rolled back in case of an error.
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
        let order = WriterOrder::Write(Box::new(write));
        self.queue.send_async(order).await.map_err(|_| StoreError::Closed)?;
        tokio::select! {
            biased;
            answer = answer => answer.map_err(|_| StoreError::Closed)?,
            () = self.ended.cancelled() => Err(StoreError::Closed),
        }
    }

    /// Returns the last successful and the last failed write.
    pub(crate) fn last(&self) -> LastExchanges {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until writing has become impossible, and returns the reason.
    pub(crate) async fn lost(&self) -> StoreError {
        self.lost.fires.cancelled().await;
        self.lost.why.get().cloned().unwrap_or(StoreError::Closed)
    }

    /// Ends all writing because of this error; the waiting [`Self::lost`] returns it.
    pub(crate) fn lose(&self, error: StoreError) {
        self.lost.set(error);
    }

    /// Finishes queued writes, checkpoints the log into the database file, and ends the thread.
    pub(crate) async fn close(&self) {
        if self.queue.send_async(WriterOrder::Close).await.is_ok() {
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
        // The caller may have stopped waiting; the write is valid all the same.
        drop(self.sender.send(result));
    }
}

struct Thread {
    connection: Connection,
    database: OpenFileIdentity,
    epoch: i64,
    last_file: LastFile,
    parts: WriterParts,
    /// The current value of `PRAGMA synchronous`; `None` before the first transaction.
    synchronous: Option<Durability>,
    last: Arc<Mutex<LastExchanges>>,
    lost: Arc<LogLoss>,
}

impl Thread {
    fn run(&mut self, orders: &flume::Receiver<WriterOrder>) {
        while let Ok(first) = orders.recv() {
            let mut batch = Vec::new();
            let mut close = false;
            for order in std::iter::once(first).chain(orders.try_iter().take(BATCH)) {
                match order {
                    WriterOrder::Write(job) => batch.push(job),
                    WriterOrder::Close => close = true,
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
            // A batch without changes tells nothing about the disk.
            None if self.connection.total_changes() == before => {}
            None => self.succeeded(),
        }
        if let Err(error) = &committed {
            self.lost.note(error);
            if !self.connection.is_autocommit()
                && let Err(error) = self.execute("ROLLBACK")
            {
                tracing::error!(%error, "cannot roll a transaction back");
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
        last.succeed(self.parts.clock.now());
        if failures > 0 && LOG_WRITES.over("log").is_some() {
            tracing::info!(failures, "the log can be written again");
        }
    }

    fn failed(&self, error: &StoreError, writes: usize) {
        let text = error.to_string();
        self.last().fail(self.parts.clock.now(), &text);
        if let Some(repeated) = LOG_WRITES.note("log", &text, self.parts.clock.elapsed()) {
            let next = if error.is_final() { "stopping" } else { "retrying" };
            tracing::warn!(%error, writes, repeated, "cannot write the log; {next}");
        }
    }

    fn last(&self) -> MutexGuard<'_, LastExchanges> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a batch in one transaction, which is counted if it changes anything. A failing job
    /// rolls back only its own writes; `refused` gets the first error that comes from the disk.
    fn transaction(
        &mut self,
        batch: &mut [Box<dyn Job>],
        refused: &mut Option<StoreError>,
    ) -> Result<()> {
        if let Some(lost) = self.lost.why.get() {
            return Err(lost.clone());
        }
        self.database.check()?;
        let synced = self.synchronous(batch)?;
        let before = self.connection.total_changes();
        self.execute("BEGIN IMMEDIATE")?;
        let db = Db { connection: &self.connection, path: self.database.path() };
        let (epoch, now) = (self.epoch, self.parts.clock.now());
        let changed = ChangeMarks::default();
        let WriterParts { redactor, zone, .. } = &self.parts;
        let tx = Tx { db, epoch, now, redactor, zone, changed: &changed };
        tx.check_epoch()?;
        let is_alone = batch.len() == 1;
        for job in batch.iter_mut() {
            if !is_alone {
                self.execute("SAVEPOINT job")?;
            }
            match job.run(&tx) {
                Ok(()) => {}
                // SQLite has rolled back the whole transaction, including earlier jobs.
                Err(error) if self.connection.is_autocommit() => return Err(error),
                Err(error) => {
                    if refused.is_none() && error.is_transient() {
                        *refused = Some(error);
                    }
                    if is_alone {
                        return self.execute("ROLLBACK");
                    }
                    self.execute("ROLLBACK TO job")?;
                }
            }
            if !is_alone {
                self.execute("RELEASE job")?;
            }
        }
        let counts = self.connection.total_changes() != before;
        if counts {
            tx.update("UPDATE meta SET commits = ?1 WHERE only = 1", [self.last_file.next()])?;
            events::set_times(&tx, *self.parts.changed.newest_event.borrow())?;
        }
        batch.iter().for_each(|job| pass(job.name(), Moment::Before));
        self.execute("COMMIT")?;
        if counts {
            self.last_file.committed(synced, now);
        }
        if changed.past.get() {
            self.parts.pasts.clear();
        }
        self.parts.changed.notify(&changed);
        if let Some(newest) = changed.newest_event.get() {
            self.parts.changed.newest_event.send_replace(newest);
        }
        Ok(())
    }

    /// Syncs the whole batch if one of its jobs must be synced. Returns `true` in that case.
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

    /// Checkpoints the `-wal` into the database and empties it. After that, the database file is
    /// the whole log.
    fn close(&mut self) {
        match self.lost.why.get() {
            None => {}
            // A damaged log keeps its files as they are, and the next start checks it first.
            Some(StoreError::Damaged { .. }) => return self.last_file.note(),
            // Another process owns the log, or the file was replaced.
            Some(_) => return,
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
            Err(error) => {
                tracing::warn!(%error, "cannot move avocet.db-wal into avocet.db at the stop; nothing is lost, but copy both files");
            }
        }
    }

    fn execute(&self, sql: &str) -> Result<()> {
        Db { connection: &self.connection, path: self.database.path() }.run(sql)
    }
}
