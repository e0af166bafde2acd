//! Rules of schedules and of the claim of their times.

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{
    ChatKind, Content, Inbound, InboundKind, NewInbound, Sender, SessionId,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{DedupeKey, ScheduleId};
use avocet_protocol::model::{Money, Spent, Usage};
use avocet_protocol::schedule::{
    CatchUp, NewSchedule, Recurrence, RunResult, Schedule, ScheduleChange, ScheduleOwner,
    SchedulePlan, ScheduleRule, ScheduleState, ScheduleWrite, ScheduledWork,
};
use avocet_protocol::store::{
    DueClaim, DueRun, DueWork, EndedSchedules, Purpose, UsageBy, UsageEntry,
};
use avocet_protocol::tool::{LogWrite, ToolClass};

use super::Backend;
use super::world::{World, good, message as message_of, planned, session};

pub(super) const FIRST: Timestamp = Timestamp(1_000_000);

fn plan(work: ScheduledWork) -> SchedulePlan {
    let recurrence = Recurrence::Every { seconds: 60, from: FIRST };
    SchedulePlan {
        rule: ScheduleRule { recurrence, zone: "Europe/Berlin".to_owned() },
        work,
        agent: Some("planner".to_owned()),
        catch_up: CatchUp::All,
        quiet: true,
        next_at: FIRST,
    }
}

pub(super) fn task() -> SchedulePlan {
    plan(ScheduledWork::Task("look at the sky".to_owned()))
}

pub(super) fn new(chat: &str, name: Option<&str>, plan: SchedulePlan) -> NewSchedule {
    let sender = Sender { name: Some("Ann".to_owned()), ..Sender::new("user".parse().unwrap()) };
    let owner = ScheduleOwner {
        address: session(chat).address(),
        chat: ChatKind::Private,
        sender,
        roles: vec!["9".to_owned()],
    };
    NewSchedule { name: name.map(str::to_owned), owner, plan, trust: Trust::User }
}

impl World<'_> {
    pub(super) async fn schedule(&self, id: ScheduleId) -> Schedule {
        self.ports.schedules.schedule(id).await.unwrap().unwrap()
    }

    async fn ids(&self) -> Vec<ScheduleId> {
        let all = self.ports.schedules.schedules(None, EndedSchedules::Exclude).await.unwrap();
        all.into_iter().map(|one| one.id).collect()
    }

    pub(super) async fn claims(&self, claim: &DueClaim) -> bool {
        self.ports.schedules.claim_due(claim).await.unwrap()
    }
}

/// The message of a run, as the runner makes it.
fn message(schedule: &Schedule, due: Timestamp) -> NewInbound {
    let ScheduleOwner { address, sender, .. } = schedule.owner.clone();
    let key = format!("schedule:{}:{}", schedule.id.0, due.0).parse().unwrap();
    NewInbound {
        session: SessionId::of_schedule(schedule.id),
        kind: InboundKind::Text,
        inbound: Inbound::new(address, sender, key, Content::text("look at the sky")),
        removed: 0,
        trust: schedule.trust,
    }
}

pub(super) fn task_claim(
    schedule: &Schedule,
    due: Timestamp,
    next_at: Option<Timestamp>,
) -> DueClaim {
    let work = DueWork::Task(Box::new(message(schedule, due)));
    let runs = vec![DueRun { due, work, skipped: 2 }];
    DueClaim { id: schedule.id, expected: schedule.next_at, runs, next_at }
}

