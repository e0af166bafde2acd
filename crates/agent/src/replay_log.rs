//! The log of a replayed turn. It lives in memory: reads come from the record and the real log, and
//! nothing is written to the real log.

use async_trait::async_trait;
use avocet_protocol::channel::FetchAttachments;
use avocet_protocol::chat::{Attachment, ChatAddress, LoggedInbound, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, MessageId, TurnId};
use avocet_protocol::memory::RecalledMemory;
use avocet_protocol::model::{Spent, ToolCall};
use avocet_protocol::store::{
    CompactedPast, Family, Ledger, NewStep, Past, Purpose, Spending, StoreError, Total, TurnLog,
    UsageEntry,
};
use avocet_protocol::tool::{Evidence, LogWrite, ToolClass};
use avocet_protocol::turn::{CallResult, CallState, LoggedCall, Step, TurnRecord};
use parking_lot::Mutex;

use crate::agent_loop::open_step;
use crate::{AgentLogs, CallWait, withheld};

/// The log and the ledger of a replayed turn.
#[derive(Debug)]
pub(crate) struct ReplayLog {
    record: TurnRecord,
    /// The real log, from which the past and the usage so far are read. `None` if the recorded
    /// answers are played back, because they depend on neither.
    real: Option<AgentLogs>,
    replayed: Mutex<ReplayedSteps>,
}

/// The steps so far, and their usage.
#[derive(Debug, Default)]
struct ReplayedSteps {
    steps: Vec<Step>,
    spent: Vec<Spent>,
}

impl ReplayLog {
    pub(crate) fn new(record: TurnRecord, real: Option<AgentLogs>) -> Self {
        Self { record, real, replayed: Mutex::default() }
    }

    pub(crate) fn steps(&self) -> Vec<Step> {
        self.replayed.lock().steps.clone()
    }

    /// Returns the number of the next step.
    pub(crate) fn next_step(&self) -> u32 {
        self.replayed.lock().steps.last().map_or(0, |step| step.number + 1)
    }

    /// Returns the usage so far.
    pub(crate) fn spent(&self) -> Vec<Spent> {
        self.replayed.lock().spent.clone()
    }

    /// Returns the recorded result of a call of the replay. The k-th of several equal calls has the
    /// result of the k-th equal call in the record; `None` if the record has fewer.
    pub(crate) fn result_of(&self, call: CallId) -> Option<CallResult> {
        let replayed = self.replayed.lock();
        let made = calls(&replayed.steps).find(|made| made.id == call)?;
        let is_equal = |other: &&LoggedCall| is_equal(&other.call, &made.call);
        let earlier = calls(&replayed.steps).take_while(|other| other.id != call);
        let before = earlier.filter(is_equal).count();
        let mut recorded = calls(&self.record.steps).filter(is_equal);
        recorded.nth(before)?.result().cloned()
    }

    /// Gives waiting calls their recorded results. Returns `false` if the record lacks one.
    pub(crate) fn resolve(&self, waits: &[CallWait]) -> bool {
        waits.iter().all(|wait| {
            let result = self.result_of(wait.call);
            let is_recorded = result.is_some();
            if let Some(result) = result {
                self.replayed.lock().finish(wait.call, &result);
            }
            is_recorded
        })
    }

    /// Returns `true` if the record withholds this answer at this point of the replay.
    pub(crate) fn withholds_answer(&self, text: &str) -> bool {
        self.has_more_calls(|call| withheld::withheld_text(call).as_deref() == Some(text))
    }

    /// Returns `true` if the record waits for a review with this answer at this point of the replay.
    pub(crate) fn reviews_changes(&self, text: &str) -> bool {
        self.has_more_calls(|call| {
            // After the release of a withheld answer, the review has no text of its own.
            let reviewed = withheld::reviewed_text(call);
            reviewed.is_some_and(|reviewed| reviewed.is_empty() || reviewed == text)
        })
    }

    /// Returns `true` if a review of changes is in the record.
    pub(crate) fn has_reviews(&self) -> bool {
        calls(&self.record.steps).any(|made| withheld::reviewed_text(&made.call).is_some())
    }

    /// Returns `true` if the record has such a call at this point of the replay, or a further one.
    fn has_more_calls(&self, is_such: impl Fn(&ToolCall) -> bool) -> bool {
        let count = |steps: &[Step]| calls(steps).filter(|made| is_such(&made.call)).count();
        let replayed = self.replayed.lock();
        let recorded = count(&self.record.steps);
        // The call of an open step is the one that is asked about.
        let is_made = replayed.steps.last().is_some_and(|step| !step.closed);
        let made = count(&replayed.steps);
        if is_made { recorded >= made } else { recorded > made }
    }

