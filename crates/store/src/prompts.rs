//! The messages that ask a person. The transaction that ends a wait also queues an edit of each
//! such message, which then shows the outcome instead of buttons.

use avocet_protocol::chat::{ChatAddress, Content, Planned, Style, StyleRange};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, MessageId, TurnId, WaitId};
use avocet_protocol::model::Arguments;
use avocet_protocol::store::{CommandReply, OpenPrompt, Resolution};
use avocet_protocol::tool::WaitKind;
use avocet_text::{in_one_line, whole_main_argument};
use rusqlite::params;

use crate::rows;
use crate::rows::chunks::{ChunkPosition, OutboxSource, insert_chunk, insert_planned};
use crate::tx::{Db, Result, Tx};

/// Characters of a person's name in an outcome.
const MAX_NAME: usize = 40;
/// Characters of a call in the line of its outcome. A longer one stands above.
const MAX_CALL: usize = 200;
/// Characters of a call above its outcome.
const MAX_LONG_CALL: usize = 1200;
/// Characters of an answer in an outcome.
const MAX_ANSWER: usize = 200;
/// Characters of a question that has room for its outcome in the same message of every platform.
const MAX_QUESTION: usize = 1200;
/// The call that withholds an answer.
const WITHHELD_CALL: &str = "say_held_answer";
/// The call in which the changes of files wait for their review.
const REVIEW_CALL: &str = "review_changes";

/// The author of a decision.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DecidedBy {
    /// The sender of this message.
    Person(MessageId),
    /// A person at the command line or the socket, or the expiry of the wait.
    Host,
    /// The log itself: a child has ended.
    Log,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum WaitEnd<'r> {
    Resolved(&'r Resolution, DecidedBy),
    /// Its turn was ended.
    Stopped,
}

pub(crate) struct EndingWait {
    pub(crate) id: WaitId,
    pub(crate) kind: WaitKind,
    pub(crate) call: CallId,
    pub(crate) expires_at: Timestamp,
}

/// Connects the newest message of the outbox with its wait, if the channel of its chat can edit it.
pub(crate) fn connect_prompt(
    tx: &Tx<'_>,
    wait: WaitId,
    chat: &ChatAddress,
    editable: &[ChatAddress],
) -> Result<()> {
    if !editable.contains(chat) {
        return Ok(());
    }
    tx.change_rows("UPDATE outbox SET wait = ?1 WHERE id = (SELECT max(id) FROM outbox)", [wait.0])
        .map(drop)
}

/// Connects a repeated prompt, if the first one in its chat was connected.
pub(crate) fn connect_repeated(tx: &Tx<'_>, wait: WaitId) -> Result<()> {
    tx.change_rows(
        "UPDATE outbox SET wait = ?1 WHERE id = (SELECT max(id) FROM outbox) \
             AND EXISTS (SELECT 1 FROM outbox AS first WHERE first.wait = ?1 \
                 AND (first.channel, first.account, first.chat) = \
                     (outbox.channel, outbox.account, outbox.chat))",
        [wait.0],
    )
    .map(drop)
}

/// Queues the edits of all open waits of a turn that is ended from outside.
pub(crate) fn stop_all(tx: &Tx<'_>, turn: TurnId) -> Result<()> {
    let open = tx.db.query_rows(
        "SELECT id, kind, turn, step, ordinal, expires_at FROM waits \
         WHERE turn = ?1 AND resolved = 0",
        [turn.0],
        |row| {
            Ok(EndingWait {
                id: WaitId(row.get("id")?),
                kind: rows::wait_kind(row)?,
                call: rows::call_id(row)?,
                expires_at: Timestamp(row.get("expires_at")?),
            })
        },
    )?;
    open.iter().try_for_each(|wait| show_end(tx, wait, WaitEnd::Stopped))
}

