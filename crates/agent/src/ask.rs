//! Asks the model for one step, with as much as fits into its window. Asks again after an empty
//! answer, after an answer that does not match the schema of its program, or with a smaller request
//! after a refusal.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use avocet_protocol::access::Trust;
use avocet_protocol::model::{Delta, Message, ModelError, ModelReply, ModelRequest};
use avocet_protocol::turn::{AnswerRequest, TurnEvent, TurnRecord};
use avocet_text::end_sentence;

use crate::agent_loop::next_step;
use crate::answer_view::AnswerView;
use crate::budgets::{NoAnswer, UsageContext};
use crate::context::RequestContext;
use crate::json_answer::{AnswerValidator, ask_for_correction};
use crate::owner_rules::rules_text;
use crate::{AgentLoop, TurnContext, images, program, window};

/// The number of empty answers from a model after which the user gets an error.
const EMPTY_ANSWERS: u32 = 3;
/// The number of times an answer that does not match its schema is corrected.
const MAX_CORRECTIONS: usize = 2;
/// The number of times a request is made shorter because the model reports it as too long.
const MAX_SHORTER_REQUESTS: u32 = 3;

impl AgentLoop {
    /// Asks the model until it answers with text or a call. The text matches the schema of the
    /// program that asks, unless it was cut off.
    pub(crate) async fn ask(
        &self,
        context: &mut RequestContext,
        turn: &TurnRecord,
        turn_context: &TurnContext,
        usage: UsageContext<'_>,
    ) -> Result<ModelReply, NoAnswer> {
        let validator = answer_validator(turn)?;
        // A line below the answer tells other senders, but it would break JSON.
        if let Some(reason) = images::explain_unseen(turn).filter(|_| validator.is_some()) {
            return Err(NoAnswer::Unanswerable(reason));
        }
        let mut corrections = Vec::new();
        let mut wasted = Vec::new();
        loop {
            let asked = self.ask_until_answered(context, turn, turn_context, usage, &corrections);
            let mut reply = asked.await?;
            wasted.append(&mut reply.spent);
            let is_whole = reply.calls.is_empty() && !reply.truncated && !reply.filtered;
            let checked = validator.as_ref().filter(|_| is_whole);
            let checked = checked.map(|validator| validator.check_answer(&reply.text));
            let Some(Err(faults)) = checked else {
                return Ok(ModelReply { spent: wasted, ..reply });
            };
            if corrections.len() == 2 * MAX_CORRECTIONS {
                return Err(NoAnswer::Unanswerable(format!(
                    "{} gave no JSON that is valid by the schema in {} \
                     answers; the last: {}",
                    self.models.main.name(),
                    MAX_CORRECTIONS + 1,
                    end_sentence(faults.join("; ")),
                )));
            }
            tracing::debug!(?faults, "the answer does not match its schema; asking again");
            corrections.push(Message::assistant(reply.text, Vec::new()));
            corrections.push(Message::user(ask_for_correction(&faults)));
        }
    }

    async fn ask_until_answered(
        &self,
        context: &mut RequestContext,
        turn: &TurnRecord,
        turn_context: &TurnContext,
        usage: UsageContext<'_>,
        corrections: &[Message],
    ) -> Result<ModelReply, NoAnswer> {
        let mut wasted = Vec::new();
        for _ in 0..EMPTY_ANSWERS {
            let step = next_step(turn);
            self.events.emit(&turn.session, TurnEvent::Thinking { step });
            let asked = self.ask_within_window(context, turn, turn_context, usage, corrections);
            let mut reply = asked.await?;
            wasted.append(&mut reply.spent);
            if !reply.calls.is_empty() || !reply.text.trim().is_empty() {
                return Ok(ModelReply { spent: wasted, ..reply });
            }
            tracing::debug!(
                model = self.models.main.name(),
                "the model sent an empty answer; asking again"
            );
        }
        Err(NoAnswer::Unanswerable(format!(
            "{} answered {EMPTY_ANSWERS} times with nothing. /new starts a new \
                conversation.",
            self.models.main.name()
        )))
    }

