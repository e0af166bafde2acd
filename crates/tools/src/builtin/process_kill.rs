//! `process_kill`: kills a background program.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::tool::{
    Description, Question, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::background::BackgroundPrograms;
use super::programs::code_block;

#[derive(Debug)]
pub(super) struct ProcessKill(pub(super) Arc<BackgroundPrograms>);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ProcessKillArguments {
    #[schemars(extend("x-aliases" = ["bash_id", "pid", "process_id", "shell_id"]))]
    id: String,
}

#[async_trait]
impl Tool for ProcessKill {
    type Arguments = ProcessKillArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Kill a background program.";
        Description::new("process_kill", ToolClass::Effect, TEXT).in_group("process")
    }

    async fn execute(
        &self,
        arguments: ProcessKillArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        Ok(self.0.kill_program(&arguments.id, context).await?.into())
    }

    async fn question(
        &self,
        arguments: &ProcessKillArguments,
        context: &ToolContext,
    ) -> Option<Question> {
        let command = self.0.command_of(&arguments.id, &context.session)?;
        let shown = format!("Kill the program {}:\n\n{}", arguments.id, code_block(&command));
        Some(Question { shown, scope: arguments.id.clone(), shape: None })
    }
}
