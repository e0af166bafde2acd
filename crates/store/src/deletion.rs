//! Deletes a conversation, and tells if one still works.

use async_trait::async_trait;
use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{DeletedSession, SessionDeletion, SessionWork, SessionsAtWork};
use rusqlite::params;

use crate::retention::{BATCH, HAS_OPEN_WORK, remove_turn};
use crate::rows::chunks::OPEN_CHUNK;
use crate::rows::turns::OPEN_TURN;
use crate::tx::{Result, Tx};
use crate::{Durability, SqliteStore};

#[async_trait]
impl SessionDeletion for SqliteStore {
    async fn delete_session(&self, session: &SessionId) -> Result<DeletedSession> {
        let mut turns = 0;
        loop {
            let session = session.clone();
            let batch = self
                .write("delete-session", Durability::Synced, move |tx| delete_batch(tx, &session));
            match batch.await? {
                DeletedBatch::Turns(more) => turns += more,
                DeletedBatch::Rest => return Ok(DeletedSession::Deleted { turns }),
                DeletedBatch::Refused(reason) => return Ok(reason),
            }
        }
    }
}

#[async_trait]
impl SessionsAtWork for SqliteStore {
    async fn session_work(&self, session: &SessionId) -> Result<SessionWork> {
        let session = session.clone();
        self.read(move |db| {
            let sql = format!("SELECT max({OPEN_TURN}) FROM turns WHERE session = ?1");
            let is_open = db.query_one(&sql, [session.as_str()], |row| row.get(0))?;
            Ok(match is_open {
                Some(true) => SessionWork::Open,
                Some(false) => SessionWork::Ended,
                None => SessionWork::Gone,
            })
        })
        .await
    }
}

/// The result of one transaction.
enum DeletedBatch {
    /// This many turns. There may be more.
    Turns(u64),
    /// Everything beside the turns, and the session itself.
    Rest,
    /// Nothing, for this reason.
    Refused(DeletedSession),
}

/// Deletes the oldest turns of a session, or the rest if it has no turns.
fn delete_batch(tx: &Tx<'_>, session: &SessionId) -> Result<DeletedBatch> {
    if let Some(reason) = why_not_deleted(tx, session)? {
        return Ok(DeletedBatch::Refused(reason));
    }
    tx.changed.past.set(true);
    let turns = tx.db.query_rows(
        "SELECT id FROM turns WHERE session = ?1 ORDER BY id LIMIT ?2",
        params![session.as_str(), BATCH],
        |row| row.get(0).map(TurnId),
    )?;
    if turns.is_empty() {
        delete_rest(tx, session)?;
        return Ok(DeletedBatch::Rest);
    }
    let mut deleted = 0;
    for turn in turns {
        deleted += remove_turn(tx, turn)?;
    }
    Ok(DeletedBatch::Turns(deleted))
}

/// Returns the reason why a session cannot be deleted now.
fn why_not_deleted(tx: &Tx<'_>, session: &SessionId) -> Result<Option<DeletedSession>> {
    let address = session.address();
    let found = tx.db.query_row(
        &format!(
            "SELECT EXISTS (SELECT 1 FROM turns WHERE session = ?1 AND parent IS NOT NULL) \
                     AS is_of_task, \
                 {HAS_OPEN_WORK} \
                 OR EXISTS (SELECT 1 FROM turns AS task JOIN turns AS root ON root.id = task.root \
                     WHERE root.session = ?1 AND (task.state = 'queued' \
                         OR task.state = 'running' OR task.state = 'waiting')) \
                 OR EXISTS (SELECT 1 FROM outbox LEFT JOIN turns ON turns.id = outbox.turn \
                     WHERE {OPEN_CHUNK} AND outbox.state = 'sending' \
                         AND (turns.session = ?1 OR (channel = ?2 AND account = ?3 AND chat = ?4))) \
                     AS is_busy \
             FROM sessions WHERE id = ?1"
        ),
        params![
            session.as_str(),
            address.channel.as_str(),
            address.account.as_str(),
            address.chat.as_str(),
        ],
        |row| Ok((row.get::<_, bool>("is_of_task")?, row.get::<_, bool>("is_busy")?)),
    )?;
    Ok(match found {
        None => Some(DeletedSession::Unknown),
        Some((true, _)) => Some(DeletedSession::OfTask),
        Some((_, true)) => Some(DeletedSession::Busy),
        Some((false, false)) => None,
    })
}

/// Deletes everything of a session without turns. Costs stay, without their session.
fn delete_rest(tx: &Tx<'_>, session: &SessionId) -> Result<()> {
    // In the order of the references between the tables.
    for statement in [
        "UPDATE memories SET message = NULL WHERE message IN \
            (SELECT id FROM inbound WHERE session = ?1)",
        "UPDATE usage SET session = NULL WHERE session = ?1",
        "DELETE FROM usage_sessions WHERE session = ?1",
        "DELETE FROM jobs WHERE message IN (SELECT id FROM inbound WHERE session = ?1)",
        "DELETE FROM undelivered WHERE session = ?1",
        "DELETE FROM reports WHERE session = ?1",
        "DELETE FROM grants WHERE session = ?1",
        "DELETE FROM events WHERE session IN (?1, (SELECT short_id FROM sessions WHERE id = ?1))",
        "DELETE FROM inbound WHERE session = ?1",
        "DELETE FROM sessions WHERE id = ?1",
    ] {
        tx.change_rows(statement, [session.as_str()])?;
    }
    let address = session.address();
    tx.change_rows(
        "DELETE FROM outbox WHERE turn IS NULL AND channel = ?1 AND account = ?2 AND chat = ?3",
        params![address.channel.as_str(), address.account.as_str(), address.chat.as_str()],
    )?;
    Ok(())
}
