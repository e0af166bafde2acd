//! An agent, and the ports, models and limits that its turns use.

use std::sync::Arc;

use avocet_protocol::channel::FetchAttachments;
use avocet_protocol::clock::Clock;
use avocet_protocol::model::{Effort, Model};
use avocet_protocol::store::{Ledger, TurnLog};
use avocet_protocol::tool::{Files, PromptFile, Skills, Toolbox};
use avocet_protocol::turn::TurnEvents;
use jiff::tz::TimeZone;

use crate::{
    AgentRecall, AgentRules, Budgets, CoreTools, Marks, ModelsByTask, RenderedTurns, TurnLimits,
};

/// Runs turns. All I/O (SQL, HTTP, channels) goes through ports.
#[derive(Debug, Clone)]
pub struct AgentLoop {
    /// The model that answers, the cheap one, and those of tasks.
    pub models: AgentModels,
    /// The thinking effort of the model that answers; `None` for the setting of the model.
    pub effort: Option<Effort>,
    /// The available tools.
    pub toolbox: Arc<dyn Toolbox>,
    /// The tools whose schemas each request contains.
    pub core_tools: CoreTools,
    /// The log and the ledger.
    pub logs: AgentLogs,
    /// The caps on turns and on costs.
    pub limits: AgentLimits,
    /// The rules of the owners.
    pub rules: AgentRules,
    /// The memories that a turn gets.
    pub recall: AgentRecall,
    /// The parts of a request that are the same for all sessions.
    pub prompt_settings: PromptSettings,
    /// The messages of past turns, shared by all turns of the agent.
    pub rendered: RenderedTurns,
    /// The workspace, for its instructions and the pictures that the model is shown.
    pub files: Arc<dyn Files>,
    /// The skills that the model may load.
    pub skills: Arc<dyn Skills>,
    /// Brings attachments into the workspace before the model reads their messages.
    pub attachments: Arc<dyn FetchAttachments>,
    /// Receives the progress of the turn.
    pub events: Arc<dyn TurnEvents>,
    /// The time source.
    pub clock: Arc<dyn Clock>,
}

/// The models between which the kind of work decides.
#[derive(Debug, Clone)]
pub struct AgentModels {
    /// The model that answers.
    pub main: Arc<dyn Model>,
    /// The cheap model for internal work such as summaries. May equal `main`.
    pub cheap: Arc<dyn Model>,
    /// Models that answer instead of `main`.
    pub tasks: ModelsByTask,
}

/// The ports to which an agent writes.
#[derive(Debug, Clone)]
pub struct AgentLogs {
    /// The log, which stores each step before the next begins.
    pub turns: Arc<dyn TurnLog>,
    /// The ledger of model costs.
    pub ledger: Arc<dyn Ledger>,
}

/// The limits of a turn, of costs, and of a tree of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentLimits {
    /// The caps on a turn.
    pub turn: TurnLimits,
    /// The limits on model costs.
    pub budgets: Budgets,
    /// For a child: the most tokens of the root turn with all its children. `None` for a root turn,
    /// whose own [`TurnLimits::max_tokens`] is that limit.
    pub root_tokens: Option<u64>,
}

/// The parts of a request that are the same for all sessions.
#[derive(Debug, Clone)]
pub struct PromptSettings {
    /// The instructions that lead every request, before those of the workspace.
    pub system: Arc<str>,
    /// A file with further instructions of the operator, read at the start of each turn.
    pub file: Option<Arc<dyn PromptFile>>,
    /// The time zone of the times that the model reads.
    pub zone: TimeZone,
    /// The marks around text of people who are not owners.
    pub marks: Marks,
}
