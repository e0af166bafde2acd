//! The tool loop: asks the model, runs its calls, and asks again until the model answers or a cap
//! is reached.
//!
//! ```text
//! open the context: instructions, past           unreadable: the turn fails
//! recall memories, in the log before the first request
//! loop
//!   open step?   run its calls (`calls.rs`), close it        a call waits: the turn waits
//!   answered?    an approved answer, or one before a program's own calls: ends
//!   job?         a job's plan may give the next call, the end or a failure, without a model
//!   caps         rounds, calls, time, tokens                reached: ends with a notice
//!   ask          within the budgets, in the model's window   no answer: fails
//!   calls        record the step (T1), begin again
//!   no calls     may it leak what was read?
//!                  yes: record it as a call that needs approval, begin again
//!                are there changes to review?
//!                  yes: record it as a call that waits for the review, begin again
//!                  no:  the answer; the caller settles
//! ```
//!
//! **The open step comes first**, so that there is only one way through the loop. A turn that a
//! crash or a wait has interrupted enters it at the end of its log: calls with results are not run
//! again, and the others go on from their state. Only a reply that was not recorded is asked for
//! again.
//!
//! **T1 comes before the calls run.** The log then knows of every call before its effect.
//!
//! **Trust is taken twice**, before the request and after it. Compacting the past for a request
//! adds its text to it. The step is recorded with the lower level.
//!
//! **A cap ends the turn, not the work.** The steps stay in the log, so that the person can
//! continue. Calls beyond the cap are cut from the step before it is recorded.
//!
//! **A withheld answer is a call** (`withheld.rs`), because calls can wait for a person, survive a
//! restart, and have a recorded decision. The loop needs no second kind of wait. An answer after changes
//! of files waits in the same way until a person has reviewed them. If the person undoes them, the model
//! answers anew, since its answer may speak of the changes.

use std::time::Duration;

use avocet_protocol::access::Trust;
use avocet_protocol::ids::{CallId, TurnId};
use avocet_protocol::model::{ModelReply, RequestOptions, ToolCall, Usage};
use avocet_protocol::store::{Answer, NewStep, Purpose, StoreError};
use avocet_protocol::turn::{
    AnswerEnding, CallState, FailureCode, LoggedCall, Origin, Step, TurnFailure, TurnRecord,
};
use avocet_text::end_sentence;

use crate::budgets::{NoAnswer, UsageContext, could_not_answer};
use crate::calls::StepContext;
use crate::context::RequestContext;
use crate::job_steps::{JobStep, next_job_step};
use crate::{
    AgentLoop, FailedTurn, LimitNotice, PlainNotice, TurnContext, TurnEnd, UsageMeter, images, job,
    job_steps, program, withheld,
};

impl AgentLoop {
    /// Returns the options of a request for an answer.
    pub(crate) fn request_options(&self) -> RequestOptions {
        RequestOptions { effort: self.effort, ..RequestOptions::default() }
    }

    /// Fetches the attachments of a turn's messages, including those that steered it before an
    /// interruption. Messages that steer the turn later are fetched in [`Self::run_tool_loop`].
    ///
    /// # Errors
    /// [`StoreError`] if a result cannot be logged.
    pub async fn fetch_attachments(&self, turn: &mut TurnRecord) -> Result<(), StoreError> {
        if let Origin::Messages(messages) = &mut turn.origin {
            self.attachments.fetch(turn.id, messages).await?;
        }
        for step in &mut turn.steps {
            self.attachments.fetch(turn.id, &mut step.steered).await?;
        }
        Ok(())
    }

