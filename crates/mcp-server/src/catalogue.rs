//! The list of tools.

use std::sync::Arc;

use avocet_gateway::{
    AgentSummary, Ask, ListJobs, ListSessions, Send, ShowJob, ShowSession, SocketMethod, SubmitJob,
    Subscribe, Wait,
};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::arguments::{
    AskArguments, HistoryArguments, JobsArguments, ProfileArguments, SendArguments,
    SessionsArguments,
};
use crate::rights::ClientRights;

/// The profile of sessions without another one. `ask` reaches it.
const DEFAULT_PROFILE: &str = "default";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolKind {
    Ask,
    Send,
    Sessions,
    History,
    Jobs,
    /// Runs a task with the profile of this name.
    Profile(String),
}

/// The tools other than those of profiles, with the methods that each needs.
const FIXED: [(ToolKind, &str, &[&str]); 5] = [
    (ToolKind::Ask, "ask", &[Ask::NAME, Wait::NAME, Subscribe::NAME]),
    (ToolKind::Send, "send", &[Send::NAME]),
    (ToolKind::Sessions, "sessions", &[ListSessions::NAME]),
    (ToolKind::History, "history", &[ShowSession::NAME]),
    (ToolKind::Jobs, "jobs", &[ListJobs::NAME, ShowJob::NAME]),
];

/// The methods that the tool of a profile needs.
const FOR_PROFILES: [&str; 3] = [SubmitJob::NAME, Wait::NAME, Subscribe::NAME];

pub(crate) fn list_tools(
    rights: &ClientRights,
    profiles: &[AgentSummary],
) -> Vec<(ToolKind, Tool)> {
    let may = |methods: &[&str]| methods.iter().all(|method| rights.allow(method));
    let fixed = FIXED.into_iter().filter(|(_, _, methods)| may(methods));
    let mut tools: Vec<(ToolKind, Tool)> =
        fixed.map(|(kind, name, _)| (kind.clone(), fixed_tool(&kind, name))).collect();
    if !may(&FOR_PROFILES) {
        return tools;
    }
    for profile in profiles.iter().filter(|profile| profile.name != DEFAULT_PROFILE) {
        let name = profile_tool_name(&profile.name);
        if !tools.iter().any(|(_, other)| other.name == name) {
            tools.push((ToolKind::Profile(profile.name.clone()), profile_tool(name, profile)));
        }
    }
    tools
}

/// Returns the name of a profile's tool: the profile's, or `agent_NAME` if another tool has it.
/// Characters that a tool's name may not have become `_`.
fn profile_tool_name(profile: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let name: String = profile.chars().take(50).map(|c| if is_safe(c) { c } else { '_' }).collect();
    if FIXED.iter().any(|(_, fixed, _)| *fixed == name) { format!("agent_{name}") } else { name }
}

fn fixed_tool(kind: &ToolKind, name: &'static str) -> Tool {
    let reads = || ToolAnnotations::new().read_only(true).open_world(false);
    let acts = || ToolAnnotations::new().read_only(false).destructive(false).open_world(true);
    let (title, description, input, annotations) = match kind {
        ToolKind::Ask => (
            "Ask the agent",
            "Send a message to the agent and wait for its answer. The agent remembers the \
             conversation, and has tools of its own: files, programs, the web, memory. If the \
             result has the status `waiting`, a person has to decide something first: tell the \
             user, and then call `ask` with `message` to get the answer.",
            input_schema::<AskArguments>(),
            acts().destructive(true),
        ),
        ToolKind::Send => (
            "Send a message",
            "Deliver a text to a chat of a person, for example on Telegram. The agent does not \
             answer it.",
            input_schema::<SendArguments>(),
            acts(),
        ),
        ToolKind::Sessions => (
            "List conversations",
            "List the agent's conversations on all channels, the last used first.",
            input_schema::<SessionsArguments>(),
            reads(),
        ),
        ToolKind::History => (
            "Read a conversation",
            "Show the last turns of a conversation: messages, answers and calls of tools.",
            input_schema::<HistoryArguments>(),
            reads(),
        ),
        ToolKind::Jobs | ToolKind::Profile(_) => (
            "Manage jobs",
            "List, start, look at or cancel jobs: long tasks of an agent in the background.",
            input_schema::<JobsArguments>(),
            acts().destructive(true),
        ),
    };
    let mut tool = Tool::new(name, description, input).with_title(title);
    if *kind == ToolKind::Ask {
        tool = tool.with_raw_output_schema(turn_schema());
    }
    tool.with_annotations(annotations)
}

fn profile_tool(name: String, profile: &AgentSummary) -> Tool {
    let about = match &profile.description {
        Some(description) => format!(" Its instructions begin: “{description}”"),
        None => String::new(),
    };
    let description = format!(
        "Give a task to the agent `{}` and wait for its result. It works in a job of its own, with \
         its own tools.{about}",
        profile.name
    );
    let annotations = ToolAnnotations::new().read_only(false).destructive(true).open_world(true);
    Tool::new(name, description, input_schema::<ProfileArguments>())
        .with_title(format!("Agent {}", profile.name))
        .with_raw_output_schema(turn_schema())
        .with_annotations(annotations)
}

/// The schema of the result of a turn.
fn turn_schema() -> Arc<JsonObject> {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let schema = json!({
        "type": "object",
        "properties": {
            "message": text("The message, such as m7"),
            "session": text("The conversation"),
            "job": text("The job, such as j3"),
            "status": {
                "type": "string",
                "enum": ["answered", "waiting"],
                "description": "waiting: a person has to decide first"
            },
            "reply": text("The answer"),
            "waits_for": { "type": "array", "items": text("A decision that is open") }
        },
        "required": ["message", "session", "status"]
    });
    into_object(schema)
}

fn input_schema<T: JsonSchema>() -> Arc<JsonObject> {
    let mut schema = schemars::schema_for!(T).to_value();
    if let Some(schema) = schema.as_object_mut() {
        for key in ["$schema", "description", "title"] {
            schema.remove(key);
        }
    }
    into_object(schema)
}

fn into_object(schema: Value) -> Arc<JsonObject> {
    Arc::new(match schema {
        Value::Object(schema) => schema,
        // A schema of a struct is an object.
        _ => JsonObject::new(),
    })
}
