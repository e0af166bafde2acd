//! Reads the events that led to one event. The table has no index for this, because each write would
//! pay for it. So a read is limited to the events since the start of the turn or the delivery.

use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, TurnId};
use avocet_protocol::store::{EventDetail, EventHistory, EventSeq, LogEvent};
use avocet_protocol::tool::WaitKind;
use rusqlite::params;

use super::{EVENTS, LOOKED_AT, event_row, read_event};
use crate::tx::{Db, Result};

/// Returns the history of an event; `None` if it belongs to no turn of the log.
pub(super) fn history_of(db: Db<'_>, about: &LogEvent) -> Result<Option<EventHistory>> {
    let Some(turn) = about.turn else { return Ok(None) };
    let Some(ancestry) = ancestry_of(db, turn)? else { return Ok(None) };
    let events = match &about.detail {
        Some(EventDetail::Delivery(delivery)) => of_delivery(db, about.seq, delivery.id.0)?,
        // The log has removed the delivery.
        None if about.kind.as_str().starts_with("delivery.") => Vec::new(),
        _ => of_turn(db, about.seq, turn)?,
    };
    let TurnAncestry { root, parent, call } = ancestry;
    Ok(Some(EventHistory { turn, root, parent, call, events }))
}

/// The turns above a turn.
struct TurnAncestry {
    root: TurnId,
    parent: Option<TurnId>,
    call: Option<CallId>,
}

fn ancestry_of(db: Db<'_>, turn: TurnId) -> Result<Option<TurnAncestry>> {
    let sql = "SELECT coalesce(root, id) AS root, parent FROM turns WHERE id = ?1";
    let found = db.query_row(sql, [turn.0], |row| {
        Ok((TurnId(row.get("root")?), row.get::<_, Option<i64>>("parent")?.map(TurnId)))
    })?;
    let Some((root, parent)) = found else { return Ok(None) };
    let sql = "SELECT turn, step, ordinal FROM waits WHERE child = ?1 AND kind = ?2 LIMIT 1";
    let call = db.query_row(sql, params![turn.0, WaitKind::Child.as_str()], |row| {
        Ok(CallId {
            turn: TurnId(row.get("turn")?),
            step: row.get("step")?,
            ordinal: row.get("ordinal")?,
        })
    })?;
    Ok(Some(TurnAncestry { root, parent, call }))
}

fn of_turn(db: Db<'_>, end: EventSeq, turn: TurnId) -> Result<Vec<LogEvent>> {
    let sql = "SELECT min(started_at, coalesce( \
                   (SELECT min(received_at) FROM inbound WHERE turn = ?1), started_at)) \
               FROM turns WHERE id = ?1";
    let began = db.query_one(sql, [turn.0], |row| row.get(0).map(Timestamp))?;
    let rows = db.query_rows(
        &format!(
            "{EVENTS} WHERE seq > ?2 AND seq <= ?3 AND (turn = ?1 AND kind NOT GLOB 'delivery.*' \
                 OR kind = 'message.queued' AND row IN (SELECT id FROM inbound WHERE turn = ?1)) \
             ORDER BY seq"
        ),
        // The transaction that ends a turn writes more of its events behind the end.
        params![turn.0, event_before(db, end, began)?, end.0 + LOOKED_AT],
        event_row,
    )?;
    rows.into_iter().map(|row| read_event(db, row)).collect()
}

fn of_delivery(db: Db<'_>, end: EventSeq, id: i64) -> Result<Vec<LogEvent>> {
    let sql = "SELECT created_at FROM outbox WHERE id = ?1";
    let Some(began) = db.query_row(sql, [id], |row| row.get(0).map(Timestamp))? else {
        return Ok(Vec::new());
    };
    let rows = db.query_rows(
        &format!(
            "{EVENTS} WHERE seq > ?2 AND seq <= ?3 AND row = ?1 AND kind GLOB 'delivery.*' \
             ORDER BY seq"
        ),
        params![id, event_before(db, end, began)?, end.0],
        event_row,
    )?;
    rows.into_iter().map(|row| read_event(db, row)).collect()
}

/// Returns a number before all events since `began`. The last [`LOOKED_AT`] events are always
/// included, because the clock of the machine may have been set back meanwhile.
fn event_before(db: Db<'_>, end: EventSeq, began: Timestamp) -> Result<i64> {
    let near = end.0 - LOOKED_AT;
    let sql = "SELECT seq FROM events WHERE seq < ?1 AND at < ?2 ORDER BY seq DESC LIMIT 1";
    let older = db.query_row(sql, params![near, began.0], |row| row.get(0))?;
    Ok(older.unwrap_or_else(|| near.min(0)))
}
