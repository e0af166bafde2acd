//! `spawn`: gives a task to a sub-agent. The turn waits for its answer, or goes on and the answer
//! comes to the chat later. The tool loop enforces the limits on number and depth.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::store::Tasks;
use avocet_protocol::tool::{
    ChildMode, Description, LogWrite, NewChild, Tool, ToolClass, ToolContext, ToolError,
    ToolOutcome, ToolOutput, WaitKind, WaitRequest,
};
use avocet_text::nearest;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::BuiltinParts;

/// A task is cancelled after this time, its waits for people included.
const LONGEST: Duration = Duration::from_hours(24);

#[derive(Debug)]
pub(super) struct SpawnTool {
    tasks: Arc<dyn Tasks>,
    profiles: Arc<[String]>,
}

impl SpawnTool {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { tasks: parts.tasks.clone(), profiles: parts.profiles.clone() }
    }

    /// Returns the name of a profile that works in this workspace.
    fn check_profile(&self, name: &str) -> Result<String, ToolError> {
        let name = name.trim();
        match self.profiles.iter().find(|known| *known == name) {
            Some(known) => Ok(known.clone()),
            None => {
                let meant = nearest(name, self.profiles.iter().map(String::as_str));
                let meant = meant.map(|name| format!("did you mean {name}? ")).unwrap_or_default();
                let known = self.profiles.join(", ");
                let text = format!(
                    "there is no profile {name:?} here; {meant}The profiles are: {known}. Leave \
                     agent out for your own"
                );
                Err(ToolError::InvalidArgs(text))
            }
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SpawnToolArguments {
    /// All that the sub-agent has to know.
    #[schemars(length(min = 1), extend("x-aliases" = ["prompt"]))]
    task: String,
    /// A few words for people.
    label: Option<String>,
    /// A profile. Default: your own.
    agent: Option<String>,
    /// Do not wait: the answer comes to the chat as a message.
    #[serde(default)]
    background: bool,
}

#[async_trait]
impl Tool for SpawnTool {
    type Arguments = SpawnToolArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Give a task to a sub-agent and wait for its answer. Several calls at \
            once run side by side.";
        let described = Description::new("spawn", ToolClass::InLog, TEXT);
        match &self.profiles[..] {
            [] => described,
            profiles => described.and(&format!(" Profiles: {}.", profiles.join(", "))),
        }
    }

    async fn execute(
        &self,
        arguments: SpawnToolArguments,
        _context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let SpawnToolArguments { task, label, agent, background } = arguments;
        if task.trim().is_empty() {
            return Err(ToolError::InvalidArgs("task is empty".to_owned()));
        }
        let agent = agent.filter(|name| !name.trim().is_empty());
        let agent = agent.map(|name| self.check_profile(&name)).transpose()?;
        let child = NewChild { label, agent, ..NewChild::awaited_child(task) };
        if !background {
            return Ok(ToolOutcome::Waiting(WaitRequest {
                kind: WaitKind::Child,
                prompt: None,
                expires_after: LONGEST,
                writes: vec![LogWrite::Spawn(child)],
                grant: None,
                shown: None,
                remark: None,
            }));
        }
        let id = self.tasks.reserve_task().await.map_err(|error| {
            ToolError::ExecutionFailed(format!("the task cannot be started: {error}"))
        })?;
        let value =
            json!(format!("task {id} is started; its answer will come to the chat as a message"));
        let child = NewChild { id: Some(id), mode: ChildMode::Background, ..child };
        Ok(ToolOutcome::Finished(ToolOutput::with_writes(value, vec![LogWrite::Spawn(child)])))
    }
}
