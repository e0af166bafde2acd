use async_trait::async_trait;
use avocet_protocol::access::Trust;
use avocet_protocol::chat::{
    Content, Inbound, InboundKind, NewInbound, Outcome, Sender, SessionId,
};
use avocet_protocol::ids::CallId;
use avocet_protocol::memory::ConsolidateRequest;
use avocet_protocol::model::{Arguments, ToolCall, Usage};
use avocet_protocol::schedule::{Recurrence, ScheduleRule};
use avocet_protocol::store::{
    Claim, ConsolidationEnd, ConsolidationState, Inbox, NewConsolidation, NewStep, Settlement,
    Suspects, TurnLog, Turns,
};
use avocet_protocol::tool::{LogWrite, ToolClass};
use avocet_protocol::turn::{AnswerEnding, CallResult};
use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_testkit::{ManualClock, START};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::*;

const HOUR: Duration = Duration::from_hours(1);

/// Covers all memories of a scope, like a model without proposals. Keeps the times of its runs.
#[derive(Debug)]
struct Runs {
    store: Arc<SqliteStore>,
    clock: Arc<ManualClock>,
    most: usize,
    fails: bool,
    at: Mutex<Vec<(u64, String)>>,
    changed: Notify,
}

#[async_trait]
impl Consolidate for Runs {
    async fn consolidate(
        &self,
        _: &ConsolidateRequest,
    ) -> Result<Vec<ConsolidationReport>, ConsolidateError> {
        Ok(Vec::new())
    }

    async fn consolidate_due(
        &self,
        scope: &MemoryScope,
    ) -> Result<ConsolidationReport, ConsolidateError> {
        let hours = self.clock.elapsed().as_secs() / 3600;
        self.changed.notify_one();
        if self.at.lock().len() == self.most {
            return Err(ConsolidateError::Runs(1));
        }
        self.at.lock().push((hours, scope.to_string()));
        let new =
            NewConsolidation { scope: scope.clone(), day_start: Timestamp(0), most_runs: u32::MAX };
        let id = self.store.begin_consolidation(&new).await?.unwrap();
        let covered_to = self.store.backlog_of(scope, 99).await?.last().map(|one| one.change);
        let state = if self.fails { ConsolidationState::Failed } else { ConsolidationState::Done };
        let covered_to = covered_to.filter(|_| !self.fails);
        let end = ConsolidationEnd { state, covered_to, edits: Vec::new(), error: None };
        self.store.end_consolidation(id, &end).await?;
        let scope = scope.clone();
        Ok(ConsolidationReport { scope, shown: 1, edits: Vec::new(), error: None })
    }
}

struct TimerHarness {
    store: Arc<SqliteStore>,
    clock: Arc<ManualClock>,
    runs: Arc<Runs>,
    group: Group,
    _log: TempStore,
}

impl TimerHarness {
    async fn start(times: ConsolidationTimes, most: usize, fails: bool) -> Self {
        let (log, clock) = (TempStore::new(), Arc::<ManualClock>::default());
        let store = log.open(clock.clone()).await;
        let runs = Arc::new(Runs {
            store: store.clone(),
            clock: clock.clone(),
            most,
            fails,
            at: Mutex::default(),
            changed: Notify::new(),
        });
        let group = Group::new("test");
        ConsolidationTimer::start(times, store.clone(), runs.clone(), clock.clone(), &group);
        Self { store, clock, runs, group, _log: log }
    }

    /// A message of a person that writes memories for everyone.
    async fn remember(&self, texts: &[&str]) {
        let session = SessionId::parse("terminal:local:a").unwrap();
        let sender = Sender::new("me".parse().unwrap());
        let key = format!("k{}", texts[0].replace(' ', "-")).parse().unwrap();
        let inbound = Inbound::new(session.address(), sender, key, Content::text("hi"));
        let message = NewInbound {
            session: session.clone(),
            kind: InboundKind::Text,
            inbound,
            removed: 0,
            trust: Trust::Full,
        };
        self.store.accept(&message, None).await.unwrap();
        let claimed = self.store.claim(&session, Suspects::Exclude, Duration::ZERO).await;
        let Claim::Turn(claimed) = claimed.unwrap() else { panic!("a message waits") };
        let turn = claimed.turn.id;
        let arguments = Arguments::parse("{}");
        let step = NewStep {
            number: 0,
            text: String::new(),
            ending: AnswerEnding::Complete,
            calls: vec![ToolCall { name: "memory_write".to_owned(), arguments }],
            written: None,
            reasoning: None,
            usage: Usage::default(),
            trust: Trust::Full,
            spent: Vec::new(),
        };
        self.store.record_step(turn, &step).await.unwrap();
        let call = CallId { turn, step: 0, ordinal: 0 };
        self.store.start_call(call, ToolClass::InLog, None).await.unwrap();
        let everyone = MemoryScope::Everyone;
        let write =
            |text: &&str| LogWrite::Remember { scope: everyone.clone(), text: (*text).into() };
        let writes: Vec<LogWrite> = texts.iter().map(write).collect();
        self.store.finish_call(call, &CallResult::ok("ok".into()), None, &writes).await.unwrap();
        let notice = Some("the end".to_owned());
        let end = Settlement { notice, ..Settlement::new(Outcome::Error) };
        self.store.settle(turn, &end).await.unwrap();
    }

