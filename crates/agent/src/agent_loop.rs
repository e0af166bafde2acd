//! The tool loop: asks the model, runs its calls, and asks again until the model answers or a cap
//! is reached.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use avocet_protocol::{
    Answer, CallId, CallState, ChatAddress, ChatKind, Clock, Delta, Files, Grant, Inbound, Ledger,
    LoggedCall, LoggedInbound, Model, ModelError, ModelReply, ModelRequest, NewStep, Place,
    Purpose, Role, Roles, Step, StoreError, Toolbox, Trust, TurnEvent, TurnEvents, TurnLog,
    TurnRecord, Usage, WaitRequest,
};
use jiff::tz::TimeZone;
use tokio_util::sync::CancellationToken;

use crate::budgets::{Bill, NoAnswer};
use crate::calls::Set;
use crate::context::RequestContext;
use crate::{Budgets, Marks, TurnLimits, Unbooked, held, images, window};

/// Runs turns. All I/O (SQL, HTTP, channels) goes through ports.
#[derive(Debug, Clone)]
pub struct AgentLoop {
    /// The model that answers.
    pub model: Arc<dyn Model>,
    /// The cheap model for internal work such as summaries. May equal `model`.
    pub cheap: Arc<dyn Model>,
    /// The available tools.
    pub toolbox: Arc<dyn Toolbox>,
    /// The log, which stores each step before the next begins.
    pub log: Arc<dyn TurnLog>,
    /// Receives the progress of the turn.
    pub events: Arc<dyn TurnEvents>,
    /// The pictures that the model is shown.
    pub files: Arc<dyn Files>,
    /// The time source.
    pub clock: Arc<dyn Clock>,
    /// The caps on a turn.
    pub limits: TurnLimits,
    /// The ledger of model costs.
    pub ledger: Arc<dyn Ledger>,
    /// The limits on model costs.
    pub budgets: Budgets,
    /// Costs that are still to be written to the ledger.
    pub unbooked: Arc<Unbooked>,
    /// The instructions that lead every request, before those of the workspace.
    pub system: Arc<str>,
    /// The time zone in which the model is told the time.
    pub zone: TimeZone,
    /// Marks around text by anybody but the owners.
    pub marks: Marks,
}

/// The context of a turn: its chat, its senders' roles, its cancellation.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The destination of the reply; `None` for a turn without a chat, such as a child's.
    pub chat: Option<ChatAddress>,
    /// Fires when the turn is cancelled.
    pub cancel: CancellationToken,
    /// For a child: the messages that the turn at the root works on.
    pub asked_by: Vec<LoggedInbound>,
    /// Looks up the roles of senders.
    pub roles: Arc<dyn Roles>,
    /// The permissions that a person has granted for the session.
    pub grants: Arc<[Grant]>,
}

impl Scene {
    /// Returns the lowest role among the senders of the turn's messages. Roles are looked up now,
    /// since the turn may have been steered, or a sender removed, after it began. Without a sender:
    /// a user's role.
    pub(crate) fn role(&self, turn: &TurnRecord) -> Role {
        let roles = self.asking(turn).map(|message| self.roles.role(&message.message.inbound));
        roles.min().unwrap_or_default()
    }

    /// Returns the place at which the root turn was asked. It counts as a group if one of its
    /// messages came from a group.
    pub(crate) fn place(&self, turn: &TurnRecord) -> Place {
        let mut place = Place { channel: None, chat: ChatKind::Private };
        for Inbound { address, chat, .. } in self.asking(turn).map(|one| &one.message.inbound) {
            place.channel = Some(address.channel.clone());
            if *chat == ChatKind::Group {
                place.chat = ChatKind::Group;
            }
        }
        place
    }

    /// Returns the messages whose text the turn works on.
    fn asking<'a>(&'a self, turn: &'a TurnRecord) -> impl Iterator<Item = &'a LoggedInbound> {
        let steered = turn.steps.iter().flat_map(|step| &step.steered);
        self.asked_by.iter().chain(turn.origin.messages()).chain(steered)
    }
}

/// The end of a turn, or its pause.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEnd {
    /// The model has answered.
    Answered(Answer),
    /// A cap was reached or the model failed. The user is sent this text.
    Failed(String),
    /// A call waits for an outside event, and the turn with it.
    Waiting {
        /// The call that waits.
        call: CallId,
        /// The event that it waits for.
        request: WaitRequest,
    },
}

/// Ends an answer that was cut at the model's output limit or at ours.
pub const CUT_OFF: &str = "[The answer was cut off: it reached its output limit.]";
/// The number of empty answers from a model after which the user gets an error.
const EMPTY_ANSWERS: u32 = 3;
/// The number of times a request is made shorter because the model reports it as too long.
const TOO_MUCH: u32 = 3;

