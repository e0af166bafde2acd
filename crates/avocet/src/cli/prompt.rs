//! `avocet prompt`: shows the next request of a session, and the tokens of each part.

use std::sync::Arc;

use avocet_agent::{ModelTask, PromptPart, PromptReport};
use avocet_protocol::chat::{Content, Inbound, LoggedInbound, NewInbound, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{MessageId, TurnId};
use avocet_protocol::model::{Message, thousands};
use avocet_protocol::store::{Query, SessionStatus};
use avocet_protocol::tool::ToolSpec;
use avocet_protocol::turn::{Origin, SessionReports, TurnRecord, TurnState, Undelivered};
use avocet_store::SqliteStore;
use avocet_text::{PlainTable, append_text};
use clap::Args;
use serde_json::json;

use crate::cli::offline_agent::OfflineAgent;
use crate::cli::reach::open_log_read_only;
use crate::cli::values::session_id;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::{print_json, print_text};
use crate::redaction;

#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// Conversation, as channel:account:chat; a bare name is a conversation of the terminal.
    #[arg(value_parser = session_id)]
    session: SessionId,
    /// Next message, if no message waits for an answer.
    #[arg(long, default_value = "(the next message)")]
    message: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(context: &CommandContext, asked: PromptArgs) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Log)?;
    let session = &asked.session;
    let nothing = || Failure::new(Exit::Failed, format!("{session} has no messages yet"));
    let store = Arc::new(open_log_read_only(context, &configuration)?.ok_or_else(nothing)?);
    let last = store.transcript(session, 1).await?.pop().ok_or_else(nothing)?;
    let status = store.session_status(session).await?;
    let turn = next_turn(last, &asked.message, context.clock.now());
    let prompt = fetch_prompt(context, &configuration, &store, &turn, status).await?;
    let redactor = redaction::shared_redactor();
    if asked.json {
        let mut json = as_json(&prompt);
        redactor.redact_json(&mut json);
        print_json(&json)?;
    } else {
        print_text(&redactor.redact(&prompt_text(&prompt)))?;
    }
    Ok(Exit::Done)
}

/// Returns the open turn, or the turn that this message would begin.
fn next_turn(last: TurnRecord, message: &str, now: Timestamp) -> TurnRecord {
    use TurnState::{Queued, Running, Waiting};
    if matches!(last.state, Queued | Running | Waiting) {
        return last;
    }
    // A sub-agent has one turn only, which people cannot write to.
    let Some(said) = last.origin.messages().last() else { return last };
    let new = said.message.clone();
    let content = Content::text(message);
    let inbound =
        Inbound { content, written_at: None, corrects: None, edited_at: None, ..new.inbound };
    let message = NewInbound { inbound, removed: 0, ..new };
    let message = LoggedInbound { id: MessageId(i64::MAX), received_at: now, message };
    TurnRecord {
        id: TurnId(i64::MAX),
        state: Queued,
        started_at: now,
        origin: Origin::Messages(vec![message]),
        steps: Vec::new(),
        notice: None,
        undelivered: Undelivered::default(),
        recalled: Vec::new(),
        reports: SessionReports::default(),
        session: last.session,
    }
}

async fn fetch_prompt(
    context: &CommandContext,
    configuration: &Configuration,
    store: &Arc<SqliteStore>,
    turn: &TurnRecord,
    status: SessionStatus,
) -> Result<PromptReport, Failure> {
    let agent = OfflineAgent::of_turn(context, configuration, store, turn, status).await?;
    let OfflineAgent { run, turn_context, .. } = agent;
    let prompt = run.prompt(turn, &turn_context).await;
    prompt.map_err(|error| Failure::new(Exit::Configuration, error.to_string()))
}

fn as_json(prompt: &PromptReport) -> serde_json::Value {
    let PromptReport { model, task, effort, room, parts, request } = prompt;
    let part = |part: &PromptPart| json!({ "name": part.name, "tokens": part.tokens });
    let tool = |tool: &ToolSpec| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "bytes": tool.bytes(),
        })
    };
    let deferred =
        |tool: &ToolSpec| json!({ "name": tool.name, "group": tool.group, "bytes": tool.bytes() });
    json!({
        "model": model,
        "task": task.map(ModelTask::key),
        "effort": effort,
        "room": room,
        "tokens": request.estimated_tokens(),
        "parts": parts.iter().map(part).collect::<Vec<_>>(),
        "messages": request.messages,
        "tools": request.tools.iter().map(tool).collect::<Vec<_>>(),
        "deferred_tools": request.deferred.iter().map(deferred).collect::<Vec<_>>(),
    })
}

fn prompt_text(prompt: &PromptReport) -> String {
    let PromptReport { model, task, effort, room, parts, request } = prompt;
    let all = request.estimated_tokens();
    let (all, room) = (thousands(all), thousands(*room));
    let why = task.map(|task| format!(" ({}: {})", task.key(), task.reason()));
    let why = why.unwrap_or_default();
    let effort = effort.map(|effort| format!(", thinking {}", effort.as_str())).unwrap_or_default();
    let mut text = format!("{model}{why}{effort}: about {all} of {room} tokens\n\n");
    let rows = parts.iter().map(|part| [part.name.clone(), thousands(part.tokens)]);
    text.push_str(&rows.collect::<PlainTable>().to_string());
    for message in &request.messages {
        let (who, said) = message_text(message);
        append_text(&mut text, format_args!("\n── {who} ──\n{said}\n"));
    }
    for tool in request.tools.iter() {
        let (name, description, bytes) = (&tool.name, &tool.description, tool.bytes());
        append_text(
            &mut text,
            format_args!(
                "\n── tool {name}, {bytes} bytes ──\n{description}\n{}\n",
                tool.parameters
            ),
        );
    }
    if !request.deferred.is_empty() {
        text.push_str("\n── deferred tools, by group ──\n");
        let row = |tool: &ToolSpec| {
            [tool.group.clone(), tool.name.clone(), format!("{} bytes", tool.bytes())]
        };
        let mut rows: Vec<[String; 3]> = request.deferred.iter().map(row).collect();
        rows.sort_unstable();
        text.push_str(&rows.into_iter().collect::<PlainTable>().to_string());
    }
    text
}

fn message_text(message: &Message) -> (String, String) {
    match message {
        Message::System { text } => ("system".to_owned(), text.clone()),
        Message::User { text, .. } => ("user".to_owned(), text.clone()),
        Message::ToolResult { call, result, .. } => (format!("result {call}"), result.clone()),
        Message::Assistant { text, calls, .. } => {
            let mut said = text.clone();
            for call in calls {
                let arguments = serde_json::Value::Object(call.arguments.clone());
                let line = if said.is_empty() { "" } else { "\n" };
                append_text(
                    &mut said,
                    format_args!("{line}→ {} {} {arguments}", call.id, call.name),
                );
            }
            ("assistant".to_owned(), said)
        }
    }
}