    /// Runs a turn from the end of its log until it answers, fails or waits. The steps are logged
    /// here; the caller logs the end. If the caller drops this future, the caller records what is
    /// left in `meter`.
    ///
    /// # Errors
    /// [`StoreError`] if the log refused a step. [`StoreError::Stale`] means that the turn was
    /// ended from outside.
    pub async fn run_tool_loop(
        &self,
        turn: TurnRecord,
        turn_context: &TurnContext,
        meter: &UsageMeter,
    ) -> Result<TurnEnd, StoreError> {
        let began = self.clock.elapsed();
        let until = began.saturating_add(self.limits.turn.max_duration);
        let usage = UsageContext { meter, purpose: Purpose::Answer, until };
        let context = match self.open_context(&turn, turn_context).await {
            Ok(context) => context,
            Err(no_answer) => return failed(&turn, no_answer),
        };
        match self.for_task(&context, &turn, turn_context).await {
            Some((_, agent)) => agent.run_steps(turn, turn_context, context, usage, began).await,
            None => self.run_steps(turn, turn_context, context, usage, began).await,
        }
    }

    /// Runs the steps of a turn with the main model. `began` is the time of the turn's start.
    async fn run_steps(
        &self,
        mut turn: TurnRecord,
        turn_context: &TurnContext,
        mut context: RequestContext,
        usage: UsageContext<'_>,
        began: Duration,
    ) -> Result<TurnEnd, StoreError> {
        self.recall_memories(&mut turn, turn_context, &context).await?;
        loop {
            if let Some(waiting) = self.run_open_step(&mut turn, turn_context, &context).await? {
                return Ok(waiting);
            }
            let trust = self.request_trust(&context, &turn, turn_context).await;
            self.end_unapproved_review(&turn, &context, turn_context, trust).await;
            if let Some(text) = withheld::released_answer(&turn) {
                let step_context = step_context(&turn, turn_context, &context, trust);
                // The text is part of the answer already.
                if self.record_review(&mut turn, &step_context, usage.meter).await? {
                    continue;
                }
                return Ok(TurnEnd::Answered(answer_of_last_step(&turn, text, trust)));
            }
            if let Some(text) = program::text_before_calls(&turn) {
                return Ok(TurnEnd::Answered(answer_of_last_step(&turn, text, trust)));
            }
            let (reply, goes_on) = match next_job_step(&turn, &turn_context.job) {
                JobStep::Fail(notice) => {
                    let reason = notice.clone();
                    let plain = PlainNotice::for_reader(&notice);
                    return Ok(TurnEnd::Failed(FailedTurn {
                        notice,
                        plain,
                        reason,
                        failure: None,
                    }));
                }
                JobStep::End(text) => (ModelReply { text, ..ModelReply::default() }, None),
                JobStep::Call(call) => (ModelReply::default(), Some(vec![call])),
                JobStep::AskModel => {
                    let asked = match self.limit_reached(&turn, began) {
                        Some(notice) => Err(NoAnswer::Limit(notice)),
                        None => self.ask(&mut context, &turn, turn_context, usage).await,
                    };
                    match asked {
                        Ok(reply) => {
                            let calls = further_calls(&turn, &reply);
                            (reply, calls)
                        }
                        Err(NoAnswer::Log(error)) => return Err(error),
                        Err(no_answer) => {
                            let step_context = step_context(&turn, turn_context, &context, trust);
                            if self.record_review(&mut turn, &step_context, usage.meter).await? {
                                continue;
                            }
                            return failed(&turn, no_answer);
                        }
                    }
                }
            };
            // The request also contains the text that was compacted for it.
            let trust = trust.min(self.request_trust(&context, &turn, turn_context).await);
            if let Some(calls) = goes_on {
                self.record_step(&mut turn, ModelReply { calls, ..reply }, trust, usage.meter)
                    .await?;
                continue;
            }
            let answer = answer(&turn, &reply, trust);
            let step_context = step_context(&turn, turn_context, &context, trust);
            let call = if self.is_withheld(&turn, &answer.text, &step_context) {
                withheld::withheld_call(answer.text)
            } else if self.needs_review(&turn, &answer.text, &step_context).await {
                withheld::review_call(answer.text)
            } else {
                let iterations = turn.steps.len() + 1;
                tracing::debug!(iterations, "tool loop complete, returning text response");
                let text = withheld::with_allowed(&turn, answer.text);
                return Ok(TurnEnd::Answered(Answer { text, ..answer }));
            };
            let withheld = ModelReply { calls: vec![call], text: String::new(), ..reply };
            self.record_step(&mut turn, withheld, trust, usage.meter).await?;
        }
    }

