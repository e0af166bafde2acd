//! Runs the calls of one step, from their state in the log to a result for each.
//!
//! ```text
//! state in the log             next
//! planned                      ask the registry: finish with a refusal | wait | run
//! planned, approved            the same, with the approval
//! interrupted, with evidence   happened: its result | not: as planned | unknown: an error
//! interrupted, without         wait for a person: run again or skip
//! finished                     nothing
//!
//! run:   T2 start call (not for pure ones) -> execute -> T3 finish call
//! wait:  the turn ends its run; all waits of the step begin in one transaction
//! ```
//!
//! **Order.** Calls run in the order of the model. Neighbours that allow it run side by side, as a
//! batch. Another call waits for the batch before it: it may depend on its effects.
//!
//! **A wait for a person ends the step for now.** The calls behind it stay planned. A wait for a
//! child does not, so that the children of a step run side by side. Only a call that runs alone can
//! make the turn wait, or start a child.
//!
//! **T2 before the effect, T3 after it.** A crash in between leaves the call started. At the start
//! the store plans pure calls and calls in the log again, and marks the others interrupted. An
//! effect is never repeated without a person's word.
//!
//! **Text that comes in lowers the trust.** A result has the level of its tool, unless the output
//! states another, and at most that of all that the call has read. The text of an error may come
//! from outside, too.

use std::sync::Arc;

use avocet_protocol::access::{LeastTrust, Trust};
use avocet_protocol::chat::LoggedInbound;
use avocet_protocol::ids::CallId;
use avocet_protocol::store::StoreError;
use avocet_protocol::tool::{
    LogWrite, PreparedCall, Seen, SkillCall, SkillLimit, ToolClass, ToolContext, ToolError,
    ToolOutcome, ToolOutput, Verdict, WaitKind, WaitRequest,
};
use avocet_protocol::turn::{CallResult, CallState, LoggedCall, ResultKind, TurnEvent, TurnRecord};
use futures_util::future::try_join_all;

use crate::truncate::{CutResult, cut_error, cut_result};
use crate::{
    AgentLoop, CallWait, TurnContext, TurnEnd, job, job_steps, offer, program, repeats, withheld,
};

/// The context of a step's calls.
pub(crate) struct StepContext<'a> {
    pub(crate) turn_context: &'a TurnContext,
    /// The lowest trust of the model's input.
    pub(crate) trust: Trust,
    /// The relevant parts of that input.
    pub(crate) seen: Arc<Seen>,
}

/// The next action for a call.
enum CallAction {
    /// The call has this result without being run.
    Finish(CallResult),
    /// The call has to wait first.
    Wait(WaitRequest),
    /// The call can run.
    Run(PreparedCall),
}

/// The outcome of running a call.
enum CallOutcome {
    Finished(LoggedResult),
    Waiting(WaitRequest),
}

/// A result that is in the log.
struct LoggedResult {
    result: CallResult,
    /// The messages that steer the turn from here on, if this was the last result of the step.
    steered: Option<Vec<LoggedInbound>>,
}

struct CallRun<'c> {
    place: usize,
    prepared: &'c PreparedCall,
    size: BatchSize,
    /// Children that the step starts already.
    pending: u32,
}

/// Calls of the step that run side by side, by their place.
type Batch = Vec<(usize, PreparedCall)>;

/// Only a call that runs alone can make the turn wait, or start a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BatchSize {
    One,
    Several,
}

/// The waits that the calls of a step have asked for. They begin together, in one transaction.
#[derive(Default)]
struct StepWaits {
    /// For children. The step goes on meanwhile, so that its children run side by side.
    children: Vec<CallWait>,
    /// For a person, which ends the step for now.
    other: Option<CallWait>,
}

impl StepWaits {
    fn add(&mut self, wait: CallWait) {
        match wait.request.kind {
            WaitKind::Child => self.children.push(wait),
            WaitKind::Approval | WaitKind::Answer | WaitKind::Choice => self.other = Some(wait),
        }
    }

    /// Returns the end of the turn's run, if there is a wait.
    fn end(self) -> Option<TurnEnd> {
        let waits: Vec<CallWait> = self.children.into_iter().chain(self.other).collect();
        (!waits.is_empty()).then_some(TurnEnd::Waiting(waits))
    }
}

