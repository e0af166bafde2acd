//! `avocet sessions`: lists the conversations, shows, exports or deletes them.

mod export;

use std::sync::Arc;

use avocet_gateway::{DeleteSession, MOST_ROWS, ShowSession, run_method};
use avocet_protocol::chat::{LoggedInbound, SessionId};
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{Query, SessionRow, SessionSummary, TranscriptPage};
use avocet_protocol::turn::{CallState, LoggedCall, Origin, TurnRecord};
use avocet_store::EraseSubject;
use avocet_text::{PlainTable, append_line};
use clap::{Args, Subcommand, ValueEnum};
use jiff::tz::TimeZone;
use serde_json::json;

use crate::cli::erase::{EraseOptions, erase};
use crate::cli::faulty_file::for_daemon;
use crate::cli::reach::{call_daemon_or_log, open_log_read_only};
use crate::cli::values::{parse_rows, session_id};
use crate::components::kept_copies::{DeletionWithCopies, open_copies};
use crate::configuration::{Configuration, ConfigurationUse};
use crate::connection::connect_daemon;
use crate::context::CommandContext;
use crate::environment::system_zone;
use crate::exit::{Exit, Failure};
use crate::output::{ask_confirmation, format_moment, print_json, print_text};
use crate::redaction;

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List conversations, the last used first.
    List(SessionsListArgs),
    /// Show the messages and tool calls of a conversation.
    Show(SessionsShowArgs),
    /// Print a whole conversation, with all results, to keep it.
    Export(SessionsExportArgs),
    /// Erase a conversation for good, with its memories, schedules and files; audit rows keep digests
    /// only. Stop the daemon first.
    Erase {
        /// Conversation; a bare name is a conversation of the terminal.
        #[arg(value_parser = session_id)]
        session: SessionId,
        #[command(flatten)]
        options: EraseOptions,
    },
    /// Delete the messages, replies and tool calls of a conversation. Memories, costs and the audit
    /// stay.
    Delete(SessionsDeleteArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SessionsListArgs {
    /// Maximum number of conversations.
    #[arg(long, default_value_t = 50, value_parser = parse_rows)]
    limit: u32,
    /// Continue after this row: its used_at and session, as USED_AT/SESSION.
    #[arg(long, value_name = "ROW")]
    after: Option<SessionRow>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsShowArgs {
    /// Conversation; a bare name is a conversation of the terminal.
    #[arg(value_parser = session_id)]
    session: SessionId,
    /// Maximum number of turns; the last ones are shown.
    #[arg(long, default_value_t = 50, value_parser = parse_rows)]
    turns: u32,
    /// Show the turns before this one.
    #[arg(long, value_name = "TURN")]
    before: Option<TurnId>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsExportArgs {
    /// Conversation; a bare name is a conversation of the terminal.
    #[arg(value_parser = session_id)]
    session: SessionId,
    /// Form of the text.
    #[arg(long, value_enum, default_value_t)]
    format: ExportFormat,
}

/// The form of an exported conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// For people.
    #[default]
    Markdown,
    /// For programs: the turns as `sessions show --json` prints them.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsDeleteArgs {
    /// Conversation; a bare name is a conversation of the terminal.
    #[arg(value_parser = session_id)]
    session: SessionId,
    /// Delete without asking.
    #[arg(long)]
    yes: bool,
}

/// The most turns of a session that are followed.
const MOST_TURNS: u32 = 50;
/// The most characters of a result that a transcript shows.
const SHOWN: usize = 300;

pub(crate) async fn run(
    context: &CommandContext,
    command: SessionsCommand,
) -> Result<Exit, Failure> {
    match command {
        SessionsCommand::List(list_args) => list_sessions(context, list_args).await,
        SessionsCommand::Show(show_args) => show_session(context, show_args).await,
        SessionsCommand::Export(export_args) => export_session(context, export_args).await,
        SessionsCommand::Erase { session, options } => {
            erase(context, EraseSubject::Session(session), options).await
        }
        SessionsCommand::Delete(delete_args) => delete_session(context, delete_args).await,
    }
}

async fn list_sessions(context: &CommandContext, list: SessionsListArgs) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Daemon)?;
    let sessions = match open_log_read_only(context, &configuration)? {
        Some(log) => {
            let redactor = redaction::shared_redactor();
            let rows = log.sessions(list.limit, list.after.as_ref()).await?.into_iter();
            rows.map(|row| row.with_presentable_title(&redactor)).collect()
        }
        None => Vec::new(),
    };
    if list.json {
        print_json(&sessions)?;
    } else if sessions.is_empty() && list.after.is_some() {
        print_text("There are no more sessions.\n")?;
    } else if sessions.is_empty() {
        print_text("There are no sessions yet.\n")?;
    } else {
        let mut text = list_text(&sessions, &system_zone());
        if let Some(last) = sessions.last().filter(|_| sessions.len() == list.limit as usize) {
            let row = SessionRow { used_at: last.used_at, session: last.session.clone() };
            text.push_str(&format!("There may be more: avocet sessions list --after {row}\n"));
        }
        print_text(&text)?;
    }
    Ok(Exit::Done)
}

