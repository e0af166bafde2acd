//! The only writer of the log: one thread behind a bounded queue. Writes that wait at the same time
//! share one transaction (*group commit*).
//!
//! ```text
//! callers              queue            thread
//! claim,   process -.
//! accept,  synced  --+-> [ c a s ] ---> one batch, one transaction:
//! settle,  synced  -'
//!     PRAGMA synchronous          FULL if one of the writes must be synced
//!     BEGIN IMMEDIATE
//!     check the epoch             a newer daemon has begun: `Fenced`
//!     SAVEPOINT, write, RELEASE   for each write; its error rolls back this write alone
//!     meta.commits + 1            if rows but no events were added, or if the -wal may begin anew
//!     COMMIT
//!     note the position           in the file beside the database
//!     tell the listeners, answer the callers
//! ```
//!
//! **One thread**, because SQLite has one writer at a time. Many threads would wait for its lock in
//! any order and without a limit. The queue keeps the order, and a full queue makes callers wait.
//! That is the back-pressure on everybody who publishes.
//!
//! **One transaction for many writes**, because the sync to the disk costs more than the writes. A
//! batch takes the writes that are queued at its begin, and waits for no others. So one write alone
//! is not delayed, and under load one sync serves many writes. A `Process` write that shares
//! a batch with a `Synced` one is synced, too.
//!
//! **Errors.** A write that fails or panics loses its own rows only. An error of the transaction
//! goes to each caller of the batch. An error that is final (the log belongs to another process, or
//! its file was replaced or is damaged) is remembered: each later write fails with it at once, and
//! [`LogWriter::wait_until_lost`] tells the daemon to stop.
//!
//! **A caller that stops waiting** does not undo its write. Dropping the future of
//! [`LogWriter::write`] only drops the answer.
//!
//! **The position of the log** grows with each batch that changes a row: by the events that it adds, or by
//! `meta.commits`. After the commit, it is noted in a file beside the database. The next start compares
//! them, and so notices a database that an older copy has replaced (`last.rs`, `wal_begin.rs`).
//!
//! Tests kill the process just before and just after `COMMIT`, by the name of the write.

mod queued_write;

use std::sync::{Arc, OnceLock};

use avocet_protocol::access::RuleList;
use avocet_protocol::clock::Clock;
use avocet_protocol::daemon::{LastExchanges, Live};
use avocet_protocol::store::{EventSeq, StopInForce, StoreError};
use avocet_supervise::fail_point::{FailMoment, pass_fail_point};
use avocet_supervise::{Group, LOG_WRITES};
use avocet_text::Redactor;
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::{Notify, oneshot, watch};
use tokio_util::sync::CancellationToken;

pub use queued_write::Durability;
use queued_write::{QueuedWrite, WriteJob};

use crate::identity::OpenFileIdentity;
use crate::last::LastFile;
use crate::memory_count::MemoryCount;
use crate::past_cache::PastCache;
use crate::rows::{events, owner_rules, stops};
use crate::tx::{ChangeMarks, Db, Result, Tx};
use crate::wal_begin::WalBegin;

/// Capacity of the queue; callers wait while it is full.
const QUEUE: usize = 1024;
/// Maximum number of writes in a transaction, which limits the wait of the first one.
const BATCH: usize = 256;

enum WriterOrder {
    Write(Box<dyn WriteJob>),
    Close,
}

/// The queue in front of the writer thread.
#[derive(Debug, Clone)]
pub(crate) struct LogWriter {
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
    fn note_error(&self, error: &StoreError) {
        if error.is_final() {
            self.set_reason(error.clone());
        }
    }

    fn set_reason(&self, error: StoreError) {
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
    /// `meta.commits`.
    pub(crate) commits: i64,
    pub(crate) last: LastFile,
    /// The watch on its commits.
    pub(crate) wal: WalBegin,
}

/// The parts that the writer shares with the rest of the program.
#[derive(Debug)]
pub(crate) struct WriterParts {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) zone: TimeZone,
    pub(crate) changed: Arc<ChangeNotices>,
    pub(crate) pasts: Arc<PastCache>,
    pub(crate) rules: Live<RuleList>,
    pub(crate) stop: Live<Option<StopInForce>>,
}

/// The notices of committed changes. Each [`Notify`] has one waiter.
#[derive(Debug, Default)]
pub(crate) struct ChangeNotices {
    pub(crate) memories: Notify,
    pub(crate) consolidations: Notify,
    pub(crate) schedules: Notify,
    pub(crate) memory_count: Arc<MemoryCount>,
    /// The newest committed event. Read-only logs leave it at 0.
    pub(crate) newest_event: watch::Sender<EventSeq>,
}

