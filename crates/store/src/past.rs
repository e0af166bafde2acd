//! What a session has behind it, as far as its requests carry it, and how it is condensed.

use avocet_protocol::{Condensed, LoggedInbound, MessageId, Past, Planned, SessionId, TurnId};
use rusqlite::params;

use crate::outbox::{Source, insert_planned};
use crate::rows::{self, INBOUND};
use crate::tx::{Db, Result, Tx};

/// The past of a session before a turn.
pub(crate) fn past(db: Db<'_>, session: &SessionId, before: TurnId, budget: usize) -> Result<Past> {
    let condensed = condensed(db, session)?;
    let left_out = condensed.summary_to.map_or(0, |turn| turn.0);
    let mut past = Past { condensed, ..Past::default() };
    let (mut next, mut used) = (before, 0_usize);
    loop {
        // Turns are begun in the order of their messages: what is behind one that is forgotten is
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
        used = used.saturating_add(turn_bytes(db, id)?);
        if used > budget && !past.turns.is_empty() {
            past.has_gap = true;
            break;
        }
        past.turns.push(rows::turn(db, id)?);
        next = id;
    }
    past.turns.reverse();
    Ok(past)
}

fn condensed(db: Db<'_>, session: &SessionId) -> Result<Condensed> {
    let turn = |id: i64| (id > 0).then_some(TurnId(id));
    let found = db.row(
        "SELECT summary, summary_to, shortened_to FROM sessions WHERE id = ?1",
        [session.as_str()],
        |row| {
            Ok(Condensed {
                summary: row.get(0)?,
                summary_to: turn(row.get(1)?),
                shortened_to: turn(row.get(2)?),
            })
        },
    )?;
    Ok(found.unwrap_or_default())
}

/// The text of a turn, in bytes, without reading it.
fn turn_bytes(db: Db<'_>, turn: TurnId) -> Result<usize> {
    db.one(
        "SELECT (SELECT coalesce(sum(octet_length(content)), 0) FROM inbound WHERE turn = ?1) \
              + (SELECT coalesce(sum(octet_length(text) + coalesce(octet_length(reasoning), 0)), 0) \
                 FROM steps WHERE turn = ?1) \
              + (SELECT coalesce(sum(octet_length(arguments) + octet_length(result)), 0) \
                 FROM calls WHERE turn = ?1)",
        [turn.0],
        |row| row.get(0),
    )
}

/// Condenses the past, unless it has been forgotten meanwhile.
pub(crate) fn condense(tx: &Tx<'_>, session: &SessionId, condensed: &Condensed) -> Result<()> {
    let id = |turn: Option<TurnId>| turn.map_or(0, |turn| turn.0);
    let (summary_to, shortened_to) = (id(condensed.summary_to), id(condensed.shortened_to));
    tx.update(
        "UPDATE sessions SET summary = ?2, summary_to = ?3, shortened_to = ?4 WHERE id = ?1 \
             AND NOT coalesce((SELECT max(id) FROM inbound WHERE turn = max(?3, ?4)) \
                 <= fresh_from, 0)",
        params![session.as_str(), condensed.summary, summary_to, shortened_to],
    )?;
    Ok(())
}

/// The command that wants the session condensed, if one does.
pub(crate) fn compaction(tx: &Tx<'_>, session: &SessionId) -> Result<Option<LoggedInbound>> {
    tx.db.row(
        &format!("{INBOUND} WHERE id = (SELECT compact_for FROM sessions WHERE id = ?1)"),
        [session.as_str()],
        rows::inbound,
    )
}

/// The command has been carried out, and this is said of it.
pub(crate) fn compacted(tx: &Tx<'_>, command: MessageId, notice: Option<&Planned>) -> Result<()> {
    let what = format_args!("the compaction for {command}");
    tx.update_one(
        what,
        "UPDATE sessions SET compact_for = NULL WHERE compact_for = ?1",
        [command.0],
    )?;
    notice.map_or(Ok(()), |notice| insert_planned(tx, notice, None, Source::Notice))
}