/// A schedule is read back as it was added, and a reserved number is not given out again.
pub async fn add_schedule_keeps_every_part(backend: &impl Backend) {
    let world = World::new(backend).await;
    let schedules = &world.ports.schedules;
    let reserved = schedules.reserve_schedule().await.unwrap();
    let id = schedules.add_schedule(&new("a", None, task()), None).await.unwrap();
    assert!(id > reserved);
    let NewSchedule { name, owner, plan, trust } = new("a", None, task());
    let SchedulePlan { rule, work, agent, catch_up, quiet, next_at } = plan;
    let found = world.schedule(id).await;
    let expected = Schedule {
        id,
        name,
        state: ScheduleState::Active,
        reason: None,
        owner,
        rule,
        work,
        agent,
        catch_up,
        quiet,
        trust,
        next_at: Some(next_at),
        made_at: found.made_at,
    };
    assert_eq!(found, expected);
    let other = schedules.add_schedule(&new("b", None, task()), None).await.unwrap();
    let here = session("b").address();
    let of_chat = schedules.schedules(Some(&here), EndedSchedules::Exclude).await.unwrap();
    assert_eq!(of_chat.iter().map(|one| one.id).collect::<Vec<_>>(), [other]);
}

/// A repeated request with the same key gets the first schedule, also after a restart.
pub async fn add_schedule_returns_the_first_one_of_a_key(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (key, other): (DedupeKey, DedupeKey) = ("k".parse().unwrap(), "l".parse().unwrap());
    let (a, b) = (new("a", None, task()), new("b", None, task()));
    let first = world.ports.schedules.add_schedule(&a, Some(&key)).await.unwrap();
    let world = world.restart().await;
    let schedules = &world.ports.schedules;
    assert_eq!(schedules.add_schedule(&b, Some(&key)).await, Ok(first));
    assert_ne!(schedules.add_schedule(&a, Some(&other)).await, Ok(first));
    assert_ne!(schedules.add_schedule(&a, None).await, Ok(first));
    assert_eq!(world.ids().await.len(), 3);
    // The key of a removed schedule is free.
    schedules.change_schedule(first, &ScheduleChange::Remove).await.unwrap();
    assert_ne!(schedules.add_schedule(&a, Some(&key)).await, Ok(first));
}

/// A claim queues its message, moves the next time, and happens once, also over a crash.
pub async fn claim_due_queues_each_time_once(backend: &impl Backend) {
    let world = World::new(backend).await;
    let id = world.ports.schedules.add_schedule(&new("a", None, task()), None).await.unwrap();
    let schedule = world.schedule(id).await;
    let due = world.ports.schedules.due_schedules(FIRST, 10).await.unwrap();
    assert_eq!(due, std::slice::from_ref(&schedule));
    let before = Timestamp(FIRST.0 - 1);
    assert_eq!(world.ports.schedules.due_schedules(before, 10).await.unwrap(), []);
    let next = Some(Timestamp(FIRST.0 + 60_000));
    let claim = task_claim(&schedule, FIRST, next);
    assert!(world.claims(&claim).await);
    assert!(!world.claims(&claim).await, "the next time has moved");
    // A clock that was set back makes the same time due again.
    let again = DueClaim { expected: next, ..claim };
    assert!(world.claims(&again).await);
    assert_eq!(world.ports.schedules.next_due().await.unwrap(), next);

    let world = world.restart().await;
    let own = SessionId::of_schedule(id);
    let open = world.ports.turns.open_sessions().await.unwrap();
    assert_eq!(open, std::slice::from_ref(&own));
    let turn = world.take(&own).await;
    let [asked] = turn.origin.messages() else { panic!("{:?}", turn.origin) };
    assert_eq!(asked.message, message(&schedule, FIRST));
    let runs = world.ports.schedules.schedule_runs(id, 10).await.unwrap();
    let runs: Vec<_> = runs.iter().map(|run| (run.due, run.result, run.skipped)).collect();
    assert_eq!(runs, [(FIRST, RunResult::Queued, 2)]);
}

/// Several claimed tasks get one turn each, whatever the default queue mode is.
pub async fn claim_due_gives_each_task_a_turn(backend: &impl Backend) {
    let world = World::new(backend).await;
    let id = world.ports.schedules.add_schedule(&new("a", None, task()), None).await.unwrap();
    let schedule = world.schedule(id).await;
    let run = |number: i64| {
        let due = Timestamp(FIRST.0 + number);
        DueRun { due, work: DueWork::Task(Box::new(message(&schedule, due))), skipped: 0 }
    };
    let runs = vec![run(0), run(1)];
    let claim = DueClaim { id, expected: Some(FIRST), runs, next_at: Some(Timestamp(9_000_000)) };
    assert!(world.claims(&claim).await);
    let own = SessionId::of_schedule(id);
    let turn = world.take(&own).await;
    assert_eq!(turn.origin.messages().len(), 1);
    let status = world.ports.query.session_status(&own).await.unwrap();
    assert_eq!((status.queued, status.mode), (1, avocet_protocol::bus::QueueMode::Queue));
}