async fn show_session(context: &CommandContext, show: SessionsShowArgs) -> Result<Exit, Failure> {
    let configuration = for_daemon(context)?;
    let turns =
        fetch_turns(context, &configuration, &show.session, show.turns, show.before).await?;
    if show.json {
        print_json(&turns)?;
    } else if let Some(before) = show.before.filter(|_| turns.is_empty()) {
        print_text(&format!("{} has no messages before {before}.\n", show.session))?;
    } else if turns.is_empty() {
        return Err(no_messages(&show.session));
    } else {
        let mut text = transcript_text(&turns, &system_zone());
        if let Some(first) = turns.first().filter(|_| turns.len() == show.turns as usize) {
            let (session, id) = (&show.session, first.id);
            let more = format!("There may be more: avocet sessions show {session} --before {id}\n");
            text.insert_str(0, &more);
        }
        print_text(&text)?;
    }
    Ok(Exit::Done)
}

async fn export_session(
    context: &CommandContext,
    export: SessionsExportArgs,
) -> Result<Exit, Failure> {
    let SessionsExportArgs { session, format } = export;
    let configuration = for_daemon(context)?;
    let turns = fetch_turns(context, &configuration, &session, u32::MAX, None).await?;
    if turns.is_empty() {
        return Err(no_messages(&session));
    }
    match format {
        ExportFormat::Json => print_json(&turns)?,
        ExportFormat::Markdown => {
            print_text(&export::session_markdown(&session, &turns, &system_zone()))?;
        }
    }
    Ok(Exit::Done)
}

async fn delete_session(
    context: &CommandContext,
    delete: SessionsDeleteArgs,
) -> Result<Exit, Failure> {
    let SessionsDeleteArgs { session, yes } = delete;
    let question = format!("Delete all messages of {session}?");
    if !yes && !ask_confirmation(&question)? {
        print_text("Nothing was deleted.\n")?;
        return Ok(Exit::Done);
    }
    let params = DeleteSession { session: session.clone() };
    let turns: u64 = call_daemon_or_log::<DeleteSession>(context, &params, async |log, params| {
        let copies = Arc::new(open_copies(&log.configuration));
        let deletion = DeletionWithCopies { store: log.store.clone(), copies };
        Ok(run_method::<DeleteSession>(&deletion, params).await)
    })
    .await?;
    let plural = if turns == 1 { "" } else { "s" };
    print_text(&format!("{session} is deleted: {turns} turn{plural}\n"))?;
    Ok(Exit::Done)
}

fn no_messages(session: &SessionId) -> Failure {
    Failure::new(Exit::Failed, format!("{session} has no messages yet"))
}

/// Returns the last turns of a session, `most` of them at most, without secrets, oldest first. A
/// running daemon is asked, because it knows all secrets of the configuration and this process may
/// not.
async fn fetch_turns(
    context: &CommandContext,
    configuration: &Configuration,
    session: &SessionId,
    most: u32,
    mut before: Option<TurnId>,
) -> Result<Vec<TurnRecord>, Failure> {
    let client = connect_daemon(context, configuration).await?;
    let log = if client.is_none() { open_log_read_only(context, configuration)? } else { None };
    let mut shown = Vec::new();
    while shown.len() < most as usize {
        let wanted = most - u32::try_from(shown.len()).unwrap_or(most);
        let wanted = wanted.min(MOST_ROWS);
        let mut page: Vec<TurnRecord> = match (&client, &log) {
            (Some(client), _) => {
                let show = ShowSession { session: session.clone(), turns: wanted, before };
                client.call::<ShowSession>(&show).await?
            }
            (None, Some(log)) => {
                let page = TranscriptPage { turns: wanted, before, bytes: usize::MAX };
                let mut page = json!(log.transcript_page(session, page).await?);
                redaction::shared_redactor().redact_json(&mut page);
                serde_json::from_value(page).map_err(std::io::Error::from)?
            }
            (None, None) => Vec::new(),
        };
        let Some(first) = page.first() else { break };
        before = Some(first.id);
        page.append(&mut shown);
        shown = page;
    }
    Ok(shown)
}

