//! The past of a session that its requests contain, and its compaction.

use avocet_protocol::{
    CompactedPast, LoggedInbound, MessageId, Past, Planned, SessionId, StoreError, Trust, TurnId,
};
use rusqlite::params;

use crate::rows;
use crate::rows::chunks::insert_notice;
use crate::rows::messages::{INBOUND, inbound};
use crate::turn_record::read_turn;
use crate::tx::{Db, Result, Tx};

/// Factor by which the bytes read may exceed the budget, since shortened turns count less than they
/// hold.
const MOST_TIMES: usize = 16;

/// Returns the past of a session before a turn.
pub(crate) fn past(db: Db<'_>, session: &SessionId, before: TurnId, budget: usize) -> Result<Past> {
    let compacted = compacted_past(db, session)?;
    let left_out = compacted.summary_to.map_or(0, |turn| turn.0);
    let trusted_to = trusted_to(db, session)?;
    let mut past = Past { compacted, trusted_to, ..Past::default() };
    let (mut next, mut used, mut read) = (before, 0_usize, 0_usize);
    loop {
        // Turns begin in the order of their messages, so all turns before a forgotten one are
        // forgotten too. A child has no messages.
        let found = db.row(
            "SELECT id, coalesce((SELECT max(id) FROM inbound WHERE turn = turns.id) \
                 <= (SELECT fresh_from FROM sessions WHERE id = ?1), 0) FROM turns \
             WHERE session = ?1 AND id < ?2 AND id > ?3 \
                 AND state IN ('done', 'cancelled', 'failed') \
             ORDER BY id DESC LIMIT 1",
            params![session.as_str(), next.0, left_out],
            |row| Ok((TurnId(row.get(0)?), row.get::<_, bool>(1)?)),
        )?;
        let Some((id, false)) = found else { break };
        let is_recent = past.turns.len() < Past::RECENT && Some(id) > past.compacted.shortened_to;
        let TurnBytes { whole, shortened } = turn_bytes(db, id)?;
        used = used.saturating_add(if is_recent { whole } else { shortened });
        read = read.saturating_add(whole);
        let is_too_much = used > budget || read / MOST_TIMES > budget;
        if is_too_much && !past.turns.is_empty() {
            past.has_gap = true;
            break;
        }
        past.turns.push(read_turn(db, id)?);
        next = id;
    }
    past.turns.reverse();
    Ok(past)
}

fn compacted_past(db: Db<'_>, session: &SessionId) -> Result<CompactedPast> {
    let turn = |id: i64| (id > 0).then_some(TurnId(id));
    let found = db.row(
        "SELECT summary, summary_to, shortened_to, summary_trust FROM sessions WHERE id = ?1",
        [session.as_str()],
        |row| {
            Ok(CompactedPast {
                summary: row.get(0)?,
                summary_to: turn(row.get(1)?),
                shortened_to: turn(row.get(2)?),
                trust: rows::trust(row, "summary_trust")?,
            })
        },
    )?;
    Ok(found.unwrap_or_default())
}

/// Returns the last turn, and the last step of it, that an owner has declared trusted.
fn trusted_to(db: Db<'_>, session: &SessionId) -> Result<Option<(TurnId, Option<u32>)>> {
    db.row(
        "SELECT believed_turn, believed_step FROM sessions WHERE id = ?1 AND believed_turn > 0",
        [session.as_str()],
        |row| Ok((TurnId(row.get(0)?), row.get(1)?)),
    )
}

/// Returns the lowest trust level in the session's past: that of its newest turn, whose requests
/// contain the rest.
pub(crate) fn least_trust(db: Db<'_>, session: &SessionId) -> Result<Trust> {
    let newest = db.row(
        "SELECT id FROM turns WHERE session = ?1 AND EXISTS (SELECT 1 FROM steps WHERE turn = turns.id) \
             AND coalesce((SELECT max(id) FROM inbound WHERE turn = turns.id) \
                 > (SELECT fresh_from FROM sessions WHERE id = ?1), 1) \
         ORDER BY id DESC LIMIT 1",
        [session.as_str()],
        |row| row.get(0).map(TurnId),
    )?;
    let Some(newest) = newest else { return Ok(compacted_past(db, session)?.trust) };
    // The last trusted step, including its results, which are part of the next step's request.
    let trusted = match trusted_to(db, session)? {
        Some((turn, _)) if turn > newest => return Ok(Trust::Full),
        Some((turn, step)) if turn == newest => step.map_or(-1, i64::from),
        _ => -2,
    };
    let found = db.rows(
        "SELECT trust FROM steps WHERE turn = ?1 AND number > ?2 + 1 UNION \
         SELECT calls.trust FROM calls JOIN steps ON steps.turn = calls.turn AND number = step \
         WHERE calls.turn = ?1 AND closed = 1 AND step > ?2",
        params![newest.0, trusted],
        |row| rows::trust(row, "trust"),
    )?;
    Ok(found.into_iter().min().unwrap_or_default())
}

/// Marks everything that the session has read so far as trusted; in an open turn, everything up to
/// its last closed step.
pub(crate) fn mark_as_trusted(tx: &Tx<'_>, session: &SessionId) -> Result<()> {
    tx.update(
        "UPDATE sessions SET summary_trust = 'full', \
             believed_turn = (SELECT coalesce(max(id), 0) FROM turns WHERE session = ?1), \
             believed_step = (SELECT max(number) FROM steps WHERE closed = 1 \
                 AND turn = (SELECT max(id) FROM turns WHERE session = ?1)) \
         WHERE id = ?1",
        [session.as_str()],
    )?;
    Ok(())
}

