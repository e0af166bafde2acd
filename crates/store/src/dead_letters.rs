//! Dead letters: abandoned outgoing messages, and dropped incoming ones.

use std::cmp::Reverse;

use async_trait::async_trait;
use avocet_protocol::chat::{ChatAddress, Content, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{DeliveryId, MessageId, TurnId};
use avocet_protocol::store::{
    DeadId, DeadLetter, DeadLetters, DeadPage, DeadReason, RetriedLetter,
};
use rusqlite::{Params, Row, params};

use crate::retry::copy_message;
use crate::rows::chunks::{QUEUE_AGAIN, same_message};
use crate::rows::sessions::use_session;
use crate::rows::{self, RowResult};
use crate::tx::{Db, Result, Tx};
use crate::undelivered;
use crate::{Durability, SqliteStore};

#[async_trait]
impl DeadLetters for SqliteStore {
    async fn dead_letters(&self, page: DeadPage) -> Result<Vec<DeadLetter>> {
        self.read(move |db| dead_letters(db, page)).await
    }

    async fn dead_letter(&self, id: DeadId) -> Result<Option<DeadLetter>> {
        self.read(move |db| dead_letter(db, id)).await
    }

    async fn retry_dead_letter(&self, id: DeadId) -> Result<Option<RetriedLetter>> {
        self.write("retry-dead-letter", Durability::Synced, move |tx| match id {
            DeadId::Delivery(id) => Ok(retry_delivery(tx, id)?.map(RetriedLetter::Delivery)),
            DeadId::Message(id) => Ok(retry_message(tx, id)?.map(RetriedLetter::Message)),
        })
        .await
    }

    async fn drop_dead_letter(&self, id: DeadId) -> Result<bool> {
        self.write("drop-dead-letter", Durability::Synced, move |tx| {
            let dropped = match id {
                DeadId::Delivery(id) => drop_delivery(tx, id)?,
                DeadId::Message(id) => end_message(tx, id)?,
            };
            Ok(dropped > 0)
        })
        .await
    }
}

/// Returns the condition that a chunk of the outbox is abandoned, and still in the list.
fn is_dead(chunk: &str) -> String {
    format!("{chunk}.state IN ('unconfirmed', 'dead') AND {chunk}.dropped_at IS NULL")
}

/// Returns the condition that a chunk is the first abandoned one of its message.
fn is_first_dead() -> String {
    format!(
        "{} AND NOT EXISTS (SELECT 1 FROM outbox AS earlier WHERE earlier.id < outbox.id \
             AND {} AND {})",
        is_dead("outbox"),
        is_dead("earlier"),
        same_message("earlier", "outbox")
    )
}

/// The condition that an incoming message is dead, and no copy of it was queued.
const DEAD_MESSAGE: &str =
    "inbound.state = 'dead' AND inbound.kind = 'text' AND inbound.is_copied = 0";

/// The position in the list: the time, 1 for a delivery and 0 for a message, and the number.
type ListPosition = (i64, i64, i64);

fn list_position(letter: &DeadLetter) -> ListPosition {
    match letter.id {
        DeadId::Delivery(id) => (letter.at.0, 1, id.0),
        DeadId::Message(id) => (letter.at.0, 0, id.0),
    }
}

fn dead_letters(db: Db<'_>, page: DeadPage) -> Result<Vec<DeadLetter>> {
    let (at, kind, id) = match page.after {
        Some(after) => position_of(db, after)?.unwrap_or(FIRST),
        None => FIRST,
    };
    let mut letters = dead_deliveries(
        db,
        "(coalesce(first_sent_at, created_at), 1, id) < (?1, ?2, ?3) \
             ORDER BY coalesce(first_sent_at, created_at) DESC, id DESC LIMIT ?4",
        params![at, kind, id, page.limit],
    )?;
    letters.extend(dead_messages(
        db,
        "(received_at, 0, inbound.id) < (?1, ?2, ?3) \
             ORDER BY received_at DESC, inbound.id DESC LIMIT ?4",
        params![at, kind, id, page.limit],
    )?);
    letters.sort_by_key(|letter| Reverse(list_position(letter)));
    letters.truncate(page.limit as usize);
    Ok(letters)
}

/// The position before all others.
const FIRST: ListPosition = (i64::MAX, 0, 0);

/// Returns the position of a row, which may have left the list; `None` if there is no such row.
fn position_of(db: Db<'_>, id: DeadId) -> Result<Option<ListPosition>> {
    let (sql, kind, id) = match id {
        DeadId::Delivery(id) => {
            ("SELECT coalesce(first_sent_at, created_at) FROM outbox WHERE id = ?1", 1, id.0)
        }
        DeadId::Message(id) => ("SELECT received_at FROM inbound WHERE id = ?1", 0, id.0),
    };
    db.query_row(sql, [id], |row| Ok((row.get(0)?, kind, id)))
}

fn dead_letter(db: Db<'_>, id: DeadId) -> Result<Option<DeadLetter>> {
    let found = match id {
        DeadId::Delivery(id) => dead_deliveries(db, "id = ?1", [id.0])?,
        DeadId::Message(id) => dead_messages(db, "inbound.id = ?1", [id.0])?,
    };
    Ok(found.into_iter().next())
}

fn dead_deliveries(db: Db<'_>, condition: &str, params: impl Params) -> Result<Vec<DeadLetter>> {
    let sql = format!(
        "SELECT id, state, channel, account, chat, topic, turn, attempts, error, content, \
             coalesce(first_sent_at, created_at) AS at, \
             (SELECT group_concat(text, '') FROM (SELECT json_extract(part.content, '$.text') AS text \
                 FROM outbox AS part WHERE {} AND {} ORDER BY part.id)) AS text \
         FROM outbox WHERE {} AND {condition}",
        is_dead("part"),
        same_message("part", "outbox"),
        is_first_dead()
    );
    db.query_rows(&sql, params, |row| {
        let is_unconfirmed = row.get::<_, String>("state")? == "unconfirmed";
        let reason = if is_unconfirmed { DeadReason::Unconfirmed } else { DeadReason::Refused };
        let id = DeadId::Delivery(DeliveryId(row.get("id")?));
        read_letter(row, id, reason, row.get::<_, Option<String>>("text")?)
    })
}

fn dead_messages(db: Db<'_>, condition: &str, params: impl Params) -> Result<Vec<DeadLetter>> {
    let sql = format!(
        "SELECT inbound.id AS id, channel, account, chat, topic, turn, \
             coalesce(attempts, 0) AS attempts, notice AS error, content, received_at AS at \
         FROM inbound LEFT JOIN turns ON turns.id = turn WHERE {DEAD_MESSAGE} AND {condition}"
    );
    db.query_rows(&sql, params, |row| {
        let id = DeadId::Message(MessageId(row.get("id")?));
        read_letter(row, id, DeadReason::Dropped, None)
    })
}

/// Reads a dead letter. `text` replaces that of its content.
fn read_letter(
    row: &Row<'_>,
    id: DeadId,
    reason: DeadReason,
    text: Option<String>,
) -> RowResult<DeadLetter> {
    let content: Content = rows::json_column(row, "content")?;
    Ok(DeadLetter {
        id,
        reason,
        chat: rows::address_from_row(row)?,
        at: Timestamp(row.get("at")?),
        turn: row.get::<_, Option<i64>>("turn")?.map(TurnId),
        attempts: row.get("attempts")?,
        error: row.get("error")?,
        summary: content.in_short(),
        text: text.unwrap_or(content.text),
    })
}

/// Queues all abandoned parts of a message.
fn retry_delivery(tx: &Tx<'_>, id: DeliveryId) -> Result<Option<ChatAddress>> {
    let Some(letter) = dead_letter(tx.db, DeadId::Delivery(id))? else { return Ok(None) };
    tx.change_rows(
        &format!(
            "UPDATE outbox SET {QUEUE_AGAIN} WHERE {} \
                 AND EXISTS (SELECT 1 FROM outbox AS first WHERE first.id = ?1 AND {})",
            is_dead("outbox"),
            same_message("first", "outbox")
        ),
        [id.0],
    )?;
    undelivered::withdraw_requeued(tx)?;
    Ok(Some(letter.chat))
}

/// Takes all abandoned parts of a message out of the list. Returns their number.
fn drop_delivery(tx: &Tx<'_>, id: DeliveryId) -> Result<usize> {
    if dead_letter(tx.db, DeadId::Delivery(id))?.is_none() {
        return Ok(0);
    }
    tx.change_rows(
        &format!(
            "UPDATE outbox SET dropped_at = ?2 WHERE {} \
                 AND EXISTS (SELECT 1 FROM outbox AS first WHERE first.id = ?1 AND {})",
            is_dead("outbox"),
            same_message("first", "outbox")
        ),
        params![id.0, tx.now.0],
    )
}

/// Queues a copy of a message. Returns its session.
fn retry_message(tx: &Tx<'_>, id: MessageId) -> Result<Option<SessionId>> {
    if end_message(tx, id)? == 0 {
        return Ok(None);
    }
    let session = tx.db.query_one("SELECT session FROM inbound WHERE id = ?1", [id.0], |row| {
        rows::parse_column(row, "session")
    })?;
    use_session(tx, &session)?;
    copy_message(tx, id, None)?;
    Ok(Some(session))
}

/// Takes a message out of the list. Its outcome stays.
fn end_message(tx: &Tx<'_>, id: MessageId) -> Result<usize> {
    let sql = format!("UPDATE inbound SET state = 'done' WHERE id = ?1 AND {DEAD_MESSAGE}");
    tx.change_rows(&sql, [id.0])
}
