//! Previews: the growing reply of an open turn, shown to its chat. Each message of a preview is one
//! row of the outbox: a part. The end of the turn makes each part a chunk of the reply, so that its
//! message is edited instead of sent again. Messages that the reply does not need are removed.

use avocet_protocol::chat::{ChatAddress, Content, Planned};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{DeliveryId, PlatformId, TurnId};
use avocet_protocol::store::{Preview, Showing};
use avocet_protocol::turn::STOPPED;
use rusqlite::params;

use crate::rows::chunks::{
    ChunkPosition, DELIVERABLE, OPEN_CHUNK, OutboxSource, insert_chunk, insert_chunks, next_ordinal,
};
use crate::rows::turns::must_be_open;
use crate::rows::{self, to_json};
use crate::tx::{Db, Result, Tx};

/// One part of the preview of an open turn.
pub(crate) struct PreviewRow {
    id: DeliveryId,
    part: usize,
    chat: ChatAddress,
    content: Content,
    /// `true` if its message shows exactly the content, which no attempt has changed since.
    is_complete: bool,
    /// `false` if the platform refused the message, so that the chat certainly lacks it.
    may_be_there: bool,
    not_before: Timestamp,
    held_at: Timestamp,
    pub(crate) platform_id: Option<PlatformId>,
}

impl PreviewRow {
    /// Returns `true` if the message may become a chunk of the reply. A part without a known message
    /// that was left as it is stays so.
    fn is_usable(&self) -> bool {
        self.may_be_there && !(self.is_complete && self.platform_id.is_none())
    }
}

/// The message that shows the beginning of the preview of an open turn.
pub(crate) fn first_message(db: Db<'_>, turn: TurnId) -> Result<Option<PlatformId>> {
    let first = parts_of_turn(db, turn)?.into_iter().next();
    Ok(first.filter(|part| !part.is_complete).and_then(|part| part.platform_id))
}

/// Returns `true` if the chat may show a message of the preview of an open turn.
pub(crate) fn is_shown(db: Db<'_>, turn: TurnId) -> Result<bool> {
    Ok(parts_of_turn(db, turn)?.iter().any(PreviewRow::is_usable))
}

/// Returns the preview of an open turn with the mark of a stop, as the reply. `None` if its last
/// message is not known, or shows no unfinished text.
pub(crate) fn stopped_reply(db: Db<'_>, turn: TurnId) -> Result<Option<Planned>> {
    let mut parts = parts_of_turn(db, turn)?;
    let Some(last) = parts.last_mut().filter(|last| last.platform_id.is_some()) else {
        return Ok(None);
    };
    let Some(text) = last.content.text.strip_suffix('…') else { return Ok(None) };
    last.content.text = format!("{text}{STOPPED}");
    let address = last.chat.clone();
    let chunks = parts.into_iter().map(|part| part.content).collect();
    Ok(Some(Planned { address, chunks }))
}

/// Returns the parts of an open turn, in order. After the end of the turn, parts that were left as
/// they were look like complete ones.
fn parts_of_turn(db: Db<'_>, turn: TurnId) -> Result<Vec<PreviewRow>> {
    db.query_rows(
        "SELECT id, chunk, channel, account, chat, topic, content, state = 'sent' AS is_complete, \
             state <> 'preview' OR platform_id IS NOT NULL AS may_be_there, not_before, held_at, \
             platform_id FROM outbox \
         WHERE turn = ?1 AND source = 'preview' AND edits IS NULL ORDER BY chunk",
        [turn.0],
        |row| {
            Ok(PreviewRow {
                id: DeliveryId(row.get("id")?),
                part: row.get("chunk")?,
                chat: rows::address_from_row(row)?,
                content: rows::json_column(row, "content")?,
                is_complete: row.get("is_complete")?,
                may_be_there: row.get("may_be_there")?,
                not_before: Timestamp(row.get("not_before")?),
                held_at: Timestamp(row.get("held_at")?),
                platform_id: rows::parsed_if_any(row, "platform_id")?,
            })
        },
    )
}