impl AgentLoop {
    /// Runs the open calls of the last step in order, those that allow it side by side. Returns the
    /// end if a call waits.
    pub(crate) async fn run_calls(
        &self,
        turn: &mut TurnRecord,
        step_context: &StepContext<'_>,
    ) -> Result<Option<TurnEnd>, StoreError> {
        let step = turn.steps.last().map_or(&[][..], |step| &step.calls);
        let open: Vec<usize> =
            (0..step.len()).filter(|place| step[*place].result().is_none()).collect();
        let (iteration, count) = (turn.steps.len(), open.len());
        tracing::debug!(iteration, count, "executing tool calls");
        let (mut batch, mut waits) = (Batch::new(), StepWaits::default());
        for place in open {
            let decision = match self.decide(turn, place, step_context).await? {
                CallAction::Run(prepared) if prepared.parallel => {
                    batch.push((place, prepared));
                    continue;
                }
                decision => decision,
            };
            self.run_batch(turn, &mut batch, &mut waits, step_context).await?;
            if waits.other.is_some() {
                break;
            }
            match decision {
                CallAction::Finish(result) => self.finish_unrun(turn, place, result).await?,
                CallAction::Wait(request) => {
                    waits.add(CallWait { call: call_at(turn, place).id, request });
                }
                CallAction::Run(prepared) => {
                    batch.push((place, prepared));
                    self.run_batch(turn, &mut batch, &mut waits, step_context).await?;
                }
            }
            if waits.other.is_some() {
                break;
            }
        }
        if waits.other.is_none() {
            self.run_batch(turn, &mut batch, &mut waits, step_context).await?;
        }
        Ok(waits.end())
    }

    async fn decide(
        &self,
        turn: &TurnRecord,
        place: usize,
        step_context: &StepContext<'_>,
    ) -> Result<CallAction, StoreError> {
        let logged = call_at(turn, place);
        match &logged.state {
            CallState::Planned => {}
            CallState::Interrupted { evidence: None } => {
                let context = self.context(turn, logged.id, step_context);
                return Ok(CallAction::Wait(self.choice(logged, &context).await));
            }
            CallState::Interrupted { evidence: Some(evidence) } => {
                match self.toolbox.verify(&logged.call, evidence).await {
                    Verdict::Happened(value) => {
                        return Ok(CallAction::Finish(CallResult::ok(value)));
                    }
                    Verdict::Unknown => {
                        let error = CallResult::error(&format!(
                            "interrupted by a restart, and {} now has neither its old nor its new \
                                content; check it before you repeat the call",
                            evidence.subject
                        ));
                        let error = error.with_kind(ResultKind::OutcomeUnknown);
                        return Ok(CallAction::Finish(error));
                    }
                    Verdict::DidNotHappen => {}
                }
            }
            CallState::Started | CallState::Waiting | CallState::Finished(_) => {
                return Err(StoreError::Stale(logged.id.to_string()));
            }
        }
        let refusal = job_steps::refusal(turn, &logged.call, &step_context.turn_context.job);
        let own = job::go_on_result(&logged.call).or(refusal);
        if let Some(result) = own.or_else(|| program::call_result(turn, &logged.call)) {
            return Ok(CallAction::Finish(result));
        }
        let allowed = logged.allowed.as_deref();
        let is_new = logged.state == CallState::Planned && allowed.is_none();
        if is_new && let Some(refusal) = repeats::refuse_repeat(&turn.steps, &logged.call) {
            return Ok(CallAction::Finish(refusal));
        }
        let specs = || self.specs(turn, step_context.turn_context);
        if let Some(result) = offer::use_tools_result(&logged.call, specs) {
            return Ok(CallAction::Finish(result));
        }
        let context = self.context(turn, logged.id, step_context);
        if let Some(text) = withheld::withheld_text(&logged.call) {
            let request = self.toolbox.hold(&text, &context);
            let request = request.filter(|request| !request.is_allowed(allowed));
            let said = || CallAction::Finish(CallResult::ok("said".into()));
            return Ok(request.map_or_else(said, CallAction::Wait));
        }
        if let Some(text) = withheld::reviewed_text(&logged.call) {
            let request = self.toolbox.review_changes(&text, &context).await;
            if let Some(request) = request.filter(|request| !request.is_allowed(allowed)) {
                return Ok(CallAction::Wait(request));
            }
            self.toolbox.keep_changes(&context).await;
            return Ok(CallAction::Finish(CallResult::ok("the changes stay".into())));
        }
        Ok(match self.toolbox.prepare(&logged.call, allowed, &context).await {
            Err(error) => CallAction::Finish(failed(&logged.call.name, &error, context.read.get())),
            Ok(PreparedCall { approval: Some(request), .. }) => CallAction::Wait(request),
            Ok(prepared) => CallAction::Run(prepared),
        })
    }

