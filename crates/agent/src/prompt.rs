//! Shows the request that a model would get for a turn, part by part, for inspection.

use avocet_protocol::model::{Effort, Messages, ModelRequest, estimated_tokens};
use avocet_protocol::turn::TurnRecord;

use crate::budgets::{NoAnswer, could_not_answer};
use crate::history::{TurnTrim, beginning, past_turn};
use crate::note::recalled_memories;
use crate::{AgentLoop, ModelTask, TurnContext, make_valid, window};

/// The next request, without its pictures.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptReport {
    /// `provider/model`.
    pub model: String,
    /// The task that chose the model; `None` for the agent's main model.
    pub task: Option<ModelTask>,
    /// The thinking effort; `None` for the setting of the model.
    pub effort: Option<Effort>,
    /// The token limit of the request, estimated.
    pub room: u64,
    /// The parts of the request, in order.
    pub parts: Vec<PromptPart>,
    /// The request as the model gets it. A past that is too long would be compacted before.
    pub request: ModelRequest,
}

/// The reason why the next request cannot be shown, for the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoPrompt(pub String);

/// A part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptPart {
    /// The part's name.
    pub name: String,
    /// The part's tokens, estimated.
    pub tokens: u64,
}

impl AgentLoop {
    /// Returns the next request of this turn.
    ///
    /// # Errors
    /// [`NoPrompt`] if the log or the file with the agent's instructions cannot be read.
    pub async fn prompt(
        &self,
        turn: &TurnRecord,
        turn_context: &TurnContext,
    ) -> Result<PromptReport, NoPrompt> {
        let context = self.open_context(turn, turn_context).await.map_err(|error| match error {
            NoAnswer::Limit(limit) => NoPrompt(limit.text),
            NoAnswer::Unanswerable(reason) => NoPrompt(could_not_answer(&reason)),
            NoAnswer::Model(error) => NoPrompt(error.to_string()),
            NoAnswer::Instructions(error) => NoPrompt(error.to_string()),
            NoAnswer::Log(error) => NoPrompt(error.to_string()),
        })?;
        let memories = self.recall.for_turn(turn, turn_context, &context.past).await;
        let memories = memories.map_err(|error| NoPrompt(error.to_string()))?;
        let turn = &TurnRecord { recalled: memories, ..turn.clone() };
        let facts = self.models.main.facts().await;
        let offer = self.offered_tools(&context, turn, turn_context, facts);
        let (tools, deferred) = (offer.tools.clone(), offer.deferred.clone());
        let mut parts: Vec<PromptPart> = Vec::new();
        let mut part = |name: String, tokens: u64| parts.push(PromptPart { name, tokens });
        for one in &context.instructions.parts {
            part(format!("instructions: {}", one.source), estimated_tokens(&one.text));
        }
        if let Some(text) = &context.rules {
            part("rules of the owners".to_owned(), estimated_tokens(text));
        }
        let of_tools = tools.iter().map(avocet_protocol::tool::ToolSpec::estimated_tokens).sum();
        let count = match deferred.len() {
            0 => format!("tools: {}", tools.len()),
            more => format!("tools: {}, deferred: {more}", tools.len()),
        };
        part(count, of_tools);
        if let Some(text) = beginning(&context.past, self.prompt_settings.marks) {
            part("summary of the earlier conversation".to_owned(), estimated_tokens(&text));
        }
        let turns = &context.past.turns;
        let past: Messages =
            turns.iter().flat_map(|turn| past_turn(&context.past, turn, context.view())).collect();
        part(format!("earlier turns: {}", turns.len()), past.estimated_tokens());
        if let Some(text) = recalled_memories(turn, context.view()) {
            part("recalled memories".to_owned(), estimated_tokens(&text));
        }
        let messages = make_valid(context.conversation(turn, TurnTrim::default()).messages);
        let options = self.request_options();
        let request =
            ModelRequest { messages, tools, deferred, options, ..ModelRequest::default() };
        let known: u64 = parts.iter().map(|part| part.tokens).sum();
        let rest = request.estimated_tokens().saturating_sub(known);
        parts.push(PromptPart { name: "this turn".to_owned(), tokens: rest });
        let routed = self.for_task(&context, turn, turn_context).await;
        let (task, agent) = routed.map_or((None, None), |(task, agent)| (Some(task), Some(agent)));
        let model = agent.as_ref().map_or(&self.models.main, |agent| &agent.models.main);
        let request = model.as_sent(&request).await;
        let room = window::request_room(model.facts().await, self.limits.turn);
        let (model, effort) = (model.name().to_owned(), self.effort);
        Ok(PromptReport { model, task, effort, room, parts, request })
    }
}
