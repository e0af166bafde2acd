//! `avocet sessions`: the conversations, and what was said and done in them.

use std::fmt::Write;

use avocet_protocol::{
    CallState, LoggedCall, LoggedInbound, Origin, Query, SessionSummary, TurnRecord, sanitise,
};
use jiff::tz::TimeZone;

use crate::Context;
use crate::cli::{SessionsList, SessionsShow};
use crate::commands::look;
use crate::exit::{Exit, Failure};
use crate::output::{columns, moment, print, print_json};
use crate::places::Configuration;

/// Characters of a result that a transcript shows.
const SHOWN: usize = 300;

pub(crate) async fn list(context: &Context, list: SessionsList) -> Result<Exit, Failure> {
    let configuration = Configuration::load(&context.cli)?;
    let sessions = match look(context, &configuration)? {
        Some(log) => log.sessions(list.limit).await?,
        None => Vec::new(),
    };
    if list.json {
        print_json(&sessions)?;
    } else if sessions.is_empty() {
        print("There are no sessions yet.\n")?;
    } else {
        print(&list_text(&sessions, &TimeZone::system()))?;
    }
    Ok(Exit::Done)
}

pub(crate) async fn show(context: &Context, show: SessionsShow) -> Result<Exit, Failure> {
    let configuration = Configuration::load(&context.cli)?;
    let turns = match look(context, &configuration)? {
        Some(log) => log.transcript(&show.session, show.turns).await?,
        None => Vec::new(),
    };
    if show.json {
        print_json(&turns)?;
    } else if turns.is_empty() {
        let message = format!("nothing was said in {} yet", show.session);
        return Err(Failure::new(Exit::Failed, message));
    } else {
        print(&transcript(&turns, &TimeZone::system()))?;
    }
    Ok(Exit::Done)
}

fn list_text(sessions: &[SessionSummary], zone: &TimeZone) -> String {
    let head = ["session", "turns", "last used", "now"].map(str::to_owned).to_vec();
    let rows = sessions.iter().map(|one| {
        let open = one.open.map_or(String::new(), |state| state.word().to_owned());
        vec![one.session.to_string(), one.turns.to_string(), moment(one.used_at, zone), open]
    });
    columns(&[head].into_iter().chain(rows).collect::<Vec<_>>())
}

fn transcript(turns: &[TurnRecord], zone: &TimeZone) -> String {
    let mut text = String::new();
    for turn in turns {
        write_turn(&mut text, turn, zone);
    }
    text
}

fn write_turn(text: &mut String, turn: &TurnRecord, zone: &TimeZone) {
    let (id, state, began) = (turn.id, turn.state.word(), moment(turn.started_at, zone));
    line(text, &format!("── {id} {began} {state}"));
    match &turn.origin {
        Origin::Messages(messages) => messages.iter().for_each(|one| write_message(text, one)),
        Origin::Child { parent, prompt, .. } => said(text, &parent.to_string(), prompt),
    }
    for step in &turn.steps {
        if !step.text.is_empty() {
            said(text, "avocet", &step.text);
        }
        step.calls.iter().for_each(|call| write_call(text, call));
        step.steered.iter().for_each(|one| write_message(text, one));
    }
    if let Some(notice) = &turn.notice {
        line(text, &format!("! {}", safe(notice)));
    }
}

fn write_message(text: &mut String, message: &LoggedInbound) {
    let sender = &message.message.inbound.sender;
    let name = sender.name.as_deref().unwrap_or(sender.id.as_str());
    said(text, &format!("{} {name}", message.id), &message.model_text());
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
            format!("{mark} {}", shorten(&value))
        }
    };
    line(text, &format!("· {} {} {outcome}", safe(name), shorten(&arguments.to_string())));
}

fn said(text: &mut String, who: &str, what: &str) {
    line(text, &format!("{}: {}", safe(who), safe(what)));
}

fn line(text: &mut String, line: &str) {
    // Writing to a text cannot fail.
    writeln!(text, "{line}").unwrap_or_default();
}

fn shorten(value: &str) -> String {
    let words = safe(value).split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= SHOWN {
        return words;
    }
    format!("{}…", words.chars().take(SHOWN).collect::<String>())
}

/// What models and tools wrote cannot move the cursor.
fn safe(text: &str) -> String {
    sanitise(text).text
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
