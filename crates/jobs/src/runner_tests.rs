use std::time::Duration;

use std::sync::atomic::{AtomicUsize, Ordering};

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{ChatAddress, ChatKind, Sender};
use avocet_protocol::ids::{AccountName, ChannelName};
use avocet_protocol::schedule::{
    CatchUp, NewSchedule, Recurrence, ScheduleOwner, SchedulePlan, ScheduleRule, ScheduleRun,
};
use avocet_protocol::store::{Outbox, Turns};
use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_testkit::{FakeDestinations, ManualClock, START};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::*;

const MINUTE: Duration = Duration::from_mins(1);

fn chat() -> ChatAddress {
    "terminal:local:a".parse().unwrap()
}

/// The parts that a runner wakes, and a checklist.
#[derive(Debug, Default)]
struct Woken {
    sessions: Mutex<Vec<SessionId>>,
    chats: Mutex<Vec<ChatAddress>>,
    changed: Notify,
    checklist_reads: AtomicUsize,
}

impl WakeLanes for Woken {
    fn wake_lane(&self, session: SessionId) {
        self.sessions.lock().push(session);
        self.changed.notify_one();
    }
}

impl Deliveries for Woken {
    fn wake(&self, chat: &ChatAddress) {
        self.chats.lock().push(chat.clone());
        self.changed.notify_one();
    }

    fn wake_account(&self, _: &ChannelName, _: &AccountName) {}
}

#[async_trait]
impl ReadChecklists for Woken {
    async fn has_entries(&self, _: Option<&str>, path: &str) -> bool {
        self.checklist_reads.fetch_add(1, Ordering::SeqCst);
        path == "full.md"
    }
}

struct Harness {
    log: TempStore,
    store: Arc<SqliteStore>,
    clock: Arc<ManualClock>,
    woken: Arc<Woken>,
    group: Group,
}

impl Harness {
    async fn new() -> Self {
        let (log, clock) = (TempStore::new(), Arc::<ManualClock>::default());
        let store = log.open(clock.clone()).await;
        Self { log, store, clock, woken: Arc::default(), group: Group::new("test") }
    }

    fn parts(&self) -> RunnerParts {
        RunnerParts {
            schedules: self.store.clone(),
            destinations: Arc::new(FakeDestinations::default()),
            deliveries: self.woken.clone(),
            lanes: self.woken.clone(),
            checklists: self.woken.clone(),
            clock: self.clock.clone(),
        }
    }

    fn start(&self) {
        ScheduleRunner::start(self.parts(), &self.group);
    }

    /// Ends the daemon, and starts it again after a pause.
    async fn restart_after(self, pause: Duration) -> Self {
        self.group.cancel_tasks();
        self.group.wait_for_tasks(self.clock.as_ref(), MINUTE).await.unwrap();
        drop(self.store);
        self.clock.advance(pause);
        let store = self.log.open(self.clock.clone()).await;
        let harness = Self { store, group: Group::new("again"), ..self };
        harness.start();
        harness
    }

    async fn add(&self, work: ScheduledWork, catch_up: CatchUp) -> ScheduleId {
        let from = START.after(MINUTE);
        self.add_at(Recurrence::Every { seconds: 60, from }, from, work, catch_up).await
    }

    async fn add_at(
        &self,
        recurrence: Recurrence,
        next_at: Timestamp,
        work: ScheduledWork,
        catch_up: CatchUp,
    ) -> ScheduleId {
        let sender = Sender::new("me".parse().unwrap());
        let owner = ScheduleOwner {
            address: chat(),
            chat: ChatKind::Private,
            sender,
            roles: vec!["77".into()],
        };
        let rule = ScheduleRule { recurrence, zone: "UTC".to_owned() };
        let plan = SchedulePlan { rule, work, agent: None, catch_up, quiet: true, next_at };
        let new = NewSchedule { name: None, owner, plan, trust: Trust::User };
        self.store.add_schedule(&new, None).await.unwrap()
    }

    async fn runs(&self, id: ScheduleId) -> Vec<ScheduleRun> {
        self.store.schedule_runs(id, 1000).await.unwrap()
    }

