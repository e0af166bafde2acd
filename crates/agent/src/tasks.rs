//! Chooses the model of a turn by its task. The choice follows from the log at the start of the
//! turn. All requests of the turn go to the same model.

use std::sync::Arc;

use avocet_protocol::model::Model;
use avocet_protocol::turn::TurnRecord;

use crate::context::RequestContext;
use crate::history::TurnTrim;
use crate::{AgentLoop, AgentModels, ModelsByTask, TurnContext, images, job};

/// A request that fills more than this share of the room of the main model is long, in percent.
const LONG: u64 = 75;

/// A task that chooses its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelTask {
    /// The request has pictures that the main model cannot see.
    Vision,
    /// The request is long.
    Long,
    /// The turn is part of a job.
    Code,
}

impl ModelTask {
    /// The key in the configuration.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Vision => "models.vision",
            Self::Long => "models.long",
            Self::Code => "models.code",
        }
    }

    /// The reason for the choice, in words.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Vision => "the request has pictures",
            Self::Long => "the request is long",
            Self::Code => "it is a job",
        }
    }
}

impl AgentLoop {
    /// Returns the agent with the model of the turn's task, which then is its main one; `None` if
    /// its own main model answers.
    pub(crate) async fn for_task(
        &self,
        context: &RequestContext,
        turn: &TurnRecord,
        turn_context: &TurnContext,
    ) -> Option<(ModelTask, Self)> {
        let (task, model) = self.task(context, turn, turn_context).await?;
        tracing::debug!(task = task.key(), model = model.name(), "the task chooses the model");
        let cheap = self.models.cheap.clone();
        let models = AgentModels { main: model.clone(), cheap, tasks: ModelsByTask::default() };
        Some((task, Self { models, ..self.clone() }))
    }

    async fn task(
        &self,
        context: &RequestContext,
        turn: &TurnRecord,
        turn_context: &TurnContext,
    ) -> Option<(ModelTask, &Arc<dyn Model>)> {
        let ModelsByTask { vision, long, code } = &self.models.tasks;
        if vision.is_some() || long.is_some() {
            let facts = self.models.main.facts().await;
            let first = at_the_start(turn);
            let conversation = context.conversation(&first, TurnTrim::default());
            if let Some(model) = vision
                && !facts.images
                && images::count_images(&conversation.messages) > 0
            {
                return Some((ModelTask::Vision, model));
            }
            let offer = self.offered_tools(context, &first, turn_context, facts);
            let room = context.compute_room(facts, self.limits.turn, offer.tokens);
            if let Some(model) = long
                && (context.past.has_gap || is_long(conversation.tokens, room.messages))
            {
                return Some((ModelTask::Long, model));
            }
        }
        let code = code.as_ref().filter(|_| job::is_job(&turn.session))?;
        Some((ModelTask::Code, code))
    }
}

fn is_long(tokens: u64, room: u64) -> bool {
    tokens > room / 100 * LONG
}

/// Returns the turn as it was before its first request, so that a resumed turn has the same model.
fn at_the_start(turn: &TurnRecord) -> TurnRecord {
    TurnRecord { steps: Vec::new(), ..turn.clone() }
}

#[cfg(test)]
#[path = "tasks_tests.rs"]
mod tests;