/// Inserts a part in state `sending`, unless the turn has it already or the chat waits for other
/// messages. A complete part with other content is open again.
pub(crate) fn begin_part(
    tx: &Tx<'_>,
    turn: TurnId,
    part: usize,
    chat: &ChatAddress,
    content: &Content,
) -> Result<Preview> {
    must_be_open(tx, turn)?;
    let parts = parts_of_turn(tx.db, turn)?;
    if let Some(known) = parts.iter().find(|known| known.part == part) {
        return resume_part(tx, known, content);
    }
    // A gap would become a missing chunk of the reply.
    if parts.len() != part || !parts.iter().all(|known| known.platform_id.is_some()) {
        return Ok(Preview::Over);
    }
    if something_waits(tx.db, chat)? {
        return Ok(Preview::Later);
    }
    let ordinal = match parts.first() {
        Some(first) => ordinal_of(tx, first.id)?,
        None => next_ordinal(tx, Some(turn))?,
    };
    let source = OutboxSource::Preview;
    let position = ChunkPosition { turn: Some(turn), ordinal, chunk: part, key: None, source };
    let id = DeliveryId(insert_chunk(tx, chat, content, &position)?.unwrap_or_default());
    tx.update_one(
        id,
        "UPDATE outbox SET state = 'sending', attempts = 1, first_sent_at = ?2 WHERE id = ?1",
        params![id.0, tx.now.0],
    )?;
    let nonce =
        tx.db.query_one("SELECT nonce FROM outbox WHERE id = ?1", [id.0], |row| row.get(0))?;
    Ok(Preview::Begun { id, nonce })
}

fn ordinal_of(tx: &Tx<'_>, id: DeliveryId) -> Result<i64> {
    tx.db.query_one("SELECT ordinal FROM outbox WHERE id = ?1", [id.0], |row| row.get(0))
}

/// Continues with a part that this turn has begun before.
fn resume_part(tx: &Tx<'_>, known: &PreviewRow, content: &Content) -> Result<Preview> {
    let Some(message) = known.platform_id.clone() else { return Ok(Preview::Over) };
    if known.is_complete {
        if known.content == *content {
            return Ok(Preview::Complete(known.id, message));
        }
        // From here on, the message may show other content than the row.
        tx.update_one(
            known.id,
            "UPDATE outbox SET state = 'preview' WHERE id = ?1 AND state = 'sent'",
            [known.id.0],
        )?;
    }
    Ok(Preview::Shown(known.id, message))
}

fn something_waits(db: Db<'_>, chat: &ChatAddress) -> Result<bool> {
    db.query_one(
        &format!(
            "SELECT EXISTS (SELECT 1 FROM outbox WHERE channel = ?1 AND account = ?2 AND chat = ?3 \
             AND {OPEN_CHUNK} AND {DELIVERABLE})"
        ),
        rows::chat_key(chat),
        |row| row.get(0),
    )
}

/// Records the outcome of a preview send. A refused part stays without platform id, which keeps
/// the turn from beginning another.
pub(crate) fn finish_part(tx: &Tx<'_>, id: DeliveryId, showing: &Showing) -> Result<()> {
    let set = |assignments: &str, params: &[&dyn rusqlite::ToSql]| {
        let sql = format!(
            "UPDATE outbox SET {assignments} \
             WHERE id = ?1 AND source = 'preview' AND edits IS NULL \
                 AND state IN ('sending', 'preview')"
        );
        tx.update_one(id, &sql, params)
    };
    match showing {
        Showing::Shown { content, platform_id } => set(
            "state = 'preview', content = ?2, platform_id = ?3",
            &[&id.0, &to_json(content)?, &platform_id.as_str()],
        ),
        Showing::Complete { content, platform_id } => set(
            "state = 'sent', content = ?2, platform_id = ?3",
            &[&id.0, &to_json(content)?, &platform_id.as_str()],
        ),
        Showing::Refused { not_before } => set(
            "state = 'preview', held_at = iif(?2 > not_before, ?3, held_at), \
             not_before = max(not_before, ?2)",
            &[&id.0, &not_before.0, &tx.now.0],
        ),
        Showing::Unknown => set("state = 'unknown'", &[&id.0]),
    }
}

/// Makes the parts of the preview the chunks of the reply at the end of the turn, and removes those
/// that the reply does not need. Without a reply for its chat, the preview stays unchanged.
pub(crate) fn become_reply(tx: &Tx<'_>, turn: TurnId, reply: Option<&Planned>) -> Result<()> {
    let parts = parts_of_turn(tx.db, turn)?;
    let Some(reply) = reply.filter(|reply| !reply.chunks.is_empty()) else {
        return parts.iter().try_for_each(|part| leave_part(tx, part));
    };
    let ordinal = next_ordinal(tx, Some(turn))?;
    let source = OutboxSource::Reply;
    let position = ChunkPosition { turn: Some(turn), ordinal, chunk: 0, key: None, source };
    let reply = &with_files_apart(reply, parts.len());
    let is_usable = |(part, chunk): &(&PreviewRow, &Content)| {
        part.is_usable() && part.chat == reply.address && chunk.attachments.is_empty()
    };
    let usable = parts.iter().zip(&reply.chunks).take_while(is_usable).count();
    let (used, others) = parts.split_at(usable);
    for (part, content) in used.iter().zip(&reply.chunks) {
        take_over(tx, part, content, &ChunkPosition { chunk: part.part, ..position })?;
    }
    for part in others {
        if part.chat == reply.address { remove_part(tx, part)? } else { leave_part(tx, part)? }
    }
    insert_chunks(tx, reply, usable, &position)?;
    hold_first_chunk(tx, &parts, turn, ordinal)
}

