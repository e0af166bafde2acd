//! Chooses the ended turns of a session that a request contains, and reads those that are not
//! cached, from the newest to the oldest. So it reads one turn at most that does not fit.

use std::ops::ControlFlow;
use std::sync::Arc;

use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{CompactedPast, Past};
use avocet_protocol::turn::{TurnRecord, TurnState};
use rusqlite::params;

use crate::past_cache::{CachedRead, CachedTurn, CachedTurns, MeasuredTurn};
use crate::turn_record::{TURNS, TurnReader, turn_state};
use crate::tx::{Db, Result};

/// Factor by which the bytes read may exceed the budget, since shortened turns count less than they
/// hold.
const MOST_TIMES: usize = 16;

/// The turns that a request may contain.
#[derive(Debug)]
pub(crate) struct TurnRange<'a> {
    pub(crate) session: &'a SessionId,
    /// Turns of this id and above are left out.
    pub(crate) before: TurnId,
    /// The text of the turns may have this many bytes.
    pub(crate) budget: usize,
    /// Turns whose messages have this id or a lower one are forgotten.
    pub(crate) fresh_from: i64,
    pub(crate) compacted: &'a CompactedPast,
}

/// The turns of a past, oldest first.
pub(crate) struct PastTurns {
    pub(crate) turns: Vec<Arc<TurnRecord>>,
    /// `true` if older turns do not fit.
    pub(crate) has_gap: bool,
}

/// Returns the newest turns of the range that fit into its budget, at least one.
pub(crate) fn past_turns(
    db: Db<'_>,
    range: &TurnRange<'_>,
    cache: &CachedRead,
) -> Result<PastTurns> {
    let left_out = range.compacted.summary_to.unwrap_or(TurnId(0));
    let cached = cache.take_turns(range.session, range.before);
    let mut cached = cached.unwrap_or(CachedTurns { after: left_out, turns: Vec::new() });
    let newest = cached.turns.last().map_or(left_out, |last| last.size.id.max(left_out));
    let mut choice = TurnChoice::new(range);
    let newer = choice.read_turns(db, newest, range.before)?;
    let chosen = choice.count_cached(&cached, left_out);
    cached.turns.drain(..cached.turns.len() - chosen);
    let older = if cached.after > left_out {
        choice.read_turns(db, left_out, TurnId(cached.after.0 + 1))?
    } else {
        Vec::new()
    };
    let mut turns = cached.turns;
    if !older.is_empty() {
        turns.splice(..0, older.into_iter().rev());
    }
    turns.extend(newer.into_iter().rev());
    let records = turns.iter().map(|turn| turn.record.clone()).collect();
    let after = match turns.first() {
        Some(oldest) if !choice.is_complete => TurnId(oldest.size.id.0 - 1),
        _ => left_out,
    };
    // An open turn may end later, and then be part of the range.
    if let Some(open) = choice.open {
        turns.retain(|turn| turn.size.id < open);
    }
    cache.insert(range.session, CachedTurns { after, turns });
    Ok(PastTurns { turns: records, has_gap: choice.has_gap })
}

/// The choice of turns, from the newest to the oldest.
struct TurnChoice<'a> {
    range: &'a TurnRange<'a>,
    /// Number of chosen turns.
    chosen: usize,
    /// Bytes of the chosen turns, of which all but the newest count as shortened.
    used: usize,
    /// Bytes of the chosen turns as a whole.
    read: usize,
    /// `false` once a turn was left out.
    is_complete: bool,
    has_gap: bool,
    /// The oldest turn that has not ended.
    open: Option<TurnId>,
}

impl<'a> TurnChoice<'a> {
    fn new(range: &'a TurnRange<'a>) -> Self {
        Self { range, chosen: 0, used: 0, read: 0, is_complete: true, has_gap: false, open: None }
    }

    /// Reads turns of the log with `after < id < before`, and returns the chosen ones, newest first.
    fn read_turns(&mut self, db: Db<'_>, after: TurnId, before: TurnId) -> Result<Vec<CachedTurn>> {
        let mut chosen = Vec::new();
        if !self.is_complete {
            return Ok(chosen);
        }
        let in_log = |error: rusqlite::Error| db.store_error(&error);
        let sql = format!("{TURNS} WHERE session = ?1 AND id < ?2 AND id > ?3 ORDER BY id DESC");
        let mut turns = db.prepare_cached(&sql).map_err(in_log)?;
        let range = params![self.range.session.as_str(), before.0, after.0];
        let mut rows = turns.query(range).map_err(in_log)?;
        let mut reader: Option<TurnReader<'_>> = None;
        while let Some(row) = rows.next().map_err(in_log)? {
            if !has_ended(turn_state(row).map_err(in_log)?) {
                self.open = Some(TurnId(row.get(0).map_err(in_log)?));
                continue;
            }
            let reader = match &mut reader {
                Some(reader) => reader,
                none => none.insert(TurnReader::new(&db, after, before)?),
            };
            let turn = CachedTurn::from(reader.read_turn(row)?);
            if self.take_turn(turn.size).is_break() {
                break;
            }
            chosen.push(turn);
        }
        Ok(chosen)
    }

    /// Returns how many of the cached turns after `left_out` are chosen, from the newest on.
    fn count_cached(&mut self, cached: &CachedTurns, left_out: TurnId) -> usize {
        if !self.is_complete {
            return 0;
        }
        let turns = cached.turns.iter().rev().take_while(|turn| turn.size.id > left_out);
        turns.take_while(|turn| self.take_turn(turn.size).is_continue()).count()
    }

    /// Chooses the next older turn if it fits. Turns begin in the order of their messages, so all
    /// turns before a forgotten one are forgotten too.
    fn take_turn(&mut self, turn: MeasuredTurn) -> ControlFlow<()> {
        let MeasuredTurn { id, newest_message, whole, shortened, .. } = turn;
        let TurnRange { budget, fresh_from, compacted, .. } = *self.range;
        if newest_message.is_some_and(|message| message.0 <= fresh_from) {
            self.is_complete = false;
            return ControlFlow::Break(());
        }
        let is_recent = self.chosen < Past::RECENT && Some(id) > compacted.shortened_to;
        self.used = self.used.saturating_add(if is_recent { whole } else { shortened });
        self.read = self.read.saturating_add(whole);
        let is_too_much = self.used > budget || self.read / MOST_TIMES > budget;
        if is_too_much && self.chosen > 0 {
            self.is_complete = false;
            self.has_gap = true;
            return ControlFlow::Break(());
        }
        self.chosen += 1;
        ControlFlow::Continue(())
    }
}

fn has_ended(state: TurnState) -> bool {
    match state {
        TurnState::Done | TurnState::Cancelled | TurnState::Failed => true,
        TurnState::Queued | TurnState::Running | TurnState::Waiting => false,
    }
}

#[cfg(test)]
#[path = "past_turns_tests.rs"]
mod tests;
