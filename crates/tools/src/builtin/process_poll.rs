//! `process_poll`: returns the new output of a background program and its state.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::tool::{Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::background::BackgroundPrograms;

/// The longest wait for output, in seconds.
const LONGEST: u64 = 30;

#[derive(Debug)]
pub(super) struct ProcessPoll(pub(super) Arc<BackgroundPrograms>);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ProcessPollArguments {
    #[schemars(extend("x-aliases" = ["bash_id", "pid", "process_id", "shell_id"]))]
    id: Option<String>,
    /// Seconds to wait for news. Default: 0.
    #[schemars(range(max = 30))]
    wait: Option<u64>,
}

#[async_trait]
impl Tool for ProcessPoll {
    type Arguments = ProcessPollArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Show new output and the state of a background program. Without id: \
            list them.";
        Description::new("process_poll", ToolClass::Pure, TEXT).in_group("process").parallel()
    }

    async fn execute(
        &self,
        arguments: ProcessPollArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let wait = Duration::from_secs(arguments.wait.unwrap_or_default().min(LONGEST));
        Ok(match arguments.id {
            None => json!({ "programs": self.0.list_programs(context) }).into(),
            Some(id) => self.0.poll(&id, wait, context).await?.into(),
        })
    }
}
