//! Rows of `events`, which triggers of the schema write.

use avocet_protocol::store::{EventKind, EventSeq};
use rusqlite::params;

use crate::tx::{Db, Result, Tx};

/// The condition on `events` that an event is of the session ?3. The text is that of a time at which the
/// log had no such session.
pub(crate) const OF_SESSION: &str =
    "events.session IN (?3, (SELECT short_id FROM sessions WHERE id = ?3))";

/// The position of the log, as an expression on its row of `meta` (`last.rs`).
pub(crate) const POSITION: &str = "(commits + (SELECT id - 1 FROM next_events))";

/// Returns the number of the newest event that was ever written; 0 if there was none.
pub(crate) fn newest_event(db: Db<'_>) -> Result<EventSeq> {
    db.query_one("SELECT id - 1 FROM next_events", (), |row| row.get(0).map(EventSeq))
}

/// Sets the time of the events that the transaction has added behind `after`, because triggers do
/// not know the clock. Called at the end of the transaction.
pub(crate) fn set_times(tx: &Tx<'_>, after: EventSeq) -> Result<()> {
    let sql = "UPDATE events SET at = ?1 WHERE seq > ?2";
    if tx.change_rows(sql, params![tx.now.0, after.0])? > 0 {
        tx.changed.newest_event.set(Some(newest_event(tx.db)?));
    }
    Ok(())
}

/// Records that the log has returned to an earlier state.
pub(crate) fn rolled_back(tx: &Tx<'_>) -> Result<()> {
    let kind = EventKind::LogRolledBack.as_str();
    let sql = "INSERT INTO events (seq, kind) VALUES ((SELECT id FROM next_events), ?1)";
    tx.insert(sql, [kind]).map(drop)
}
