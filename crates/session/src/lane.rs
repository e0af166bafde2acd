//! The lane: the worker that runs one session's turns in order, as long as there are any.
//!
//! ```text
//! wake-up
//!   -> slot      one of `max_running`; other lanes queue in front
//!   -> claim     a transaction, whose result decides
//!        Nothing   the lane ends; the next wake-up starts it again
//!        Stopped   an owner has stopped everything: tell the chats, the lane ends
//!        Later     a burst is not over: free the slot, sleep, begin again
//!        Incomplete  a message may get a further part: free the slot, sleep until the next
//!                  message, or that long at most, begin again
//!        Compact   a `/compact` waits: run it, or end one that a crash interrupted
//!        Suspect   the turn ran during a crash: free the slot, run it in quarantine
//!        Turn      run it, up to its end or its pause in the log
//!   -> begin again; after the end of a turn only if the session may have more work
//! ```
//!
//! **A lane is memory only.** A session without work has no lane. A wake-up that comes while the
//! lane runs makes it look once more. All the work is in the log, so a crash loses only wake-ups,
//! and the start of the daemon wakes every session with work.
//!
//! **The slot comes before the claim**, because a claim marks the turn as running. After a crash,
//! every running turn is a suspect. A turn that was claimed first, and then waited for its slot,
//! would be suspected although it had done nothing. The slot is free again after each turn, so that
//! a session with many messages does not keep the others waiting.
//!
//! **Quarantine.** If several turns ran during a crash, any of them may be its cause. Suspects run
//! one at a time, each beside ordinary turns. After its second crash, a suspect takes all slots and
//! so runs alone. A crash while a turn runs alone counts against it, until `run_turn.rs` drops it.
//!
//! **Errors.** A write that fails temporarily is repeated. Another error of the log ends the lane.
//! A turn that ran goes back into the queue of the log, and the next message wakes the lane again.
//!
//! **Stopping** has three steps: no new claims; at the deadline, running turns are released to the
//! log; 5 s later the rest is cut off, and counts as crashed.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{Claim, StoreError, Suspects};
use avocet_supervise::{Group, KeyedWork};
use dashmap::DashMap;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::SessionParts;
use crate::compact::{compact_session, end_interrupted_compaction};
use crate::fetch::LONGEST_FETCH;
use crate::lane_work::{LaneWork, WakeLane};
use crate::run_turn::TurnRunner;
use crate::stop_all::tell_waiting;

/// Limits of parallel work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneLimits {
    /// Maximum number of turns that run at the same time, over all sessions; at least 1. Each turn
    /// queues for its slot anew, so that sessions share the slots fairly.
    pub max_running: usize,
    /// A burst of messages ends after this time without a message. The messages of a burst are
    /// answered together (queue mode collect).
    pub burst: Duration,
}

impl Default for LaneLimits {
    fn default() -> Self {
        Self { max_running: 64, burst: Duration::from_millis(500) }
    }
}

/// Upper bound for the configured `max_running`.
const MOST_RUNNING: u32 = 100_000;

/// A turn runs alone after this number of crashes, so that the cause of the next crash is certain.
const ALONE_FROM_DEATHS: u32 = 2;

/// State shared by all lanes.
#[derive(Debug)]
pub(crate) struct Lanes {
    pub(crate) parts: SessionParts,
    pub(crate) runner: TurnRunner,
    keyed: Arc<KeyedWork<SessionId>>,
    /// Lanes that wait for a further part of a message.
    waiting_for_part: DashMap<SessionId, Arc<Notify>>,
    slots: Semaphore,
    max_running: u32,
    burst: Duration,
    /// Turns that ran during a crash run one at a time, to find the cause of the crash.
    quarantine: Semaphore,
    /// Cancelled when lanes must stop taking turns.
    pub(crate) stopping: CancellationToken,
}

impl Lanes {
    pub(crate) fn new(parts: SessionParts, limits: LaneLimits, group: Group) -> Self {
        let max_running = u32::try_from(limits.max_running).unwrap_or(MOST_RUNNING);
        let max_running = max_running.clamp(1, MOST_RUNNING);
        Self {
            runner: TurnRunner::new(parts.clone()),
            parts,
            stopping: group.cancel_token().child_token(),
            keyed: Arc::new(KeyedWork::new(group)),
            waiting_for_part: DashMap::new(),
            slots: Semaphore::new(max_running as usize),
            max_running,
            burst: limits.burst,
            quarantine: Semaphore::new(1),
        }
    }

    /// Wakes the session's lane. A lane exists only while it has work.
    pub(crate) fn wake(self: &Arc<Self>, session: SessionId) {
        let (lanes, key) = (self.clone(), session.clone());
        self.keyed.wake(session, move |session| {
            let lanes = lanes.clone();
            async move { lanes.run_turns(&session).await }
        });
        if let Some(next_message) = self.waiting_for_part.get(&key) {
            next_message.notify_one();
        }
    }

    /// Wakes the lane of each session with work.
    pub(crate) async fn wake_open_sessions(self: &Arc<Self>) -> Result<(), StoreError> {
        let open = self.parts.with_retry(|| self.parts.turns.open_sessions()).await?;
        tracing::debug!(sessions = open.len(), "sessions with something to do");
        open.into_iter().for_each(|session| self.wake(session));
        Ok(())
    }

