//! `update_plan`: shows the steps of a longer task in an editor. The call in the log is the plan, so
//! the tool itself does nothing.

use async_trait::async_trait;
use avocet_protocol::tool::{
    Caution, Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome, UPDATE_PLAN,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Debug)]
pub(super) struct UpdatePlan;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct UpdatePlanArguments {
    #[schemars(length(min = 1, max = 50), extend("x-aliases" = ["plan", "todos"]))]
    entries: Vec<PlannedStep>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct PlannedStep {
    #[schemars(length(min = 1))]
    content: String,
    #[expect(dead_code, reason = "the editor reads it from the log")]
    status: StepProgress,
    #[expect(dead_code, reason = "the editor reads it from the log")]
    #[schemars(extend("x-rare" = true))]
    priority: Option<StepPriority>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum StepProgress {
    Pending,
    InProgress,
    Completed,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum StepPriority {
    High,
    Medium,
    Low,
}

#[async_trait]
impl Tool for UpdatePlan {
    type Arguments = UpdatePlanArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Show your plan for a task of several steps. Send all entries again \
            whenever one changes.";
        Description::new(UPDATE_PLAN, ToolClass::Pure, TEXT).in_group("chat").for_everyone()
    }

    async fn execute(
        &self,
        arguments: UpdatePlanArguments,
        _context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let mut steps = (1..).zip(&arguments.entries);
        match steps.find(|(_, step)| step.content.trim().is_empty()) {
            Some((number, _)) => {
                Err(ToolError::InvalidArgs(format!("the content of entry {number} is empty")))
            }
            None => Ok(json!("The plan is shown.").into()),
        }
    }

    async fn caution(&self, _arguments: &UpdatePlanArguments, _context: &ToolContext) -> Caution {
        Caution::Never
    }
}
