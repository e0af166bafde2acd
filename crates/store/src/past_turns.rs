//! Chooses the ended turns of a session that a request contains, and reads those that are not
//! cached.

use std::ops::ControlFlow;
use std::sync::Arc;

use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{CompactedPast, Past};
use avocet_protocol::turn::TurnRecord;
use rusqlite::params;

use crate::past_cache::{CachedRead, CachedTurn, CachedTurns, MeasuredTurn};
use crate::turn_record::read_turns;
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
    let cached = cache.cached_turns(range.session, range.before);
    let cached = cached.unwrap_or(CachedTurns { after: left_out, turns: Vec::new() });
    let newest = cached.turns.last().map_or(left_out, |last| last.size.id.max(left_out));
    let mut choice = TurnChoice::new(range);
    choice.read(db, newest, range.before)?;
    choice.take_cached(&cached, left_out);
    if cached.after > left_out {
        choice.read(db, left_out, TurnId(cached.after.0 + 1))?;
    }
    let (has_gap, is_complete, open) = (choice.has_gap, choice.is_complete, choice.open);
    let mut turns = choice.with_records(db)?;
    let records = turns.iter().map(|turn| turn.record.clone()).collect();
    let after = match turns.first() {
        Some(oldest) if !is_complete => TurnId(oldest.size.id.0 - 1),
        _ => left_out,
    };
    // An open turn may end later, and then be part of the range.
    turns.retain(|turn| open.is_none_or(|open| turn.size.id < open));
    cache.insert(range.session, CachedTurns { after, turns });
    Ok(PastTurns { turns: records, has_gap })
}

/// The choice of turns, from the newest to the oldest.
struct TurnChoice<'a> {
    range: &'a TurnRange<'a>,
    chosen: Vec<ChosenTurn>,
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

struct ChosenTurn {
    size: MeasuredTurn,
    /// `None` if it is yet to be read.
    record: Option<Arc<TurnRecord>>,
}

impl<'a> TurnChoice<'a> {
    fn new(range: &'a TurnRange<'a>) -> Self {
        Self {
            range,
            chosen: Vec::new(),
            used: 0,
            read: 0,
            is_complete: true,
            has_gap: false,
            open: None,
        }
    }

    /// Chooses among the turns of the log with `after < id < before`. Measures their text without
    /// loading it.
    fn read(&mut self, db: Db<'_>, after: TurnId, before: TurnId) -> Result<()> {
        if !self.is_complete {
            return Ok(());
        }
        let session = self.range.session.as_str();
        db.rows_while(
            "SELECT id, (state = 'done' OR state = 'cancelled' OR state = 'failed') AS ended, \
                 (SELECT max(id) FROM inbound WHERE turn = turns.id) AS newest_message, \
                 (SELECT coalesce(sum(octet_length(content)), 0) FROM inbound WHERE turn = turns.id) \
                     + (SELECT coalesce(sum(octet_length(text)), 0) FROM steps WHERE turn = turns.id) \
                     + coalesce(octet_length(recalled), 0) AS texts, \
                 (SELECT coalesce(sum(octet_length(reasoning)), 0) FROM steps WHERE turn = turns.id) \
                     AS reasoning, \
                 (SELECT coalesce(sum(octet_length(arguments) + coalesce(octet_length(result), 0)), 0) \
                     FROM calls WHERE turn = turns.id) AS calls, \
                 (SELECT coalesce(sum(min(octet_length(arguments), ?4) \
                     + min(coalesce(octet_length(result), 0), ?4)), 0) \
                     FROM calls WHERE turn = turns.id) AS short_calls \
             FROM turns WHERE session = ?1 AND id < ?2 AND id > ?3 ORDER BY id DESC",
            params![session, before.0, after.0, Past::SHORT + Past::REMARK],
            |row| {
                let id = TurnId(row.get(0)?);
                if !row.get::<_, bool>(1)? {
                    self.open = Some(id);
                    return Ok(ControlFlow::Continue(()));
                }
                let (texts, reasoning): (usize, usize) = (row.get(3)?, row.get(4)?);
                let (calls, short_calls): (usize, usize) = (row.get(5)?, row.get(6)?);
                let size = MeasuredTurn {
                    id,
                    newest_message: row.get(2)?,
                    whole: texts + reasoning + calls,
                    shortened: texts + short_calls,
                };
                Ok(self.take_turn(ChosenTurn { size, record: None }))
            },
        )
    }

    /// Chooses among the cached turns after `left_out`.
    fn take_cached(&mut self, cached: &CachedTurns, left_out: TurnId) {
        if !self.is_complete {
            return;
        }
        for turn in cached.turns.iter().rev().take_while(|turn| turn.size.id > left_out) {
            let CachedTurn { record, size } = turn.clone();
            if self.take_turn(ChosenTurn { size, record: Some(record) }).is_break() {
                return;
            }
        }
    }

    /// Chooses the next older turn if it fits. Turns begin in the order of their messages, so all
    /// turns before a forgotten one are forgotten too.
    fn take_turn(&mut self, turn: ChosenTurn) -> ControlFlow<()> {
        let MeasuredTurn { id, newest_message, whole, shortened } = turn.size;
        let TurnRange { budget, fresh_from, compacted, .. } = *self.range;
        if newest_message.is_some_and(|message| message <= fresh_from) {
            self.is_complete = false;
            return ControlFlow::Break(());
        }
        let is_recent = self.chosen.len() < Past::RECENT && Some(id) > compacted.shortened_to;
        self.used = self.used.saturating_add(if is_recent { whole } else { shortened });
        self.read = self.read.saturating_add(whole);
        let is_too_much = self.used > budget || self.read / MOST_TIMES > budget;
        if is_too_much && !self.chosen.is_empty() {
            self.is_complete = false;
            self.has_gap = true;
            return ControlFlow::Break(());
        }
        self.chosen.push(turn);
        ControlFlow::Continue(())
    }

    /// Reads the records that were not cached. Returns all turns, oldest first.
    fn with_records(self, db: Db<'_>) -> Result<Vec<CachedTurn>> {
        let unread = self.chosen.iter().filter(|turn| turn.record.is_none());
        let unread: Vec<TurnId> = unread.map(|turn| turn.size.id).collect();
        let read = if unread.is_empty() { Vec::new() } else { read_turns(db, &unread)? };
        let mut read = read.into_iter().map(Arc::new);
        let with_record = |turn: ChosenTurn| {
            let record = turn.record.or_else(|| read.next())?;
            Some(CachedTurn { record, size: turn.size })
        };
        Ok(self.chosen.into_iter().rev().filter_map(with_record).collect())
    }
}