    /// Asks with as much as fits into the model's window, and with less if the model reports that
    /// this was too long.
    async fn ask_within_window(
        &self,
        context: &mut RequestContext,
        turn: &TurnRecord,
        turn_context: &TurnContext,
        usage: UsageContext<'_>,
        corrections: &[Message],
    ) -> Result<ModelReply, NoAnswer> {
        let facts = self.models.main.facts().await;
        let trust = self.request_trust(context, turn, turn_context).await;
        let mut attempts = 0;
        // A rule may have come since the turn began.
        context.rules = rules_text(&self.rules_of_turn(turn, turn_context));
        loop {
            let offer = self.offered_tools(context, turn, turn_context, facts);
            let room = context.compute_room(facts, self.limits.turn, offer.tokens);
            let mut messages = self.fit(context, turn, room, usage).await?;
            corrections.iter().for_each(|message| messages.push(message.clone()));
            // A compaction may have left out the turns that used a group of tools.
            let offer = self.offered_tools(context, turn, turn_context, facts);
            let (tools, deferred) = (offer.tools.clone(), offer.deferred.clone());
            let images = if facts.images {
                images::load(self.files.as_ref(), &messages).await
            } else {
                BTreeMap::new()
            };
            let options = self.request_options();
            let program = program::request_of(turn);
            let answer_schema = program.and_then(|program| program.answer_schema.clone());
            let request = ModelRequest {
                answer_schema: answer_schema.map(Arc::new),
                messages,
                tools,
                deferred,
                images,
                options,
            };
            // The request also contains the text that was compacted for it.
            let trust = trust.min(self.request_trust(context, turn, turn_context).await);
            self.note_request(turn, &request, trust);
            let view = self.answer_view(context, turn, turn_context, trust);
            match self.ask_once(&request, &view, usage).await {
                Err(NoAnswer::Model(ModelError::TooLong { model, detail, window }))
                    if attempts < MAX_SHORTER_REQUESTS =>
                {
                    attempts += 1;
                    let tokens = request.estimated_tokens();
                    tracing::info!(
                        model,
                        %detail,
                        tokens,
                        "the request is too long for the model; retrying with a shorter one"
                    );
                    let named =
                        window.map(|tokens| window::room_in_window(tokens, None, self.limits.turn));
                    // The tokens are estimated, so a refused request may seem to fit.
                    let named = named.filter(|room| *room < tokens || attempts == 1);
                    let room = named.unwrap_or(tokens * 3 / 4);
                    context.record_room(model, room);
                }
                reply => return reply,
            }
        }
    }

    /// Lets a stop keep the answer to this request. JSON is of no use in parts.
    fn note_request(&self, turn: &TurnRecord, request: &ModelRequest, trust: Trust) {
        if request.answer_schema.is_none() {
            let asked = AnswerRequest { turn: turn.id, step: next_step(turn), trust };
            self.events.note_request(&turn.session, asked);
        }
    }

    /// Asks once. Repeats a refused request without its pictures. Otherwise a picture that the
    /// server cannot read, or has no room for, would make every later request fail.
    async fn ask_once(
        &self,
        request: &ModelRequest,
        view: &AnswerView<'_>,
        usage: UsageContext<'_>,
    ) -> Result<ModelReply, NoAnswer> {
        use ModelError::{Refused, TooLong};
        let shown = AtomicBool::new(false);
        let deltas = |delta: Delta<'_>| {
            let Some(event) = view.event_of(delta) else { return };
            match &event {
                TurnEvent::Text { .. } => shown.store(true, Ordering::Relaxed),
                TurnEvent::Restarted => shown.store(false, Ordering::Relaxed),
                _ => {}
            }
            self.events.emit(&usage.meter.session, event);
        };
        let model = self.models.main.as_ref();
        let mut reply = self.ask_within_budgets(model, usage, request, &deltas).await;
        let mut request = Cow::Borrowed(request);
        // The schema is among the messages, too, for models without structured output.
        if request.answer_schema.is_some()
            && matches!(reply, Err(NoAnswer::Model(Refused { lasting: false, .. })))
        {
            request.to_mut().answer_schema = None;
            reply = self.ask_within_budgets(model, usage, &request, &deltas).await;
        }
        // If the window is known, a shorter request can keep its pictures.
        let refused = matches!(
            reply,
            Err(NoAnswer::Model(Refused { lasting: false, .. } | TooLong { window: None, .. }))
        );
        if !refused || request.images.is_empty() {
            return reply;
        }
        tracing::warn!("the request was refused; retrying without its pictures");
        if shown.load(Ordering::Relaxed) {
            deltas(Delta::Restart);
        }
        request.to_mut().images = BTreeMap::new();
        self.ask_within_budgets(model, usage, &request, &deltas).await
    }
}

/// Returns the check of the turn's answer; `None` if the answer may be any text.
fn answer_validator(turn: &TurnRecord) -> Result<Option<AnswerValidator>, NoAnswer> {
    let schema = program::request_of(turn).and_then(|program| program.answer_schema.as_ref());
    let validator = schema.map(AnswerValidator::new).transpose();
    validator.map_err(|fault| {
        NoAnswer::Unanswerable(format!("the JSON Schema of the answer is invalid: {fault}"))
    })
}

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
