//! Conversion of the log's rows into protocol types.

use std::str::FromStr;

use avocet_protocol::{CallId, CallResult, CallState, QueueMode, SessionId, WaitKind};
use avocet_protocol::{
    ChatAddress, ChatKind, Content, Inbound, InboundKind, LoggedCall, LoggedInbound, MessageId,
    NewInbound, Origin, Sender, Step, Timestamp, ToolCall, ToolClass, Trust, TurnId, TurnRecord,
    TurnState, Usage,
};
use rusqlite::types::Type;
use rusqlite::{Row, params};
use serde::de::DeserializeOwned;

use crate::tx::{Db, Result};
use crate::undelivered;

type RowResult<T> = rusqlite::Result<T>;

/// Parses a text column into an id or another checked type.
pub(crate) fn parsed<T>(row: &Row<'_>, column: &str) -> RowResult<T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text: String = row.get(column)?;
    text.parse().map_err(|error| bad_column(row, column, error))
}

/// Parses like `parsed`, but NULL gives `None`.
pub(crate) fn parsed_if_any<T>(row: &Row<'_>, column: &str) -> RowResult<Option<T>>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    match row.get_ref(column)?.data_type() {
        Type::Null => Ok(None),
        _ => parsed(row, column).map(Some),
    }
}

/// Parses a JSON column.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> RowResult<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| bad_column(row, column, error))
}

/// Parses like `json`, but NULL gives `None`.
pub(crate) fn json_if_any<T: DeserializeOwned>(
    row: &Row<'_>,
    column: &str,
) -> RowResult<Option<T>> {
    match row.get_ref(column)?.data_type() {
        Type::Null => Ok(None),
        _ => json(row, column).map(Some),
    }
}

/// Parses a column that holds a word of an enumeration.
pub(crate) fn word<T: Copy>(
    row: &Row<'_>,
    column: &str,
    all: &[T],
    word_of: fn(T) -> &'static str,
) -> RowResult<T> {
    let text: String = row.get(column)?;
    all.iter()
        .copied()
        .find(|value| word_of(*value) == text)
        .ok_or_else(|| bad_column(row, column, UnknownWord(text)))
}

#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not one of the words of this column")]
struct UnknownWord(String);

fn bad_column(
    row: &Row<'_>,
    column: &str,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    let index = row.as_ref().column_index(column).unwrap_or(usize::MAX);
    rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(error))
}

/// Serializes a value as JSON; failure would be a bug.
pub(crate) fn to_json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| avocet_protocol::StoreError::Internal(error.to_string()))
}

pub(crate) fn address(row: &Row<'_>) -> RowResult<ChatAddress> {
    Ok(ChatAddress {
        channel: parsed(row, "channel")?,
        account: parsed(row, "account")?,
        chat: parsed(row, "chat")?,
        topic: parsed_if_any(row, "topic")?,
    })
}

pub(crate) const INBOUND: &str = "SELECT id, session, channel, account, chat, topic, chat_kind, \
    key, sender, sender_name, is_bot, kind, content, removed, received_at, written_at, \
    corrects, edited_at FROM inbound";

pub(crate) fn inbound(row: &Row<'_>) -> RowResult<LoggedInbound> {
    Ok(LoggedInbound {
        id: MessageId(row.get("id")?),
        received_at: Timestamp(row.get("received_at")?),
        message: NewInbound {
            session: parsed(row, "session")?,
            kind: kind(row)?,
            inbound: Inbound {
                address: address(row)?,
                sender: sender(row)?,
                key: parsed(row, "key")?,
                content: json::<Content>(row, "content")?,
                chat: word(row, "chat_kind", &ChatKind::ALL, ChatKind::word)?,
                written_at: row.get::<_, Option<i64>>("written_at")?.map(Timestamp),
                corrects: parsed_if_any(row, "corrects")?,
                from_platform: false,
                by_owner: false,
                edited_at: row.get::<_, Option<i64>>("edited_at")?.map(Timestamp),
            },
            removed: row.get("removed")?,
        },
    })
}

pub(crate) fn kind(row: &Row<'_>) -> RowResult<InboundKind> {
    word(row, "kind", &[InboundKind::Text, InboundKind::Command], kind_word)
}

fn sender(row: &Row<'_>) -> RowResult<Sender> {
    Ok(Sender {
        id: parsed(row, "sender")?,
        name: row.get("sender_name")?,
        is_bot: row.get("is_bot")?,
    })
}

pub(crate) fn kind_word(kind: InboundKind) -> &'static str {
    match kind {
        InboundKind::Text => "text",
        InboundKind::Command => "command",
    }
}