/// Queues an edit of each message that asked a person. The delivery reads the platform's id of that
/// message when its turn comes, because the message may be on its way.
pub(crate) fn show_end(tx: &Tx<'_>, wait: &EndingWait, end: WaitEnd<'_>) -> Result<()> {
    let asked = tx.db.query_rows(
        "SELECT id, channel, account, chat, topic, content FROM outbox WHERE wait = ?1 ORDER BY id",
        [wait.id.0],
        |row| {
            Ok((
                row.get::<_, i64>("id")?,
                rows::address_from_row(row)?,
                rows::json_column(row, "content")?,
            ))
        },
    )?;
    if asked.is_empty() {
        return Ok(());
    }
    let outcome = describe_end(tx, wait, end)?;
    for (message, chat, question) in asked {
        let content = match wait.kind {
            WaitKind::Answer => match question_with_outcome(question, &outcome.text) {
                Some(content) => content,
                None => continue,
            },
            WaitKind::Approval | WaitKind::Child | WaitKind::Choice => outcome.clone(),
        };
        let source = OutboxSource::Notice;
        let position = ChunkPosition { turn: None, ordinal: 0, chunk: 0, key: None, source };
        let edit = insert_chunk(tx, &chat, &content, &position)?;
        tx.change_rows("UPDATE outbox SET edits = ?2 WHERE id = ?1", params![edit, message])?;
    }
    Ok(())
}

/// Returns the number of the newest message of the outbox.
pub(crate) fn newest_message(tx: &Tx<'_>) -> Result<i64> {
    tx.db.query_one("SELECT coalesce(max(id), 0) FROM outbox", (), |row| row.get(0))
}

/// Returns `true` if an edit after the message `newest` shows an outcome in the chat of a command.
/// Its reply would repeat that. A message that has not arrived shows nothing, and a long question
/// that only lost its buttons shows no outcome. A command with a place for its answer gets the
/// answer there, unless it is the press of a button below the question.
pub(crate) fn is_shown(tx: &Tx<'_>, command: MessageId, newest: i64) -> Result<bool> {
    tx.db.query_one(
        "SELECT EXISTS (SELECT 1 FROM outbox JOIN inbound ON inbound.id = ?1 \
             JOIN outbox AS asked ON asked.id = outbox.edits \
             WHERE outbox.id > ?2 AND asked.state NOT IN ('unconfirmed', 'dead') \
                 AND json_extract(outbox.content, '$.text') \
                     IS NOT json_extract(asked.content, '$.text') \
                 AND (json_extract(inbound.content, '$.reply_to') IS NULL \
                     OR json_extract(inbound.content, '$.pressed') IS NOT NULL) \
                 AND outbox.topic IS inbound.topic \
                 AND (outbox.channel, outbox.account, outbox.chat) = \
                     (inbound.channel, inbound.account, inbound.chat))",
        params![command.0, newest],
        |row| row.get(0),
    )
}

/// Adds the outcome to a question of the model, without buttons. A question without room for its
/// outcome only loses its buttons; `None` if it has none.
fn question_with_outcome(question: Content, outcome: &str) -> Option<Content> {
    let Content { mut text, styles, choices, .. } = question;
    if text.chars().count() <= MAX_QUESTION {
        text.push_str("\n\n");
        text.push_str(outcome);
    } else if choices.is_empty() {
        return None;
    }
    Some(Content { styles: styles.or_else(|| Some(Vec::new())), ..Content::text(text) })
}