/// Splits those of the first chunks that have both text and files. The message of a part becomes a
/// text, but cannot get files.
fn with_files_apart(reply: &Planned, parts: usize) -> Planned {
    let mut chunks = Vec::new();
    for chunk in &reply.chunks {
        let is_split = chunks.len() < parts && !chunk.text.trim().is_empty();
        if !is_split || chunk.attachments.is_empty() {
            chunks.push(chunk.clone());
            continue;
        }
        let attachments = chunk.attachments.clone();
        chunks.push(Content { attachments: Vec::new(), ..chunk.clone() });
        chunks.push(Content { styles: Some(Vec::new()), attachments, ..Content::default() });
    }
    Planned { address: reply.address.clone(), chunks }
}

/// Makes the first open chunk wait as long as the platform asked any part to wait.
fn hold_first_chunk(tx: &Tx<'_>, parts: &[PreviewRow], turn: TurnId, ordinal: i64) -> Result<()> {
    let longest = parts.iter().max_by_key(|part| part.not_before);
    let Some(longest) = longest.filter(|part| part.not_before > Timestamp(0)) else {
        return Ok(());
    };
    tx.change_rows(
        "UPDATE outbox SET not_before = ?3, held_at = ?4 \
         WHERE turn = ?1 AND ordinal = ?2 AND chunk = (SELECT min(chunk) FROM outbox \
             WHERE turn = ?1 AND ordinal = ?2 AND state <> 'sent')",
        params![turn.0, ordinal, longest.not_before.0, longest.held_at.0],
    )?;
    Ok(())
}

/// Removes the preview of a turn whose answer the chat has already, or does not need.
pub(crate) fn remove_all(tx: &Tx<'_>, turn: TurnId) -> Result<()> {
    parts_of_turn(tx.db, turn)?.iter().try_for_each(|part| remove_part(tx, part))
}

/// Sends the reply of a task in the background as a new message. Its preview, which shows the
/// progress, stays unchanged.
pub(crate) fn send_as_new_message(
    tx: &Tx<'_>,
    turn: TurnId,
    reply: Option<&Planned>,
) -> Result<()> {
    for part in parts_of_turn(tx.db, turn)? {
        leave_part(tx, &part)?;
    }
    let Some(reply) = reply else { return Ok(()) };
    let ordinal = next_ordinal(tx, Some(turn))?;
    let source = OutboxSource::Reply;
    let position = ChunkPosition { turn: Some(turn), ordinal, chunk: 0, key: None, source };
    insert_chunks(tx, reply, 0, &position)
}

/// Replaces a part's content by a chunk of the reply. A known message is edited, unless it shows
/// the chunk already; one of unknown outcome is sent again by the delivery rules.
fn take_over(
    tx: &Tx<'_>,
    part: &PreviewRow,
    content: &Content,
    position: &ChunkPosition<'_>,
) -> Result<()> {
    let is_done = part.is_complete && part.content == *content;
    tx.update_one(
        part.id,
        "UPDATE outbox SET content = ?2, source = ?3, ordinal = ?4, chunk = ?5, \
             state = CASE WHEN ?6 THEN 'sent' WHEN platform_id IS NULL THEN 'unknown' \
                 ELSE 'pending' END, \
             attempts = CASE WHEN platform_id IS NULL THEN attempts ELSE 0 END \
         WHERE id = ?1",
        params![
            part.id.0,
            to_json(content)?,
            position.source.as_word(),
            position.ordinal,
            position.chunk,
            is_done
        ],
    )
}

/// Queues the removal of a part's message. The row stays a preview, so that it is no message of the
/// agent, and names itself as the message that it changes.
fn remove_part(tx: &Tx<'_>, part: &PreviewRow) -> Result<()> {
    if part.platform_id.is_none() {
        return leave_part(tx, part);
    }
    tx.update_one(
        part.id,
        "UPDATE outbox SET state = 'pending', attempts = 0, content = ?2, edits = id WHERE id = ?1",
        params![part.id.0, to_json(&Content::default())?],
    )
}

/// Ends a part without a reply. A part that the chat certainly lacks is deleted.
fn leave_part(tx: &Tx<'_>, part: &PreviewRow) -> Result<()> {
    let sql = if part.may_be_there {
        "UPDATE outbox SET state = 'sent' WHERE id = ?1"
    } else {
        "DELETE FROM outbox WHERE id = ?1"
    };
    tx.update_one(part.id, sql, [part.id.0])
}