/// A text goes to the chat without a turn, and the own session of the chat gets a report.
pub async fn claim_due_sends_a_text_with_a_report(backend: &impl Backend) {
    let world = World::new(backend).await;
    let text = plan(ScheduledWork::Text("stretch".to_owned()));
    let id = world.ports.schedules.add_schedule(&new("a", None, text), None).await.unwrap();
    let work = DueWork::Text(planned(&session("a"), &["stretch"]));
    let runs = vec![DueRun { due: FIRST, work, skipped: 0 }];
    let claim = DueClaim { id, expected: Some(FIRST), runs, next_at: None };
    assert!(world.claims(&claim).await);
    assert!(!world.claims(&claim).await);
    let schedule = world.schedule(id).await;
    assert_eq!((schedule.state, schedule.next_at), (ScheduleState::Ended, None));
    assert_eq!(world.ids().await, []);
    assert_eq!(world.ports.schedules.next_due().await.unwrap(), None);
    let deliveries = world.deliveries(&session("a").address()).await;
    assert_eq!(deliveries.len(), 1, "{deliveries:?}");
    world.say(&session("a"), "done").await;
    let reports = world.take(&session("a")).await.reports.texts;
    assert_eq!((reports[0].text.as_str(), reports[0].trust), ("stretch", Trust::User));
}

/// A paused schedule has no next time. A removed one leaves its session in the log.
pub async fn change_schedule_pauses_resumes_and_removes(backend: &impl Backend) {
    let world = World::new(backend).await;
    let schedules = &world.ports.schedules;
    let id = schedules.add_schedule(&new("a", None, task()), None).await.unwrap();
    let changes = |change: ScheduleChange| async move {
        schedules.change_schedule(id, &change).await.unwrap()
    };
    assert!(world.claims(&task_claim(&world.schedule(id).await, FIRST, Some(FIRST))).await);
    assert!(changes(ScheduleChange::Pause(Some("no access".to_owned()))).await);
    assert!(!changes(ScheduleChange::Pause(None)).await);
    let paused = world.schedule(id).await;
    assert_eq!((paused.state, paused.next_at), (ScheduleState::Paused, None));
    assert_eq!(paused.reason.as_deref(), Some("no access"));
    assert_eq!(schedules.next_due().await.unwrap(), None);
    assert!(changes(ScheduleChange::Resume(Timestamp(7_000_000))).await);
    let resumed = world.schedule(id).await;
    assert_eq!((resumed.next_at, resumed.reason), (Some(Timestamp(7_000_000)), None));
    assert!(changes(ScheduleChange::Remove).await);
    assert!(!changes(ScheduleChange::Remove).await);
    assert_eq!(schedules.schedule(id).await.unwrap(), None);
    assert_eq!(world.ports.turns.open_sessions().await.unwrap(), [SessionId::of_schedule(id)]);
}