    /// Lets this time pass once the task sleeps for at least as long.
    async fn pass(&self, time: Duration) {
        self.clock.sleeper(time).await;
        self.clock.advance(time);
    }

    /// Returns the hours of the runs, once there are as many.
    async fn hours(&self, number: usize) -> Vec<u64> {
        while self.runs.at.lock().len() < number {
            self.runs.changed.notified().await;
        }
        self.runs.at.lock().iter().map(|(hour, _)| *hour).collect()
    }

    async fn stop(self) {
        self.group.cancel_tasks();
        self.group.wait_for_tasks(self.clock.as_ref(), HOUR).await.unwrap();
    }
}

fn idle() -> ConsolidationTimes {
    ConsolidationTimes::Idle { after: 3 * HOUR, least_new: 2 }
}

#[tokio::test]
async fn timer_runs_after_idle_hours_with_enough_new_memories() {
    let harness = TimerHarness::start(idle(), 9, false).await;
    harness.remember(&["one", "two"]).await;
    harness.pass(2 * HOUR).await;
    harness.remember(&["three"]).await;
    // The first sleep ends at 3, an hour after the last message.
    harness.pass(HOUR).await;
    harness.clock.sleeper(2 * HOUR).await;
    assert_eq!(harness.runs.at.lock().len(), 0, "a person wrote an hour ago");
    harness.pass(2 * HOUR).await;
    assert_eq!(harness.hours(1).await, [5]);
    harness.stop().await;
}

#[tokio::test]
async fn timer_sleeps_without_a_time_until_enough_memories_are_new() {
    let harness = TimerHarness::start(idle(), 9, false).await;
    harness.remember(&["one"]).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!harness.clock.advance_to_next(), "no sleeper: no wake-up is planned");
    harness.remember(&["two"]).await;
    harness.pass(3 * HOUR).await;
    assert_eq!(harness.hours(1).await, [3]);
    harness.stop().await;
}

#[tokio::test]
async fn timer_repeats_a_failed_run_after_idle_hours_until_the_runs_of_the_day_are_used_up() {
    let harness = TimerHarness::start(idle(), 2, true).await;
    harness.remember(&["one", "two"]).await;
    for _ in 0..3 {
        harness.pass(3 * HOUR).await;
    }
    assert_eq!(harness.hours(2).await, [3, 6]);
    // The third run was refused at 9, so the next attempt is at 0:00.
    harness.clock.sleeper(15 * HOUR).await;
    harness.stop().await;
}

#[tokio::test]
async fn timer_runs_at_the_times_of_cron_for_scopes_with_new_memories() {
    let recurrence = Recurrence::Cron("0 4 * * *".to_owned());
    let rule = ScheduleRule { recurrence, zone: "UTC".to_owned() };
    assert_eq!(START.0 % 86_400_000, 0, "the clock begins at midnight");
    let times = ConsolidationTimes::At(ScheduleTimes::new(&rule).unwrap());
    let harness = TimerHarness::start(times, 9, false).await;
    harness.remember(&["one"]).await;
    harness.pass(4 * HOUR).await;
    assert_eq!(harness.hours(1).await, [4]);
    harness.pass(24 * HOUR).await;
    harness.clock.sleeper(24 * HOUR).await;
    assert_eq!(harness.hours(1).await, [4], "nothing is new");
    harness.remember(&["two"]).await;
    harness.pass(24 * HOUR).await;
    assert_eq!(harness.hours(2).await, [4, 52]);
    harness.stop().await;
}
