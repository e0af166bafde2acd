//! Runs an ended turn again from its record, without effects: no tool runs, and nothing is written
//! to the log.

use std::sync::Arc;

use avocet_protocol::ids::{CallId, MessageId};
use avocet_protocol::model::{Model, Spent, ToolCall};
use avocet_protocol::store::StoreError;
use avocet_protocol::turn::{Step, TurnRecord, TurnState};

use crate::recorded_model::{RecordedModel, final_text};
use crate::recorded_toolbox::RecordedToolbox;
use crate::replay_log::ReplayLog;
use crate::{
    AgentLimits, AgentLogs, AgentLoop, AgentModels, AgentRecall, JobPlan, ModelsByTask,
    PromptSettings, RenderedTurns, TurnContext, TurnEnd, TurnLimits, UsageMeter,
};

/// The source of a replay's model answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayAnswers {
    /// The recorded answers. The replay then equals the record.
    Recorded,
    /// The models of the agent are asked.
    Asked,
}

/// The result of a replay, for the comparison with its record.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedTurn {
    /// The texts and calls, and the end.
    pub outline: TurnOutline,
    /// Calls for which the record has no result.
    pub new_calls: Vec<CallId>,
    /// Messages that steered the recorded turn after a step that the replay does not have.
    pub unread: Vec<MessageId>,
    /// The usage of each model call.
    pub spent: Vec<Spent>,
}

/// The part of a turn in which a replay is compared with its record.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnOutline {
    /// The steps with calls.
    pub steps: Vec<OutlineStep>,
    /// Compared with the record, too.
    pub end: ReplayEnd,
}

/// A step with calls.
#[derive(Debug, Clone, PartialEq)]
pub struct OutlineStep {
    /// The text of the model before the calls.
    pub text: String,
    /// In the order of the model.
    pub calls: Vec<ToolCall>,
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayEnd {
    /// The model answered with this text.
    Answered(String),
    /// The turn ended with this notice.
    Failed(String),
    /// A person stopped the turn.
    Stopped,
}

impl TurnOutline {
    /// Returns the outline of an ended turn.
    #[must_use]
    pub fn of_record(record: &TurnRecord) -> Self {
        Self { steps: outline_steps(&record.steps), end: recorded_end(record) }
    }
}

impl AgentLoop {
    /// Runs an ended turn again. Calls have their recorded results; a call that the record does not
    /// have gets the error [`NOT_RECORDED`](crate::NOT_RECORDED). Messages that steered the turn
    /// follow the same steps as in the record.
    ///
    /// # Errors
    /// [`StoreError`] if the past of the conversation cannot be read.
    pub async fn replay(
        &self,
        record: &TurnRecord,
        turn_context: &TurnContext,
        answers: ReplayAnswers,
    ) -> Result<ReplayedTurn, StoreError> {
        let real = (answers == ReplayAnswers::Asked).then(|| self.logs.clone());
        let log = Arc::new(ReplayLog::new(record.clone(), real));
        let player = Arc::new(RecordedModel::new(record, log.clone()));
        let agent = self.for_replay(&log);
        let agent = match answers {
            ReplayAnswers::Asked => agent,
            ReplayAnswers::Recorded => agent.with_recorded_answers(player.clone()),
        };
        let job = JobPlan::of_record(record);
        let turn_context = TurnContext { job, ..turn_context.clone() };
        let meter = UsageMeter::new(Some(record.id), record.session.clone());
        let end = loop {
            let (state, steps) = (TurnState::Running, log.steps());
            let turn = TurnRecord { state, steps, notice: None, ..record.clone() };
            match agent.run_tool_loop(turn, &turn_context, &meter).await? {
                TurnEnd::Waiting(waits) if log.resolve(&waits) => {}
                end => break end,
            }
        };
        meter.record(log.as_ref()).await?;
        let steps = log.steps();
        let end = match end {
            TurnEnd::Answered(answer) => ReplayEnd::Answered(answer.text),
            TurnEnd::Failed(_) if player.has_run_out() && steps.len() == answered(record) => {
                recorded_end(record)
            }
            TurnEnd::Failed(end) => failed(record, end.notice),
            TurnEnd::Waiting(_) => {
                ReplayEnd::Failed("The record has no result for a call.".to_owned())
            }
        };
        let calls = steps.iter().flat_map(|step| &step.calls);
        let new_calls = calls.map(|call| call.id).filter(|id| log.result_of(*id).is_none());
        Ok(ReplayedTurn {
            new_calls: new_calls.collect(),
            unread: unread(record, &steps),
            spent: log.spent(),
            outline: TurnOutline { steps: outline_steps(&steps), end },
        })
    }

    /// Returns the agent without effects. Memories are those of the record.
    fn for_replay(&self, log: &Arc<ReplayLog>) -> Self {
        let offered = self.toolbox.clone();
        Self {
            toolbox: Arc::new(RecordedToolbox { offered, log: log.clone() }),
            logs: AgentLogs { turns: log.clone(), ledger: log.clone() },
            attachments: log.clone(),
            recall: AgentRecall { budget_tokens: 0, ..self.recall.clone() },
            rendered: RenderedTurns::default(),
            ..self.clone()
        }
    }

    /// Returns the agent with recorded answers in place of its models. These do not depend on the
    /// content and size of requests, so no file of instructions is needed and any request fits.
    fn with_recorded_answers(self, player: Arc<dyn Model>) -> Self {
        let (main, cheap, tasks) = (player.clone(), player, ModelsByTask::default());
        let turn = TurnLimits { context_tokens: u64::MAX, ..self.limits.turn };
        let limits = AgentLimits { turn, ..self.limits };
        let prompt_settings = PromptSettings { file: None, ..self.prompt_settings };
        Self { models: AgentModels { main, cheap, tasks }, limits, prompt_settings, ..self }
    }
}

/// Returns the number of steps before the final text.
fn answered(record: &TurnRecord) -> usize {
    record.steps.iter().filter(|step| !step.calls.is_empty()).count()
}

fn recorded_end(record: &TurnRecord) -> ReplayEnd {
    match (final_text(record), record.state) {
        (Some(text), _) => ReplayEnd::Answered(text.to_owned()),
        (None, TurnState::Cancelled) => ReplayEnd::Stopped,
        (None, _) => ReplayEnd::Failed(record.notice.clone().unwrap_or_default()),
    }
}

/// Returns the end with a notice. The recorded notice has it with further remarks for the chat.
fn failed(record: &TurnRecord, notice: String) -> ReplayEnd {
    let recorded = record.notice.as_ref().filter(|recorded| recorded.starts_with(&notice));
    ReplayEnd::Failed(recorded.cloned().unwrap_or(notice))
}

fn outline_steps(steps: &[Step]) -> Vec<OutlineStep> {
    let steps = steps.iter().filter(|step| !step.calls.is_empty());
    let outline = steps.map(|step| OutlineStep {
        text: step.text.clone(),
        calls: step.calls.iter().map(|call| call.call.clone()).collect(),
    });
    outline.collect()
}

fn unread(record: &TurnRecord, replayed: &[Step]) -> Vec<MessageId> {
    let is_replayed = |number: u32| replayed.iter().any(|step| step.number == number);
    let missing = record.steps.iter().filter(|step| !is_replayed(step.number));
    missing.flat_map(|step| &step.steered).map(|message| message.id).collect()
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
