//! Takes back messages that their platform has deleted.
//!
//! ```text
//! the message        then
//! waits              ends as stopped
//! runs, alone        its turn is cancelled, as by a stop
//! runs, with others  goes on: the others still want their answer
//! has ended          stays; a command has acted
//! ```

use avocet_protocol::chat::{ChatAddress, Outcome, SessionId};
use avocet_protocol::ids::{AccountName, ChannelName, DedupeKey, MessageId, TurnId};
use avocet_protocol::store::{UnansweredMessage, Withdrawn};
use rusqlite::params;

use crate::cancel::cancel_turn;
use crate::preview;
use crate::rows;
use crate::rows::messages::end_message;
use crate::rows::turns::OPEN_TURN;
use crate::tx::{Db, Result, Tx};

/// A message without an outcome.
struct OpenMessage {
    id: MessageId,
    session: SessionId,
    turn: Option<TurnId>,
}

/// Ends a message with its corrections. Returns `None` if nothing has changed.
pub(crate) fn withdraw_message(
    tx: &Tx<'_>,
    chat: &ChatAddress,
    key: &DedupeKey,
) -> Result<Option<Withdrawn>> {
    let open = tx.db.query_rows(
        "SELECT id, session, turn FROM inbound \
         WHERE channel = ?1 AND account = ?2 AND chat = ?3 AND (key = ?4 OR corrects = ?4) \
             AND kind = 'text' AND outcome IS NULL AND state IN ('queued', 'running') ORDER BY id",
        [chat.channel.as_str(), chat.account.as_str(), chat.chat.as_str(), key.as_str()],
        |row| {
            Ok(OpenMessage {
                id: MessageId(row.get("id")?),
                session: rows::parse_column(row, "session")?,
                turn: row.get::<_, Option<i64>>("turn")?.map(TurnId),
            })
        },
    )?;
    let mut withdrawn: Option<Withdrawn> = None;
    for OpenMessage { id, session, turn } in open {
        let ended = match turn {
            None => {
                end_message(tx, id, Outcome::Stopped)?;
                Vec::new()
            }
            Some(turn) if withdrawn.iter().any(|before| before.ended.contains(&turn)) => continue,
            Some(turn) if has_others(tx, turn, key)? => continue,
            Some(turn) => {
                let reply = preview::stopped_reply(tx.db, turn)?;
                cancel_turn(tx, turn, "its message was deleted", reply.as_ref())?
            }
        };
        let before = withdrawn.get_or_insert(Withdrawn { session, ended: Vec::new() });
        before.ended.extend(ended);
    }
    Ok(withdrawn)
}

/// Returns the open messages of people in an account, the oldest first. Those of other processes are
/// left out: no platform knows them.
pub(crate) fn list_unanswered(
    db: Db<'_>,
    channel: &ChannelName,
    account: &AccountName,
    limit: u32,
) -> Result<Vec<UnansweredMessage>> {
    let columns = "SELECT id, channel, account, chat, topic, key FROM inbound";
    let is_theirs = "channel = ?1 AND account = ?2 AND kind = 'text' AND corrects IS NULL \
                     AND digest IS NULL AND outcome IS NULL";
    db.query_rows(
        // Two parts, because each has an index of its own.
        &format!(
            "{columns} WHERE state = 'queued' AND turn IS NULL AND {is_theirs} \
             UNION ALL {columns} WHERE turn IN (SELECT id FROM turns WHERE {OPEN_TURN}) \
                 AND {is_theirs} ORDER BY id LIMIT ?3"
        ),
        params![channel.as_str(), account.as_str(), limit],
        |row| {
            let chat = rows::address_from_row(row)?;
            Ok(UnansweredMessage { chat, key: rows::parse_column(row, "key")? })
        },
    )
}

/// Returns `true` if a turn also works for other messages than this one and its corrections.
fn has_others(tx: &Tx<'_>, turn: TurnId, key: &DedupeKey) -> Result<bool> {
    tx.db.query_one(
        "SELECT EXISTS (SELECT 1 FROM inbound \
             WHERE turn = ?1 AND key <> ?2 AND corrects IS NOT ?2)",
        params![turn.0, key.as_str()],
        |row| row.get(0),
    )
}