impl ChangeNotices {
    fn notify_listeners(&self, changed: &ChangeMarks) {
        if changed.memories.get() {
            self.memory_count.clear();
        }
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

impl LogWriter {
    pub(crate) fn start(
        opened: OpenDatabase,
        parts: WriterParts,
        group: &Group,
    ) -> std::io::Result<Self> {
        let (queue, orders) = flume::bounded(QUEUE);
        let last = Arc::<Mutex<LastExchanges>>::default();
        let lost = Arc::<LogLoss>::default();
        let OpenDatabase { connection, database, epoch, commits, last: last_file, wal } = opened;
        let mut thread = WriterThread {
            connection,
            database,
            epoch,
            commits,
            last_file,
            wal,
            parts,
            synchronous: None,
            last: last.clone(),
            lost: lost.clone(),
        };
        let ended = CancellationToken::new();
        let end = ended.clone().drop_guard();
        group.spawn_thread("store-writer", move || {
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
        let write = QueuedWrite { name, durability, work: Some(work), result: None, sender };
        let order = WriterOrder::Write(Box::new(write));
        self.queue.send_async(order).await.map_err(|_| StoreError::Closed)?;
        tokio::select! {
            biased;
            answer = answer => answer.map_err(|_| StoreError::Closed)?,
            () = self.ended.cancelled() => Err(StoreError::Closed),
        }
    }

    /// Returns the last successful and the last failed write.
    pub(crate) fn last_exchanges(&self) -> LastExchanges {
        self.last.lock().clone()
    }

    /// Waits until writing has become impossible, and returns the reason.
    pub(crate) async fn wait_until_lost(&self) -> StoreError {
        self.lost.fires.cancelled().await;
        self.lost.why.get().cloned().unwrap_or(StoreError::Closed)
    }

    /// Ends all writing because of this error; the waiting [`Self::wait_until_lost`] returns it.
    pub(crate) fn end_writing(&self, error: StoreError) {
        self.lost.set_reason(error);
    }

    /// Finishes queued writes, checkpoints the log into the database file, and ends the thread.
    pub(crate) async fn close(&self) {
        if self.queue.send_async(WriterOrder::Close).await.is_ok() {
            self.ended.cancelled().await;
        }
    }
}

struct WriterThread {
    connection: Connection,
    database: OpenFileIdentity,
    epoch: i64,
    /// `meta.commits`.
    commits: i64,
    last_file: LastFile,
    wal: WalBegin,
    parts: WriterParts,
    /// The current value of `PRAGMA synchronous`; `None` before the first transaction.
    synchronous: Option<Durability>,
    last: Arc<Mutex<LastExchanges>>,
    lost: Arc<LogLoss>,
}

impl WriterThread {
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
            self.commit_batch(batch);
            if close {
                self.close();
                return;
            }
        }
    }

    fn commit_batch(&mut self, mut batch: Vec<Box<dyn WriteJob>>) {
        if batch.is_empty() {
            return;
        }
        let (mut refused, before) = (None, self.connection.total_changes());
        let committed = self.run_transaction(&mut batch, &mut refused);
        match committed.as_ref().err().or(refused.as_ref()) {
            Some(error) => self.note_failure(error, batch.len()),
            // A batch without changes tells nothing about the disk.
            None if self.connection.total_changes() == before => {}
            None => self.note_success(),
        }
        if let Err(error) = &committed {
            self.lost.note_error(error);
            if !self.connection.is_autocommit()
                && let Err(error) = self.run_sql("ROLLBACK")
            {
                tracing::error!(%error, "cannot roll a transaction back");
            }
        }
        for job in batch {
            if committed.is_ok() {
                pass_fail_point(job.name(), FailMoment::After);
            }
            job.answer_caller(committed.clone());
        }
    }

    fn note_success(&self) {
        let mut last = self.last.lock();
        let failures = last.failures_in_a_row();
        last.succeed(self.parts.clock.now());
        if failures > 0 && LOG_WRITES.note_end("log").is_some() {
            tracing::info!(failures, "the log can be written again");
        }
    }

    fn note_failure(&self, error: &StoreError, writes: usize) {
        let text = error.to_string();
        self.last.lock().fail(self.parts.clock.now(), &text);
        if let Some(repeated) = LOG_WRITES.note_line("log", &text, self.parts.clock.elapsed()) {
            let next = if error.is_final() { "stopping" } else { "retrying" };
            tracing::warn!(%error, writes, repeated, "cannot write the log; {next}");
        }
    }

    /// Runs a batch in one transaction, which is counted if it changes anything. A failing job
    /// rolls back only its own writes; `refused` gets the first error that comes from the disk.
    fn run_transaction(
        &mut self,
        batch: &mut [Box<dyn WriteJob>],
        refused: &mut Option<StoreError>,
    ) -> Result<()> {
        if let Some(lost) = self.lost.why.get() {
            return Err(lost.clone());
        }
        self.database.check_identity()?;
        let synced = self.set_synchronous(batch)?;
        let before = self.connection.total_changes();
        self.run_sql("BEGIN IMMEDIATE")?;
        let db = Db { connection: &self.connection, path: self.database.file_path() };
        let (epoch, now) = (self.epoch, self.parts.clock.now());
        let changed = ChangeMarks::default();
        let WriterParts { redactor, zone, .. } = &self.parts;
        let tx = Tx { db, epoch, now, redactor, zone, changed: &changed };
        tx.check_epoch()?;
        let is_alone = batch.len() == 1;
        for job in batch.iter_mut() {
            if !is_alone {
                self.run_sql("SAVEPOINT job")?;
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
                        return self.run_sql("ROLLBACK");
                    }
                    self.run_sql("ROLLBACK TO job")?;
                }
            }
            if !is_alone {
                self.run_sql("RELEASE job")?;
            }
        }
        let counts = self.connection.total_changes() != before;
        let known_event = *self.parts.changed.newest_event.borrow();
        let mut commits = self.commits;
        if counts {
            events::set_times(&tx, known_event)?;
            if changed.newest_event.get().is_none() || self.wal.may_begin() {
                commits += 1;
                tx.change_rows("UPDATE meta SET commits = ?1 WHERE only = 1", [commits])?;
            }
        }
        let rules = changed.rules.get().then(|| owner_rules::read_rules(db)).transpose()?;
        let stop = changed.stop.get().then(|| stops::read_stop(db)).transpose()?;
        batch.iter().for_each(|job| pass_fail_point(job.name(), FailMoment::Before));
        self.run_sql("COMMIT")?;
        if counts {
            self.commits = commits;
            let position = commits + changed.newest_event.get().unwrap_or(known_event).0;
            self.last_file.note_commit(position, synced, now);
        }
        if changed.past.get() {
            self.parts.pasts.clear();
        }
        if let Some(rules) = rules {
            self.parts.rules.replace(rules);
        }
        if let Some(stop) = stop {
            self.parts.stop.replace(stop);
        }
        self.parts.changed.notify_listeners(&changed);
        if let Some(newest) = changed.newest_event.get() {
            self.parts.changed.newest_event.send_replace(newest);
        }
        Ok(())
    }

