//! The running turns and compactions: signals when they were ended or must be released, retries
//! their log writes, and detects stuck turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::StoreError;
use avocet_protocol::tool::SignsOfLife;
use avocet_supervise::with_retry;
use dashmap::DashMap;
use tokio::sync::{Mutex, Notify, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

/// The running turns and compactions of a daemon.
#[derive(Debug)]
pub struct RunningTurns {
    turns: DashMap<TurnId, RunningTurn>,
    compactions: DashMap<SessionId, CancellationToken>,
    /// Number of calls to `signal_ends` and `signal_restart` so far.
    ends: AtomicU64,
    /// Cancelled when running turns must be released to the log for the next start.
    pub(crate) release: CancellationToken,
    /// Notifies the lanes that turns have started background tasks.
    pub(crate) tasks_started: Notify,
    clock: Arc<dyn Clock>,
}

#[derive(Debug)]
struct RunningTurn {
    session: SessionId,
    ended: CancellationToken,
    restarted: Arc<Notify>,
    /// Held by each change of the messages that show the turn.
    screen: Arc<Mutex<()>>,
    /// Time of the last sign of life.
    sign: Duration,
}

impl RunningTurns {
    /// Makes an empty list.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            turns: DashMap::new(),
            compactions: DashMap::new(),
            ends: AtomicU64::new(0),
            release: CancellationToken::new(),
            tasks_started: Notify::new(),
            clock,
        }
    }

    /// Returns the number of calls to `signal_ends` and `signal_restart` so far. A change between
    /// claiming and entering a turn means that the turn may have missed its signal.
    pub(crate) fn count_ends(&self) -> u64 {
        self.ends.load(Ordering::SeqCst)
    }

    /// Lists a turn as running for as long as the guard lives.
    pub(crate) fn enter_turn(&self, turn: TurnId, session: &SessionId) -> EnteredTurn<'_> {
        let (ended, restarted) = (CancellationToken::new(), Arc::<Notify>::default());
        let running = RunningTurn {
            session: session.clone(),
            ended: ended.clone(),
            restarted: restarted.clone(),
            screen: Arc::default(),
            sign: self.clock.elapsed(),
        };
        self.turns.insert(turn, running);
        EnteredTurn { list: self, turn, ended, restarted }
    }

    /// Waits until no message that shows the turn is being changed, and keeps them unchanged as long
    /// as the guard lives. `None` if the turn does not run here.
    pub(crate) async fn lock_screen(&self, turn: TurnId) -> Option<OwnedMutexGuard<()>> {
        let screen = self.turns.get(&turn).map(|running| running.screen.clone())?;
        Some(screen.lock_owned().await)
    }

    /// Lists the compaction of a session for as long as the guard lives.
    pub(crate) fn enter_compaction(&self, session: &SessionId) -> EnteredCompaction<'_> {
        let stopped = CancellationToken::new();
        self.compactions.insert(session.clone(), stopped.clone());
        EnteredCompaction { list: self, session: session.clone(), stopped }
    }

    /// Signals the compaction of a session, if any, that it was stopped in the log.
    pub(crate) fn stop_compaction(&self, session: &SessionId) {
        if let Some(stopped) = self.compactions.get(session) {
            stopped.cancel();
        }
    }

    /// Signals all compactions that they were stopped in the log.
    pub(crate) fn stop_compactions(&self) {
        self.compactions.iter().for_each(|stopped| stopped.cancel());
    }

    /// Returns `true` if a `/compact` of this session is running.
    pub(crate) fn is_compacting(&self, session: &SessionId) -> bool {
        self.compactions.contains_key(session)
    }

    /// Signals turns that they were ended in the log.
    pub(crate) fn signal_ends(&self, turns: &[TurnId]) {
        self.ends.fetch_add(1, Ordering::SeqCst);
        for turn in turns {
            if let Some(running) = self.turns.get(turn) {
                running.ended.cancel();
            }
        }
    }

    /// Signals a turn that the log has another message for it.
    pub(crate) fn signal_restart(&self, turn: TurnId) {
        self.ends.fetch_add(1, Ordering::SeqCst);
        if let Some(running) = self.turns.get(&turn) {
            running.restarted.notify_one();
        }
    }

    /// Records a sign of life like [`SignsOfLife::sign`], for the turn of this session.
    pub(crate) fn sign_session(&self, session: &SessionId) {
        for mut running in self.turns.iter_mut().filter(|turn| turn.session == *session) {
            running.sign = self.clock.elapsed();
        }
    }

    /// Retries a transient error of the log until turns must be released. Each attempt is a sign of
    /// life of the turn, because a turn that waits for disk space is not stuck.
    pub(crate) async fn with_retry<T, W>(
        &self,
        turn: impl Into<Option<TurnId>>,
        work: impl Fn() -> W,
    ) -> Result<T, StoreError>
    where
        W: Future<Output = Result<T, StoreError>>,
    {
        let turn = turn.into();
        let work = || {
            turn.into_iter().for_each(|turn| self.sign(turn));
            work()
        };
        with_retry(self.clock.as_ref(), &self.release, work).await
    }

    /// Returns a turn without a sign of life for longer than `limit`.
    pub(crate) fn silent_for(&self, limit: Duration) -> Option<TurnId> {
        let now = self.clock.elapsed();
        let silent = self.turns.iter().find(|turn| now.saturating_sub(turn.sign) > limit);
        silent.map(|turn| *turn.key())
    }
}

impl SignsOfLife for RunningTurns {
    /// The turn has written to the log, tries to, or runs a call that makes progress.
    fn sign(&self, turn: TurnId) {
        if let Some(mut running) = self.turns.get_mut(&turn) {
            running.sign = self.clock.elapsed();
        }
    }
}

#[derive(Debug)]
pub(crate) struct EnteredTurn<'l> {
    list: &'l RunningTurns,
    pub(crate) turn: TurnId,
    /// Cancelled when the turn was ended.
    pub(crate) ended: CancellationToken,
    /// Notified when the log has queued the turn again, with another message.
    pub(crate) restarted: Arc<Notify>,
}

impl Drop for EnteredTurn<'_> {
    fn drop(&mut self) {
        self.list.turns.remove(&self.turn);
    }
}

#[derive(Debug)]
pub(crate) struct EnteredCompaction<'l> {
    list: &'l RunningTurns,
    session: SessionId,
    /// Cancelled when the compaction was stopped.
    pub(crate) stopped: CancellationToken,
}

impl Drop for EnteredCompaction<'_> {
    fn drop(&mut self) {
        self.list.compactions.remove(&self.session);
    }
}
