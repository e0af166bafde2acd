//! The arguments of tools.

use avocet_protocol::chat::{ChatAddress, SessionId};
use avocet_text::plain_json;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answers::ToolProblem;

/// The arguments of `ask`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskArguments {
    /// The message to the agent. Leave it out to wait for an earlier `message`.
    pub(crate) text: Option<String>,
    /// The conversation, such as `terminal:local:me`. Default: a conversation of this client.
    pub(crate) session: Option<String>,
    /// An earlier message without an answer, such as `m7`: wait for its answer.
    pub(crate) message: Option<String>,
}

/// The arguments of `send`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendArguments {
    /// The chat, such as `telegram:main:42`.
    pub(crate) chat: String,
    /// The text, as Markdown.
    pub(crate) text: String,
}

/// The arguments of `sessions`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionsArguments {
    /// The most conversations. Default: 20.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) limit: Option<u32>,
}

/// The arguments of `history`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HistoryArguments {
    /// The conversation. Default: that of this client.
    pub(crate) session: Option<String>,
    /// The most turns. Default: 10.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) limit: Option<u32>,
    /// The oldest turn that you have, such as `t12`: shows the turns before it.
    pub(crate) before: Option<String>,
}

/// The arguments of `jobs`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobsArguments {
    /// The action. `start` needs `profile` and `task`; `status` and `cancel` need `job`.
    pub(crate) action: JobAction,
    /// The job, such as `j3`.
    pub(crate) job: Option<String>,
    /// The profile that does the work, such as `builder`.
    pub(crate) profile: Option<String>,
    /// The task.
    pub(crate) task: Option<String>,
    /// The most jobs of a list. Default: 20.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) limit: Option<u32>,
}

/// An action on jobs.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JobAction {
    List,
    Start,
    Status,
    Cancel,
}

/// The arguments of the tool of a profile.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProfileArguments {
    /// The task, complete: the agent does not see this conversation.
    pub(crate) task: String,
    /// The directory to work in, as an absolute path. Default: the workspace of the profile.
    pub(crate) workspace: Option<String>,
}

/// Reads the arguments of a tool.
pub(crate) fn read<T: DeserializeOwned>(
    tool: &str,
    arguments: Option<JsonObject>,
) -> Result<T, ToolProblem> {
    let arguments = Value::Object(arguments.unwrap_or_default());
    serde_json::from_value(arguments)
        .map_err(|error| ToolProblem::new(format!("{tool}: {}", plain_json(&error))))
}

/// Parses a session. A bare name is a session of the terminal.
pub(crate) fn parse_session(text: &str) -> Result<SessionId, ToolProblem> {
    let whole = if text.contains(':') { text.to_owned() } else { format!("terminal:local:{text}") };
    let parsed = SessionId::parse(&whole);
    parsed.map_err(|error| ToolProblem::new(format!("session: {error}")))
}

/// Parses a chat. A bare name is a chat of the terminal.
pub(crate) fn parse_chat(text: &str) -> Result<ChatAddress, ToolProblem> {
    parse_session(text).map(|session| session.address())
}

/// Returns a page size from 1 to 100.
pub(crate) fn check_limit(given: Option<u32>, default: u32) -> Result<u32, ToolProblem> {
    match given.unwrap_or(default) {
        limit @ 1..=100 => Ok(limit),
        limit => Err(ToolProblem::new(format!("limit is {limit}; it must be from 1 to 100"))),
    }
}
