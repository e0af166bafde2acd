//! Rows of `sessions`.

use avocet_protocol::{QueueMode, SessionId};
use rusqlite::params;

use super::word;
use crate::tx::{Db, Result, Tx};

/// Creates the session if it is new, and marks it as used now.
pub(crate) fn use_session(tx: &Tx<'_>, session: &SessionId) -> Result<()> {
    tx.insert(
        "INSERT INTO sessions (id, used_at) VALUES (?1, ?2) \
         ON CONFLICT DO UPDATE SET used_at = excluded.used_at",
        params![session.as_str(), tx.now.0],
    )?;
    Ok(())
}

/// Returns the queue mode of a session.
pub(crate) fn mode(db: Db<'_>, session: &SessionId, default: QueueMode) -> Result<QueueMode> {
    let found = db.row(
        "SELECT mode FROM sessions WHERE id = ?1 AND mode IS NOT NULL",
        [session.as_str()],
        |row| word(row, "mode", &QueueMode::ALL, QueueMode::word),
    )?;
    Ok(found.unwrap_or(default))
}
