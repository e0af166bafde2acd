//! Undelivered messages. Each is noted when it is abandoned, and bound to the next turn of its
//! conversation, whose requests report it to the model. Bound notes stay unchanged, because later
//! requests repeat them to the byte.

use avocet_protocol::chat::{ChatAddress, Content, SessionId};
use avocet_protocol::ids::{DeliveryId, TurnId};
use avocet_protocol::turn::{LostMessage, Undelivered};
use rusqlite::params;

use crate::links::session_of_chat;
use crate::rows;
use crate::rows::chunks::{OPEN_CHUNK, OutboxSource};
use crate::rows::turns::ANCESTORS;
use crate::tx::{Db, Result, Tx};

/// Maximum length of an error shown to a model, in characters.
const MAX_ERROR: usize = 200;
/// Replaces the text of another process, which no model has read.
const FOREIGN: &str = "a message that another program sent";

/// Notes an abandoned chunk. Notices and command replies are skipped, because models are unaware of
/// them.
pub(crate) fn note_abandoned(tx: &Tx<'_>, id: DeliveryId) -> Result<()> {
    struct AbandonedChunk {
        source: String,
        said_by: Option<TurnId>,
        chat: ChatAddress,
        content: Content,
        error: String,
        unconfirmed: bool,
    }
    let lost = tx.db.query_one(
        "SELECT source, turn, channel, account, chat, topic, content, error, \
             state = 'unconfirmed' AS unconfirmed FROM outbox WHERE id = ?1",
        [id.0],
        |row| {
            Ok(AbandonedChunk {
                source: row.get("source")?,
                said_by: row.get::<_, Option<i64>>("turn")?.map(TurnId),
                chat: rows::address_from_row(row)?,
                content: rows::json_column(row, "content")?,
                error: row.get("error")?,
                unconfirmed: row.get("unconfirmed")?,
            })
        },
    )?;
    let (session, what) = match lost.said_by {
        _ if lost.source == OutboxSource::Notice.as_word() => return Ok(()),
        Some(turn) => (session_of_turn(tx, turn)?, lost.content.in_short()),
        None if lost.source == OutboxSource::Process.as_word() => {
            (Some(session_of_chat(tx, &lost.chat)?), FOREIGN.to_owned())
        }
        None => return Ok(()),
    };
    // The session has forgotten the turn.
    let Some(session) = session else { return Ok(()) };
    tx.insert(
        "INSERT INTO undelivered (session, said_by, delivery, chat, what, why, unconfirmed) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            session.as_str(),
            lost.said_by.map(|turn| turn.0),
            id.0,
            lost.chat.to_string(),
            what,
            lost.error.chars().take(MAX_ERROR).collect::<String>(),
            lost.unconfirmed,
        ],
    )?;
    Ok(())
}

/// Returns the session of the root turn, since a child speaks for its parent. `None` if the session
/// has forgotten the turn.
fn session_of_turn(tx: &Tx<'_>, turn: TurnId) -> Result<Option<SessionId>> {
    tx.db.query_row(
        &format!(
            "WITH RECURSIVE {ANCESTORS} SELECT session FROM turns \
             WHERE id IN (SELECT turn FROM line) AND parent IS NULL \
                 AND coalesce((SELECT max(id) FROM inbound WHERE turn = turns.id) \
                     > (SELECT fresh_from FROM sessions WHERE id = session), 1)"
        ),
        [turn.0],
        |row| rows::parse_column(row, "session"),
    )
}

/// Binds all notes of a session to a new turn. Each gets the lowest trust level of the requests
/// that led to its message, ignoring content that an owner has since declared trusted.
pub(crate) fn bind_to_turn(tx: &Tx<'_>, session: &SessionId, turn: TurnId) -> Result<()> {
    tx.change_rows(
        "UPDATE undelivered SET turn = ?2, trust = coalesce((\
             SELECT steps.trust FROM steps JOIN sessions ON sessions.id = ?1 \
             WHERE steps.turn = said_by AND (steps.turn > believed_turn \
                 OR (steps.turn = believed_turn AND number > coalesce(believed_step, -1))) \
             ORDER BY CASE steps.trust WHEN 'low' THEN 0 WHEN 'user' THEN 1 ELSE 2 END LIMIT 1), \
             'full') \
         WHERE session = ?1 AND turn IS NULL",
        params![session.as_str(), turn.0],
    )?;
    Ok(())
}

/// Returns the latest notes that a turn reports to its model.
pub(crate) fn notes_of(db: Db<'_>, turn: TurnId) -> Result<Undelivered> {
    let sql =
        "SELECT chat, what, why, unconfirmed, trust FROM undelivered WHERE turn = ?1 ORDER BY id";
    let mut notes = db.query_rows(sql, [turn.0], |row| {
        Ok(LostMessage {
            chat: rows::parse_column(row, "chat")?,
            what: row.get("what")?,
            why: row.get("why")?,
            unconfirmed: row.get("unconfirmed")?,
            trust: rows::trust_column(row, "trust")?,
        })
    })?;
    let older = notes.len().saturating_sub(Undelivered::MOST);
    Ok(Undelivered { messages: notes.split_off(older), more: older as u64 })
}

/// Deletes unreported notes of a session, for `/new`.
pub(crate) fn forget_unreported(tx: &Tx<'_>, session: &SessionId) -> Result<()> {
    tx.change_rows(
        "DELETE FROM undelivered WHERE session = ?1 AND turn IS NULL",
        [session.as_str()],
    )?;
    Ok(())
}

/// Deletes unreported notes on messages that are queued again.
pub(crate) fn withdraw_requeued(tx: &Tx<'_>) -> Result<()> {
    tx.change_rows(
        &format!(
            "DELETE FROM undelivered WHERE turn IS NULL AND EXISTS \
                 (SELECT 1 FROM outbox WHERE outbox.id = delivery AND {OPEN_CHUNK})"
        ),
        (),
    )?;
    Ok(())
}