    /// Waits until the schedule has this number of runs.
    async fn has_runs(&self, id: ScheduleId, number: usize) {
        while self.runs(id).await.len() < number {
            self.woken.changed.notified().await;
        }
        assert_eq!(self.runs(id).await.len(), number);
    }
}

fn task() -> ScheduledWork {
    ScheduledWork::Task("look at the sky".to_owned())
}

#[tokio::test]
async fn message_of_a_run_has_the_roles_of_its_owner() {
    let harness = Harness::new().await;
    let id = harness.add(task(), CatchUp::Once).await;
    let schedule = harness.store.schedule(id).await.unwrap().unwrap();
    let message = run_message(&schedule, "look", Timestamp(1)).unwrap();
    assert_eq!(message.inbound.content.author_roles, ["77"]);
}

#[tokio::test]
async fn runner_claims_each_time_and_wakes_its_lane() {
    let harness = Harness::new().await;
    let id = harness.add(task(), CatchUp::Once).await;
    harness.start();
    for run in 1..=3 {
        harness.clock.sleeper_within(..=MINUTE).await;
        harness.clock.advance(MINUTE);
        harness.has_runs(id, run).await;
    }
    let own = SessionId::of_schedule(id);
    assert_eq!(*harness.woken.sessions.lock(), vec![own.clone(); 3]);
    let claimed =
        harness.store.claim(&own, avocet_protocol::store::Suspects::Exclude, Duration::ZERO);
    let avocet_protocol::store::Claim::Turn(claimed) = claimed.await.unwrap() else { panic!() };
    let asked = &claimed.turn.origin.messages()[0].message;
    assert_eq!((asked.trust, asked.inbound.sender.id.as_str()), (Trust::User, "me"));
    assert_eq!(
        asked.inbound.content.text,
        "[Scheduled task s1, due Thursday, 1 January 2026, 00:01 (UTC). No person waits for it, so \
         ask no questions. Your answer is sent to the chat. If there is nothing new to report, \
         answer only NOTHING_NEW.]\nlook at the sky"
    );
}

#[tokio::test]
async fn runner_sends_a_text_without_a_turn() {
    let harness = Harness::new().await;
    let id = harness.add(ScheduledWork::Text("stretch".to_owned()), CatchUp::Once).await;
    harness.start();
    harness.clock.sleeper_within(..=MINUTE).await;
    harness.clock.advance(MINUTE);
    harness.has_runs(id, 1).await;
    assert_eq!(*harness.woken.chats.lock(), [chat()]);
    let head = harness.store.head(&chat()).await.unwrap().unwrap();
    assert_eq!(head.delivery.content.text, "stretch");
    assert!(harness.store.open_sessions().await.unwrap().is_empty());
}

#[tokio::test]
async fn f17_runner_follows_the_policy_after_a_stop_and_runs_each_time_once() {
    let table = [(CatchUp::Skip, 1, 0), (CatchUp::Once, 1, 1), (CatchUp::All, 61, 61)];
    for (policy, rows, queued) in table {
        let harness = Harness::new().await;
        let id = harness.add(task(), policy).await;
        harness.start();
        harness.clock.sleeper_within(..=MINUTE).await;
        let harness = harness.restart_after(61 * MINUTE).await;
        if policy == CatchUp::Skip {
            // The last time is on time.
            harness.has_runs(id, 1).await;
            assert_eq!(harness.runs(id).await[0].skipped, 60);
            continue;
        }
        harness.has_runs(id, rows).await;
        assert_eq!(harness.woken.sessions.lock().len(), queued);
        let runs = harness.runs(id).await;
        assert!(runs.iter().all(|run| run.result == RunResult::Queued));
        // A second restart finds nothing to do.
        let harness = harness.restart_after(Duration::ZERO).await;
        harness.clock.sleeper_within(..=MINUTE).await;
        assert_eq!(harness.runs(id).await.len(), rows);
    }
}

