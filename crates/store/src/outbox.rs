//! Outgoing messages: rows in the order of sending, for each chat.

use async_trait::async_trait;
use avocet_protocol::chat::{ChatAddress, Content, Delivery, Planned};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{DedupeKey, DeliveryId, PlatformId, TurnId};
use avocet_protocol::store::{Enqueued, Head, Outbox, Preview, SendEnd, Showing, StoreError};
use rusqlite::{Row, params};

use crate::preview;
use crate::rows::chunks::{
    ChunkPosition, DELIVERABLE, OPEN_CHUNK, OutboxSource, insert_chunk, insert_notice, same_message,
};
use crate::rows::{self, at};
use crate::tx::{Db, Result, Tx};
use crate::undelivered;
use crate::{Durability, SqliteStore, digest};

#[async_trait]
impl Outbox for SqliteStore {
    async fn enqueue(
        &self,
        message: &Planned,
        key: &DedupeKey,
        original: Option<&Content>,
    ) -> Result<Enqueued> {
        let (message, key) = (message.clone(), key.clone());
        let topic = message.address.topic.as_ref();
        let digest = original.map(|content| digest::content_digest(topic, content)).transpose()?;
        self.write("enqueue", Durability::Synced, move |tx| {
            enqueue_message(tx, &message, &key, digest.as_deref())
        })
        .await
    }

    async fn open_chats(&self) -> Result<Vec<ChatAddress>> {
        self.read(|db| {
            db.query_rows(
                &format!(
                    "SELECT DISTINCT channel, account, chat, NULL AS topic FROM outbox \
                     WHERE {OPEN_CHUNK} AND {DELIVERABLE}"
                ),
                (),
                rows::address_from_row,
            )
        })
        .await
    }

    async fn head(&self, chat: &ChatAddress) -> Result<Option<Head>> {
        let chat = chat.clone();
        self.read(move |db| read_head(db, &chat)).await
    }

    async fn start(&self, id: DeliveryId, repeat: bool) -> Result<()> {
        self.write("start-send", Durability::Synced, move |tx| start(tx, id, repeat)).await
    }

    async fn finish(&self, id: DeliveryId, end: &SendEnd) -> Result<bool> {
        let end = end.clone();
        self.write("finish-send", durability_of(&end), move |tx| {
            finish_delivery(tx, id, &end)?;
            has_open_chunk(tx, id)
        })
        .await
    }

    async fn begin_preview(
        &self,
        turn: TurnId,
        part: usize,
        chat: &ChatAddress,
        content: &Content,
    ) -> Result<Preview> {
        let (chat, content) = (chat.clone(), content.clone());
        self.write("begin-preview", Durability::Synced, move |tx| {
            preview::begin_part(tx, turn, part, &chat, &content)
        })
        .await
    }

    async fn finish_preview(&self, id: DeliveryId, showing: &Showing) -> Result<()> {
        let showing = showing.clone();
        self.write("finish-preview", Durability::Process, move |tx| {
            preview::finish_part(tx, id, &showing)
        })
        .await
    }

    async fn preview(&self, turn: TurnId) -> Result<Option<PlatformId>> {
        self.read(move |db| preview::first_message(db, turn)).await
    }
}

fn enqueue_message(
    tx: &Tx<'_>,
    message: &Planned,
    key: &DedupeKey,
    digest: Option<&str>,
) -> Result<Enqueued> {
    let address = &message.address;
    let mut first = None;
    for (chunk, content) in message.chunks.iter().enumerate() {
        let source = OutboxSource::Process;
        let position = ChunkPosition { turn: None, ordinal: 0, chunk, key: Some(key), source };
        let Some(id) = insert_chunk(tx, address, content, &position)? else { break };
        first = first.or(Some(DeliveryId(id)));
    }
    if let Some(id) = first {
        tx.change_rows("UPDATE outbox SET digest = ?2 WHERE id = ?1", params![id.0, digest])?;
        return Ok(Enqueued { id, duplicate: false, key_taken: false });
    }
    let found = tx.db.query_row(
        "SELECT id, digest FROM outbox \
         WHERE channel = ?1 AND account = ?2 AND chat = ?3 AND key = ?4 AND chunk = 0",
        params![
            address.channel.as_str(),
            address.account.as_str(),
            address.chat.as_str(),
            key.as_str(),
        ],
        |row| Ok((DeliveryId(row.get("id")?), row.get::<_, Option<String>>("digest")?)),
    )?;
    match found {
        Some((id, known)) => {
            let key_taken = digest::is_other(known.as_deref(), digest);
            Ok(Enqueued { id, duplicate: true, key_taken })
        }
        None => Err(StoreError::Internal("a message without chunks".to_owned())),
    }
}

