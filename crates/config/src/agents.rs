//! The settings of agents. The doc comments are the reference that users read.

use std::path::PathBuf;

use avocet_protocol::model::Effort;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::AgentTools;

/// The agents.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgentsConfig {
    /// The settings that all agents inherit.
    pub defaults: AgentDefaults,
    /// Agents for some sessions, by name: see [`read_profiles`](crate::read_profiles).
    #[serde(flatten)]
    pub profiles: Map<String, Value>,
}

/// The settings that all agents inherit.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentDefaults {
    /// The model that answers, as `provider/model`. The embedded `offline/commands` needs no
    /// provider: it runs tools from plain commands. Default: `offline/commands`.
    pub model: String,
    /// Other models, as `provider/model`, which are tried in this order in the same turn if `model`
    /// fails. A model that failed is skipped during a cool-down. Default: `[]`.
    pub fallbacks: Vec<String>,
    /// The cheap model, as `provider/model`, for internal work such as summaries of long
    /// conversations. Default: `model`.
    pub cheap_model: Option<String>,
    /// Models by task, each as `provider/model`. A model of a task falls back to the agent's model.
    /// `/model` replaces all of them except `cheap`.
    pub models: TaskModels,
    /// How much the model thinks before it answers: `off`, `low`, `medium` or `high`. `/think`
    /// changes it for a conversation. Default: the `effort` of the model in `[models]`.
    pub effort: Option<Effort>,
    /// The directory in which file tools work. Default: `workspace` in the data directory.
    pub workspace: Option<PathBuf>,
    /// Maximum rounds of tool calls in one turn. At least 1. Default: 20.
    pub max_tool_iterations: u32,
    /// Maximum tool calls in one turn. Default: 100.
    pub max_tool_calls: u32,
    /// Maximum seconds of one turn; the time in which the turn waits for people is not counted. At
    /// least 1. Default: 1800.
    pub max_turn_seconds: u64,
    /// Maximum tokens of one turn, input and output together. At least 2,000. Default: 1,000,000.
    pub max_turn_tokens: u64,
    /// Maximum tokens of a request; the model's own context window applies if it is smaller. A
    /// longer conversation is compacted. At least 2,000. Default: 64,000.
    pub context_tokens: u64,
    /// Maximum tokens of memories that are added to a turn because they fit its message. 0 adds
    /// none. Default: 600.
    pub recall_tokens: u32,
    /// Maximum sub-agents of one turn at the same time. 0: none. Default: 4.
    pub max_children: u32,
    /// Maximum depth of sub-agents below each other. Default: 2.
    pub max_depth: u32,
    /// The tools that the agent may use: a list of names, or a table of `allow`, `deny` and `core`.
    /// Default: all.
    pub tools: AgentTools,
    /// Text that is added to the agent's instructions. Default: none.
    pub prompt: Option<String>,
    /// `true` if each job of the agent works on a git branch of its own, which begins at the current
    /// commit of the job's workspace. Default: `false`; `true` for `builder`.
    pub job_branch: bool,
    /// The command, as a list of a program and its arguments, that opens a pull request with the
    /// branch of a completed job. It runs in the job's workspace, outside of the sandbox, each time
    /// after an approval. Needs `job_branch`. Default: `[]`, none.
    pub pr_command: Vec<String>,
    /// A file with more such text, behind `prompt`. It is read at the start of each turn, 20,000 bytes
    /// at most; a relative path begins at the directory of the configuration. Default: none.
    pub prompt_file: Option<PathBuf>,
}

impl Default for AgentDefaults {
    fn default() -> Self {
        Self {
            model: "offline/commands".to_owned(),
            fallbacks: Vec::new(),
            cheap_model: None,
            models: TaskModels::default(),
            effort: None,
            workspace: None,
            max_tool_iterations: 20,
            max_tool_calls: 100,
            max_turn_seconds: 30 * 60,
            max_turn_tokens: 1_000_000,
            context_tokens: 64_000,
            recall_tokens: 600,
            max_children: 4,
            max_depth: 2,
            tools: AgentTools::default(),
            prompt: None,
            job_branch: false,
            pr_command: Vec::new(),
            prompt_file: None,
        }
    }
}

/// Models by task, each as `provider/model`. The first task that applies at the start of a turn
/// chooses its model: `vision`, `long`, `code`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TaskModels {
    /// The model that answers everything else; another name for the agent's key `model`.
    pub default: Option<String>,
    /// The model for internal work; another name for the agent's key `cheap_model`.
    pub cheap: Option<String>,
    /// The model of turns whose request has pictures, if the agent's model sees none.
    pub vision: Option<String>,
    /// The model of turns whose request fills more than three quarters of the room that the agent's
    /// model has for it.
    pub long: Option<String>,
    /// The model of jobs.
    pub code: Option<String>,
}

impl AgentDefaults {
    /// The model that answers, as `provider/model`.
    #[must_use]
    pub fn answering_model(&self) -> &str {
        self.models.default.as_ref().unwrap_or(&self.model)
    }

    /// The cheap model, as `provider/model`, if there is one.
    #[must_use]
    pub fn cheap(&self) -> Option<&String> {
        self.models.cheap.as_ref().or(self.cheap_model.as_ref())
    }
}
