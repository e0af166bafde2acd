//! The ended turns of the sessions that were active last. An ended turn changes only in
//! [`ChangeMarks::past`](crate::tx::ChangeMarks) transactions, which empty the cache. So a turn
//! reads only the turns that ended since the previous read.
//!
//! The limit is one for all sessions, in bytes of memory: about twenty chats with as many turns as
//! a request has room for, or hundreds of short ones. With less, chats that are used in turn would
//! drive each other out, and each of their turns would read its whole past from the log.

use std::sync::Arc;

use avocet_protocol::LruMap;
use avocet_protocol::chat::{LoggedInbound, SessionId};
use avocet_protocol::ids::{MessageId, TurnId};
use avocet_protocol::turn::{LoggedCall, Step, TurnRecord};
use parking_lot::Mutex;

use crate::turn_record::ReadTurn;

/// Maximum size of all cached turns in bytes, as [`MeasuredTurn::memory`] estimates it.
const MOST_BYTES: usize = 32 << 20;
/// Estimated memory of a turn beside its messages, steps, calls and texts, in bytes.
const TURN_BYTES: usize = size_of::<TurnRecord>() + size_of::<CachedTurn>() + 64;
/// More sessions than fit into [`MOST_BYTES`].
const MOST_SESSIONS: usize = MOST_BYTES / TURN_BYTES + 1;

/// The cached turns of all sessions.
#[derive(Debug, Default)]
pub(crate) struct PastCache {
    pasts: Mutex<CachedPasts>,
}

#[derive(Debug, Default)]
struct CachedPasts {
    /// Number of times that the cache was emptied.
    emptied: u64,
    bytes: usize,
    sessions: LruMap<SessionId, CachedSession, MOST_SESSIONS>,
}

#[derive(Debug)]
struct CachedSession {
    bytes: usize,
    turns: CachedTurns,
}

/// The cache for one read. Turns that it has read are cached only if the cache has not been emptied
/// since its beginning.
#[derive(Debug)]
pub(crate) struct CachedRead {
    cache: Arc<PastCache>,
    /// See [`CachedPasts::emptied`].
    emptied: u64,
}

/// All ended turns of a session in a range of ids.
#[derive(Debug)]
pub(crate) struct CachedTurns {
    /// The range begins after this turn.
    pub(crate) after: TurnId,
    /// The turns, oldest first. The last one ends the range.
    pub(crate) turns: Vec<CachedTurn>,
}

/// An ended turn.
#[derive(Debug)]
pub(crate) struct CachedTurn {
    pub(crate) record: Arc<TurnRecord>,
    pub(crate) size: MeasuredTurn,
}

/// The sizes of an ended turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeasuredTurn {
    pub(crate) id: TurnId,
    /// Its newest message; `None` for a child.
    pub(crate) newest_message: Option<MessageId>,
    /// Bytes of the whole text.
    pub(crate) whole: usize,
    /// Bytes with shortened results.
    pub(crate) shortened: usize,
    /// Bytes of memory, estimated.
    pub(crate) memory: usize,
}

impl From<ReadTurn> for CachedTurn {
    fn from(read: ReadTurn) -> Self {
        let ReadTurn { record, newest_message, whole, shortened } = read;
        let memory = TURN_BYTES + whole + parts_bytes(&record);
        let size = MeasuredTurn { id: record.id, newest_message, whole, shortened, memory };
        Self { record: Arc::new(record), size }
    }
}

/// Returns the bytes of the messages, steps and calls of a turn, without their texts.
fn parts_bytes(turn: &TurnRecord) -> usize {
    let steered: usize = turn.steps.iter().map(|step| step.steered.len()).sum();
    let calls: usize = turn.steps.iter().map(|step| step.calls.len()).sum();
    (turn.origin.messages().len() + steered) * size_of::<LoggedInbound>()
        + turn.steps.len() * size_of::<Step>()
        + calls * size_of::<LoggedCall>()
}

impl PastCache {
    /// Forgets all turns, because a transaction has changed ended ones.
    pub(crate) fn clear(&self) {
        let mut pasts = self.pasts.lock();
        pasts.emptied += 1;
        pasts.bytes = 0;
        pasts.sessions.clear();
    }
}

impl CachedRead {
    /// Begins a read. Call this before its transaction begins.
    pub(crate) fn begin_read(cache: &Arc<PastCache>) -> Self {
        Self { emptied: cache.pasts.lock().emptied, cache: cache.clone() }
    }

