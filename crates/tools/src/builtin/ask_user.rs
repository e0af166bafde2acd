//! `ask_user`: asks a question; the turn waits for the answer, also across restarts.

use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::chat::{Choice, Content};
use avocet_protocol::tool::{
    Caution, Description, Leaving, Tool, ToolClass, ToolContext, ToolError, ToolOutcome, WaitKind,
    WaitRequest,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

const DEFAULT_MINUTES: u64 = 24 * 60;
/// Bytes per option. The Bot API accepts this much per button
/// (`InlineKeyboardButton.callback_data`).
const MOST_BYTES: usize = 64;

#[derive(Debug)]
pub(super) struct AskUser;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct AskUserArguments {
    #[schemars(length(min = 1))]
    question: String,
    #[serde(default)]
    #[schemars(length(max = 8), extend("x-aliases" = ["choices"]))]
    options: Vec<String>,
    /// Default: 1440.
    #[schemars(range(min = 1, max = 43_200), extend("x-rare" = true))]
    timeout_minutes: Option<u64>,
}

#[async_trait]
impl Tool for AskUser {
    type Arguments = AskUserArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Ask and wait. Only for what you cannot go on without.";
        Description::new("ask_user", ToolClass::InLog, TEXT).in_group("chat").for_everyone()
    }

    async fn execute(
        &self,
        arguments: AskUserArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let AskUserArguments { question, options, timeout_minutes } = arguments;
        if context.chat.is_none() {
            let no_chat =
                "no person can answer: this turn has no chat. Decide yourself, and say so";
            return Err(ToolError::ExecutionFailed(no_chat.to_owned()));
        }
        if question.trim().is_empty() {
            return Err(ToolError::InvalidArgs("question is empty".to_owned()));
        }
        let choices = choices_for_options(&options).map_err(ToolError::InvalidArgs)?;
        let minutes = timeout_minutes.unwrap_or(DEFAULT_MINUTES);
        Ok(ToolOutcome::Waiting(WaitRequest {
            kind: WaitKind::Answer,
            prompt: Some(Box::new(Content { choices, ..Content::text(question) })),
            expires_after: Duration::from_mins(minutes),
            writes: Vec::new(),
            grant: None,
            shown: None,
            remark: None,
        }))
    }

    async fn caution(&self, _arguments: &AskUserArguments, _context: &ToolContext) -> Caution {
        Caution::Never
    }

    fn answered(&self, result: &Value) -> Option<String> {
        result["answer"].as_str().map(str::to_owned)
    }

    fn leaving(&self, arguments: &AskUserArguments) -> Vec<Leaving> {
        let AskUserArguments { question, options, .. } = arguments;
        options.iter().chain([question]).cloned().map(Leaving::Text).collect()
    }
}

/// Makes a button for each option. Its label is also the text that it sends.
fn choices_for_options(options: &[String]) -> Result<Vec<Choice>, String> {
    let mut choices: Vec<Choice> = Vec::new();
    for option in options.iter().map(|option| option.trim()) {
        let wrong = if option.is_empty() {
            Some("is empty".to_owned())
        } else if option.len() > MOST_BYTES {
            Some(format!("has more than {MOST_BYTES} bytes: make it shorter"))
        } else if option.contains('\n') {
            Some("has more than one line".to_owned())
        } else if option.starts_with('/') {
            Some("would be a command: begin it with a word".to_owned())
        } else if choices.iter().any(|choice| choice.says == option) {
            Some("is there twice".to_owned())
        } else {
            None
        };
        match wrong {
            Some(wrong) => return Err(format!("the option {option:?} {wrong}")),
            None => choices.push(Choice::new(option, option)),
        }
    }
    Ok(choices)
}