    /// Syncs the whole batch if one of its jobs must be synced. Returns `true` in that case.
    fn set_synchronous(&mut self, batch: &[Box<dyn WriteJob>]) -> Result<bool> {
        let synced = batch.iter().any(|job| job.wanted_durability() == Durability::Synced);
        let (wanted, pragma) = if synced {
            (Durability::Synced, "PRAGMA synchronous = FULL")
        } else {
            (Durability::Process, "PRAGMA synchronous = NORMAL")
        };
        if self.synchronous != Some(wanted) {
            self.run_sql(pragma)?;
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
            Some(StoreError::Damaged { .. }) => return self.last_file.write_note(),
            // Another process owns the log, or the file was replaced.
            Some(_) => return,
        }
        let work =
            |tx: &Tx<'_>| tx.change_rows("UPDATE meta SET in_use = 0 WHERE only = 1", ()).map(drop);
        let (name, durability, sender) = ("close", Durability::Process, oneshot::channel().0);
        self.commit_batch(vec![Box::new(QueuedWrite {
            name,
            durability,
            work: Some(work),
            result: None,
            sender,
        })]);
        match self.run_sql("PRAGMA wal_checkpoint(TRUNCATE)") {
            Ok(()) => self.last_file.note_synced(),
            Err(error) => {
                tracing::warn!(%error, "cannot move avocet.db-wal into avocet.db at the stop; nothing is lost, but copy both files");
            }
        }
    }

    fn run_sql(&self, sql: &str) -> Result<()> {
        Db { connection: &self.connection, path: self.database.file_path() }.run(sql)
    }
}
