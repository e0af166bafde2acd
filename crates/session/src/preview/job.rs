//! The progress of a job: one line with its state, its round, its tool and its cost so far.

use std::time::Duration;

use avocet_protocol::chat::LoggedInbound;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{JobId, TurnId};
use avocet_protocol::tool::WaitKind;
use avocet_protocol::turn::TurnEvent;

use super::words::awaited_event;
use crate::SessionParts;
use crate::job_plan::ShownJob;

/// The state of the line. Times are those of `Clock::elapsed`.
#[derive(Debug)]
pub(super) struct JobDraft {
    job: ShownJob,
    interval: Duration,
    /// The current request to the model, from 1; 0 before the first.
    round: u32,
    /// The running tool; `None` while the model is asked.
    tool: Option<String>,
    /// The time of the first change that is not shown.
    changed: Option<Duration>,
    not_before: Duration,
}

impl JobDraft {
    pub(super) fn new(job: ShownJob, interval: Duration) -> Self {
        let (tool, changed, not_before) = (None, None, Duration::ZERO);
        Self { job, interval, round: 0, tool, changed, not_before }
    }

    /// Applies an event of the turn.
    pub(super) fn apply_event(&mut self, event: &TurnEvent, now: Duration) {
        match event {
            TurnEvent::Thinking { step } => {
                self.round = (step + 1).saturating_sub(self.job.own_steps);
                self.tool = None;
            }
            TurnEvent::ToolStarted { name, .. } => self.tool = Some(name.clone()),
            TurnEvent::ToolFinished { name, .. } if self.tool.as_ref() == Some(name) => {
                self.tool = None;
            }
            TurnEvent::ToolFinished { .. }
            | TurnEvent::ToolProgress { .. }
            | TurnEvent::Text { .. }
            | TurnEvent::Thought { .. }
            | TurnEvent::Restarted
            | TurnEvent::Started { .. }
            | TurnEvent::Compacting
            | TurnEvent::Waiting { .. }
            | TurnEvent::Resumed
            | TurnEvent::Ended { .. } => return,
        }
        self.changed = self.changed.or(Some(now));
    }

    /// Returns the time of the next update; `None` if the chat is up to date.
    pub(super) fn next_update_at(&self) -> Option<Duration> {
        Some((self.changed? + self.interval).max(self.not_before))
    }

    /// Returns the line to show now, and marks it as shown.
    pub(super) fn next_line(&mut self, now: Duration, cost: &str) -> Option<String> {
        self.next_update_at().filter(|due| *due <= now)?;
        self.changed = None;
        self.not_before = now + self.interval;
        let ShownJob { id, most_rounds, .. } = self.job;
        let round = match self.round {
            0 => "beginning".to_owned(),
            round => format!("round {round} of {most_rounds}"),
        };
        let tool = self.tool.as_deref().unwrap_or("thinking");
        Some(format!("Job {id} is running: {round}, {tool}; cost so far: {cost}"))
    }

    /// Makes the line due again after a skipped update.
    pub(super) fn mark_missed(&mut self, now: Duration) {
        self.changed = Some(now);
    }

    /// Delays further updates until this time.
    pub(super) fn delay_until(&mut self, until: Duration) {
        self.not_before = self.not_before.max(until);
    }
}

/// Returns the line of a job that waits.
pub(super) fn waiting_line(id: JobId, kind: WaitKind) -> String {
    format!("Job {id} is waiting for {}", awaited_event(kind))
}

/// Returns the cost of a turn and its children so far, as text.
pub(super) async fn cost_so_far(parts: &SessionParts, turn: TurnId, to: &LoggedInbound) -> String {
    let spent = parts.ledger.spent(Some(turn), &to.message.session, Timestamp(0)).await;
    spent.map_or_else(|_| "cost unknown".to_owned(), |spending| spending.turn.price())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn draft() -> JobDraft {
        JobDraft::new(ShownJob { id: JobId(5), most_rounds: 20, own_steps: 1 }, SECOND)
    }

    #[test]
    fn compose_shows_round_tool_and_cost_at_most_once_in_an_interval() {
        let mut draft = draft();
        let begun =
            |name: &str| TurnEvent::ToolStarted { name: name.to_owned(), about: None, call: None };
        assert_eq!(draft.next_update_at(), None);
        draft.apply_event(&begun("job_branch"), Duration::ZERO);
        assert_eq!(draft.next_line(Duration::ZERO, "$0.00"), None, "a quick job is not shown");
        let line = draft.next_line(SECOND, "$0.00").unwrap();
        assert_eq!(line, "Job j5 is running: beginning, job_branch; cost so far: $0.00");
        draft.apply_event(&TurnEvent::Thinking { step: 1 }, SECOND);
        draft.apply_event(&begun("run_tests"), SECOND);
        draft.apply_event(&TurnEvent::Text { delta: "ignored".to_owned() }, SECOND);
        assert_eq!(draft.next_line(SECOND, "$0.02"), None);
        let line = draft.next_line(2 * SECOND, "$0.02").unwrap();
        assert_eq!(line, "Job j5 is running: round 1 of 20, run_tests; cost so far: $0.02");
        assert_eq!(draft.next_update_at(), None, "nothing has changed since");
        let ended = TurnEvent::ToolFinished { name: "run_tests".to_owned(), ok: true, call: None };
        draft.apply_event(&ended, 3 * SECOND);
        let line = draft.next_line(4 * SECOND, "$0.03").unwrap();
        assert_eq!(line, "Job j5 is running: round 1 of 20, thinking; cost so far: $0.03");
    }

    #[test]
    fn missed_makes_the_line_due_again_after_the_hold() {
        let mut draft = draft();
        draft.apply_event(&TurnEvent::Thinking { step: 1 }, Duration::ZERO);
        assert!(draft.next_line(SECOND, "$0.00").is_some());
        draft.mark_missed(SECOND);
        draft.delay_until(5 * SECOND);
        assert_eq!(draft.next_update_at(), Some(5 * SECOND));
    }
}
