//! The turns and compactions that run now: how they are told that they were ended, and whether turns
//! move.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use avocet_protocol::{Clock, SessionId, TurnId};
use dashmap::DashMap;
use tokio_util::sync::CancellationToken;

/// The turns that run now, and the compactions.
#[derive(Debug)]
pub(crate) struct RunningTurns {
    turns: DashMap<TurnId, Running>,
    compactions: DashMap<SessionId, CancellationToken>,
    /// How often somebody has ended turns.
    ends: AtomicU64,
    clock: Arc<dyn Clock>,
}

#[derive(Debug)]
struct Running {
    session: SessionId,
    ended: CancellationToken,
    /// When it last gave a sign of life.
    sign: Duration,
}

impl RunningTurns {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { turns: DashMap::new(), compactions: DashMap::new(), ends: AtomicU64::new(0), clock }
    }

    /// How often somebody has ended turns so far. Whoever takes a turn looks before and after: what
    /// was ended in between was not in the list.
    pub(crate) fn ends(&self) -> u64 {
        self.ends.load(Ordering::SeqCst)
    }

    /// Puts a turn on the list for as long as the guard lives.
    pub(crate) fn enter(&self, turn: TurnId, session: &SessionId) -> Entered<'_> {
        let ended = CancellationToken::new();
        let (session, sign) = (session.clone(), self.clock.elapsed());
        self.turns.insert(turn, Running { session, ended: ended.clone(), sign });
        Entered { list: self, turn, ended }
    }

    /// Puts the compaction of a session on the list for as long as the guard lives.
    pub(crate) fn enter_compaction(&self, session: &SessionId) -> Condensing<'_> {
        let stopped = CancellationToken::new();
        self.compactions.insert(session.clone(), stopped.clone());
        Condensing { list: self, session: session.clone(), stopped }
    }

    /// Tells the compaction of a session, if there is one, that it was stopped in the log.
    pub(crate) fn stop_compaction(&self, session: &SessionId) {
        if let Some(stopped) = self.compactions.get(session) {
            stopped.cancel();
        }
    }

    /// Whether the past of a session is being condensed on demand.
    pub(crate) fn condenses(&self, session: &SessionId) -> bool {
        self.compactions.contains_key(session)
    }

    /// Tells turns that they were ended in the log.
    pub(crate) fn end(&self, turns: &[TurnId]) {
        self.ends.fetch_add(1, Ordering::SeqCst);
        for turn in turns {
            if let Some(running) = self.turns.get(turn) {
                running.ended.cancel();
            }
        }
    }

    /// The turn moves: it has something written, or tries to.
    pub(crate) fn sign(&self, turn: TurnId) {
        if let Some(mut running) = self.turns.get_mut(&turn) {
            running.sign = self.clock.elapsed();
        }
    }

    /// As [`Self::sign`], of the turn that the session runs.
    pub(crate) fn sign_session(&self, session: &SessionId) {
        for mut running in self.turns.iter_mut().filter(|turn| turn.session == *session) {
            running.sign = self.clock.elapsed();
        }
    }

    /// A turn that has given no sign of life for longer than `limit`.
    pub(crate) fn silent_for(&self, limit: Duration) -> Option<TurnId> {
        let now = self.clock.elapsed();
        let silent = self.turns.iter().find(|turn| now.saturating_sub(turn.sign) > limit);
        silent.map(|turn| *turn.key())
    }
}

/// A turn on the list.
#[derive(Debug)]
pub(crate) struct Entered<'l> {
    list: &'l RunningTurns,
    turn: TurnId,
    /// Fires when it was ended.
    pub(crate) ended: CancellationToken,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.list.turns.remove(&self.turn);
    }
}

/// A compaction on the list.
#[derive(Debug)]
pub(crate) struct Condensing<'l> {
    list: &'l RunningTurns,
    session: SessionId,
    /// Fires when it was stopped.
    pub(crate) stopped: CancellationToken,
}

impl Drop for Condensing<'_> {
    fn drop(&mut self) {
        self.list.compactions.remove(&self.session);
    }
}