impl AgentLoop {
    /// Runs a turn from the end of its log until it answers, fails or waits. The steps are logged
    /// here; the caller logs the end.
    ///
    /// # Errors
    /// [`StoreError`] if the log refused a step. [`StoreError::Stale`] means that the turn was
    /// ended from outside.
    pub async fn run_tool_loop(
        &self,
        mut turn: TurnRecord,
        scene: &Scene,
    ) -> Result<TurnEnd, StoreError> {
        let began = self.clock.elapsed();
        let mut context = self.open_context(&turn, &scene.roles).await?;
        loop {
            if let Some(step) = turn.steps.last()
                && !step.closed
            {
                let trust = context.trust(&turn);
                let set = Set { scene, trust, seen: context.seen(&turn, scene, trust) };
                if let Some(waiting) = self.run_calls(&mut turn, &set).await? {
                    return Ok(waiting);
                }
                self.close_step(&mut turn).await?;
            }
            let trust = context.trust(&turn);
            if let Some(text) = held::released(&turn) {
                return Ok(TurnEnd::Answered(Answer {
                    step: next_step(&turn),
                    text,
                    usage: Usage::default(),
                    trust,
                }));
            }
            let ran_for = self.clock.elapsed().saturating_sub(began);
            if let Some(notice) = self.limits.reached(&turn.steps, ran_for) {
                return Ok(TurnEnd::Failed(held::with_allowed(&turn, notice)));
            }
            let until = began.saturating_add(self.limits.max_duration);
            let reply = match self.ask(&mut context, &turn, scene, until).await {
                Ok(reply) => reply,
                Err(NoAnswer::Log(error)) => return Err(error),
                Err(NoAnswer::Limit(notice)) => {
                    return Ok(TurnEnd::Failed(held::with_allowed(&turn, notice)));
                }
                Err(NoAnswer::Model(error)) => {
                    let notice = format!("I could not answer: {error}.");
                    return Ok(TurnEnd::Failed(held::with_allowed(&turn, notice)));
                }
            };
            // The request also contains the text that was compacted for it.
            let trust = trust.min(context.trust(&turn));
            if !reply.calls.is_empty() {
                self.record_step(&mut turn, reply, trust).await?;
                continue;
            }
            let answer = answer(&turn, &reply, trust);
            let answer = Answer { text: held::with_denied(&turn, answer.text), ..answer };
            let set = Set { scene, trust, seen: context.seen(&turn, scene, trust) };
            if !self.is_held(&turn, &answer.text, &set) {
                let iterations = turn.steps.len() + 1;
                tracing::debug!(iterations, "tool loop complete, returning text response");
                let text = held::with_allowed(&turn, answer.text);
                return Ok(TurnEnd::Answered(Answer { text, ..answer }));
            }
            let held =
                ModelReply { calls: vec![held::call(answer.text)], text: String::new(), ..reply };
            self.record_step(&mut turn, held, trust).await?;
        }
    }

    /// Records the step (T1).
    async fn record_step(
        &self,
        turn: &mut TurnRecord,
        mut reply: ModelReply,
        trust: Trust,
    ) -> Result<(), StoreError> {
        let number = next_step(turn);
        reply.calls.truncate(self.limits.calls_left(&turn.steps));
        let usage = reply.usage();
        let ModelReply { text, calls, written, reasoning, .. } = reply;
        let step = NewStep { number, text, calls, written, reasoning, usage, trust };
        self.log.record_step(turn.id, &step).await?;
        let logged = (0..).zip(step.calls).map(|(ordinal, call)| LoggedCall {
            id: CallId { turn: turn.id, step: number, ordinal },
            call,
            state: CallState::Planned,
            allowed: None,
        });
        turn.steps.push(Step {
            number,
            text: step.text,
            usage,
            trust,
            calls: logged.collect(),
            written: step.written,
            reasoning: step.reasoning,
            closed: false,
            steered: Vec::new(),
        });
        Ok(())
    }

    /// Closes the step (T4).
    async fn close_step(&self, turn: &mut TurnRecord) -> Result<(), StoreError> {
        if let Some(step) = turn.steps.last_mut() {
            step.steered = self.log.close_step(turn.id, step.number).await?;
            step.closed = true;
        }
        Ok(())
    }