/// Describes the end of a wait: the decision, its author, its time, and the call or the answer.
fn describe_end(tx: &Tx<'_>, wait: &EndingWait, end: WaitEnd<'_>) -> Result<Content> {
    let start = match end {
        WaitEnd::Stopped => "Ended, the work was stopped".to_owned(),
        WaitEnd::Resolved(Resolution::Error { .. }, DecidedBy::Log | DecidedBy::Host)
            if wait.expires_at <= tx.now =>
        {
            "Ended, no answer came in time".to_owned()
        }
        WaitEnd::Resolved(resolution, decider) => {
            let decision = match (resolution, wait.kind) {
                (Resolution::Run | Resolution::RunAlways, WaitKind::Choice) => "Run again",
                (Resolution::Error { .. }, WaitKind::Choice) => "Skipped",
                (Resolution::Answer { .. }, WaitKind::Answer) => "Answered",
                (Resolution::Run | Resolution::RunAlways, _) => "Allowed",
                (Resolution::Error { .. } | Resolution::Answer { .. }, _) => "Refused",
            };
            let scope = match resolution {
                Resolution::RunAlways => " for this session",
                _ => "",
            };
            format!("{decision}{scope} by {} at {}", name_of_decider(tx, decider)?, time_of_day(tx))
        }
    };
    if wait.kind == WaitKind::Answer {
        let answer = match end {
            WaitEnd::Resolved(Resolution::Answer { text, .. }, _) => in_one_line(text, MAX_ANSWER),
            _ => return Ok(text_with_code(format!("{start}."), "")),
        };
        return Ok(text_with_code(format!("{start}: {answer}"), ""));
    }
    let (name, arguments) = tx.db.query_one(
        "SELECT name, arguments FROM calls WHERE turn = ?1 AND step = ?2 AND ordinal = ?3",
        params![wait.call.turn.0, wait.call.step, wait.call.ordinal],
        |row| {
            Ok((row.get::<_, String>("name")?, rows::json_column::<Arguments>(row, "arguments")?))
        },
    )?;
    let of_answer = match name.as_str() {
        WITHHELD_CALL => Some("sending the answer"),
        REVIEW_CALL => Some("keeping the changes"),
        _ => None,
    };
    if let Some(of_answer) = of_answer {
        return Ok(text_with_code(format!("{start}: {of_answer}"), ""));
    }
    let Some(main) = whole_main_argument(&arguments.to_object(), tx.redactor) else {
        return Ok(text_with_code(format!("{start}: "), &name));
    };
    let name = if name == "exec_shell" { "" } else { name.as_str() };
    Ok(call_with_outcome(name, &main, &start))
}

/// Returns a call with its outcome. A call in one short line is part of the line; another one stands
/// above it, as it runs.
fn call_with_outcome(name: &str, main: &str, outcome: &str) -> Content {
    let name_before =
        |end: &str| if name.is_empty() { String::new() } else { format!("{name}{end}") };
    if !main.contains('\n') && main.chars().count() <= MAX_CALL {
        return text_with_code(format!("{outcome}: {}", name_before(" ")), main);
    }
    let mut text = name_before(":\n");
    let from = text.len();
    text.extend(main.trim_end().chars().take(MAX_LONG_CALL));
    if main.chars().count() > MAX_LONG_CALL {
        text.push('…');
    }
    let styles = vec![StyleRange::new(from..text.len(), Style::Pre { language: None })];
    text.push_str(&format!("\n\n{outcome}."));
    Content { styles: Some(styles), ..Content::text(text) }
}

/// Returns plain text that ends with code.
fn text_with_code(text: String, code: &str) -> Content {
    let from = text.len();
    let text = text + code;
    let style = StyleRange::new(from..text.len(), Style::Code);
    let styles = if code.is_empty() { Vec::new() } else { vec![style] };
    Content { styles: Some(styles), ..Content::text(text) }
}

fn name_of_decider(tx: &Tx<'_>, decider: DecidedBy) -> Result<String> {
    let DecidedBy::Person(message) = decider else { return Ok("the operator".to_owned()) };
    let name: String = tx.db.query_one(
        "SELECT coalesce(sender_name, sender) FROM inbound WHERE id = ?1",
        [message.0],
        |row| row.get(0),
    )?;
    Ok(in_one_line(&name, MAX_NAME))
}

