//! Further parts of a message, which the client of its author sends one by one: a comment and what is
//! forwarded with it, a text that was cut, an album. Each part is a row with a key of its own, so that
//! a platform may repeat each one after a crash. Together they are answered by one turn.
//!
//! ```text
//! the part before                        the new part
//! waits                                  waits behind it; one claim takes both
//! its turn has recorded nothing          is bound to the turn, which is queued again
//! its turn has recorded a step           waits; the turn reads it after its next step
//! answered, or unknown                   is a message of its own
//! ```
//!
//! **The turn is queued in the transaction that binds the part.** Its worker is told afterwards, and
//! may learn of it late. Until then it can write nothing, because each write needs a running turn. So
//! no answer counts for a part that it has not read.

use avocet_protocol::chat::NewInbound;
use avocet_protocol::ids::{DedupeKey, MessageId, TurnId};
use avocet_protocol::store::AcceptedAs;
use rusqlite::params;

use crate::put_back::put_back;
use crate::tx::{Result, Tx};

/// The part before a new one, and the turn that answers it.
struct EarlierPart {
    waits: bool,
    turn: Option<TurnId>,
    is_open: bool,
    is_running: bool,
    /// `true` if the turn has recorded a step, or sent something else than a preview.
    has_begun: bool,
}

/// Joins a new message with the one that it continues. Returns `None` if it is a message of its own.
pub(crate) fn join_message(
    tx: &Tx<'_>,
    id: MessageId,
    message: &NewInbound,
) -> Result<Option<AcceptedAs>> {
    let Some(key) = &message.inbound.content.continues else { return Ok(None) };
    let Some(earlier) = earlier_part(tx, message, key)? else { return Ok(None) };
    let turn = match earlier {
        EarlierPart { waits: true, .. } => return Ok(Some(AcceptedAs::Queued)),
        EarlierPart { turn: Some(turn), is_open: true, .. } => turn,
        EarlierPart { .. } => return Ok(None),
    };
    if earlier.has_begun {
        return Ok(Some(AcceptedAs::Queued));
    }
    tx.update_one(id, "UPDATE inbound SET turn = ?2 WHERE id = ?1", params![id.0, turn.0])?;
    if earlier.is_running {
        put_back(tx, turn)?;
        return Ok(Some(AcceptedAs::Joined(turn)));
    }
    Ok(Some(AcceptedAs::Queued))
}

fn earlier_part(tx: &Tx<'_>, message: &NewInbound, key: &DedupeKey) -> Result<Option<EarlierPart>> {
    let NewInbound { session, inbound, .. } = message;
    let address = &inbound.address;
    tx.db.query_row(
        "SELECT inbound.turn, inbound.state = 'queued' AND inbound.turn IS NULL AS waits, \
             coalesce(turns.state IN ('queued', 'running', 'waiting'), 0) AS is_open, \
             coalesce(turns.state = 'running', 0) AS is_running, \
             inbound.after_step IS NOT NULL OR coalesce(turns.state = 'waiting', 0) \
                 OR EXISTS (SELECT 1 FROM steps WHERE turn = inbound.turn) \
                 OR EXISTS (SELECT 1 FROM outbox WHERE turn = inbound.turn \
                     AND source <> 'preview') AS has_begun \
         FROM inbound LEFT JOIN turns ON turns.id = inbound.turn \
         WHERE inbound.channel = ?1 AND inbound.account = ?2 AND inbound.chat = ?3 \
             AND inbound.key = ?4 AND inbound.sender = ?5 AND inbound.session = ?6 \
             AND inbound.kind = 'text'",
        params![
            address.channel.as_str(),
            address.account.as_str(),
            address.chat.as_str(),
            key.as_str(),
            inbound.sender.id.as_str(),
            session.as_str(),
        ],
        |row| {
            Ok(EarlierPart {
                waits: row.get("waits")?,
                turn: row.get::<_, Option<i64>>("turn")?.map(TurnId),
                is_open: row.get("is_open")?,
                is_running: row.get("is_running")?,
                has_begun: row.get("has_begun")?,
            })
        },
    )
}
