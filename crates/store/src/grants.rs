//! Lasting permissions of tools: each belongs to the session of a root turn, and `/new` removes it.

use avocet_protocol::access::Grant;
use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::{TurnId, WaitId};
use rusqlite::{Row, params};

use crate::rows::turns::ANCESTORS;
use crate::rows::{self, RowResult};
use crate::tx::{Db, Result, Tx};

/// Stores the grant of this wait for the session of the root turn.
pub(crate) fn add_grant(tx: &Tx<'_>, wait: WaitId, turn: TurnId) -> Result<()> {
    let grant = tx.db.query_row(
        "SELECT may_grant FROM waits WHERE id = ?1 AND may_grant IS NOT NULL",
        [wait.0],
        |row| rows::json_column::<Grant>(row, "may_grant"),
    )?;
    if let Some(Grant { tool, scope }) = grant {
        tx.insert(
            &format!(
                "WITH RECURSIVE {ANCESTORS} INSERT OR IGNORE INTO grants (session, tool, scope) \
                 SELECT session, ?2, ?3 FROM turns \
                 WHERE id IN (SELECT turn FROM line) AND parent IS NULL"
            ),
            params![turn.0, tool.as_str(), scope],
        )?;
    }
    Ok(())
}

/// Returns the grants for the session of the root turn.
pub(crate) fn of_turn(db: Db<'_>, turn: TurnId) -> Result<Vec<Grant>> {
    db.query_rows(
        &format!(
            "WITH RECURSIVE {ANCESTORS} SELECT tool, scope FROM grants WHERE session IN \
                 (SELECT session FROM turns WHERE id IN (SELECT turn FROM line))"
        ),
        [turn.0],
        read_grant,
    )
}

pub(crate) fn of_session(tx: &Tx<'_>, session: &SessionId) -> Result<Vec<Grant>> {
    let sql = "SELECT tool, scope FROM grants WHERE session = ?1";
    tx.db.query_rows(sql, [session.as_str()], read_grant)
}

fn read_grant(row: &Row<'_>) -> RowResult<Grant> {
    Ok(Grant { tool: rows::parse_column(row, "tool")?, scope: row.get("scope")? })
}
