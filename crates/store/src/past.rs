//! The past of a session, which its model requests contain, and the compaction of that past.

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{LoggedInbound, Planned, SessionId};
use avocet_protocol::ids::{MessageId, TurnId};
use avocet_protocol::store::{CompactedPast, Past, StoreError};
use rusqlite::params;

use crate::past_cache::CachedRead;
use crate::past_turns::{PastTurns, TurnRange, past_turns};
use crate::rows;
use crate::rows::chunks::insert_notice;
use crate::rows::messages::{INBOUND, inbound_from_row};
use crate::tx::{Db, Result, Tx};

/// Returns the past of a session before a turn.
pub(crate) fn past_of_session(
    db: Db<'_>,
    session: &SessionId,
    before: TurnId,
    budget: usize,
    cache: &CachedRead,
) -> Result<Past> {
    let SessionMarks { fresh_from, compacted, trusted_to } = session_marks(db, session)?;
    // Ignore a summary that covers the turn itself; the log has the turns before.
    let is_later = compacted.summary_to >= Some(before);
    let compacted = if is_later { CompactedPast::default() } else { compacted };
    let range = TurnRange { session, before, budget, fresh_from, compacted: &compacted };
    let PastTurns { turns, has_gap } = past_turns(db, &range, cache)?;
    Ok(Past { compacted, turns, has_gap, trusted_to })
}

/// Marks in the past of a session.
#[derive(Default)]
struct SessionMarks {
    /// Messages of this id and below are forgotten.
    fresh_from: i64,
    compacted: CompactedPast,
    /// The last turn, and the last step of it, that an owner has declared trusted.
    trusted_to: Option<(TurnId, Option<u32>)>,
}

fn session_marks(db: Db<'_>, session: &SessionId) -> Result<SessionMarks> {
    let turn = |id: i64| (id > 0).then_some(TurnId(id));
    let found = db.query_row(
        "SELECT fresh_from, summary, summary_to, shortened_to, summary_trust, believed_turn, \
             believed_step FROM sessions WHERE id = ?1",
        [session.as_str()],
        |row| {
            let believed_step = row.get(6)?;
            Ok(SessionMarks {
                fresh_from: row.get(0)?,
                compacted: CompactedPast {
                    summary: row.get(1)?,
                    summary_to: turn(row.get(2)?),
                    shortened_to: turn(row.get(3)?),
                    trust: rows::trust_column(row, "summary_trust")?,
                },
                trusted_to: turn(row.get(5)?).map(|turn| (turn, believed_step)),
            })
        },
    )?;
    Ok(found.unwrap_or_default())
}

/// Returns the lowest trust level in the session's past: that of its newest turn, whose requests
/// contain the rest.
pub(crate) fn least_trust(db: Db<'_>, session: &SessionId) -> Result<Trust> {
    let newest = db.query_row(
        "SELECT id FROM turns WHERE session = ?1 AND EXISTS (SELECT 1 FROM steps WHERE turn = turns.id) \
             AND coalesce((SELECT max(id) FROM inbound WHERE turn = turns.id) \
                 > (SELECT fresh_from FROM sessions WHERE id = ?1), 1) \
         ORDER BY id DESC LIMIT 1",
        [session.as_str()],
        |row| row.get(0).map(TurnId),
    )?;
    let marks = session_marks(db, session)?;
    let Some(newest) = newest else { return Ok(marks.compacted.trust) };
    // The last trusted step, including its results, which are part of the next step's request.
    let trusted = match marks.trusted_to {
        Some((turn, _)) if turn > newest => return Ok(Trust::Full),
        Some((turn, step)) if turn == newest => step.map_or(-1, i64::from),
        _ => -2,
    };
    let found = db.query_rows(
        "SELECT trust FROM steps WHERE turn = ?1 AND number > ?2 + 1 UNION \
         SELECT calls.trust FROM calls JOIN steps ON steps.turn = calls.turn AND number = step \
         WHERE calls.turn = ?1 AND closed = 1 AND step > ?2",
        params![newest.0, trusted],
        |row| rows::trust_column(row, "trust"),
    )?;
    Ok(found.into_iter().min().unwrap_or_default())
}

