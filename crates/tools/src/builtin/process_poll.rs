//! `process_poll`: returns the new output of a background program and its state.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::{Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::background::Background;

/// The longest wait for output, in seconds.
const LONGEST: u64 = 30;

#[derive(Debug)]
pub(super) struct ProcessPoll(pub(super) Arc<Background>);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The program, as exec_shell has called it. Default: list those of this conversation.
    #[schemars(extend("x-aliases" = ["bash_id", "pid", "process_id", "shell_id"]))]
    id: Option<String>,
    /// Seconds to wait for output or the end, if there is nothing new. Default: 0.
    #[schemars(range(max = 30))]
    wait: Option<u64>,
}

#[async_trait]
impl Tool for ProcessPoll {
    type Arguments = Arguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Show the output of a background program (exec_shell with background) \
            since the last poll, whether it still runs, and its exit code. Its end is reported \
            once. Without an id: list the programs of this conversation.";
        Description::new("process_poll", ToolClass::Pure, TEXT).parallel()
    }

    async fn execute(
        &self,
        arguments: Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let wait = Duration::from_secs(arguments.wait.unwrap_or_default().min(LONGEST));
        Ok(match arguments.id {
            None => json!({ "programs": self.0.list(context) }).into(),
            Some(id) => self.0.poll(&id, wait, context).await?.into(),
        })
    }
}
