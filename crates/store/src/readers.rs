//! Reader threads, each with its own connection, so that reads never wait for the writer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use avocet_protocol::ignore_result;
use avocet_protocol::store::StoreError;
use avocet_supervise::Group;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::tx::{Db, Result};

const THREADS: usize = 2;
/// Capacity of the queue; callers wait while it is full.
const QUEUE: usize = 256;

type Job = Box<dyn FnOnce(Db<'_>) + Send>;

/// The queue in front of the reader threads. The threads end when the last handle is dropped.
#[derive(Debug, Clone)]
pub(crate) struct ReaderPool {
    queue: flume::Sender<Job>,
}

impl ReaderPool {
    pub(crate) fn start(
        path: &Path,
        group: &Group,
        connect: impl Fn() -> Result<Connection>,
    ) -> Result<Self> {
        let (queue, jobs) = flume::bounded::<Job>(QUEUE);
        for number in 0..THREADS {
            let (connection, jobs, path): (_, _, PathBuf) = (connect()?, jobs.clone(), path.into());
            let thread = move || {
                for job in &jobs {
                    job(Db { connection: &connection, path: &path });
                }
            };
            group.spawn_thread(&format!("store-reader-{number}"), thread).map_err(|error| {
                StoreError::Internal(format!("cannot start a reader's thread: {error}"))
            })?;
        }
        Ok(Self { queue })
    }

    /// Runs `work` on a consistent view of the log.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(Db<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, answer) = oneshot::channel();
        let job: Job = Box::new(move |db| {
            ignore_result(
                sender.send(run_consistent(db, work)),
                "the caller may have stopped waiting for the answer",
            );
        });
        self.queue.send_async(job).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
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
