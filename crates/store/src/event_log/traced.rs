//! The events of one timeline.

use avocet_protocol::ids::TurnId;
use avocet_protocol::store::LogEvent;
use avocet_protocol::turn::TraceSubject;
use rusqlite::params;

use super::{EVENTS, event_row, read_event};
use crate::tx::{Db, Result};

/// The messages of a turn.
const MESSAGES: &str = "message.*";

/// The events of a timeline: those of a turn and its sub-agents, and those of some rows.
struct TracedRows {
    turn: Option<i64>,
    /// The kind of the rows, as a GLOB pattern.
    kind: &'static str,
    rows: Vec<i64>,
}

pub(super) fn traced_events(db: Db<'_>, subject: TraceSubject) -> Result<Vec<LogEvent>> {
    let TracedRows { turn, kind, rows } = match subject {
        TraceSubject::Message(message) => {
            let turn = turn_of(db, "SELECT turn FROM inbound WHERE id = ?1", message.0)?;
            TracedRows { turn, kind: MESSAGES, rows: vec![message.0] }
        }
        TraceSubject::Turn(turn) => rows_of_turn(db, turn)?,
        TraceSubject::Delivery(delivery) => {
            match turn_of(db, "SELECT turn FROM outbox WHERE id = ?1", delivery.0)? {
                Some(turn) => rows_of_turn(db, TurnId(turn))?,
                None => TracedRows { turn: None, kind: "delivery.*", rows: vec![delivery.0] },
            }
        }
    };
    let rows = serde_json::json!(rows).to_string();
    let events = db.query_rows(
        &format!(
            "WITH RECURSIVE tree (id) AS (SELECT ?1 WHERE ?1 IS NOT NULL UNION ALL \
                 SELECT turns.id FROM tree JOIN turns ON turns.parent = tree.id) \
             {EVENTS} WHERE turn IN tree \
                 OR (kind GLOB ?2 AND row IN (SELECT value FROM json_each(?3))) ORDER BY seq"
        ),
        params![turn, kind, rows],
        event_row,
    )?;
    events.into_iter().map(|row| read_event(db, row)).collect()
}

fn rows_of_turn(db: Db<'_>, turn: TurnId) -> Result<TracedRows> {
    let rows =
        db.query_rows("SELECT id FROM inbound WHERE turn = ?1", [turn.0], |row| row.get("id"))?;
    Ok(TracedRows { turn: Some(turn.0), kind: MESSAGES, rows })
}

/// Returns the turn of a row; `None` if the row has none, or does not exist.
fn turn_of(db: Db<'_>, select: &str, id: i64) -> Result<Option<i64>> {
    Ok(db.query_row(select, [id], |row| row.get::<_, Option<i64>>("turn"))?.flatten())
}