/// Schedules of the configuration are added, kept, replaced and removed; others stay.
pub async fn set_configured_makes_named_schedules_equal_to_the_list(backend: &impl Backend) {
    let world = World::new(backend).await;
    let schedules = &world.ports.schedules;
    let own = schedules.add_schedule(&new("a", None, task()), None).await.unwrap();
    let set =
        |list: Vec<NewSchedule>| async move { schedules.set_configured(&list).await.unwrap() };
    set(vec![new("a", Some("news"), task()), new("a", Some("bin"), task())]).await;
    let [_, news, bin] = world.ids().await[..] else { panic!("{:?}", world.ids().await) };
    schedules.change_schedule(news, &ScheduleChange::Pause(None)).await.unwrap();
    // The start of the first interval differs at each start of the daemon.
    let mut later = new("a", Some("news"), task());
    later.plan.rule.recurrence = Recurrence::Every { seconds: 60, from: Timestamp(5) };
    later.plan.next_at = Timestamp(5);
    let other = plan(ScheduledWork::Task("other".to_owned()));
    set(vec![later, new("a", Some("bin"), other)]).await;
    let ids = world.ids().await;
    assert_eq!(ids[..2], [own, news]);
    assert!(ids.len() == 3 && ids[2] > bin);
    assert_eq!(world.schedule(news).await.state, ScheduleState::Paused);
    set(Vec::new()).await;
    assert_eq!(world.ids().await, [own]);
}

/// The tool's write makes a schedule for the asking chat and person, with the trust of the request.
pub async fn finish_call_adds_a_schedule_of_the_tool(backend: &impl Backend) {
    let world = World::new(backend).await;
    let mut asked = message_of(&session("a"), "every day", InboundKind::Text);
    asked.inbound.content.author_roles = vec!["77".to_owned()];
    world.accept(&asked).await;
    let turn = world.take(&session("a")).await;
    let call = world.step(turn.id, 0, &["schedule"]).await[0];
    world.start(call, ToolClass::InLog).await;
    let id = world.ports.schedules.reserve_schedule().await.unwrap();
    let add = ScheduleWrite::Add { id, plan: Box::new(task()) };
    let writes = [LogWrite::Schedule(add)];
    world.ports.log.finish_call(call, &good(), None, &writes).await.unwrap();
    let found = world.schedule(id).await;
    assert_eq!(found.owner.address, session("a").address());
    assert_eq!((found.owner.sender.id.as_str(), found.trust), ("user", Trust::Full));
    assert_eq!(found.owner.roles, ["77"]);
    world.ports.schedules.schedules_changed().await;
}

/// The status names the number of active schedules and the next time.
pub async fn log_status_counts_active_schedules(backend: &impl Backend) {
    let world = World::new(backend).await;
    let schedules = &world.ports.schedules;
    schedules.add_schedule(&new("a", None, task()), None).await.unwrap();
    let other = schedules.add_schedule(&new("a", None, task()), None).await.unwrap();
    schedules.change_schedule(other, &ScheduleChange::Pause(None)).await.unwrap();
    let status = world.ports.query.log_status().await.unwrap();
    assert_eq!((status.schedules, status.next_due), (1, Some(FIRST)));
}

/// Each schedule is a row by its name in the configuration or its id, and the rest is one row.
pub async fn usage_lists_schedules_by_name_and_id(backend: &impl Backend) {
    let world = World::new(backend).await;
    let schedules = &world.ports.schedules;
    let named = new("a", Some("heartbeat"), task());
    let named = schedules.set_configured(&[named]).await.unwrap()[0];
    let own = schedules.add_schedule(&new("a", None, task()), None).await.unwrap();
    world.say(&session("a"), "1").await;
    for (id, cost) in [(named, 5), (own, 3)] {
        let schedule = world.schedule(id).await;
        assert!(world.claims(&task_claim(&schedule, FIRST, None)).await);
        spend(&world, &SessionId::of_schedule(id), cost).await;
    }
    spend(&world, &session("a"), 1).await;
    let rows = world.ports.query.usage(UsageBy::Schedule, Timestamp(0)).await.unwrap();
    let rows: Vec<_> = rows.iter().map(|row| (row.of.as_str(), row.total.cost.0)).collect();
    assert_eq!(rows, [("heartbeat", 5), (&*own.to_string(), 3), (UsageBy::OTHER_WORK, 1)]);
}

async fn spend(world: &World<'_>, session: &SessionId, cost: u64) {
    let spent = Spent { model: "m".to_owned(), usage: Usage::new(10, 1), cost: Some(Money(cost)) };
    let entry = UsageEntry::of_spent(Purpose::Answer, spent);
    world.ports.ledger.record_usage(None, session, &[entry]).await.unwrap();
}