/// Marks everything that the session has read so far as trusted; in an open turn, everything up to
/// its last closed step.
pub(crate) fn mark_as_trusted(tx: &Tx<'_>, session: &SessionId) -> Result<()> {
    tx.change_rows(
        "UPDATE sessions SET summary_trust = 'full', \
             believed_turn = (SELECT coalesce(max(id), 0) FROM turns WHERE session = ?1), \
             believed_step = (SELECT max(number) FROM steps WHERE closed = 1 \
                 AND turn = (SELECT max(id) FROM turns WHERE session = ?1)) \
         WHERE id = ?1",
        [session.as_str()],
    )?;
    Ok(())
}

/// Stores a compacted past. Returns `false` if the past was forgotten meanwhile.
pub(crate) fn record_compaction(
    tx: &Tx<'_>,
    session: &SessionId,
    compacted: &CompactedPast,
) -> Result<bool> {
    let id = |turn: Option<TurnId>| turn.map_or(0, |turn| turn.0);
    let (summary_to, shortened_to) = (id(compacted.summary_to), id(compacted.shortened_to));
    let compacted = tx.change_rows(
        "UPDATE sessions SET summary = ?2, summary_to = ?3, shortened_to = ?4, summary_trust = ?5 \
         WHERE id = ?1 \
             AND NOT coalesce((SELECT max(id) FROM inbound WHERE turn = max(?3, ?4)) \
                 <= fresh_from, 0)",
        params![
            session.as_str(),
            compacted.summary,
            summary_to,
            shortened_to,
            compacted.trust.as_str(),
        ],
    )?;
    Ok(compacted > 0)
}

/// The `/compact` command that a session has not finished.
pub(crate) struct PendingCompaction {
    pub(crate) command: LoggedInbound,
    pub(crate) begun: bool,
}

pub(crate) fn pending_compaction(
    tx: &Tx<'_>,
    session: &SessionId,
) -> Result<Option<PendingCompaction>> {
    let wanted = "SELECT compact_for FROM sessions WHERE id = ?1 AND compact_for IS NOT NULL";
    let wanted = tx.db.query_row(wanted, [session.as_str()], |row| row.get::<_, i64>(0))?;
    let Some(wanted) = wanted else { return Ok(None) };
    let command =
        tx.db.query_row(&format!("{INBOUND} WHERE id = ?1"), [wanted.abs()], inbound_from_row)?;
    Ok(command.map(|command| PendingCompaction { command, begun: wanted < 0 }))
}

/// Requests a compaction. Returns `false` if one is pending already.
pub(crate) fn want_compaction(
    tx: &Tx<'_>,
    session: &SessionId,
    command: MessageId,
) -> Result<bool> {
    let wanted = tx.change_rows(
        "UPDATE sessions SET compact_for = ?2 WHERE id = ?1 AND compact_for IS NULL",
        params![session.as_str(), command.0],
    )?;
    Ok(wanted > 0)
}

/// Cancels the pending compaction. Returns `true` if there was one.
pub(crate) fn stop_compaction(tx: &Tx<'_>, session: &SessionId) -> Result<bool> {
    let stopped = tx.change_rows(
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

/// Ends the compaction: stores the summary and enqueues the notice.
pub(crate) fn finish_compaction(
    tx: &Tx<'_>,
    command: MessageId,
    compacted: Option<&CompactedPast>,
    notice: Option<&Planned>,
) -> Result<()> {
    let session = tx.db.query_row(
        "SELECT id FROM sessions \
         WHERE id = (SELECT session FROM inbound WHERE id = ?1) AND abs(compact_for) = ?1",
        [command.0],
        |row| rows::parse_column::<SessionId>(row, "id"),
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
