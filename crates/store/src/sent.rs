//! The messages that a chat gets from outside of the turns of its session. The messages of these turns
//! are in the transcript.

use std::ops::ControlFlow;

use avocet_protocol::chat::{ChatAddress, Content, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{DeliveryId, TopicId};
use avocet_protocol::store::{DeliveredText, SentState};
use rusqlite::{Row, params};

use crate::rows::{self, RowResult};
use crate::tx::{Db, Result};

/// The chats of a session: `?1` to `?4` are its own chat, `?5` the session.
const CHATS: &str = "WITH chats (channel, account, chat, topic) AS (VALUES (?1, ?2, ?3, ?4) \
    UNION SELECT channel, account, chat, NULL FROM links WHERE session = ?5)";

/// Returns the messages, the newest first. No index leads to the deliveries of a chat, so this reads
/// the outbox backwards until the page is full.
pub(crate) fn sent_texts(
    db: Db<'_>,
    session: &SessionId,
    limit: u32,
    before: Option<DeliveryId>,
) -> Result<Vec<DeliveredText>> {
    let ChatAddress { channel, account, chat, topic } = session.address();
    let ids = db.query_rows(
        &format!(
            "{CHATS} SELECT id FROM outbox WHERE id < ?6 AND chunk = 0 AND source <> 'preview' \
                 AND state <> 'preview' AND EXISTS (SELECT 1 FROM chats WHERE chats.channel = outbox.channel \
                     AND chats.account = outbox.account AND chats.chat = outbox.chat \
                     AND chats.topic IS outbox.topic) \
                 AND (turn IS NULL \
                     OR (SELECT session FROM turns WHERE turns.id = outbox.turn) <> ?5) \
             ORDER BY id DESC LIMIT ?7"
        ),
        params![
            channel.as_str(),
            account.as_str(),
            chat.as_str(),
            topic.as_ref().map(TopicId::as_str),
            session.as_str(),
            before.map_or(i64::MAX, |before| before.0),
            limit,
        ],
        |row| row.get(0).map(DeliveryId),
    )?;
    ids.into_iter().map(|id| read_message(db, id)).collect()
}

/// Reads a message with all its parts. A message of a turn or with a key has indexes to them. The parts
/// of any other message were inserted one after the other.
fn read_message(db: Db<'_>, delivery: DeliveryId) -> Result<DeliveredText> {
    let mut parts = Vec::new();
    let columns = "part.content, part.state, part.chunk, part.created_at, \
        part.turn IS NULL AND part.key IS NULL AS is_alone";
    let of_turn = format!(
        "SELECT {columns} FROM outbox AS first CROSS JOIN outbox AS part \
         ON part.turn = first.turn AND part.ordinal = first.ordinal \
         WHERE first.id = ?1 ORDER BY part.chunk"
    );
    let of_key = format!(
        "SELECT {columns} FROM outbox AS first CROSS JOIN outbox AS part \
         ON part.channel = first.channel AND part.account = first.account \
             AND part.chat = first.chat AND part.key = first.key \
         WHERE first.id = ?1 AND first.turn IS NULL ORDER BY part.chunk"
    );
    for sql in [of_turn, of_key] {
        parts.extend(db.query_rows(&sql, [delivery.0], part_from_row)?);
    }
    if parts.is_empty() {
        let sql = format!("SELECT {columns} FROM outbox AS part WHERE id >= ?1 ORDER BY id");
        db.rows_while(&sql, [delivery.0], |row| {
            let is_next = row.get::<_, usize>("chunk")? == parts.len() && row.get("is_alone")?;
            if !is_next {
                return Ok(ControlFlow::Break(()));
            }
            parts.push(part_from_row(row)?);
            Ok(ControlFlow::Continue(()))
        })?;
    }
    let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    Ok(DeliveredText {
        delivery,
        at: parts.first().map_or(Timestamp(0), |part| part.at),
        text: texts.join("\n"),
        state: parts.iter().map(|part| part.state).min().unwrap_or(SentState::Dead),
        is_plain: parts.iter().any(|part| part.is_plain),
    })
}

/// A part of a message.
struct SentPart {
    text: String,
    state: SentState,
    at: Timestamp,
    is_plain: bool,
}

fn part_from_row(row: &Row<'_>) -> RowResult<SentPart> {
    let content: Content = rows::json_column(row, "content")?;
    Ok(SentPart {
        text: content.as_text(),
        state: rows::word_column(row, "state", &SentState::ALL, SentState::as_str)?,
        at: Timestamp(row.get("created_at")?),
        is_plain: content.styles.is_some(),
    })
}