/// A line of a session's transcript that no longer changes.
pub(crate) struct FinishedLine {
    /// Identifies the line.
    pub(crate) key: String,
    /// The line with its line break; a long text has several.
    pub(crate) text: String,
}

/// Returns the messages, texts and finished calls of a session, oldest first.
pub(crate) async fn finished_lines(
    context: &CommandContext,
    configuration: &Configuration,
    session: &SessionId,
) -> Result<Vec<FinishedLine>, Failure> {
    let turns = fetch_turns(context, configuration, session, MOST_TURNS, None).await?;
    Ok(turns.iter().flat_map(lines_of).collect())
}

fn lines_of(turn: &TurnRecord) -> Vec<FinishedLine> {
    let mut lines = Vec::new();
    let mut add = |key: String, write: &dyn Fn(&mut String)| {
        let mut text = String::new();
        write(&mut text);
        lines.push(FinishedLine { key, text });
    };
    for message in turn.origin.messages() {
        add(message.id.to_string(), &|text| write_message(text, message));
    }
    for step in &turn.steps {
        if !step.text.is_empty() {
            add(format!("{}s{}", turn.id, step.number), &|text| {
                push_said(text, "avocet", &step.text);
            });
        }
        for call in step.calls.iter().filter(|call| call.result().is_some()) {
            add(call.id.to_string(), &|text| write_call(text, call));
        }
        for message in &step.steered {
            add(message.id.to_string(), &|text| write_message(text, message));
        }
    }
    if let Some(notice) = &turn.notice {
        add(format!("{} notice", turn.id), &|text| push_line(text, &format!("! {notice}")));
    }
    lines
}

fn list_text(sessions: &[SessionSummary], zone: &TimeZone) -> String {
    let mut table = PlainTable::with_head(&["session", "turns", "last used", "now"]);
    for SessionSummary { session, turns, used_at, open, .. } in sessions {
        let open = open.map_or(String::new(), |state| state.as_str().to_owned());
        table.row([session.to_string(), turns.to_string(), format_moment(*used_at, zone), open]);
    }
    table.to_string()
}

fn transcript_text(turns: &[TurnRecord], zone: &TimeZone) -> String {
    let mut text = String::new();
    for turn in turns {
        write_turn(&mut text, turn, zone);
    }
    text
}

fn write_turn(text: &mut String, turn: &TurnRecord, zone: &TimeZone) {
    let (id, state, began) = (turn.id, turn.state.as_str(), format_moment(turn.started_at, zone));
    push_line(text, &format!("── {id} {began} {state}"));
    match &turn.origin {
        Origin::Messages(messages) => messages.iter().for_each(|one| write_message(text, one)),
        Origin::Child { parent, prompt, .. } => push_said(text, &parent.to_string(), prompt),
    }
    for step in &turn.steps {
        if !step.text.is_empty() {
            push_said(text, "avocet", &step.text);
        }
        step.calls.iter().for_each(|call| write_call(text, call));
        step.steered.iter().for_each(|one| write_message(text, one));
    }
    if let Some(notice) = &turn.notice {
        push_line(text, &format!("! {notice}"));
    }
}

fn sender_name(message: &LoggedInbound) -> &str {
    let sender = &message.message.inbound.sender;
    sender.name.as_deref().unwrap_or(sender.id.as_str())
}

fn write_message(text: &mut String, message: &LoggedInbound) {
    push_said(text, &format!("{} {}", message.id, sender_name(message)), &message.model_text());
}

fn write_call(text: &mut String, call: &LoggedCall) {
    let arguments = serde_json::Value::Object(call.call.arguments.to_object());
    let name = &call.call.name;
    let outcome = match &call.state {
        CallState::Planned => "planned".to_owned(),
        CallState::Started => "running".to_owned(),
        CallState::Interrupted { .. } => "interrupted".to_owned(),
        CallState::Waiting => "waiting".to_owned(),
        CallState::Finished(result) => {
            let mark = if result.ok { "✓" } else { "✗" };
            let value =
                result.value.as_str().map_or_else(|| result.value.to_string(), str::to_owned);
            format!("{mark} {}", shorten_value(&value))
        }
    };
    push_line(text, &format!("· {name} {} {outcome}", shorten_value(&arguments.to_string())));
}

fn push_said(text: &mut String, who: &str, what: &str) {
    push_line(text, &format!("{who}: {what}"));
}

fn push_line(text: &mut String, line: &str) {
    append_line(text, format_args!("{line}"));
}

fn shorten_value(value: &str) -> String {
    let words = value.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= SHOWN {
        return words;
    }
    format!("{}…", words.chars().take(SHOWN).collect::<String>())
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
