//! Previews: the growing reply of an open turn, shown to its chat. A preview is one row of the
//! outbox. The end of the turn makes this row the first chunk of the reply, so that the message is
//! edited instead of sent again.

use avocet_protocol::{
    ChatAddress, Content, DeliveryId, Planned, PlatformId, Preview, Showing, Timestamp, TurnId,
};
use rusqlite::params;

use crate::rows::chunks::{
    ChunkPosition, OPEN_CHUNK, OutboxSource, insert_chunk, insert_chunks, next_ordinal,
};
use crate::rows::turns::must_be_open;
use crate::rows::{self, to_json};
use crate::tx::{Db, Result, Tx};

/// The preview row of an open turn.
pub(crate) struct PreviewRow {
    id: DeliveryId,
    chat: ChatAddress,
    /// `false` if the platform refused the message, so that the chat certainly lacks it.
    may_be_there: bool,
    not_before: Timestamp,
    held_at: Timestamp,
    pub(crate) platform_id: Option<PlatformId>,
}

pub(crate) fn of(db: Db<'_>, turn: TurnId) -> Result<Option<PreviewRow>> {
    db.row(
        "SELECT id, channel, account, chat, topic, state <> 'preview' OR platform_id IS NOT NULL \
             AS may_be_there, not_before, held_at, platform_id FROM outbox \
         WHERE turn = ?1 AND source = 'preview' AND state <> 'sent'",
        [turn.0],
        |row| {
            Ok(PreviewRow {
                id: DeliveryId(row.get("id")?),
                chat: rows::address(row)?,
                may_be_there: row.get("may_be_there")?,
                not_before: Timestamp(row.get("not_before")?),
                held_at: Timestamp(row.get("held_at")?),
                platform_id: rows::parsed_if_any(row, "platform_id")?,
            })
        },
    )
}

/// Inserts a row in state `sending`, unless the turn has one already or the chat waits for other
/// messages.
pub(crate) fn begin(
    tx: &Tx<'_>,
    turn: TurnId,
    chat: &ChatAddress,
    content: &Content,
) -> Result<Preview> {
    must_be_open(tx, turn)?;
    if let Some(PreviewRow { id, platform_id, .. }) = of(tx.db, turn)? {
        return Ok(platform_id.map_or(Preview::Over, |platform_id| Preview::Shown(id, platform_id)));
    }
    if something_waits(tx.db, chat)? {
        return Ok(Preview::Later);
    }
    let ordinal = next_ordinal(tx, Some(turn))?;
    let source = OutboxSource::Preview;
    let position = ChunkPosition { turn: Some(turn), ordinal, chunk: 0, key: None, source };
    let id = DeliveryId(insert_chunk(tx, chat, content, &position)?.unwrap_or_default());
    tx.update_one(
        id,
        "UPDATE outbox SET state = 'sending', attempts = 1, first_sent_at = ?2 WHERE id = ?1",
        params![id.0, tx.now.0],
    )?;
    let nonce = tx.db.one("SELECT nonce FROM outbox WHERE id = ?1", [id.0], |row| row.get(0))?;
    Ok(Preview::Begun { id, nonce })
}

fn something_waits(db: Db<'_>, chat: &ChatAddress) -> Result<bool> {
    db.one(
        &format!(
            "SELECT EXISTS (SELECT 1 FROM outbox WHERE channel = ?1 AND account = ?2 AND chat = ?3 \
             AND {OPEN_CHUNK} AND source <> 'preview')"
        ),
        rows::chat_key(chat),
        |row| row.get(0),
    )
}

/// Records the outcome of a preview send. A refused preview stays without platform id, which keeps
/// the turn from beginning another.
pub(crate) fn finish(tx: &Tx<'_>, id: DeliveryId, showing: &Showing) -> Result<()> {
    let set = |assignments: &str, params: &[&dyn rusqlite::ToSql]| {
        let sql = format!(
            "UPDATE outbox SET {assignments} \
             WHERE id = ?1 AND source = 'preview' AND state IN ('sending', 'preview')"
        );
        tx.update_one(id, &sql, params)
    };
    match showing {
        Showing::Shown { content, platform_id } => set(
            "state = 'preview', content = ?2, platform_id = ?3",
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

/// Makes the preview the first chunk of the reply at the end of the turn. Without a reply for its
/// chat, the preview stays unchanged.
pub(crate) fn become_reply(tx: &Tx<'_>, turn: TurnId, reply: Option<&Planned>) -> Result<()> {
    let ordinal = next_ordinal(tx, Some(turn))?;
    let position = ChunkPosition {
        turn: Some(turn),
        ordinal,
        chunk: 0,
        key: None,
        source: OutboxSource::Reply,
    };
    let preview = of(tx.db, turn)?;
    let Some((reply, first)) = reply.and_then(|reply| Some((reply, reply.chunks.first()?))) else {
        return preview.map_or(Ok(()), |preview| leave(tx, &preview));
    };
    let Some(preview) = preview else { return insert_chunks(tx, reply, 0, &position) };
    if preview.may_be_there && preview.chat == reply.address {
        take_over(tx, &preview, first, &position)?;
        return insert_chunks(tx, reply, 1, &position);
    }
    leave(tx, &preview)?;
    insert_chunks(tx, reply, 0, &position)?;
    // The platform asked for this delay.
    tx.update(
        "UPDATE outbox SET not_before = ?3, held_at = ?4 \
         WHERE turn = ?1 AND ordinal = ?2 AND chunk = 0",
        params![turn.0, ordinal, preview.not_before.0, preview.held_at.0],
    )?;
    Ok(())
}

/// Sends the reply of a task in the background as a new message. Its preview, which shows the
/// progress, stays unchanged.
pub(crate) fn stay(tx: &Tx<'_>, turn: TurnId, reply: Option<&Planned>) -> Result<()> {
    if let Some(preview) = of(tx.db, turn)? {
        leave(tx, &preview)?;
    }
    let Some(reply) = reply else { return Ok(()) };
    let ordinal = next_ordinal(tx, Some(turn))?;
    let source = OutboxSource::Reply;
    let position = ChunkPosition { turn: Some(turn), ordinal, chunk: 0, key: None, source };
    insert_chunks(tx, reply, 0, &position)
}

/// Replaces the preview's content by the reply. A known message is edited; one of unknown outcome
/// is sent again by the delivery rules.
fn take_over(
    tx: &Tx<'_>,
    preview: &PreviewRow,
    content: &Content,
    position: &ChunkPosition<'_>,
) -> Result<()> {
    tx.update_one(
        preview.id,
        "UPDATE outbox SET content = ?2, source = ?3, ordinal = ?4, chunk = 0, \
             state = CASE WHEN platform_id IS NULL THEN 'unknown' ELSE 'pending' END, \
             attempts = CASE WHEN platform_id IS NULL THEN attempts ELSE 0 END \
         WHERE id = ?1",
        params![preview.id.0, to_json(content)?, position.source.word(), position.ordinal],
    )
}

/// Ends a preview without a reply. A preview that the chat certainly lacks is deleted.
fn leave(tx: &Tx<'_>, preview: &PreviewRow) -> Result<()> {
    let sql = if preview.may_be_there {
        "UPDATE outbox SET state = 'sent' WHERE id = ?1"
    } else {
        "DELETE FROM outbox WHERE id = ?1"
    };
    tx.update_one(preview.id, sql, [preview.id.0])
}