    /// Asks a person about an interrupted call with an effect: only a person can find out its
    /// outcome.
    async fn choice(&self, logged: &LoggedCall, context: &ToolContext) -> WaitRequest {
        WaitRequest {
            kind: WaitKind::Choice,
            prompt: Some(Box::new(self.toolbox.interrupted(&logged.call, context).await)),
            expires_after: self.limits.turn.choice_expires_after,
            writes: Vec::new(),
            grant: None,
            shown: None,
            remark: None,
        }
    }

    /// Runs the calls of a batch side by side and empties the batch.
    async fn run_batch(
        &self,
        turn: &mut TurnRecord,
        batch: &mut Batch,
        waits: &mut StepWaits,
        step_context: &StepContext<'_>,
    ) -> Result<(), StoreError> {
        let size = if batch.len() == 1 { BatchSize::One } else { BatchSize::Several };
        let pending = u32::try_from(waits.children.len()).unwrap_or(u32::MAX);
        let running = batch.drain(..).map(async |(place, prepared)| {
            let run = CallRun { place, prepared: &prepared, size, pending };
            let ran = self.run_call(turn, run, step_context).await?;
            Ok::<_, StoreError>((place, ran))
        });
        for (place, ran) in try_join_all(running).await? {
            match ran {
                CallOutcome::Finished(logged) => set_result(turn, place, logged),
                CallOutcome::Waiting(request) => {
                    waits.add(CallWait { call: call_at(turn, place).id, request });
                }
            }
        }
        Ok(())
    }

    /// Records the start (T2) unless the call is pure, runs the call, and records the result (T3).
    async fn run_call(
        &self,
        turn: &TurnRecord,
        run: CallRun<'_>,
        step_context: &StepContext<'_>,
    ) -> Result<CallOutcome, StoreError> {
        let CallRun { place, prepared, size, pending } = run;
        let logged = call_at(turn, place);
        let name = logged.call.name.clone();
        if prepared.class != ToolClass::Pure {
            let evidence = prepared.evidence.as_ref();
            self.logs.turns.start_call(logged.id, prepared.class, evidence).await?;
        }
        tracing::debug!(name, "executing tool");
        let about = self.toolbox.about(&logged.call);
        let started = TurnEvent::ToolStarted { name: name.clone(), about, call: Some(logged.id) };
        self.events.emit(&turn.session, started);
        let context = self.context(turn, logged.id, step_context);
        let outcome = match self.toolbox.execute(&logged.call, &context).await {
            Ok(outcome) => self.check_spawn(turn, outcome, pending).await?,
            Err(error) => Err(error),
        };
        let outcome = match outcome {
            Ok(ToolOutcome::Waiting(request)) if size == BatchSize::One => {
                return Ok(CallOutcome::Waiting(request));
            }
            Ok(ToolOutcome::Waiting(_)) => Err(ToolError::ExecutionFailed(
                "a tool cannot wait while it runs in parallel with others; call it alone"
                    .to_owned(),
            )),
            Ok(ToolOutcome::Finished(output)) => Ok(output),
            Err(error) => Err(error),
        };
        let (result, kept, writes) = match outcome {
            // The text of an error may come from a page, a file or a server.
            Err(error) => {
                let trust = prepared.trust.min(context.read.get());
                (failed(&name, &error, trust), None, Vec::new())
            }
            Ok(ToolOutput { value, writes, trust }) => {
                let trust = trust.unwrap_or(prepared.trust).min(context.read.get());
                let CutResult { value, kept } =
                    cut_result(value, &logged.id.to_string(), prepared.output);
                let kind = if kept.is_some() { ResultKind::Cut } else { ResultKind::Usual };
                (CallResult { ok: true, value, trust, kind }, kept, writes)
            }
        };
        let finish = self.logs.turns.finish_call(logged.id, &result, kept.as_deref(), &writes);
        let steered = finish.await?;
        let finished = TurnEvent::ToolFinished { name, ok: result.ok, call: Some(logged.id) };
        self.events.emit(&turn.session, finished);
        Ok(CallOutcome::Finished(LoggedResult { result, steered }))
    }

