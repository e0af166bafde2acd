//! Runs consolidations of memories when they are due. Without memories to consolidate, the task
//! sleeps until one changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::{Clock, Timestamp, or_pending};
use avocet_protocol::memory::{Consolidate, ConsolidateError, ConsolidationReport};
use avocet_protocol::store::{Consolidations, MemoryScope, StoreError};
use avocet_supervise::Group;
use tokio_util::sync::CancellationToken;

use crate::pauses::{AFTER_ERROR, RESTART};
use crate::times::ScheduleTimes;

const DAY: Duration = Duration::from_hours(24);

/// Decides when memories are consolidated.
#[derive(Debug, Clone)]
pub enum ConsolidationTimes {
    /// After this time without a message, for scopes with enough memories that are new.
    Idle {
        /// The time since the last message of a person.
        after: Duration,
        /// The least number of new memories.
        least_new: u64,
    },
    /// At these times, for each scope with new memories. Times while no daemon runs are skipped.
    At(ScheduleTimes),
}

/// The task that consolidates memories at their times.
#[derive(Debug)]
pub struct ConsolidationTimer {
    times: ConsolidationTimes,
    log: Arc<dyn Consolidations>,
    work: Arc<dyn Consolidate>,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
}

/// The result of one run.
enum DueRun {
    Ended,
    /// No further run is possible today.
    DayIsOver,
}

impl ConsolidationTimer {
    /// Starts the task, which ends with the group.
    pub fn start(
        times: ConsolidationTimes,
        log: Arc<dyn Consolidations>,
        work: Arc<dyn Consolidate>,
        clock: Arc<dyn Clock>,
        group: &Group,
    ) {
        let timer =
            Arc::new(Self { times, log, work, clock: clock.clone(), stop: group.cancel_token() });
        group.spawn_restarting("consolidations", clock, RESTART, move || {
            let timer = timer.clone();
            async move { timer.run().await }
        });
    }

    async fn run(&self) {
        let mut attempted = BTreeMap::new();
        let mut next = match &self.times {
            ConsolidationTimes::Idle { .. } => Some(self.clock.now()),
            ConsolidationTimes::At(times) => times.next_after(self.clock.now()),
        };
        while !self.stop.is_cancelled() {
            let is_idle_rule = matches!(self.times, ConsolidationTimes::Idle { .. });
            let until_next = or_pending(next.map(|next| self.clock.sleep_until(next)));
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = self.log.memories_changed(), if is_idle_rule => {}
                () = until_next => {}
            }
            let now = self.clock.now();
            if !is_idle_rule && next.is_some_and(|next| now < next) {
                continue;
            }
            let done = tokio::select! {
                () = self.stop.cancelled() => return,
                done = self.run_due(now, &mut attempted) => done,
            };
            next = match done {
                Ok(next) => next,
                Err(error) if error.is_final() => return self.stop.cancelled().await,
                Err(error) => {
                    tracing::error!(%error, "cannot consolidate memories; retrying in 60 s");
                    Some(now.after(AFTER_ERROR))
                }
            };
        }
    }

    /// Runs for all scopes that are due. Returns the next time.
    async fn run_due(
        &self,
        now: Timestamp,
        attempted: &mut BTreeMap<MemoryScope, Timestamp>,
    ) -> Result<Option<Timestamp>, StoreError> {
        match &self.times {
            ConsolidationTimes::Idle { after, least_new } => {
                self.run_idle(now, *after, *least_new, attempted).await
            }
            ConsolidationTimes::At(times) => {
                for backlog in self.log.backlogs().await? {
                    if let DueRun::DayIsOver = self.run_one(&backlog.scope).await? {
                        break;
                    }
                }
                Ok(times.next_after(self.clock.now()))
            }
        }
    }

    async fn run_idle(
        &self,
        now: Timestamp,
        after: Duration,
        least_new: u64,
        attempted: &mut BTreeMap<MemoryScope, Timestamp>,
    ) -> Result<Option<Timestamp>, StoreError> {
        // Read in this order: the message behind a new memory came before it.
        let backlogs = self.log.backlogs().await?;
        let last_message = self.log.last_message().await?.unwrap_or(Timestamp(0));
        let mut next: Option<Timestamp> = None;
        for backlog in backlogs {
            if backlog.memories < least_new {
                continue;
            }
            // A run that failed, or left memories over, is not repeated at once.
            let last_run = attempted.get(&backlog.scope).copied().max(backlog.failed_at);
            let mut due = last_message.max(last_run.unwrap_or(Timestamp(0))).after(after);
            if due <= now {
                if let DueRun::DayIsOver = self.run_one(&backlog.scope).await? {
                    return Ok(Some(now.day_start().after(DAY)));
                }
                attempted.insert(backlog.scope.clone(), now);
                due = now.after(after);
            }
            next = Some(next.map_or(due, |next| next.min(due)));
        }
        Ok(next)
    }

    async fn run_one(&self, scope: &MemoryScope) -> Result<DueRun, StoreError> {
        let ConsolidationReport { shown, edits, error, .. } =
            match self.work.consolidate_due(scope).await {
                Ok(report) => report,
                Err(ConsolidateError::Log(error)) => return Err(error),
                Err(
                    why @ (ConsolidateError::Budget(_)
                    | ConsolidateError::Runs(_)
                    | ConsolidateError::Stopped),
                ) => {
                    tracing::info!(%scope, %why, "memories are not consolidated now");
                    return Ok(DueRun::DayIsOver);
                }
            };
        match error {
            Some(error) => {
                tracing::warn!(%scope, error, "a consolidation of memories failed; nothing was changed");
            }
            None => {
                let applied = edits.iter().filter(|edit| edit.refused.is_none()).count();
                tracing::info!(%scope, shown, applied, "consolidated memories");
            }
        }
        Ok(DueRun::Ended)
    }
}

#[cfg(test)]
#[path = "consolidations_tests.rs"]
mod tests;
