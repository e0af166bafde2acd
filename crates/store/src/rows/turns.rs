//! Rows of `turns`.

use avocet_protocol::{RecalledMemory, SessionId, StoreError, TurnId, TurnState};
use rusqlite::{Row, params};

use super::{RowResult, parsed, to_json, word};
use crate::tx::{Db, Result, Tx};

/// SQL for the turn `?1` and its ancestors up to the root.
pub(crate) const ANCESTORS: &str = "line (turn) AS (VALUES (?1) UNION \
    SELECT parent FROM turns JOIN line ON turns.id = line.turn WHERE parent IS NOT NULL)";

/// The parent and prompt of a child turn.
pub(crate) struct ChildTask<'a> {
    pub(crate) parent: TurnId,
    pub(crate) prompt: &'a str,
}

pub(crate) fn insert_turn(
    tx: &Tx<'_>,
    session: &SessionId,
    state: TurnState,
    task: Option<&ChildTask<'_>>,
) -> Result<TurnId> {
    let id = tx.insert(
        "INSERT INTO turns (session, state, parent, prompt, started_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            session.as_str(),
            state.word(),
            task.map(|task| task.parent.0),
            task.map(|task| task.prompt),
            tx.now.0,
        ],
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

/// Records the memories in the requests of a turn.
pub(crate) fn set_recalled(tx: &Tx<'_>, turn: TurnId, recalled: &[RecalledMemory]) -> Result<()> {
    if recalled.is_empty() {
        return Ok(());
    }
    let sql = "UPDATE turns SET recalled = ?2 WHERE id = ?1";
    tx.update_one(turn, sql, params![turn.0, to_json(&recalled)?])
}

pub(crate) fn session_of(db: Db<'_>, turn: TurnId) -> Result<SessionId> {
    db.one("SELECT session FROM turns WHERE id = ?1", [turn.0], |row| parsed(row, "session"))
}

pub(crate) fn state(row: &Row<'_>) -> RowResult<TurnState> {
    word(row, "state", &TurnState::ALL, TurnState::word)
}