    /// Asks the model until it answers with text or a call.
    async fn ask(
        &self,
        context: &mut RequestContext,
        turn: &TurnRecord,
        scene: &Scene,
        until: Duration,
    ) -> Result<ModelReply, NoAnswer> {
        let bill =
            Bill { turn: Some(turn.id), session: &turn.session, purpose: Purpose::Answer, until };
        let mut wasted = Vec::new();
        for _ in 0..EMPTY_ANSWERS {
            let step = next_step(turn);
            self.events.emit(&turn.session, TurnEvent::Thinking { step });
            let mut reply = self.ask_what_fits(context, turn, scene, bill).await?;
            wasted.append(&mut reply.spent);
            if !reply.calls.is_empty() || !reply.text.trim().is_empty() {
                return Ok(ModelReply { spent: wasted, ..reply });
            }
            tracing::debug!(model = self.model.name(), "the model answered with nothing");
        }
        Err(NoAnswer::Limit(format!(
            "I could not answer: {} answered {EMPTY_ANSWERS} times with nothing. /new starts afresh.",
            self.model.name()
        )))
    }

    /// Asks with as much as fits into the model's window, and with less if the model reports that
    /// this was too long.
    async fn ask_what_fits(
        &self,
        context: &mut RequestContext,
        turn: &TurnRecord,
        scene: &Scene,
        bill: Bill<'_>,
    ) -> Result<ModelReply, NoAnswer> {
        let role = scene.role(turn);
        let tools = self.toolbox.specs(role, &scene.place(turn));
        let facts = self.model.facts().await;
        // An answer that may be withheld is hidden while it is written.
        let shows = context.trust(turn).suffices_for(role);
        let mut attempts = 0;
        loop {
            let room = context.room(facts, self.limits, &tools);
            let messages = self.fit(context, turn, room, bill).await?;
            let images = match facts.images {
                true => images::load(self.files.as_ref(), &messages).await,
                false => BTreeMap::new(),
            };
            let request = ModelRequest { messages, tools: tools.clone(), images };
            let tokens = request.estimated_tokens();
            match self.ask_once(request, shows, bill).await {
                Err(NoAnswer::Model(ModelError::TooLong { model, detail, window }))
                    if attempts < TOO_MUCH =>
                {
                    attempts += 1;
                    tracing::info!(model, detail, tokens, "the request is made shorter");
                    let window = window.map(|tokens| window::of(tokens, None, self.limits));
                    context.learn(model, window.unwrap_or(tokens * 3 / 4));
                }
                reply => return reply,
            }
        }
    }

    /// Asks once. If the request is refused, repeats it without its pictures: a picture that the
    /// server cannot read, or has no room for, would be part of every later request.
    async fn ask_once(
        &self,
        mut request: ModelRequest,
        shows: bool,
        bill: Bill<'_>,
    ) -> Result<ModelReply, NoAnswer> {
        use ModelError::{Refused, TooLong};
        let shown = AtomicBool::new(false);
        let deltas = |delta: Delta<'_>| {
            let event = match delta {
                Delta::Text(text) => TurnEvent::Text { delta: text.to_owned() },
                Delta::Restart => TurnEvent::Restarted,
                Delta::Lost(_) => return,
            };
            if !shows {
                return;
            }
            shown.store(matches!(event, TurnEvent::Text { .. }), Ordering::Relaxed);
            self.events.emit(bill.session, event);
        };
        let model = self.model.as_ref();
        let reply = self.ask_within_budgets(model, bill, &request, &deltas).await;
        // If the window is known, a shorter request can keep its pictures.
        let refused = matches!(
            reply,
            Err(NoAnswer::Model(Refused { lasting: false, .. } | TooLong { window: None, .. }))
        );
        if !refused || request.images.is_empty() {
            return reply;
        }
        tracing::warn!("the request was refused; it is made without its pictures");
        if shown.load(Ordering::Relaxed) {
            deltas(Delta::Restart);
        }
        request.images.clear();
        self.ask_within_budgets(model, bill, &request, &deltas).await
    }
}

pub(crate) fn next_step(turn: &TurnRecord) -> u32 {
    turn.steps.last().map_or(0, |step| step.number + 1)
}

fn answer(turn: &TurnRecord, reply: &ModelReply, trust: Trust) -> Answer {
    let mut text = reply.text.trim_start_matches(['\n', '\r']).trim_end().to_owned();
    if reply.truncated {
        text.push_str("\n\n");
        text.push_str(CUT_OFF);
    }
    if reply.filtered {
        text.push_str("\n\n[A filter of the model's provider ended the answer here.]");
    }
    Answer { step: next_step(turn), text, usage: reply.usage(), trust }
}

#[cfg(test)]
#[path = "agent_loop_tests.rs"]
mod tests;
