//! A model that gives the answers of a recorded turn again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use avocet_protocol::job::{JOB_COMMITS, JOB_SUMMARY};
use avocet_protocol::model::{
    Deltas, Model, ModelError, ModelFacts, ModelReply, ModelRequest, Money, Spent,
};
use avocet_protocol::turn::{AnswerEnding, Step, TurnRecord};

use crate::replay_log::ReplayLog;
use crate::{images, job, job_steps, withheld};

/// A model with the answers of a record.
#[derive(Debug)]
pub(crate) struct RecordedModel {
    /// The answers by the number of their step. Steps that the program made have none.
    answers: BTreeMap<u32, ModelReply>,
    /// The log of the replay, which counts its steps.
    log: Arc<ReplayLog>,
    ran_out: AtomicBool,
}

/// The name of the model in errors.
const NAME: &str = "the record";

impl RecordedModel {
    pub(crate) fn new(record: &TurnRecord, log: Arc<ReplayLog>) -> Self {
        let places = 0..record.steps.len();
        let answers =
            places.filter_map(|place| Some((record.steps[place].number, answer(record, place)?)));
        let answers = answers.collect();
        Self { answers, log, ran_out: AtomicBool::default() }
    }

    /// Returns `true` if an answer was asked for that the record does not have.
    pub(crate) fn has_run_out(&self) -> bool {
        self.ran_out.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Model for RecordedModel {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Returns a window for any request: its size does not change a recorded answer.
    async fn facts(&self) -> ModelFacts {
        ModelFacts { context: Some(u64::MAX), ..ModelFacts::default() }
    }

    async fn complete(
        &self,
        _request: &ModelRequest,
        _deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let step = self.log.next_step();
        if let Some(reply) = self.answers.get(&step) {
            return Ok(reply.clone());
        }
        self.ran_out.store(true, Ordering::Relaxed);
        let detail = format!("it has no answer for step {step}").into();
        Err(ModelError::Refused { model: NAME.to_owned(), detail, lasting: true })
    }
}

/// Returns the reply from which the loop makes the recorded step at this place; `None` if the
/// program made the step.
fn answer(record: &TurnRecord, place: usize) -> Option<ModelReply> {
    let step = &record.steps[place];
    let before = TurnRecord { steps: record.steps[..place].to_vec(), ..record.clone() };
    // No model is asked.
    let cost = Some(Money::default());
    let spent = Spent { model: NAME.to_owned(), usage: step.usage, cost };
    let (written, reasoning) = (step.written.clone(), step.reasoning.clone());
    let (truncated, filtered) =
        (step.ending == AnswerEnding::CutOff, step.ending == AnswerEnding::Filtered);
    let spent = vec![spent];
    let reply =
        ModelReply { spent, written, reasoning, truncated, filtered, ..ModelReply::default() };
    match made_from_text(record, step) {
        Some(AnswerSource::Program) => None,
        Some(AnswerSource::GoesOn) => Some(ModelReply { text: step.text.clone(), ..reply }),
        Some(AnswerSource::EndsJob) => {
            Some(ModelReply { text: step.text.clone(), is_done: true, ..reply })
        }
        Some(AnswerSource::Withheld(text)) => Some(final_reply(&before, text, step.ending, reply)),
        None if step.calls.is_empty() => {
            let text = final_text(record).unwrap_or_default();
            let text = without_prefix(text, &withheld::with_allowed(&before, String::new()));
            Some(final_reply(&before, text.to_owned(), step.ending, reply))
        }
        None => {
            let calls = step.calls.iter().map(|made| made.call.clone()).collect();
            Some(ModelReply { text: step.text.clone(), calls, ..reply })
        }
    }
}

/// The source of a step whose call no model made.
enum AnswerSource {
    /// The program, without a model.
    Program,
    /// An answer after which a job goes on.
    GoesOn,
    /// The last answer of a job, before its commits are listed.
    EndsJob,
    Withheld(String),
}

/// Returns the source of a step with such a call; `None` for other steps.
fn made_from_text(record: &TurnRecord, step: &Step) -> Option<AnswerSource> {
    if let Some(own) = job_steps::own_call(step) {
        let ends = own.call.name == JOB_COMMITS;
        return Some(if ends { AnswerSource::EndsJob } else { AnswerSource::Program });
    }
    let [only] = &step.calls[..] else { return None };
    if only.call.name == job::GO_ON_CALL && job::is_job(&record.session) {
        return Some(AnswerSource::GoesOn);
    }
    let withheld = withheld::withheld_text(&only.call).filter(|_| step.text.is_empty());
    match withheld.or_else(|| withheld::reviewed_text(&only.call)) {
        // The program has added the review of an answer that was released before.
        Some(text) if text.is_empty() && only.call.name == withheld::REVIEW_CALL => {
            Some(AnswerSource::Program)
        }
        text => text.map(AnswerSource::Withheld),
    }
}

/// Returns the reply from which the loop makes this final text.
fn final_reply(
    before: &TurnRecord,
    mut text: String,
    ending: AnswerEnding,
    reply: ModelReply,
) -> ModelReply {
    if let Some(mark) = ending.ending_mark() {
        cut_suffix(&mut text, mark);
    }
    if let Some(unseen) = images::describe_unseen(before) {
        cut_suffix(&mut text, &unseen);
    }
    let denied = withheld::with_denied(before, String::new());
    let mut text = without_prefix(&text, &denied).trim_start_matches('\n').to_owned();
    let is_done = job::is_job(&before.session);
    if is_done && text.is_empty() {
        // The loop removes the mark, and an empty answer would be asked for again.
        job::COMPLETE.clone_into(&mut text);
    }
    ModelReply { text, is_done, ..reply }
}

fn without_prefix<'t>(text: &'t str, prefix: &str) -> &'t str {
    text.strip_prefix(prefix).unwrap_or(text)
}

/// Removes a remark of the program from the end of a text.
fn cut_suffix(text: &mut String, remark: &str) {
    let rest = text.strip_suffix(remark).and_then(|rest| rest.strip_suffix("\n\n"));
    if let Some(length) = rest.map(str::len) {
        text.truncate(length);
    }
}

/// Returns the final text of a record without the summary that follows the end of a job. The
/// heading stays the key: the program ends each text of a job with it, so the last one is its own.
pub(crate) fn final_text(record: &TurnRecord) -> Option<&str> {
    let text = record.final_text()?;
    if !job::is_job(&record.session) {
        return Some(text);
    }
    let before = text.rfind(JOB_SUMMARY).map_or(text, |at| &text[..at]);
    Some(before.trim_end_matches('\n'))
}