/// Fills in the time of day in the reply to a decision about a stranger.
pub(crate) fn fill_in_time(tx: &Tx<'_>, reply: &mut Planned) {
    for chunk in &mut reply.chunks {
        if let Some(at) = chunk.text.rfind(CommandReply::TIME) {
            chunk.text.replace_range(at..at + CommandReply::TIME.len(), &time_of_day(tx));
        }
    }
}

fn time_of_day(tx: &Tx<'_>) -> String {
    let now = jiff::Timestamp::from_millisecond(tx.now.0).unwrap_or_default();
    now.to_zoned(tx.zone.clone()).strftime("%H:%M").to_string()
}

/// Returns the latest prompts of open waits for a person, except prompts still in delivery.
pub(crate) fn open(db: Db<'_>, now: Timestamp) -> Result<Vec<OpenPrompt>> {
    let chunks = db.query_rows(
        "SELECT waits.id AS wait, channel, account, chat, topic, content, \
             coalesce(first_sent_at, created_at) AS said_at, is_reminded \
         FROM waits INDEXED BY waits_open CROSS JOIN outbox ON outbox.turn = waits.turn \
         WHERE resolved = 0 AND kind <> 'child' AND source = 'prompt' AND expires_at > ?1 \
             AND outbox.ordinal = (SELECT max(ordinal) FROM outbox AS latest \
                 WHERE latest.turn = waits.turn AND latest.source = 'prompt') \
             AND NOT EXISTS (SELECT 1 FROM outbox AS part \
                 WHERE part.turn = outbox.turn AND part.ordinal = outbox.ordinal \
                     AND (part.state = 'pending' OR part.state = 'sending' \
                         OR part.state = 'unknown')) \
         ORDER BY waits.id, chunk",
        [now.0],
        |row| {
            let said_at = Timestamp(row.get("said_at")?);
            let chunk = rows::json_column::<Content>(row, "content")?;
            let prompt = Planned { address: rows::address_from_row(row)?, chunks: vec![chunk] };
            let is_repeated = row.get("is_reminded")?;
            Ok(OpenPrompt { wait: WaitId(row.get("wait")?), prompt, said_at, is_repeated })
        },
    )?;
    let mut prompts: Vec<OpenPrompt> = Vec::new();
    for part in chunks {
        match prompts.last_mut().filter(|last| last.wait == part.wait) {
            Some(last) => last.prompt.chunks.extend(part.prompt.chunks),
            None => prompts.push(part),
        }
    }
    Ok(prompts)
}

/// Sends prompts again whose waits are still open.
pub(crate) fn repeat_prompts(tx: &Tx<'_>, prompts: &[OpenPrompt]) -> Result<()> {
    for OpenPrompt { wait, prompt, .. } in prompts {
        let turn = tx.db.query_row(
            "SELECT turn FROM waits WHERE id = ?1 AND resolved = 0",
            [wait.0],
            |row| row.get(0).map(TurnId),
        )?;
        if turn.is_some() {
            insert_planned(tx, prompt, turn, OutboxSource::Prompt)?;
            tx.change_rows("UPDATE waits SET is_reminded = 1 WHERE id = ?1", [wait.0])?;
            connect_repeated(tx, *wait)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_with_outcome_keeps_the_command_as_it_runs() {
        let short = call_with_outcome("", "echo `date`", "Allowed by Ann at 12:04");
        assert_eq!(short.text, "Allowed by Ann at 12:04: echo `date`");
        let lines = "cat <<E\n`a`\nE";
        let long = call_with_outcome("post", lines, "Refused by Ann at 12:04");
        assert_eq!(long.text, format!("post:\n{lines}\n\nRefused by Ann at 12:04."));
        let styles = long.styles.unwrap();
        assert_eq!(&long.text[styles[0].start..styles[0].end], lines);
        let command = "x".repeat(1300);
        let cut = call_with_outcome("", &command, "Allowed by Ann at 12:04").text;
        assert_eq!(cut, format!("{}…\n\nAllowed by Ann at 12:04.", "x".repeat(1200)));
    }
}