    /// Recalls memories for the turn. They are logged before the first request: a turn whose
    /// request fails is part of later requests, too.
    async fn recall_memories(
        &self,
        turn: &mut TurnRecord,
        turn_context: &TurnContext,
        context: &RequestContext,
    ) -> Result<(), StoreError> {
        let recalled = self.recall.for_turn(turn, turn_context, &context.past).await?;
        if recalled != turn.recalled {
            self.logs.turns.record_recalled(turn.id, &recalled).await?;
            turn.recalled = recalled;
        }
        Ok(())
    }

    /// Returns the text for the user if the turn may not ask the model again.
    fn limit_reached(&self, turn: &TurnRecord, began: Duration) -> Option<LimitNotice> {
        let ran_for = self.clock.elapsed().saturating_sub(began);
        let reached = self.limits.turn.find_reached(&turn.steps, ran_for);
        reached.or_else(|| self.child_tokens_reached(turn))
    }

    /// Runs the calls of the last step and closes the step, if it is open. Returns the end if a
    /// call waits.
    async fn run_open_step(
        &self,
        turn: &mut TurnRecord,
        turn_context: &TurnContext,
        context: &RequestContext,
    ) -> Result<Option<TurnEnd>, StoreError> {
        if turn.steps.last().is_none_or(|step| step.closed) {
            return Ok(None);
        }
        let trust = self.request_trust(context, turn, turn_context).await;
        let step_context = step_context(turn, turn_context, context, trust);
        if let Some(waiting) = self.run_calls(turn, &step_context).await? {
            return Ok(Some(waiting));
        }
        self.close_step(turn).await?;
        Ok(None)
    }

    /// Records a step that waits for the review of changes, if there are any. The turn goes on after the
    /// review, and ends as it would have ended before.
    async fn record_review(
        &self,
        turn: &mut TurnRecord,
        step_context: &StepContext<'_>,
        meter: &UsageMeter,
    ) -> Result<bool, StoreError> {
        let needs_review = self.needs_review(turn, "", step_context).await;
        if needs_review {
            let calls = vec![withheld::review_call(String::new())];
            let reply = ModelReply { calls, ..ModelReply::default() };
            self.record_step(turn, reply, step_context.trust, meter).await?;
        }
        Ok(needs_review)
    }

    /// Records a reply as the next step of the turn.
    async fn record_step(
        &self,
        turn: &mut TurnRecord,
        mut reply: ModelReply,
        trust: Trust,
        meter: &UsageMeter,
    ) -> Result<(), StoreError> {
        let number = next_step(turn);
        let is_own = |call: &ToolCall| job_steps::is_job_call(call) || withheld::is_withheld(call);
        if !reply.calls.iter().all(is_own) {
            reply.calls.truncate(self.limits.turn.calls_left(&turn.steps));
        }
        let (usage, ending) = (reply.usage(), ending_of(&reply));
        let ModelReply { text, calls, written, reasoning, .. } = reply;
        let spent = meter.take();
        let step = NewStep { number, text, ending, calls, written, reasoning, usage, trust, spent };
        if let Err(error) = self.logs.turns.record_step(turn.id, &step).await {
            meter.put_back(step.spent, &error);
            return Err(error);
        }
        turn.steps.push(open_step(turn.id, step));
        Ok(())
    }

    /// Closes the step unless the last result has closed it. Fetches the attachments of the
    /// messages that steer the turn from here on.
    async fn close_step(&self, turn: &mut TurnRecord) -> Result<(), StoreError> {
        if let Some(step) = turn.steps.last_mut() {
            if !step.closed {
                step.steered = self.logs.turns.close_step(turn.id, step.number).await?;
                step.closed = true;
            }
            self.attachments.fetch(turn.id, &mut step.steered).await?;
        }
        Ok(())
    }
}