/// Size of a turn's text in bytes.
struct TurnBytes {
    whole: usize,
    /// Size with shortened results.
    shortened: usize,
}

/// Measures a turn's text without loading it.
fn turn_bytes(db: Db<'_>, turn: TurnId) -> Result<TurnBytes> {
    let (texts, reasoning): (usize, usize) = db.one(
        "SELECT (SELECT coalesce(sum(octet_length(content)), 0) FROM inbound WHERE turn = ?1) \
              + (SELECT coalesce(sum(octet_length(text)), 0) FROM steps WHERE turn = ?1) \
              + (SELECT coalesce(octet_length(recalled), 0) FROM turns WHERE id = ?1), \
                (SELECT coalesce(sum(octet_length(reasoning)), 0) FROM steps WHERE turn = ?1)",
        [turn.0],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let (whole, shortened): (usize, usize) = db.one(
        "SELECT coalesce(sum(octet_length(arguments) + coalesce(octet_length(result), 0)), 0), \
                coalesce(sum(min(octet_length(arguments), ?2) \
                    + min(coalesce(octet_length(result), 0), ?2)), 0) \
         FROM calls WHERE turn = ?1",
        params![turn.0, Past::SHORT + Past::REMARK],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    Ok(TurnBytes { whole: texts + reasoning + whole, shortened: texts + shortened })
}

/// Compacts the past. Returns `false` if it was forgotten meanwhile.
pub(crate) fn record_compaction(
    tx: &Tx<'_>,
    session: &SessionId,
    compacted: &CompactedPast,
) -> Result<bool> {
    let id = |turn: Option<TurnId>| turn.map_or(0, |turn| turn.0);
    let (summary_to, shortened_to) = (id(compacted.summary_to), id(compacted.shortened_to));
    let compacted = tx.update(
        "UPDATE sessions SET summary = ?2, summary_to = ?3, shortened_to = ?4, summary_trust = ?5 \
         WHERE id = ?1 \
             AND NOT coalesce((SELECT max(id) FROM inbound WHERE turn = max(?3, ?4)) \
                 <= fresh_from, 0)",
        params![
            session.as_str(),
            compacted.summary,
            summary_to,
            shortened_to,
            compacted.trust.word(),
        ],
    )?;
    Ok(compacted > 0)
}

/// The `/compact` command that a session has not finished.
pub(crate) struct PendingCompaction {
    pub(crate) command: LoggedInbound,
    pub(crate) begun: bool,
}

pub(crate) fn compaction(tx: &Tx<'_>, session: &SessionId) -> Result<Option<PendingCompaction>> {
    let wanted = "SELECT compact_for FROM sessions WHERE id = ?1 AND compact_for IS NOT NULL";
    let wanted = tx.db.row(wanted, [session.as_str()], |row| row.get::<_, i64>(0))?;
    let Some(wanted) = wanted else { return Ok(None) };
    let command = tx.db.row(&format!("{INBOUND} WHERE id = ?1"), [wanted.abs()], inbound)?;
    Ok(command.map(|command| PendingCompaction { command, begun: wanted < 0 }))
}

/// Requests a compaction. Returns `false` if one is pending already.
pub(crate) fn want_compaction(
    tx: &Tx<'_>,
    session: &SessionId,
    command: MessageId,
) -> Result<bool> {
    let wanted = tx.update(
        "UPDATE sessions SET compact_for = ?2 WHERE id = ?1 AND compact_for IS NULL",
        params![session.as_str(), command.0],
    )?;
    Ok(wanted > 0)
}

/// Cancels the pending compaction. Returns `true` if there was one.
pub(crate) fn stop_compaction(tx: &Tx<'_>, session: &SessionId) -> Result<bool> {
    let stopped = tx.update(
        "UPDATE sessions SET compact_for = NULL WHERE id = ?1 AND compact_for IS NOT NULL",
        [session.as_str()],
    )?;
    Ok(stopped > 0)
}

/// Marks the compaction as begun: a begun one has a negative `compact_for`.
pub(crate) fn begin_compaction(tx: &Tx<'_>, command: MessageId) -> Result<()> {
    tx.update_one(
        format_args!("the compaction for {command}"),
        "UPDATE sessions SET compact_for = -compact_for \
             WHERE id = (SELECT session FROM inbound WHERE id = ?1) AND compact_for = ?1",
        [command.0],
    )
}

/// Ends the compaction: stores the summary and sends the notice.
pub(crate) fn compacted(
    tx: &Tx<'_>,
    command: MessageId,
    compacted: Option<&CompactedPast>,
    notice: Option<&Planned>,
) -> Result<()> {
    let session = tx.db.row(
        "SELECT id FROM sessions \
         WHERE id = (SELECT session FROM inbound WHERE id = ?1) AND abs(compact_for) = ?1",
        [command.0],
        |row| rows::parsed::<SessionId>(row, "id"),
    )?;
    let stale = || StoreError::Stale(format!("the compaction for {command}"));
    let session = session.ok_or_else(stale)?;
    stop_compaction(tx, &session)?;
    if let Some(compacted) = compacted
        && !record_compaction(tx, &session, compacted)?
    {
        return Ok(());
    }
    notice.map_or(Ok(()), |notice| insert_notice(tx, notice))
}
