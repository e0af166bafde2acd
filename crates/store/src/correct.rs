//! Corrections: updates for messages that their sender has edited.

use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{Content, InboundKind, NewInbound};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::MessageId;
use avocet_protocol::store::{Correction, NoCorrection, StoreError};
use rusqlite::params;

use crate::accept::accept_message;
use crate::own_texts::judge_own_texts;
use crate::rows::{json_column, messages, to_json};
use crate::tx::{Result, Tx};

/// The corrected message, or its latest correction that is a separate message.
struct CorrectedMessage {
    id: MessageId,
    key: String,
    kind: InboundKind,
    waits: bool,
    ended: bool,
    edited_at: Option<i64>,
}

/// Applies a correction, or returns why it was refused.
pub(crate) fn correct_message(
    tx: &Tx<'_>,
    message: &NewInbound,
    default_mode: QueueMode,
    answer_edits: bool,
) -> Result<Correction> {
    let message = &*judge_own_texts(tx, message)?;
    let Some(corrected) = find_corrected(tx, message)? else {
        return Ok(Correction::Refused(NoCorrection::Unknown));
    };
    if corrected.kind == InboundKind::Command || message.kind == InboundKind::Command {
        return Ok(Correction::Refused(NoCorrection::Command));
    }
    if corrected.key == message.inbound.key.as_str() || is_old(message, &corrected) {
        return Ok(Correction::Replaced(corrected.id));
    }
    if corrected.waits {
        return replace_content(tx, message, &corrected);
    }
    // The message contains this edit, and its turn has begun since. The platform redelivers the
    // edit.
    let written = message.inbound.written_at.map(|Timestamp(written)| written);
    if written.is_some() && written == corrected.edited_at {
        return Ok(Correction::Replaced(corrected.id));
    }
    if corrected.ended && !answer_edits {
        return Ok(Correction::Refused(NoCorrection::Answered));
    }
    accept_message(tx, message, default_mode).map(Correction::Accepted)
}

fn find_corrected(tx: &Tx<'_>, message: &NewInbound) -> Result<Option<CorrectedMessage>> {
    let address = &message.inbound.address;
    let Some(key) = &message.inbound.corrects else {
        return Err(StoreError::Internal("a correction of nothing".to_owned()));
    };
    tx.db.query_row(
        "SELECT id, key, kind, state = 'queued' AND turn IS NULL AS waits, \
             outcome IS NOT NULL AS ended, \
             coalesce(edited_at, CASE WHEN corrects IS NOT NULL THEN written_at END) AS edited_at \
         FROM inbound WHERE channel = ?1 AND account = ?2 AND chat = ?3 AND id = max( \
             coalesce((SELECT id FROM inbound WHERE channel = ?1 AND account = ?2 AND chat = ?3 \
                 AND key = ?4), 0), \
             coalesce((SELECT max(id) FROM inbound WHERE channel = ?1 AND account = ?2 \
                 AND chat = ?3 AND corrects = ?4 AND corrects IS NOT NULL), 0))",
        [address.channel.as_str(), address.account.as_str(), address.chat.as_str(), key.as_str()],
        |row| {
            Ok(CorrectedMessage {
                id: MessageId(row.get("id")?),
                key: row.get("key")?,
                kind: messages::kind(row)?,
                waits: row.get("waits")?,
                ended: row.get("ended")?,
                edited_at: row.get("edited_at")?,
            })
        },
    )
}

/// Returns `true` if a newer correction was applied. Platforms may redeliver old corrections.
fn is_old(message: &NewInbound, corrected: &CorrectedMessage) -> bool {
    let written = message.inbound.written_at.map(|Timestamp(written)| written);
    written.zip(corrected.edited_at).is_some_and(|(written, edited)| written < edited)
}

fn replace_content(
    tx: &Tx<'_>,
    message: &NewInbound,
    corrected: &CorrectedMessage,
) -> Result<Correction> {
    let original: Content =
        tx.db.query_one("SELECT content FROM inbound WHERE id = ?1", [corrected.id.0], |row| {
            json_column(row, "content")
        })?;
    tx.update_one(
        corrected.id,
        "UPDATE inbound SET content = ?2, removed = ?3, edited_at = ?4 WHERE id = ?1",
        params![
            corrected.id.0,
            to_json(&original.edited_to(message.inbound.content.clone()))?,
            message.removed,
            message.inbound.written_at.map(|written| written.0),
        ],
    )?;
    Ok(Correction::Replaced(corrected.id))
}