/// Returns the calls that follow a reply of the model; `None` if the reply ends the turn.
fn further_calls(turn: &TurnRecord, reply: &ModelReply) -> Option<Vec<ToolCall>> {
    if !reply.calls.is_empty() {
        return Some(reply.calls.clone());
    }
    let goes_on = job::goes_on(turn, reply).then(job::go_on_call);
    goes_on.or_else(|| job_steps::last_call(turn, reply)).map(|call| vec![call])
}

/// Returns a recorded step, whose calls are planned.
pub(crate) fn open_step(turn: TurnId, step: NewStep) -> Step {
    let NewStep { number, text, ending, calls, written, reasoning, usage, trust, .. } = step;
    let calls = (0..).zip(calls).map(|(ordinal, call)| LoggedCall {
        id: CallId { turn, step: number, ordinal },
        call,
        state: CallState::Planned,
        allowed: None,
    });
    let (calls, closed, steered) = (calls.collect(), false, Vec::new());
    Step { number, text, ending, usage, trust, calls, written, reasoning, closed, steered }
}

pub(crate) fn next_step(turn: &TurnRecord) -> u32 {
    turn.steps.last().map_or(0, |step| step.number + 1)
}

fn step_context<'a>(
    turn: &TurnRecord,
    turn_context: &'a TurnContext,
    context: &RequestContext,
    trust: Trust,
) -> StepContext<'a> {
    StepContext { turn_context, trust, seen: context.collect_seen(turn, turn_context, trust) }
}

/// Ends a turn without an answer.
fn failed(turn: &TurnRecord, no_answer: NoAnswer) -> Result<TurnEnd, StoreError> {
    let (reason, failure) = match no_answer {
        NoAnswer::Log(error) => return Err(error),
        NoAnswer::Limit(LimitNotice { text, plain, needs_owner }) => {
            let failed = FailedTurn::new(text, FailureCode::LimitReached);
            let notice = withheld::with_allowed(turn, failed.notice);
            let plain = PlainNotice { text: withheld::with_allowed(turn, plain), needs_owner };
            return Ok(TurnEnd::Failed(FailedTurn { notice, plain, ..failed }));
        }
        NoAnswer::Unanswerable(reason) => (reason, FailureCode::LimitReached.into()),
        NoAnswer::Model(error) => (error.to_string(), TurnFailure::from(&error)),
        NoAnswer::Instructions(error) => (error.to_string(), FailureCode::Internal.into()),
    };
    let notice = withheld::with_allowed(turn, could_not_answer(&reason));
    let PlainNotice { text, needs_owner } = PlainNotice::of_failure(failure.code);
    let plain = PlainNotice { text: withheld::with_allowed(turn, text), needs_owner };
    let (reason, failure) = (end_sentence(reason), Some(failure));
    Ok(TurnEnd::Failed(FailedTurn { notice, plain, reason, failure }))
}

fn answer(turn: &TurnRecord, reply: &ModelReply, trust: Trust) -> Answer {
    let mut text = reply.text.trim_start_matches(['\n', '\r']).trim_end().to_owned();
    if job::is_job(&turn.session) {
        text = job::without_mark(&text);
    }
    let unseen = images::describe_unseen(turn).filter(|_| !text.is_empty());
    let ending = ending_of(reply);
    for note in unseen.as_deref().into_iter().chain(ending.ending_mark()) {
        text.push_str("\n\n");
        text.push_str(note);
    }
    let text = withheld::with_denied(turn, text);
    Answer { step: next_step(turn), text, ending, usage: reply.usage(), trust }
}

/// Returns an answer whose text the last step has already, and its end.
fn answer_of_last_step(turn: &TurnRecord, text: String, trust: Trust) -> Answer {
    let ending = turn.steps.last().map(|step| step.ending).unwrap_or_default();
    Answer { step: next_step(turn), text, ending, usage: Usage::default(), trust }
}

fn ending_of(reply: &ModelReply) -> AnswerEnding {
    match reply {
        ModelReply { filtered: true, .. } => AnswerEnding::Filtered,
        ModelReply { truncated: true, .. } => AnswerEnding::CutOff,
        ModelReply { .. } => AnswerEnding::Complete,
    }
}

#[cfg(test)]
#[path = "agent_loop_tests.rs"]
mod tests;
