//! Groups of tasks that are cancelled, awaited and reported together.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use avocet_protocol::clock::{Clock, within};
use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{Backoff, catch_panic};

/// A group of tasks. Cancelling it also cancels its child groups.
#[derive(Debug, Clone)]
pub struct Group {
    name: Arc<str>,
    token: CancellationToken,
    tracker: TaskTracker,
    live: Arc<LiveTasks>,
}

/// The live tasks of a group, by number.
#[derive(Debug, Default)]
struct LiveTasks {
    next: AtomicU64,
    tasks: Mutex<BTreeMap<u64, LiveTask>>,
}

#[derive(Debug)]
struct LiveTask {
    name: Arc<str>,
    /// `None` for a thread, which cannot be aborted.
    abort: Option<AbortHandle>,
}

/// The names of tasks that were still running at the deadline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not ended in time: {}", .0.join(", "))]
pub struct UnfinishedTasks(pub Vec<String>);

/// The delays between restarts of a permanent task.
#[derive(Debug, Clone, Copy)]
pub struct RestartDelays {
    /// The wait before the first restart.
    pub first: Duration,
    /// The longest wait.
    pub longest: Duration,
    /// A run of at least this length resets the waits.
    pub healthy_after: Duration,
}

impl Group {
    /// Makes a group without a parent.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self::with_token(name.into(), CancellationToken::new())
    }

    /// Makes a group that is cancelled together with this one, but awaited separately.
    #[must_use]
    pub fn child_group(&self, name: &str) -> Self {
        Self::with_token(format!("{}/{name}", self.name).into(), self.token.child_token())
    }

    fn with_token(name: Arc<str>, token: CancellationToken) -> Self {
        Self { name, token, tracker: TaskTracker::new(), live: Arc::default() }
    }

    /// Returns a token that is cancelled with the group.
    #[must_use]
    pub fn cancel_token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Asks every task of the group, and of its child groups, to end.
    pub fn cancel_tasks(&self) {
        self.token.cancel();
    }

    /// Runs a task. A panic in it is logged and ends only that task.
    pub fn spawn(&self, name: &str, work: impl Future<Output = ()> + Send + 'static) {
        self.spawn_boxed(name, Box::pin(work));
    }

    /// Boxed, because each function that takes a future by value stores it once more; and of one type
    /// for all tasks, because the runtime would have its 3 kB of code for each type.
    #[expect(clippy::disallowed_methods, reason = "this is the place that spawns")]
    fn spawn_boxed(&self, name: &str, work: Pin<Box<dyn Future<Output = ()> + Send>>) {
        let entry = self.enter_task(name);
        let number = entry.number;
        let task = tokio::spawn(self.tracker.track_future(async move {
            if let Err(panicked) = catch_panic(work).await {
                tracing::error!(task = %entry.name, error = %panicked, "task panicked");
            }
            drop(entry);
        }));
        if let Some(live) = self.live.tasks.lock().get_mut(&number) {
            live.abort = Some(task.abort_handle());
        }
    }

    /// Runs a permanent task, which should last until the group is cancelled. If it ends or panics
    /// earlier, it is made again with `make` and restarted after a back-off delay.
    pub fn spawn_restarting<F, W>(
        &self,
        name: &str,
        clock: Arc<dyn Clock>,
        restart: RestartDelays,
        make: F,
    ) where
        F: Fn() -> W + Send + 'static,
        W: Future<Output = ()> + Send,
    {
        let token = self.cancel_token();
        let task: Arc<str> = name.into();
        self.spawn(name, async move {
            let mut backoff = Backoff::new(restart.first, restart.longest);
            loop {
                let began = clock.elapsed();
                if let Err(panicked) = catch_panic(make()).await {
                    tracing::error!(%task, error = %panicked, "task panicked");
                }
                if token.is_cancelled() {
                    return;
                }
                if clock.elapsed().saturating_sub(began) >= restart.healthy_after {
                    backoff.reset_delay();
                }
                let wait = backoff.next_wait();
                tracing::warn!(%task, ?wait, "a task ended; restarting it after a pause");
                tokio::select! {
                    () = token.cancelled() => return,
                    () = clock.sleep(wait) => {}
                }
            }
        });
    }

    /// Runs `work` on its own thread, for work that blocks during its whole life.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    #[expect(clippy::disallowed_methods, reason = "this is the place that spawns")]
    pub fn spawn_thread(
        &self,
        name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        let entry = self.enter_task(name);
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            work();
            drop(entry);
        })
    }

    /// Returns the names of the tasks that are still running.
    #[must_use]
    pub fn live_tasks(&self) -> Vec<String> {
        self.live.tasks.lock().values().map(|task| task.name.to_string()).collect()
    }

    /// Ends the tasks of this group immediately, as a crash would. Threads continue.
    pub fn abort_tasks(&self) {
        self.live
            .tasks
            .lock()
            .values()
            .filter_map(|task| task.abort.as_ref())
            .for_each(AbortHandle::abort);
    }

    /// Waits until every task of this group has ended by itself, at most for `deadline`. After this
    /// call, tasks must not be spawned.
    ///
    /// # Errors
    /// [`UnfinishedTasks`] names the tasks that are still running. They continue;
    /// [`Group::abort_tasks`] ends them.
    pub async fn wait_for_tasks(
        &self,
        clock: &dyn Clock,
        deadline: Duration,
    ) -> Result<(), UnfinishedTasks> {
        self.tracker.close();
        within(clock, deadline, self.tracker.wait())
            .await
            .map_err(|_| UnfinishedTasks(self.live_tasks()))
    }

    fn enter_task(&self, name: &str) -> LiveTaskGuard {
        let number = self.live.next.fetch_add(1, Ordering::Relaxed);
        let name: Arc<str> = format!("{}/{name}", self.name).into();
        self.live.tasks.lock().insert(number, LiveTask { name: name.clone(), abort: None });
        LiveTaskGuard { live: self.live.clone(), number, name }
    }
}

/// A task's entry in the list of live tasks; removed when dropped.
struct LiveTaskGuard {
    live: Arc<LiveTasks>,
    number: u64,
    name: Arc<str>,
}

impl Drop for LiveTaskGuard {
    fn drop(&mut self) {
        self.live.tasks.lock().remove(&self.number);
    }
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
