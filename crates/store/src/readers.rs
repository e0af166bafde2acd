//! Reader threads, each with its own connection, so that reads never wait for the writer. The first one
//! starts with the log. The second one starts with the first read that would have to wait: many a
//! daemon never needs it, and a connection costs memory and a look at the whole schema.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};

use avocet_protocol::ignore_result;
use avocet_protocol::store::StoreError;
use avocet_supervise::Group;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::connect::read_only;
use crate::tx::{Db, Result};

/// Capacity of the queue; callers wait while it is full.
const QUEUE: usize = 256;

type Job = Box<dyn FnOnce(Db<'_>) + Send>;

/// The queue in front of the reader threads. The threads end when the last handle is dropped.
#[derive(Debug, Clone)]
pub(crate) struct ReaderPool {
    queue: flume::Sender<Job>,
    threads: Arc<ReaderThreads>,
}

/// What starts a reader thread.
#[derive(Debug)]
struct ReaderThreads {
    path: PathBuf,
    group: Group,
    jobs: flume::Receiver<Job>,
    /// Reads that wait or run.
    unfinished: AtomicUsize,
    second: Once,
}

impl ReaderPool {
    pub(crate) fn start(path: &Path, group: &Group) -> Result<Self> {
        let (queue, jobs) = flume::bounded::<Job>(QUEUE);
        let (path, group) = (path.to_owned(), group.clone());
        let (unfinished, second) = (AtomicUsize::default(), Once::new());
        let threads = ReaderThreads { path, group, jobs, unfinished, second };
        threads.start_first_reader()?;
        Ok(Self { queue, threads: Arc::new(threads) })
    }

    /// Runs `work` on a consistent view of the log.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(Db<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, answer) = oneshot::channel();
        let unfinished = UnfinishedRead::count(&self.threads);
        let job: Job = Box::new(move |db| {
            let result = run_consistent(db, work);
            drop(unfinished);
            ignore_result(
                sender.send(result),
                "the caller may have stopped waiting for the answer",
            );
        });
        self.queue.send_async(job).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

impl ReaderThreads {
    fn start_first_reader(&self) -> Result<()> {
        let connection = read_only(&self.path)?;
        let (path, jobs) = (self.path.clone(), self.jobs.clone());
        let started = self.group.spawn_thread("store-reader-0", move || {
            run_jobs(&connection, &path, &jobs);
        });
        started.map(drop).map_err(|error| {
            StoreError::Internal(format!("cannot start a reader's thread: {error}"))
        })
    }

    /// Without it, reads only wait for each other.
    fn start_second_reader(&self) {
        let (path, jobs) = (self.path.clone(), self.jobs.clone());
        let started = self.group.spawn_thread("store-reader-1", move || match read_only(&path) {
            Ok(connection) => run_jobs(&connection, &path, &jobs),
            Err(error) => tracing::warn!(%error, "cannot open the log for a second reader"),
        });
        if let Err(error) = started {
            tracing::warn!(%error, "cannot start a second reader of the log");
        }
    }
}

fn run_jobs(connection: &Connection, path: &Path, jobs: &flume::Receiver<Job>) {
    for job in jobs {
        job(Db { connection, path });
    }
}

/// A read that waits or runs, until it is dropped.
struct UnfinishedRead(Arc<ReaderThreads>);

impl UnfinishedRead {
    /// Counts a read. If there is another one, starts the second thread.
    fn count(threads: &Arc<ReaderThreads>) -> Self {
        if threads.unfinished.fetch_add(1, Ordering::Relaxed) > 0 {
            threads.second.call_once(|| threads.start_second_reader());
        }
        Self(threads.clone())
    }
}

impl Drop for UnfinishedRead {
    fn drop(&mut self) {
        self.0.unfinished.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs `work` in one read transaction, so that all its statements see the same state.
fn run_consistent<T>(db: Db<'_>, work: impl FnOnce(Db<'_>) -> Result<T>) -> Result<T> {
    db.run("BEGIN")?;
    let result = catch_unwind(AssertUnwindSafe(|| work(db)))
        .unwrap_or_else(|_| Err(StoreError::Internal("a read panicked".to_owned())));
    if let Err(error) = db.run("COMMIT") {
        // An open transaction would refuse each later read of this connection.
        db.run("ROLLBACK")?;
        return Err(error);
    }
    result
}

#[cfg(test)]
#[path = "readers_tests.rs"]
mod tests;