/// The columns of a chunk that [`read_head`] reads by their place.
const HEAD: &str = "SELECT id, turn, channel, account, chat, topic, content, source, state, attempts, \
    repeat, not_before, held_at, failing_since, error, first_sent_at, ";

fn read_head(db: Db<'_>, chat: &ChatAddress) -> Result<Option<Head>> {
    struct First {
        state: String,
        head: Head,
    }
    let first = db.query_row(
        &format!(
            "{HEAD} coalesce(platform_id, (SELECT edited.platform_id FROM outbox AS edited \
                     WHERE edited.id = outbox.edits)) AS platform_id, \
                 CASE WHEN chunk > 0 THEN (SELECT first.platform_id FROM outbox AS first \
                     WHERE {same_message} AND first.chunk = 0) END AS first_chunk, \
                 edits IS NOT NULL AS is_edit, coalesce(nonce, 'o' || id) AS nonce \
             FROM outbox WHERE channel = ?1 AND account = ?2 AND chat = ?3 \
                 AND {OPEN_CHUNK} AND {DELIVERABLE} \
             ORDER BY id LIMIT 1",
            same_message = same_message("outbox", "first"),
        ),
        rows::chat_key(chat),
        |row| {
            let state: String = row.get(at!(HEAD, "state"))?;
            let unknown = state == "unknown";
            Ok(First {
                state,
                head: Head {
                    delivery: read_delivery(row)?,
                    unknown,
                    attempts: row.get(at!(HEAD, "attempts"))?,
                    not_before: Timestamp(row.get(at!(HEAD, "not_before"))?),
                    held_at: Timestamp(row.get(at!(HEAD, "held_at"))?),
                    failing_since: row
                        .get::<_, Option<i64>>(at!(HEAD, "failing_since"))?
                        .map(Timestamp),
                    error: row.get(at!(HEAD, "error"))?,
                    notice: row.get_ref(at!(HEAD, "source"))?.as_str()?
                        == OutboxSource::Notice.as_word(),
                    is_edit: row.get("is_edit")?,
                },
            })
        },
    )?;
    Ok(first.filter(|first| first.state != "sending").map(|first| first.head))
}

fn start(tx: &Tx<'_>, id: DeliveryId, repeat: bool) -> Result<()> {
    tx.update_one(
        id,
        "UPDATE outbox SET state = 'sending', attempts = attempts + 1, \
             repeat = max(repeat, ?2), first_sent_at = coalesce(first_sent_at, ?3) \
         WHERE id = ?1 AND state IN ('pending', 'unknown')",
        params![id.0, repeat, tx.now.0],
    )
}

/// Starts the send of a chat's next chunk if it is its first attempt and needs no preparation.
/// Returns the chunk as it was before.
pub(crate) fn start_head(tx: &Tx<'_>, chat: &ChatAddress) -> Result<Option<Head>> {
    let can_start = |head: &Head| {
        head.attempts == 0
            && !head.unknown
            && head.not_before <= tx.now
            && head.delivery.content.attachments.is_empty()
    };
    let head = read_head(tx.db, chat)?.filter(can_start);
    if let Some(head) = &head {
        start(tx, head.delivery.id, false)?;
    }
    Ok(head)
}

fn read_delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    Ok(Delivery {
        id: DeliveryId(row.get(at!(HEAD, "id"))?),
        turn: row.get::<_, Option<i64>>(at!(HEAD, "turn"))?.map(TurnId),
        nonce: row.get("nonce")?,
        address: rows::address_at(row, at!(HEAD, "channel"))?,
        content: rows::json_column(row, at!(HEAD, "content"))?,
        repeat: row.get(at!(HEAD, "repeat"))?,
        first_sent_at: row.get::<_, Option<i64>>(at!(HEAD, "first_sent_at"))?.map(Timestamp),
        shown_as: rows::parsed_if_any(row, "platform_id")?,
        first_chunk: rows::parsed_if_any(row, "first_chunk")?,
        files: Vec::new(),
    })
}