    /// Waits for the next message of a session, for this time at most. Returns `false` if the daemon
    /// stops.
    async fn wait_for_message(&self, session: &SessionId, longest: Duration) -> bool {
        let next_message = Arc::new(Notify::new());
        self.waiting_for_part.insert(session.clone(), next_message.clone());
        // A message that came since the claim has left its mark there.
        let waited = if self.keyed.take_wake(session) {
            Some(())
        } else {
            let wait = async {
                tokio::select! {
                    () = self.parts.clock.sleep(longest) => {}
                    () = next_message.notified() => {
                        self.keyed.take_wake(session);
                    }
                }
            };
            self.unless_stopping(wait).await
        };
        self.waiting_for_part.remove(session);
        waited.is_some()
    }

    /// Returns a turn that has been silent for longer than allowed; `None` if there is no problem.
    pub(crate) fn find_stuck_turn(&self) -> Option<TurnId> {
        const GRACE: Duration = Duration::from_mins(2);
        let agents = self.parts.agents.now();
        let longest = agents.agents.iter().map(|agent| agent.run.limits.turn.max_duration).max();
        let longest = longest.unwrap_or_default().max(LONGEST_FETCH);
        self.parts.running.silent_for(longest + GRACE)
    }

    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        self.keyed.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn count_busy(&self) -> usize {
        self.keyed.len()
    }

    /// The group of the lanes' tasks.
    pub(crate) fn group(&self) -> &Group {
        self.keyed.group()
    }

    /// Stops taking turns, waits for running ones, and at the deadline releases the rest to the log
    /// for the next start.
    pub(crate) async fn stop(&self, deadline: Duration) {
        const RELEASE_LIMIT: Duration = Duration::from_secs(5);
        self.stopping.cancel();
        let (group, clock) = (self.keyed.group(), self.parts.clock.as_ref());
        let Err(unfinished) = group.wait_for_tasks(clock, deadline).await else { return };
        tracing::info!(%unfinished, "some turns are unfinished; they continue at the next start");
        self.parts.running.release.cancel();
        if let Err(unfinished) = group.wait_for_tasks(clock, RELEASE_LIMIT).await {
            tracing::warn!(
                %unfinished,
                "cannot stop these turns in time; the next start resumes them as after a crash"
            );
            group.abort_tasks();
        }
    }

    async fn run_turns(self: &Arc<Self>, session: &SessionId) {
        loop {
            match self.run_next(session).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::error!(%session, %error, "the lane cannot continue; it retries at the \
                        next message");
                    return;
                }
            }
        }
    }

    /// Runs the session's next turn. Returns `false` if the lane has no work left, or the daemon
    /// stops.
    async fn run_next(self: &Arc<Self>, session: &SessionId) -> Result<bool, StoreError> {
        // Each turn queues for its slot behind earlier waiters. The semaphores always stay open.
        let Some(slot) = self.unless_stopping(self.slots.acquire()).await else {
            return Ok(false);
        };
        let ends = self.parts.running.count_ends();
        let claimed = match self.claim_turn(session, Suspects::Exclude).await? {
            Claim::Nothing => return Ok(false),
            Claim::Stopped => {
                drop(slot);
                tell_waiting(&self.parts, session).await?;
                return Ok(false);
            }
            Claim::Turn(claimed) => claimed,
            Claim::Later(burst_end) => {
                drop(slot);
                let wait = self.parts.clock.now().until(burst_end);
                return Ok(self.unless_stopping(self.parts.clock.sleep(wait)).await.is_some());
            }
            Claim::Incomplete(whole) => {
                drop(slot);
                let longest = self.parts.clock.now().until(whole);
                return Ok(self.wait_for_message(session, longest).await);
            }
            Claim::Compact { command, begun: true } => {
                end_interrupted_compaction(&self.parts, &command).await?;
                return Ok(!self.parts.running.release.is_cancelled());
            }
            Claim::Compact { command, begun: false } => {
                // Boxed, so that a waiting lane stays small.
                Box::pin(compact_session(&self.parts, &command)).await?;
                return Ok(!self.parts.running.release.is_cancelled());
            }
            Claim::Suspect { deaths } => {
                drop(slot);
                return self.run_suspect(session, deaths).await;
            }
        };
        Ok(self.runner.run_in_span(self, *claimed, ends).await? == LaneWork::Open)
    }

    /// Runs a suspect turn after other suspects have ended. After several crashes, the turn waits
    /// for all other turns.
    async fn run_suspect(
        self: &Arc<Self>,
        session: &SessionId,
        deaths: u32,
    ) -> Result<bool, StoreError> {
        let slots = if deaths >= ALONE_FROM_DEATHS { self.max_running } else { 1 };
        let Some(_quarantine) = self.unless_stopping(self.quarantine.acquire()).await else {
            return Ok(false);
        };
        let Some(_slots) = self.unless_stopping(self.slots.acquire_many(slots)).await else {
            return Ok(false);
        };
        let ends = self.parts.running.count_ends();
        if let Claim::Turn(claimed) = self.claim_turn(session, Suspects::Include).await? {
            self.runner.run_in_span(self, *claimed, ends).await?;
        }
        Ok(true)
    }

    async fn claim_turn(
        &self,
        session: &SessionId,
        suspects: Suspects,
    ) -> Result<Claim, StoreError> {
        self.parts.with_retry(|| self.parts.turns.claim(session, suspects, self.burst)).await
    }

    async fn unless_stopping<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.stopping.cancelled() => None,
            done = work => Some(done),
        }
    }
}

impl WakeLane for Arc<Lanes> {
    fn wake_lane(&self, session: SessionId) {
        self.wake(session);
    }
}
