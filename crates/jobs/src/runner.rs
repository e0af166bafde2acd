//! Claims each time of a schedule when it comes, and wakes the part that does its work.
//!
//! ```text
//! due schedules   whose next time has come, up to 100 at once
//! times           `due_times`: which run, which are skipped, by the policy for missed times
//! work            task: a message for the session of the schedule
//!                 text: chunks for the chat
//!                 checklist: a task if the file has entries, else nothing
//! claim           one transaction: a row for each run, its message or chunks, the next time
//! wake            the lane, or the delivery worker
//! sleep           until the next time, or a change of the schedules
//! ```
//!
//! **A time is claimed before its work begins.** The claim and the work are one transaction. After
//! a crash before it, the time is still due, and the next start catches up by the policy. After a
//! crash behind it, the work is a message or a chunk like any other, and the start of the daemon
//! finds it.
//!
//! **No time runs twice.** A claim names the next time that it has read, and is refused if another
//! one was faster. A row for each schedule and time is unique. The key of the message contains
//! both, too.
//!
//! **The clock of the machine may be set.** A sleep that ends early means that. Next times are then
//! computed again, because they may lie too far ahead. A time that was claimed before stays
//! claimed.
//!
//! **A schedule whose times cannot be read is paused**, with the reason. Without that it would be
//! due for ever. Work that cannot be planned, for example for a chat that is gone, is recorded as
//! undeliverable, and the schedule goes on.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::bus::{Deliveries, Destinations, WakeLanes};
use avocet_protocol::chat::{Content, Inbound, InboundKind, NewInbound, SessionId};
use avocet_protocol::clock::{Clock, Timestamp, or_pending};
use avocet_protocol::ids::{DedupeKey, ScheduleId};
use avocet_protocol::schedule::{NOTHING_NEW, RunResult, Schedule, ScheduleChange, ScheduledWork};
use avocet_protocol::store::{DueClaim, DueRun, DueWork, EndedSchedules, Schedules, StoreError};
use avocet_supervise::Group;
use tokio_util::sync::CancellationToken;

use crate::due::{DueTimes, due_times};
use crate::pauses::{AFTER_ERROR, RESTART};
use crate::times::ScheduleTimes;

/// The most schedules that are read at once.
const AT_ONCE: u32 = 100;

/// Reads checklists before a model is asked.
#[async_trait]
pub trait ReadChecklists: fmt::Debug + Send + Sync {
    /// Returns `true` if the file in the agent's workspace has an entry: a line that is no heading,
    /// comment, blank or sentence of a template.
    async fn has_entries(&self, agent: Option<&str>, path: &str) -> bool;
}

/// The components that the runner uses.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each field is the part of its type")]
pub struct RunnerParts {
    pub schedules: Arc<dyn Schedules>,
    pub destinations: Arc<dyn Destinations>,
    pub deliveries: Arc<dyn Deliveries>,
    pub lanes: Arc<dyn WakeLanes>,
    pub checklists: Arc<dyn ReadChecklists>,
    pub clock: Arc<dyn Clock>,
}

/// The task that runs all schedules.
#[derive(Debug)]
pub struct ScheduleRunner {
    parts: RunnerParts,
    stop: CancellationToken,
}

impl ScheduleRunner {
    /// Starts the task, which ends with the group.
    pub fn start(parts: RunnerParts, group: &Group) {
        let clock = parts.clock.clone();
        let runner = Arc::new(Self { parts, stop: group.cancel_token() });
        group.spawn_restarting("schedules", clock, RESTART, move || {
            let runner = runner.clone();
            async move { runner.run().await }
        });
    }

    async fn run(&self) {
        let Self { parts, stop } = self;
        let mut recheck = true;
        while !stop.is_cancelled() {
            let next = match parts.run_due(recheck).await {
                Ok(next) => next,
                Err(error) if error.is_final() => return stop.cancelled().await,
                Err(error) => {
                    tracing::error!(%error, "cannot run the schedules; retrying in 60 s");
                    Some(parts.clock.now().after(AFTER_ERROR))
                }
            };
            let until_next = or_pending(next.map(|next| parts.clock.sleep_until(next)));
            recheck = tokio::select! {
                () = stop.cancelled() => return,
                () = parts.schedules.schedules_changed() => false,
                // An early end means that the machine's clock was set.
                () = until_next => next.is_some_and(|next| parts.clock.now() < next),
            };
        }
    }
}

impl RunnerParts {
    /// Claims all times that have come. Returns the next time.
    async fn run_due(&self, recheck: bool) -> Result<Option<Timestamp>, StoreError> {
        if recheck {
            self.recheck_next_times().await?;
        }
        loop {
            let now = self.clock.now();
            let due = self.schedules.due_schedules(now, AT_ONCE).await?;
            if due.is_empty() {
                return self.schedules.next_due().await;
            }
            for schedule in &due {
                self.claim_schedule(schedule, now).await?;
            }
        }
    }

    /// Moves next times that are too late because the machine's clock was wrong when they were
    /// computed. A time that was claimed before does not run again.
    async fn recheck_next_times(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        for schedule in self.schedules.schedules(None, EndedSchedules::Exclude).await? {
            let Ok(times) = ScheduleTimes::new(&schedule.rule) else { continue };
            let next = times.next_after(now);
            if schedule.next_at > next && next.is_some() {
                let (id, expected) = (schedule.id, schedule.next_at);
                let moved = DueClaim { id, expected, runs: Vec::new(), next_at: next };
                self.schedules.claim_due(&moved).await?;
            }
        }
        Ok(())
    }