fn durability_of(end: &SendEnd) -> Durability {
    match end {
        SendEnd::Sent(_)
        | SendEnd::Again { .. }
        | SendEnd::Unreachable
        | SendEnd::Anew
        | SendEnd::Unknown { .. } => Durability::Process,
        SendEnd::Unconfirmed { .. } | SendEnd::Dead { .. } => Durability::Synced,
        SendEnd::Partly(rest) => durability_of(rest),
    }
}

fn finish_delivery(tx: &Tx<'_>, id: DeliveryId, end: &SendEnd) -> Result<()> {
    let set = |assignments: &str, params: &[&dyn rusqlite::ToSql]| {
        let sql = format!(
            "UPDATE outbox SET {assignments} WHERE id = ?1 AND state IN ('sending', 'unknown')"
        );
        tx.update_one(id, &sql, params)
    };
    match end {
        SendEnd::Sent(receipt) => set(
            "state = 'sent', platform_id = ?2, error = NULL",
            &[&id.0, &receipt.platform_id.as_ref().map(PlatformId::as_str)],
        ),
        SendEnd::Again { not_before, error, counts, first_sent_at } => set(
            "state = 'pending', not_before = ?2, error = ?3, attempts = attempts - ?4, \
             first_sent_at = ?5, held_at = ?6, \
             failing_since = CASE ?4 WHEN 0 THEN coalesce(failing_since, ?6) ELSE failing_since END",
            &[
                &id.0,
                &not_before.0,
                error,
                &!counts,
                &first_sent_at.map(|first| first.0),
                &tx.now.0,
            ],
        ),
        SendEnd::Unreachable => set("state = 'pending', attempts = attempts - 1", &[&id.0]),
        SendEnd::Anew => {
            set("state = 'pending', platform_id = NULL, first_sent_at = NULL", &[&id.0])
        }
        SendEnd::Unknown { error } => set(
            "state = 'unknown', error = ?2, failing_since = coalesce(failing_since, ?3)",
            &[&id.0, error, &tx.now.0],
        ),
        SendEnd::Unconfirmed { error, notice } => {
            set("state = 'unconfirmed', error = ?2", &[&id.0, error])?;
            undelivered::note_abandoned(tx, id)?;
            notice.iter().try_for_each(|notice| insert_notice(tx, notice))
        }
        SendEnd::Partly(rest) => {
            set("repeat = 1", &[&id.0])?;
            finish_delivery(tx, id, rest)
        }
        SendEnd::Dead { error, notice } => {
            set("state = 'dead', error = ?2", &[&id.0, error])?;
            abandon_the_rest(tx, id)?;
            undelivered::note_abandoned(tx, id)?;
            notice.iter().try_for_each(|notice| insert_notice(tx, notice))
        }
    }
}

/// Returns `true` if the chat of a chunk has an open one.
fn has_open_chunk(tx: &Tx<'_>, id: DeliveryId) -> Result<bool> {
    tx.db.query_one(
        "SELECT EXISTS (SELECT 1 FROM outbox AS open \
             WHERE (open.state = 'pending' OR open.state = 'sending' \
                 OR open.state = 'unknown') \
                 AND (open.source <> 'preview' OR open.edits = open.id) \
                 AND (open.channel, open.account, open.chat) = \
                     (outbox.channel, outbox.account, outbox.chat)) \
         FROM outbox WHERE id = ?1",
        [id.0],
        |row| row.get(0),
    )
}

/// Abandons the later chunks of a message, because the message would have a gap.
fn abandon_the_rest(tx: &Tx<'_>, dead: DeliveryId) -> Result<()> {
    tx.change_rows(
        &format!(
            "UPDATE outbox SET state = 'dead', \
                     error = 'an earlier part of the message was refused' \
             WHERE {OPEN_CHUNK} AND state = 'pending' AND id > ?1 \
                 AND (channel, account, chat) = (SELECT channel, account, chat FROM outbox \
                     WHERE id = ?1) \
                 AND EXISTS (SELECT 1 FROM outbox AS dead WHERE dead.id = ?1 AND {})",
            same_message("dead", "outbox")
        ),
        [dead.0],
    )?;
    Ok(())
}