#[tokio::test]
async fn runner_reads_an_empty_checklist_without_a_turn() {
    for (path, result) in [("full.md", RunResult::Queued), ("empty.md", RunResult::Empty)] {
        let harness = Harness::new().await;
        let id = harness.add(ScheduledWork::Checklist(path.to_owned()), CatchUp::Once).await;
        harness.clock.advance(MINUTE);
        harness.parts().run_due(false).await.unwrap();
        assert_eq!(harness.runs(id).await[0].result, result);
        assert_eq!(harness.woken.checklist_reads.load(Ordering::SeqCst), 1);
        let open = harness.store.open_sessions().await.unwrap();
        assert_eq!(open.is_empty(), result == RunResult::Empty);
    }
}

#[tokio::test]
async fn runner_recomputes_times_after_the_clock_was_set_back() {
    let harness = Harness::new().await;
    let id = harness.add(task(), CatchUp::Once).await;
    harness.clock.advance(100 * MINUTE);
    harness.parts().run_due(true).await.unwrap();
    assert_eq!(harness.runs(id).await.len(), 1);
    // The clock was 99 minutes ahead.
    harness.clock.set_back(99 * MINUTE);
    let next = harness.parts().run_due(true).await.unwrap();
    assert_eq!(next, Some(START.after(2 * MINUTE)));
    assert_eq!(harness.runs(id).await.len(), 1, "nothing runs twice");
}

#[tokio::test]
async fn runner_pauses_a_schedule_whose_times_cannot_be_read() {
    let harness = Harness::new().await;
    let id = harness.add(task(), CatchUp::Once).await;
    let schedule = harness.store.schedule(id).await.unwrap().unwrap();
    let rule = ScheduleRule { zone: "Mars/Olympus".to_owned(), ..schedule.rule.clone() };
    let broken = Schedule { rule, ..schedule };
    harness.parts().claim_schedule(&broken, START.after(MINUTE)).await.unwrap();
    let paused = harness.store.schedule(id).await.unwrap().unwrap();
    assert!(paused.reason.unwrap().contains("Mars/Olympus"));
}

#[tokio::test]
async fn run_now_runs_once_and_keeps_the_next_time() {
    let harness = Harness::new().await;
    let id = harness.add(task(), CatchUp::Once).await;
    harness.clock.advance(MINUTE / 2);
    assert!(run_now(&harness.parts(), id).await.unwrap());
    let schedule = harness.store.schedule(id).await.unwrap().unwrap();
    assert_eq!(schedule.next_at, Some(START.after(MINUTE)));
    assert_eq!(harness.runs(id).await[0].due, START.after(MINUTE / 2));
    assert!(!run_now(&harness.parts(), ScheduleId(99)).await.unwrap());
}

/// A clock that counts the sleeps, each of which is a wake-up.
#[derive(Debug, Default)]
struct CountingClock {
    manual: ManualClock,
    sleeps: AtomicUsize,
}

#[async_trait]
impl Clock for CountingClock {
    fn now(&self) -> Timestamp {
        self.manual.now()
    }

    fn elapsed(&self) -> Duration {
        self.manual.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        self.sleeps.fetch_add(1, Ordering::SeqCst);
        self.manual.sleep(duration).await;
    }
}

#[tokio::test]
async fn runner_with_1000_idle_schedules_has_no_wake_up_in_a_day() {
    const YEAR: Duration = Duration::from_hours(365 * 24);
    let harness = Harness::new().await;
    for number in 0..1000 {
        let after = YEAR + number * MINUTE;
        let recurrence = Recurrence::Every { seconds: YEAR.as_secs(), from: START.after(after) };
        harness.add_at(recurrence, START.after(after), task(), CatchUp::Once).await;
    }
    let clock = Arc::new(CountingClock::default());
    let parts = RunnerParts { clock: clock.clone(), ..harness.parts() };
    ScheduleRunner::start(parts, &harness.group);
    // The schedules were added before the start, so the first wait ends once.
    clock.manual.sleeper_within(YEAR..=YEAR).await;
    let slept = async || {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        clock.sleeps.load(Ordering::SeqCst)
    };
    let begun = slept().await;
    for _ in 0..24 * 60 {
        clock.manual.advance(MINUTE);
        assert_eq!(slept().await, begun, "each wake-up would sleep again");
    }
    clock.manual.advance(YEAR);
    harness.has_runs(ScheduleId(1), 1).await;
}