    async fn claim_schedule(&self, schedule: &Schedule, now: Timestamp) -> Result<(), StoreError> {
        let Some(first) = schedule.next_at else { return Ok(()) };
        let times = match ScheduleTimes::new(&schedule.rule) {
            Ok(times) => times,
            Err(error) => {
                let id = schedule.id;
                tracing::error!(schedule = %id, %error, "paused a schedule whose times cannot be read");
                let pause = ScheduleChange::Pause(Some(error.to_string()));
                return self.schedules.change_schedule(id, &pause).await.map(drop);
            }
        };
        let DueTimes { runs, skipped, missed, next } =
            due_times(&times, first, now, schedule.catch_up);
        let mut claimed = Vec::new();
        for (place, at) in runs.iter().enumerate() {
            // The first run names the times that it replaces.
            let skipped = if place == 0 { skipped } else { 0 };
            let work = self.due_work(schedule, &times, *at, skipped).await;
            claimed.push(DueRun { due: *at, work, skipped });
        }
        claimed.extend(missed.map(|due| {
            let work = DueWork::Nothing(RunResult::Missed);
            DueRun { due, work, skipped: skipped.saturating_sub(1) }
        }));
        let claim =
            DueClaim { id: schedule.id, expected: Some(first), runs: claimed, next_at: next };
        self.commit_claim(schedule, &claim).await.map(drop)
    }

    /// Commits a claim and wakes the parts that do the work. Returns `false` if another claim was
    /// faster.
    async fn commit_claim(
        &self,
        schedule: &Schedule,
        claim: &DueClaim,
    ) -> Result<bool, StoreError> {
        if !self.schedules.claim_due(claim).await? {
            return Ok(false);
        }
        for DueRun { due, work, skipped } in &claim.runs {
            tracing::debug!(schedule = %schedule.id, due = due.0, skipped, "claimed a time");
            match work {
                DueWork::Task(message) => self.lanes.wake_lane(message.session.clone()),
                DueWork::Text(planned) => self.deliveries.wake(&planned.address),
                DueWork::Nothing(_) => {}
            }
        }
        Ok(true)
    }

    async fn due_work(
        &self,
        schedule: &Schedule,
        times: &ScheduleTimes,
        due: Timestamp,
        skipped: u64,
    ) -> DueWork {
        let task = match &schedule.work {
            ScheduledWork::Text(text) => return self.text_work(schedule, text),
            ScheduledWork::Task(task) => task.clone(),
            ScheduledWork::Checklist(path) => {
                if !self.checklists.has_entries(schedule.agent.as_deref(), path).await {
                    return DueWork::Nothing(RunResult::Empty);
                }
                format!("Read the checklist {path} and do what is due now.")
            }
        };
        match run_message(schedule, &run_prompt(schedule, times, due, skipped, &task), due) {
            Ok(message) => DueWork::Task(Box::new(message)),
            Err(error) => undeliverable_work(schedule, &error),
        }
    }

    fn text_work(&self, schedule: &Schedule, text: &str) -> DueWork {
        match self.destinations.plan(&schedule.owner.address, &Content::text(text)) {
            Ok(planned) => DueWork::Text(planned),
            Err(error) => undeliverable_work(schedule, &error),
        }
    }
}

fn undeliverable_work(schedule: &Schedule, error: &dyn fmt::Display) -> DueWork {
    tracing::error!(schedule = %schedule.id, %error, "cannot run a schedule");
    DueWork::Nothing(RunResult::Undeliverable)
}

/// Runs a schedule once now; its next time stays. Returns `false` if it does not exist.
///
/// # Errors
/// [`StoreError`] if the log cannot be read or written.
pub async fn run_now(parts: &RunnerParts, id: ScheduleId) -> Result<bool, StoreError> {
    loop {
        let Some(schedule) = parts.schedules.schedule(id).await? else { return Ok(false) };
        let Ok(times) = ScheduleTimes::new(&schedule.rule) else { return Ok(false) };
        let now = parts.clock.now();
        let work = parts.due_work(&schedule, &times, now, 0).await;
        let runs = vec![DueRun { due: now, work, skipped: 0 }];
        let next_at = schedule.next_at;
        let claim = DueClaim { id, expected: next_at, runs, next_at };
        if parts.commit_claim(&schedule, &claim).await? {
            return Ok(true);
        }
    }
}

fn run_message(schedule: &Schedule, text: &str, due: Timestamp) -> Result<NewInbound, StoreError> {
    let key = DedupeKey::parse(&format!("schedule:{}:{}", schedule.id.0, due.0))
        .map_err(|error| StoreError::Internal(error.to_string()))?;
    let owner = schedule.owner.clone();
    let content = Content { author_roles: owner.roles, ..Content::text(text) };
    let inbound = Inbound::new(owner.address, owner.sender, key, content);
    Ok(NewInbound {
        session: SessionId::of_schedule(schedule.id),
        kind: InboundKind::Text,
        inbound: Inbound { chat: owner.chat, ..inbound },
        removed: 0,
        trust: schedule.trust,
    })
}

/// Returns the text of a run: the circumstances, and the task.
fn run_prompt(
    schedule: &Schedule,
    times: &ScheduleTimes,
    due: Timestamp,
    skipped: u64,
    task: &str,
) -> String {
    let missed = match skipped {
        0 => String::new(),
        1 => " One earlier time was missed.".to_owned(),
        many => format!(" {many} earlier times were missed."),
    };
    let silence = if schedule.quiet {
        format!(" If there is nothing new to report, answer only {NOTHING_NEW}.")
    } else {
        String::new()
    };
    let due = times.time_in_words(due);
    format!(
        "[Scheduled task {}, due {due}.{missed} No person waits for it, so ask no questions. Your \
         answer is sent to the chat.{silence}]\n{task}",
        schedule.id
    )
}

#[cfg(test)]
#[path = "runner_tests.rs"]
mod tests;
