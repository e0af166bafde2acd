//! The first message of a stranger, kept with the pairing code until an owner decides about it. It is
//! data of the code and no inbound message, so no lane can see it before the approval.

use avocet_protocol::access::PairingCode;
use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{Inbound, NewInbound, SessionId};
use avocet_protocol::ids::DedupeKey;
use rusqlite::params;

use crate::accept::accept_message;
use crate::rows::{json_if_any, to_json};
use crate::tx::{Db, Result, Tx};

/// Returns `true` if the code has the kept message with this key.
pub(crate) fn is_kept(db: Db<'_>, code: &PairingCode, key: &DedupeKey) -> Result<bool> {
    let kept =
        db.query_row("SELECT message FROM pairings WHERE code = ?1", [code.as_str()], |row| {
            json_if_any::<NewInbound>(row, "message")
        })?;
    Ok(kept.flatten().is_some_and(|kept| kept.inbound.key == *key))
}

/// Keeps the message if its code is open and has none yet. An edit replaces the content of the kept
/// message, which stays at its place and under its key.
pub(crate) fn keep_message(tx: &Tx<'_>, code: &PairingCode, message: NewInbound) -> Result<()> {
    let open = tx.db.query_row(
        "SELECT message FROM pairings WHERE code = ?1 AND decision IS NULL AND expires_at > ?2",
        params![code.as_str(), tx.now.0],
        |row| json_if_any::<NewInbound>(row, "message"),
    )?;
    let kept = match (open, &message.inbound.corrects) {
        (Some(None), None) => message,
        (Some(Some(kept)), Some(corrected)) if *corrected == kept.inbound.key => {
            let Some(edited) = edit_kept(kept, message) else { return Ok(()) };
            edited
        }
        _ => return Ok(()),
    };
    tx.change_rows(
        "UPDATE pairings SET message = ?2 WHERE code = ?1",
        params![code.as_str(), to_json(&kept)?],
    )?;
    Ok(())
}

/// Returns the kept message with the content of an edit; `None` if a newer edit was applied.
fn edit_kept(kept: NewInbound, edit: NewInbound) -> Option<NewInbound> {
    let edited_at = edit.inbound.written_at;
    if kept.inbound.edited_at > edited_at {
        return None;
    }
    let content = kept.inbound.content.edited_to(edit.inbound.content);
    let inbound = Inbound { content, edited_at, ..kept.inbound };
    Some(NewInbound { inbound, removed: edit.removed, ..kept })
}

/// Accepts the kept message of a code that was just approved. Returns its session; `None` if there
/// is no message.
pub(crate) fn accept_kept(
    tx: &Tx<'_>,
    code: &PairingCode,
    default_mode: QueueMode,
) -> Result<Option<SessionId>> {
    let kept = tx.db.query_row(
        "SELECT message FROM pairings WHERE code = ?1",
        [code.as_str()],
        |row| json_if_any::<NewInbound>(row, "message"),
    )?;
    let Some(mut message) = kept.flatten() else { return Ok(None) };
    // Only messages of a platform are kept. The platform may send this one again, with more details.
    message.inbound.from_platform = true;
    accept_message(tx, &message, default_mode)?;
    Ok(Some(message.session))
}

/// Deletes the messages of codes that were decided or have expired.
pub(crate) fn delete_closed(tx: &Tx<'_>) -> Result<()> {
    tx.change_rows(
        "UPDATE pairings SET message = NULL \
         WHERE message IS NOT NULL AND (decision IS NOT NULL OR expires_at <= ?1)",
        [tx.now.0],
    )?;
    Ok(())
}
