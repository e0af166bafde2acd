//! The default model, which works without key and network. It has no intelligence and tells the
//! user so. It runs tools from plain commands, through the same loop as any other model, so that
//! everything can be tried before there is a key.

mod command;
mod config;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::bus::END_OF_INSTRUCTIONS;
use avocet_protocol::clock::Clock;
use avocet_protocol::job::JOB_BRANCH;
use avocet_protocol::model::{
    Delta, Deltas, Message, Messages, Model, ModelError, ModelFacts, ModelReply, ModelRequest,
    Price, without_marks,
};
use avocet_protocol::tool::ToolSpec;
use avocet_text::append_line;
use serde_json::Value;

use command::OfflineCommand;

pub use config::OfflineConfig;

/// Delay of the slow answer for each number.
const BEAT: Duration = Duration::from_millis(400);

/// A model that understands a few commands.
#[derive(Debug)]
pub struct OfflineModel {
    clock: Arc<dyn Clock>,
}

impl OfflineModel {
    /// Creates the only offline model, `offline/commands`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock }
    }

    async fn count_aloud(&self, to: u32, deltas: Deltas<'_>) -> String {
        let mut text = String::new();
        for number in 1..=to {
            self.clock.sleep(BEAT).await;
            let piece = if number == to { format!("{number}.") } else { format!("{number}, ") };
            deltas(Delta::Text(&piece));
            text.push_str(&piece);
        }
        text
    }
}

#[async_trait]
impl Model for OfflineModel {
    fn name(&self) -> &'static str {
        "offline/commands"
    }

    /// Reports a price of zero, and the window that the agent keeps anyway.
    async fn facts(&self) -> ModelFacts {
        let context = Some(ModelFacts::ASSUMED_CONTEXT);
        ModelFacts { context, price: Some(Price::default()), ..ModelFacts::default() }
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let results = tool_results(&request.messages);
        let tools = request.callable();
        let command = if results.is_empty() {
            OfflineCommand::parse_command(task_text(last_text(&request.messages)), &tools)
        } else {
            OfflineCommand::Say(format_results(&results))
        };
        let text = match command {
            OfflineCommand::Call(call) => {
                return Ok(ModelReply { calls: vec![call], ..ModelReply::default() });
            }
            OfflineCommand::Count(to) => self.count_aloud(to, deltas).await,
            OfflineCommand::Help => show_words(deltas, help_text(&tools)),
            OfflineCommand::Unknown => show_words(deltas, UNKNOWN.to_owned()),
            OfflineCommand::Say(text) => show_words(deltas, text),
        };
        Ok(ModelReply { text, ..ModelReply::default() })
    }
}

fn show_words(deltas: Deltas<'_>, text: String) -> String {
    text.split_inclusive(' ').for_each(|piece| deltas(Delta::Text(piece)));
    text
}

fn last_text(messages: &Messages) -> &str {
    let said = messages.iter().rev().find_map(|message| match message {
        Message::User { text, .. } => Some(without_marks(text)),
        _ => None,
    });
    said.unwrap_or_default()
}

/// Returns the message after a program's instructions, and the task of a scheduled run without the
/// line about its circumstances.
fn task_text(text: &str) -> &str {
    let text =
        text.rsplit_once(END_OF_INSTRUCTIONS).map_or(text, |(_, message)| message).trim_start();
    let circumstances =
        text.strip_prefix("[Scheduled task ").and_then(|rest| rest.split_once("]\n"));
    circumstances.map_or(text, |(_, task)| task)
}

/// The tool results at the end of the conversation. The program has begun the branch of a job itself,
/// before the task.
fn tool_results(messages: &Messages) -> Vec<&str> {
    let calls = messages.iter().rev().find_map(|message| match message {
        Message::Assistant { calls, .. } => Some(calls),
        _ => None,
    });
    if calls.is_some_and(|calls| calls.iter().any(|call| call.name == JOB_BRANCH)) {
        return Vec::new();
    }
    let ended = messages.iter().rev().skip_while(|message| has_pictures_of_results(message));
    let results = ended.map_while(|message| match message {
        Message::ToolResult { result, .. } => Some(result.as_str()),
        _ => None,
    });
    results.collect()
}

/// Returns `true` for the message with which an agent sends the pictures of tool results.
fn has_pictures_of_results(message: &Message) -> bool {
    const BEGINS: &str = "[Pictures of the results above";
    matches!(message, Message::User { text, images } if !images.is_empty() && text.starts_with(BEGINS))
}

/// Formats tool results for people.
fn format_results(results: &[&str]) -> String {
    let reports = results.iter().map(|result| match serde_json::from_str(result) {
        Ok(Value::Object(object)) if object.contains_key("error") => {
            let error = object["error"].as_str().unwrap_or("the tool failed without a reason");
            format!("That did not work: {error}")
        }
        Ok(Value::Array(elements)) if elements.is_empty() => "(nothing)".to_owned(),
        Ok(Value::Array(elements)) => {
            let lines = elements.iter().map(|element| format!("- {}", format_element(element)));
            lines.collect::<Vec<_>>().join("\n")
        }
        _ => (*result).to_owned(),
    });
    reports.collect::<Vec<_>>().join("\n\n")
}

fn format_element(element: &Value) -> String {
    match element {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| match value {
                Value::String(text) => format!("{name}: {text}"),
                other => format!("{name}: {other}"),
            });
            fields.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

const UNKNOWN: &str = "I do not understand that: no language model is configured. Run `avocet init` \
    in a shell: it finds or asks for a model, and tests it. Without one I know only a few commands \
    (`help` lists them).\n\n\
    By hand, put this into the configuration (`avocet config check` says where it is) and start \
    again. Any OpenAI-compatible server works: Ollama, llama.cpp, vLLM, ...\n\n\
    ```toml\n\
    [providers.local]\n\
    kind = \"openai\"\n\
    base_url = \"http://127.0.0.1:11434/v1\"\n\
    # api_key = \"${OPENAI_API_KEY}\"\n\n\
    [agents.defaults]\n\
    model = \"local/qwen3\"\n\
    ```";

fn help_text(tools: &[ToolSpec]) -> String {
    let mut text = String::from(
        "No language model is configured, so I understand these commands and nothing else:\n\n\
         - `remember the key is under the mat`\n\
         - `what do you know about key`\n\
         - `remind me in 2m to stretch`\n\
         - `count to 20`: a slow answer, to try out what happens when you stop or kill me\n",
    );
    let mut tools: Vec<&ToolSpec> = tools.iter().collect();
    tools.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    for tool in tools {
        append_line(&mut text, format_args!("- `{}`", command::usage_line(tool)));
    }
    text.push_str("\nAnything else tells you how to configure a model. `/help` lists the commands of the chat.");
    text
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
