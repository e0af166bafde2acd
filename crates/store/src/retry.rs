//! `/retry`: repeats an interrupted call, or else runs the session's last failed turn again.

use std::time::Duration;

use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::{MessageId, SenderId, TurnId, WaitId};
use avocet_protocol::store::Resolution;
use avocet_protocol::tool::WaitKind;
use avocet_protocol::turn::TurnState;
use rusqlite::params;

use crate::rows::messages::ANSWERED;
use crate::rows::turns::{insert_turn, open_turn};
use crate::tx::{Result, Tx};
use crate::waits::{is_open, meant_wait, resolve_by_command};

/// Age limit of a failed turn, because after a day its sender has gone on without it.
const RETRIED_WITHIN: Duration = Duration::from_hours(24);

/// Returns the session that continues; `None` if there is nothing to retry.
pub(crate) fn retry_choice(
    tx: &Tx<'_>,
    session: &SessionId,
    command: MessageId,
    wait: Option<WaitId>,
    sender: Option<&SenderId>,
) -> Result<Option<SessionId>> {
    let wait = match wait {
        Some(wait) if is_open(tx, wait, WaitKind::Choice, Some(session))? => Some(wait),
        Some(_) => return Ok(None),
        None => meant_wait(tx, session, WaitKind::Choice, command)?,
    };
    if let Some(wait) = wait {
        return resolve_by_command(tx, command, wait, &Resolution::Run);
    }
    if open_turn(tx, session)?.is_some() {
        return Ok(None);
    }
    let Some(failed) = last_failed(tx, session, sender)? else { return Ok(None) };
    run_again(tx, session, failed)?;
    Ok(Some(session.clone()))
}

/// Returns the newest turn of the session that failed since its last `/new` and has messages that
/// no earlier `/retry` has copied. If `sender` is set, all messages of the turn must be theirs.
fn last_failed(
    tx: &Tx<'_>,
    session: &SessionId,
    sender: Option<&SenderId>,
) -> Result<Option<TurnId>> {
    tx.db.query_row(
        "SELECT id FROM turns WHERE session = ?1 AND state = 'failed' AND ended_at > ?2 \
             AND EXISTS (SELECT 1 FROM inbound WHERE turn = turns.id AND is_copied = 0 \
                 AND id > (SELECT fresh_from FROM sessions WHERE id = ?1)) \
             AND NOT EXISTS (SELECT 1 FROM inbound WHERE turn = turns.id AND sender <> ?3) \
         ORDER BY id DESC LIMIT 1",
        params![session.as_str(), tx.now.before(RETRIED_WITHIN).0, sender.map(SenderId::as_str),],
        |row| row.get(0).map(TurnId),
    )
}

/// Queues a new turn with copies of the messages.
fn run_again(tx: &Tx<'_>, session: &SessionId, failed: TurnId) -> Result<()> {
    let turn = insert_turn(tx, session, TurnState::Queued)?;
    let messages = tx.db.query_rows(
        "SELECT id FROM inbound WHERE turn = ?1 AND after_step IS NOT ?2 ORDER BY id",
        params![failed.0, ANSWERED],
        |row| row.get(0).map(MessageId),
    )?;
    messages.into_iter().try_for_each(|id| copy_message(tx, id, Some(turn)))
}

/// Queues a copy of an ended message, for this turn or for the next one. The copy takes over the
/// key of its original. So a redelivery is still ignored, an edit finds the copy, and the reply
/// refers to the person's message. The original keeps its recorded outcome.
pub(crate) fn copy_message(tx: &Tx<'_>, id: MessageId, turn: Option<TurnId>) -> Result<()> {
    let key: String =
        tx.db.query_one("SELECT key FROM inbound WHERE id = ?1", [id.0], |row| row.get(0))?;
    tx.changed.past.set(true);
    let set = "UPDATE inbound SET key = 'retried ' || id, is_copied = 1 WHERE id = ?1";
    tx.change_rows(set, [id.0])?;
    tx.insert(
        "INSERT INTO inbound (id, session, channel, account, chat, topic, chat_kind, key, sender, \
             sender_name, is_bot, kind, content, removed, state, turn, received_at, written_at, \
             corrects, edited_at, digest, trust) \
         SELECT (SELECT id FROM next_inbound), session, channel, account, chat, topic, chat_kind, ?2, \
             sender, sender_name, is_bot, kind, content, removed, 'queued', ?3, received_at, \
             written_at, corrects, edited_at, digest, trust FROM inbound WHERE id = ?1",
        params![id.0, key, turn.map(|turn| turn.0)],
    )?;
    Ok(())
}
