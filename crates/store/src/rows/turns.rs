//! Rows of `turns`.

use avocet_protocol::{ChildMode, SessionId, StoreError, TurnId, TurnState};
use rusqlite::{Row, params};

use super::{RowResult, parsed, word};
use crate::tx::{Db, Result, Tx};

/// SQL for the turn `?1` and its ancestors up to the root.
pub(crate) const ANCESTORS: &str = "line (turn) AS (VALUES (?1) UNION \
    SELECT parent FROM turns JOIN line ON turns.id = line.turn WHERE parent IS NOT NULL)";

/// Inserts a turn for messages.
pub(crate) fn insert_turn(tx: &Tx<'_>, session: &SessionId, state: TurnState) -> Result<TurnId> {
    let id = tx.insert(
        "INSERT INTO turns (session, state, started_at) VALUES (?1, ?2, ?3)",
        params![session.as_str(), state.word(), tx.now.0],
    )?;
    Ok(TurnId(id.unwrap_or_default()))
}

/// Returns the open turn of a session.
pub(crate) fn open_turn(tx: &Tx<'_>, session: &SessionId) -> Result<Option<TurnId>> {
    tx.db.row(
        "SELECT id FROM turns WHERE session = ?1 AND state IN ('queued', 'running', 'waiting')",
        [session.as_str()],
        |row| row.get(0).map(TurnId),
    )
}

/// Fails with [`StoreError::Stale`] unless the turn is running.
pub(crate) fn must_run(tx: &Tx<'_>, turn: TurnId) -> Result<()> {
    running(tx, turn).map(drop)
}

/// Returns the number of process deaths during this turn since its last progress.
fn running(tx: &Tx<'_>, turn: TurnId) -> Result<u32> {
    let sql = "SELECT attempts FROM turns WHERE id = ?1 AND state = 'running'";
    let deaths = tx.db.row(sql, [turn.0], |row| row.get(0))?;
    deaths.ok_or_else(|| StoreError::Stale(turn.to_string()))
}

/// Checks like [`must_run`], and resets the deaths. A turn that kills the process fails at the same
/// place each time, so it makes no progress.
pub(crate) fn note_progress(tx: &Tx<'_>, turn: TurnId) -> Result<()> {
    let deaths = running(tx, turn)?;
    if deaths > 0 {
        tx.update("UPDATE turns SET attempts = 0, deaths_alone = 0 WHERE id = ?1", [turn.0])?;
    }
    Ok(())
}

/// Returns the session for which a turn speaks: that of its root turn, or of the task in the
/// background to which it belongs.
pub(crate) fn speaking_session(db: Db<'_>, turn: TurnId) -> Result<SessionId> {
    db.one(
        &format!(
            "WITH RECURSIVE {ANCESTORS} SELECT session FROM turns \
             WHERE id IN (SELECT turn FROM line) AND (parent IS NULL OR background = 1) \
             ORDER BY id DESC LIMIT 1"
        ),
        [turn.0],
        |row| parsed(row, "session"),
    )
}

pub(crate) fn session_of(db: Db<'_>, turn: TurnId) -> Result<SessionId> {
    db.one("SELECT session FROM turns WHERE id = ?1", [turn.0], |row| parsed(row, "session"))
}

pub(crate) fn child_mode(row: &Row<'_>) -> RowResult<ChildMode> {
    let is_background: bool = row.get("background")?;
    Ok(if is_background { ChildMode::Background } else { ChildMode::Awaited })
}

pub(crate) fn state(row: &Row<'_>) -> RowResult<TurnState> {
    word(row, "state", &TurnState::ALL, TurnState::word)
}