    /// Closes a step if each of its calls has a result. Returns the messages that steered the turn
    /// after the recorded step.
    fn close(&self, number: u32) -> Option<Vec<LoggedInbound>> {
        let mut replayed = self.replayed.lock();
        let step = replayed.steps.iter_mut().find(|step| step.number == number)?;
        if step.closed || step.calls.iter().any(|call| call.result().is_none()) {
            return None;
        }
        let recorded = self.record.steps.iter().find(|step| step.number == number);
        step.steered = recorded.map(|step| step.steered.clone()).unwrap_or_default();
        step.closed = true;
        Some(step.steered.clone())
    }
}

impl ReplayedSteps {
    fn finish(&mut self, call: CallId, result: &CallResult) {
        let mut calls = self.steps.iter_mut().flat_map(|step| &mut step.calls);
        if let Some(logged) = calls.find(|logged| logged.id == call) {
            logged.state = CallState::Finished(result.clone());
        }
    }
}

fn calls(steps: &[Step]) -> impl Iterator<Item = &LoggedCall> {
    steps.iter().flat_map(|step| &step.calls)
}

/// Compares calls by name and by the JSON of their arguments.
fn is_equal(one: &ToolCall, other: &ToolCall) -> bool {
    one.name == other.name && one.arguments.to_object() == other.arguments.to_object()
}

#[async_trait]
impl TurnLog for ReplayLog {
    /// Returns the past without a gap, so that no request is made to summarise it.
    async fn history(
        &self,
        session: &SessionId,
        before: TurnId,
        budget: usize,
    ) -> Result<Past, StoreError> {
        let Some(real) = &self.real else { return Ok(Past::default()) };
        let mut past = real.turns.history(session, before, budget).await?;
        if past.has_gap {
            let oldest = past.turns.first().map(|turn| TurnId(turn.id.0 - 1));
            past.compacted.summary_to = oldest.max(past.compacted.summary_to);
            past.has_gap = false;
        }
        Ok(past)
    }

    async fn record_compaction(
        &self,
        _session: &SessionId,
        _compacted: &CompactedPast,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn record_recalled(
        &self,
        _turn: TurnId,
        _recalled: &[RecalledMemory],
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn record_step(&self, turn: TurnId, step: &NewStep) -> Result<(), StoreError> {
        let mut replayed = self.replayed.lock();
        replayed.spent.extend(step.spent.iter().filter_map(UsageEntry::as_spent).cloned());
        replayed.steps.push(open_step(turn, step.clone()));
        Ok(())
    }

    async fn start_call(
        &self,
        _call: CallId,
        _class: ToolClass,
        _evidence: Option<&Evidence>,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn finish_call(
        &self,
        call: CallId,
        result: &CallResult,
        _kept: Option<&str>,
        _writes: &[LogWrite],
    ) -> Result<Option<Vec<LoggedInbound>>, StoreError> {
        self.replayed.lock().finish(call, result);
        Ok(self.close(call.step))
    }

    async fn close_step(&self, turn: TurnId, step: u32) -> Result<Vec<LoggedInbound>, StoreError> {
        self.close(step).ok_or_else(|| StoreError::Stale(format!("{turn} step {step}")))
    }

    async fn set_attachments(
        &self,
        _turn: TurnId,
        _message: MessageId,
        _attachments: &[Attachment],
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn family(&self, _turn: TurnId) -> Result<Family, StoreError> {
        Ok(Family::default())
    }

    async fn sent_texts(
        &self,
        _turn: TurnId,
        _chat: &ChatAddress,
    ) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl Ledger for ReplayLog {
    async fn record_usage(
        &self,
        _turn: Option<TurnId>,
        _session: &SessionId,
        entries: &[UsageEntry],
    ) -> Result<(), StoreError> {
        self.replayed.lock().spent.extend(entries.iter().filter_map(UsageEntry::as_spent).cloned());
        Ok(())
    }

    /// Returns the real usage of the session and the day together with that of the replay, so that
    /// the budgets hold. The budget of a turn counts the replay alone.
    async fn spent(
        &self,
        _turn: Option<TurnId>,
        session: &SessionId,
        day_start: Timestamp,
    ) -> Result<Spending, StoreError> {
        let Some(real) = &self.real else { return Ok(Spending::default()) };
        let so_far = real.ledger.spent(None, session, day_start).await?;
        let own = total(&self.replayed.lock().spent);
        Ok(Spending { turn: own, session: so_far.session + own, day: so_far.day + own })
    }

    async fn has_usage(&self, _turn: TurnId, _purpose: Purpose) -> Result<bool, StoreError> {
        Ok(false)
    }
}

fn total(spent: &[Spent]) -> Total {
    spent.iter().fold(Total::default(), |sum, one| sum + Total::from(one))
}

/// Leaves attachments where they were.
#[async_trait]
impl FetchAttachments for ReplayLog {
    async fn fetch(
        &self,
        _turn: TurnId,
        _messages: &mut [LoggedInbound],
    ) -> Result<(), StoreError> {
        Ok(())
    }
}