    /// Refuses to start a child that the limits of the turn do not allow.
    async fn check_spawn(
        &self,
        turn: &TurnRecord,
        outcome: ToolOutcome,
        pending: u32,
    ) -> Result<Result<ToolOutcome, ToolError>, StoreError> {
        let writes = match &outcome {
            ToolOutcome::Waiting(request) => &request.writes,
            ToolOutcome::Finished(output) => &output.writes,
        };
        if !writes.iter().any(|write| matches!(write, LogWrite::Spawn(_))) {
            return Ok(Ok(outcome));
        }
        let family = self.logs.turns.family(turn.id).await?;
        Ok(match self.limits.turn.no_child(family, pending) {
            Some(reason) => Err(ToolError::ExecutionFailed(reason)),
            None => Ok(outcome),
        })
    }

    /// Records the result of a call that is not run (T3).
    async fn finish_unrun(
        &self,
        turn: &mut TurnRecord,
        place: usize,
        result: CallResult,
    ) -> Result<(), StoreError> {
        let id = call_at(turn, place).id;
        let steered = self.logs.turns.finish_call(id, &result, None, &[]).await?;
        set_result(turn, place, LoggedResult { result, steered });
        Ok(())
    }

    pub(crate) fn context(
        &self,
        turn: &TurnRecord,
        call: CallId,
        step_context: &StepContext<'_>,
    ) -> ToolContext {
        let turn_context = step_context.turn_context;
        ToolContext {
            call,
            session: turn.session.clone(),
            chat: turn_context.chat.clone(),
            cancel: turn_context.cancel.clone(),
            role: turn_context.role(turn),
            trust: step_context.trust,
            place: turn_context.place(turn),
            asker: turn_context.asker(turn),
            recalled: turn.recalled.as_slice().into(),
            grants: turn_context.grants.clone(),
            mode: turn_context.mode,
            rules: self.rules_of_turn(turn, turn_context).into(),
            as_text: turn
                .steps
                .iter()
                .any(|step| step.number == call.step && step.written.is_some()),
            seen: step_context.seen.clone(),
            read: LeastTrust::default(),
            skills: skill_calls(turn, call),
            skills_above: turn_context.skills_above.clone(),
            bits: turn_context.bits,
        }
    }
}

/// The finished calls of a turn before `call` whose results state a skill. The registry knows which
/// of them are calls of the tool that loads skills.
fn skill_calls(turn: &TurnRecord, call: CallId) -> Vec<SkillCall> {
    let place = |id: CallId| (id.step, id.ordinal);
    let calls = turn.steps.iter().flat_map(|step| &step.calls);
    let earlier = calls.filter(|logged| place(logged.id) < place(call));
    let stated = earlier.filter_map(|logged| {
        let result = logged.result().filter(|result| result.ok)?;
        let limit = SkillLimit::of_result(&result.value)?;
        Some(SkillCall { tool: logged.call.name.clone(), limit })
    });
    stated.collect()
}

fn failed(name: &str, error: &ToolError, trust: Trust) -> CallResult {
    let text = cut_error(error.to_string());
    tracing::debug!(name, error = text, "tool execution failed");
    let kind = match error {
        ToolError::PermissionDenied(_) => ResultKind::Refused,
        _ => ResultKind::Usual,
    };
    CallResult { trust, kind, ..CallResult::error(&text) }
}

fn call_at(turn: &TurnRecord, place: usize) -> &LoggedCall {
    &turn.steps[turn.steps.len() - 1].calls[place]
}

fn set_result(turn: &mut TurnRecord, place: usize, logged: LoggedResult) {
    let Some(step) = turn.steps.last_mut() else { return };
    step.calls[place].state = CallState::Finished(logged.result);
    if let Some(steered) = logged.steered {
        (step.closed, step.steered) = (true, steered);
    }
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "skills_tests.rs"]
mod skills_tests;

#[cfg(test)]
#[path = "children_tests.rs"]
mod children_tests;