    /// Takes the turns of a session out of the cache, if all of them come before `before`. The read
    /// puts them back with [`Self::insert`].
    pub(crate) fn take_turns(&self, session: &SessionId, before: TurnId) -> Option<CachedTurns> {
        let mut pasts = self.cache.pasts.lock();
        let last = pasts.sessions.peek(session)?.turns.turns.last()?;
        if last.size.id >= before {
            return None;
        }
        let taken = pasts.sessions.pop(session)?;
        pasts.bytes -= taken.bytes;
        Some(taken.turns)
    }

    /// Caches the turns of a session in place of those cached before. The sessions that were read
    /// least recently make room.
    pub(crate) fn insert(&self, session: &SessionId, turns: CachedTurns) {
        let mut pasts = self.cache.pasts.lock();
        if pasts.emptied != self.emptied {
            return;
        }
        let bytes = turns.turns.iter().map(|turn| turn.size.memory).sum();
        let replaced = if turns.turns.is_empty() || bytes > MOST_BYTES {
            pasts.sessions.pop(session)
        } else {
            pasts.bytes += bytes;
            pasts.sessions.put(session.clone(), CachedSession { bytes, turns })
        };
        pasts.bytes -= replaced.map_or(0, |replaced| replaced.bytes);
        while pasts.bytes > MOST_BYTES {
            let Some((_, oldest)) = pasts.sessions.pop_lru() else { break };
            pasts.bytes -= oldest.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use avocet_protocol::clock::Timestamp;
    use avocet_protocol::turn::{Origin, TurnState, Undelivered};

    use super::*;

    fn session(name: &str) -> SessionId {
        format!("terminal:local:{name}").parse().unwrap()
    }

    /// Turns with these ids, each of this size in memory.
    fn turns(ids: &[i64], memory: usize) -> CachedTurns {
        let turn = |id: &i64| {
            let record = TurnRecord {
                id: TurnId(*id),
                session: session("a"),
                state: TurnState::Done,
                started_at: Timestamp(0),
                origin: Origin::Messages(Vec::new()),
                steps: Vec::new(),
                notice: None,
                undelivered: Undelivered::default(),
                recalled: Vec::new(),
                reports: avocet_protocol::turn::SessionReports::default(),
            };
            let id = TurnId(*id);
            let size = MeasuredTurn { id, newest_message: None, whole: 0, shortened: 0, memory };
            CachedTurn { record: Arc::new(record), size }
        };
        CachedTurns { after: TurnId(0), turns: ids.iter().map(turn).collect() }
    }

    /// Returns the number of turns that are cached, which stay in the cache.
    fn cached(read: &CachedRead, name: &str, before: i64) -> Option<usize> {
        let taken = read.take_turns(&session(name), TurnId(before))?;
        let count = taken.turns.len();
        read.insert(&session(name), taken);
        Some(count)
    }

    #[test]
    fn turns_are_returned_only_if_all_come_before_the_wanted_one() {
        let read = CachedRead::begin_read(&Arc::default());
        read.insert(&session("a"), turns(&[1, 5], 1));
        for (before, expected) in [(6, Some(2)), (5, None), (2, None)] {
            assert_eq!(cached(&read, "a", before), expected, "{before}");
        }
        assert_eq!(cached(&read, "b", 6), None);
        read.insert(&session("a"), turns(&[], 1));
        assert_eq!(cached(&read, "a", 6), None, "nothing is left to cache");
    }

    #[test]
    fn insert_makes_room_by_the_sessions_that_were_read_least_recently() {
        let read = CachedRead::begin_read(&Arc::default());
        let third = MOST_BYTES / 3;
        let insert = |name: &str, bytes| read.insert(&session(name), turns(&[1], bytes));
        ["a", "b", "c", "a", "d"].into_iter().for_each(|name| insert(name, third));
        let kept = ["a", "b", "c", "d"].map(|name| cached(&read, name, 2).is_some());
        assert_eq!(kept, [true, false, true, true]);
        insert("a", MOST_BYTES + 1);
        assert_eq!(cached(&read, "a", 2), None, "too large");
        assert_eq!(cached(&read, "d", 2), Some(1), "it has taken the room of nothing");
    }

    #[test]
    fn turns_that_were_read_before_a_change_are_not_cached_after_it() {
        let cache = Arc::<PastCache>::default();
        let before = CachedRead::begin_read(&cache);
        before.insert(&session("a"), turns(&[1], 1));
        cache.clear();
        assert_eq!(cached(&before, "a", 2), None);
        before.insert(&session("a"), turns(&[1], 1));
        assert_eq!(cached(&before, "a", 2), None);
        CachedRead::begin_read(&cache).insert(&session("a"), turns(&[1], 1));
        assert_eq!(cached(&before, "a", 2), Some(1));
    }
}