pub(crate) fn class_word(class: ToolClass) -> &'static str {
    match class {
        ToolClass::Pure => "pure",
        ToolClass::InLog => "in_log",
        ToolClass::Verifiable => "verifiable",
        ToolClass::Effect => "effect",
    }
}

pub(crate) fn trust(row: &Row<'_>, column: &str) -> RowResult<Trust> {
    word(row, column, &Trust::ALL, Trust::word)
}

pub(crate) fn mode(db: Db<'_>, session: &SessionId, default: QueueMode) -> Result<QueueMode> {
    let found = db.row(
        "SELECT mode FROM sessions WHERE id = ?1 AND mode IS NOT NULL",
        [session.as_str()],
        |row| word(row, "mode", &QueueMode::ALL, QueueMode::word),
    )?;
    Ok(found.unwrap_or(default))
}

pub(crate) fn state(row: &Row<'_>) -> RowResult<TurnState> {
    word(row, "state", &TurnState::ALL, TurnState::word)
}

pub(crate) fn wait_kind(row: &Row<'_>) -> RowResult<WaitKind> {
    word(row, "kind", &WaitKind::ALL, WaitKind::word)
}

/// Reads a turn with its messages, steps and calls.
pub(crate) fn turn(db: Db<'_>, id: TurnId) -> Result<TurnRecord> {
    let messages = db.rows(
        &format!("{INBOUND} WHERE turn = ?1 AND after_step IS NULL ORDER BY id"),
        [id.0],
        inbound,
    )?;
    let steps = db.rows(
        "SELECT number, text, input_tokens, output_tokens, closed, reasoning, trust, written FROM steps \
         WHERE turn = ?1 ORDER BY number",
        [id.0],
        |row| {
            Ok(Step {
                number: row.get("number")?,
                text: row.get("text")?,
                usage: Usage::new(row.get("input_tokens")?, row.get("output_tokens")?),
                calls: Vec::new(),
                written: row.get("written")?,
                reasoning: json_if_any(row, "reasoning")?,
                closed: row.get("closed")?,
                trust: trust(row, "trust")?,
                steered: Vec::new(),
            })
        },
    )?;
    let steps = steps
        .into_iter()
        .map(|step| {
            let calls = calls(db, id, step.number)?;
            let steered = steered(db, id, step.number)?;
            Ok(Step { calls, steered, ..step })
        })
        .collect::<Result<_>>()?;
    let undelivered = undelivered::of(db, id)?;
    db.one(
        "SELECT session, state, parent, prompt, prompt_trust, notice, started_at FROM turns WHERE id = ?1",
        [id.0],
        |row| {
            let parent: Option<i64> = row.get("parent")?;
            let origin = match parent {
                None => Origin::Messages(messages),
                Some(parent) => Origin::Child {
                    parent: TurnId(parent),
                    prompt: row.get("prompt")?,
                    trust: trust(row, "prompt_trust")?,
                },
            };
            Ok(TurnRecord {
                id,
                session: parsed(row, "session")?,
                state: state(row)?,
                started_at: Timestamp(row.get("started_at")?),
                origin,
                steps,
                notice: row.get("notice")?,
                undelivered,
            })
        },
    )
}

/// Returns the messages that steered a turn after one of its steps.
pub(crate) fn steered(db: Db<'_>, turn: TurnId, step: u32) -> Result<Vec<LoggedInbound>> {
    db.rows(
        &format!("{INBOUND} WHERE turn = ?1 AND after_step = ?2 ORDER BY id"),
        params![turn.0, step],
        inbound,
    )
}

fn calls(db: Db<'_>, turn: TurnId, step: u32) -> Result<Vec<LoggedCall>> {
    db.rows(
        "SELECT ordinal, name, arguments, state, allowed, evidence, ok, result, trust FROM calls \
         WHERE turn = ?1 AND step = ?2 ORDER BY ordinal",
        params![turn.0, step],
        |row| {
            Ok(LoggedCall {
                id: CallId { turn, step, ordinal: row.get("ordinal")? },
                call: ToolCall { name: row.get("name")?, arguments: json(row, "arguments")? },
                state: call_state(row)?,
                allowed: row.get("allowed")?,
            })
        },
    )
}

fn call_state(row: &Row<'_>) -> RowResult<CallState> {
    let state: String = row.get("state")?;
    Ok(match state.as_str() {
        "planned" => CallState::Planned,
        "started" => CallState::Started,
        "interrupted" => CallState::Interrupted { evidence: json_if_any(row, "evidence")? },
        "waiting" => CallState::Waiting,
        _ => CallState::Finished(CallResult {
            ok: row.get("ok")?,
            value: json(row, "result")?,
            trust: trust(row, "trust")?,
        }),
    })
}
