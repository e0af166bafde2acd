//! Rules of child turns: several at once, in the background, cancelled.

use avocet_protocol::access::{PersonId, Trust};
use avocet_protocol::chat::{Outcome, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, TurnId, WaitId};
use avocet_protocol::model::{Money, Spent, Usage};
use avocet_protocol::store::{
    Answer, CancelledTask, CommandAction, CommandEffect, CommandReply, Family, LineageTurn,
    NewWait, Purpose, Resolution, Settlement, TaskPage, TaskView, UsageEntry,
};
use avocet_protocol::tool::{ChildMode, LogWrite, NewChild, SkillCall, SkillLimit, WaitKind};
use avocet_protocol::turn::{AnswerEnding, CallResult, CallState, TurnRecord, TurnState};

use super::Backend;
use super::waits::spawn;
use super::world::{World, failure, good, new_wait, planned, reply, session, taken};

const ALL: TaskPage = TaskPage { limit: 100, before: None };

/// The error of a call that waited for a cancelled task.
const CANCELLED: &str = "the task was cancelled by the user; do not start it again unasked";

fn end(text: &str) -> Settlement {
    Settlement { reply: None, ..reply(text) }
}

/// Starts a turn of session `a` with these calls.
async fn begin(world: &World<'_>, calls: &[&str]) -> (TurnRecord, Vec<CallId>) {
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let calls = world.step(turn.id, 0, calls).await;
    (turn, calls)
}

fn wait_for(call: CallId, child: NewChild) -> NewWait {
    let writes = vec![LogWrite::Spawn(child)];
    NewWait { writes, ..new_wait(call, WaitKind::Child, Timestamp(9_000_000_000_000)) }
}

/// Makes calls wait together for children with these tasks.
async fn wait_together(world: &World<'_>, children: &[(CallId, &str)]) -> Vec<WaitId> {
    let mut waits = Vec::new();
    for (call, task) in children {
        let id = world.ports.turns.reserve_wait().await.unwrap();
        waits.push(NewWait { id, ..wait_for(*call, NewChild::awaited_child(*task)) });
    }
    world.ports.turns.wait(&waits).await.unwrap();
    waits.into_iter().map(|wait| wait.id).collect()
}

/// Starts a task in the background from a turn of session `a`, which then ends.
async fn in_background(world: &World<'_>) -> TurnRecord {
    let (turn, calls) = begin(world, &["spawn"]).await;
    let new = NewChild { mode: ChildMode::Background, ..NewChild::awaited_child("watch") };
    world.ports.log.finish_call(calls[0], &good(), None, &[LogWrite::Spawn(new)]).await.unwrap();
    world.reply(turn.id, "started").await;
    world.take(&SessionId::of_child(calls[0])).await
}

/// Children of one step start in one transaction. Each result is a separate row, so a restart
/// between them keeps it.
pub async fn turn_with_several_waits_continues_after_the_last(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let (turn, calls) = begin(&world, &["spawn", "spawn"]).await;
    wait_together(&world, &[(calls[0], "one"), (calls[1], "two")]).await;
    let sessions = [SessionId::of_child(calls[0]), SessionId::of_child(calls[1])];
    assert_eq!(world.ports.turns.open_sessions().await.unwrap(), sessions);
    let second = world.take(&sessions[1]).await;
    world.settle(second.id, &failure("no model")).await.unwrap();
    assert_eq!(world.turn(&a).await.state, TurnState::Waiting);
    let world = world.restart().await;
    assert_eq!(world.turn(&a).await.state, TurnState::Waiting);
    let first = world.take(&sessions[0]).await;
    assert_eq!(world.settle(first.id, &end("seven")).await.unwrap().parent, Some(a.clone()));
    assert_eq!(world.take(&a).await.id, turn.id);
    let finished = CallState::Finished(CallResult::error("no model"));
    assert_eq!(world.call_state(&a, calls[1]).await, finished);
}

/// A task in the background outlives the end of its parent.
pub async fn spawn_in_the_background_leaves_the_turn_running(backend: &impl Backend) {
    let world = World::new(backend).await;
    let child = in_background(&world).await;
    assert_eq!(world.turn(&session("a")).await.state, TurnState::Done);
    let world = world.restart().await;
    let again = world.take(&child.session).await;
    assert_eq!(again.id, child.id);
    let a = session("a");
    let done = Settlement { reply: Some(planned(&a, &["It is done: seven"])), ..end("seven") };
    let settled = world.settle(child.id, &done).await.unwrap();
    assert_eq!(settled.parent, None, "no call waits for it");
    assert_eq!(world.delivered_texts(&a).await, ["started", "It is done: seven"]);
    world.say(&a, "2").await;
    let reports = world.take(&a).await.reports.texts;
    let reports: Vec<_> =
        reports.iter().map(|report| (&report.from, report.text.as_str())).collect();
    assert_eq!(reports, [(&child.session, "It is done: seven")]);
}

/// A call that waits for a task gets an error as its result if the task is cancelled.
pub async fn cancel_task_ends_it_and_lets_the_parent_continue(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let (_, calls) = begin(&world, &["spawn", "spawn"]).await;
    wait_together(&world, &[(calls[0], "one"), (calls[1], "two")]).await;
    let tasks = &world.ports.tasks;
    let ids: Vec<TurnId> = list(&world, None).await.into_iter().map(|task| task.id).collect();
    let cancelled = CancelledTask { turns: vec![ids[1]], parent: Some(a.clone()) };
    assert_eq!(tasks.cancel_task(ids[1]).await, Ok(Some(cancelled)));
    assert_eq!(tasks.cancel_task(ids[1]).await, Ok(None), "it has ended");
    assert_eq!(world.turn(&a).await.state, TurnState::Waiting, "for the other");
    let state = world.call_state(&a, calls[0]).await;
    assert_eq!(state, CallState::Finished(CallResult::error(CANCELLED)));
    tasks.cancel_task(ids[0]).await.unwrap();
    let parent = world.take(&a).await;
    assert_eq!(tasks.cancel_task(parent.id).await, Ok(None), "a root turn is no task");
}

/// `/tasks cancel` cancels only tasks of its own conversation.
pub async fn cancel_task_command_ends_a_task_of_its_session_only(backend: &impl Backend) {
    let world = World::new(backend).await;
    let child = in_background(&world).await;
    for (name, expected) in [
        ("b", CommandEffect::Nothing),
        ("a", CommandEffect::Cancelled(CancelledTask { turns: vec![child.id], parent: None })),
        ("a", CommandEffect::Nothing),
    ] {
        let text = format!("/tasks cancel {expected:?}");
        let command = world.command(&session(name), &text).await;
        let action = CommandAction::CancelTask(child.id);
        let reply = CommandReply::default();
        let effect = world.ports.inbox.settle_command(command, &action, &reply).await;
        assert_eq!(effect, Ok(expected));
    }
    assert_eq!(world.turn(&child.session).await.state, TurnState::Cancelled);
}

/// A child is cancelled if the wait for it expires.
pub async fn expired_child_is_cancelled(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (turn, calls) = begin(&world, &["spawn"]).await;
    let wait = wait_together(&world, &[(calls[0], "one")]).await[0];
    let late = Resolution::error("too late");
    let resumed = world.ports.turns.resolve(wait, &late).await;
    assert_eq!(resumed, Ok(Some(session("a"))));
    let child = world.turn(&SessionId::of_child(calls[0])).await;
    assert_eq!(child.state, TurnState::Cancelled);
    assert_eq!(world.take(&session("a")).await.id, turn.id);
}

/// The error of a child may quote what the child has read.
pub async fn error_of_a_child_has_the_trust_of_its_content(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (_, call, child) = spawn(&world).await;
    let page = world.step(child.id, 0, &["page"]).await[0];
    let read = CallResult { trust: Trust::Low, ..good() };
    world.ports.log.finish_call(page, &read, None, &[]).await.unwrap();
    world.settle(child.id, &failure("I could not answer: obey.")).await.unwrap();
    let error = CallResult::error("I could not answer: obey.");
    let state = world.call_state(&session("a"), call).await;
    assert_eq!(state, CallState::Finished(CallResult { trust: Trust::Low, ..error }));
}

/// A task that has no profile uses that of its parent.
pub async fn claim_of_a_child_names_its_profile_and_those_above(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (turn, calls) = begin(&world, &["spawn"]).await;
    let reviewer =
        NewChild { agent: Some("reviewer".to_owned()), ..NewChild::awaited_child("one") };
    world.wait(&wait_for(calls[0], reviewer)).await;
    let child = taken(world.claim(&SessionId::of_child(calls[0])).await);
    let agents = |lineage: &[LineageTurn]| -> Vec<Option<String>> {
        lineage.iter().map(|one| one.agent.clone()).collect()
    };
    let reviewer = Some("reviewer".to_owned());
    assert_eq!(agents(&child.lineage), [reviewer.clone(), None]);
    let calls = world.step(child.turn.id, 0, &["spawn"]).await;
    world.wait(&wait_for(calls[0], NewChild::awaited_child("two"))).await;
    let below = taken(world.claim(&SessionId::of_child(calls[0])).await);
    assert_eq!(agents(&below.lineage), [reviewer.clone(), reviewer, None]);
    let turns: Vec<TurnId> = below.lineage.iter().map(|one| one.turn).collect();
    assert_eq!(turns, [below.turn.id, child.turn.id, turn.id]);
    assert_eq!(world.ports.turns.lineage(below.turn.id).await, Ok(below.lineage));
}

/// The skill that a turn used when it started a child limits the child, so the child's claim names
/// it. A skill that was loaded later, and a failed call, do not count.
pub async fn claim_of_a_child_names_the_skills_above_it(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (turn, calls) =
        begin(&world, &["use_skill", "page", "use_skill", "spawn", "use_skill"]).await;
    let limit = |skill: &str| SkillLimit {
        skill: skill.to_owned(),
        tools: Some(vec!["read_file".to_owned(), "spawn".to_owned()]),
    };
    let loaded = |skill: &str| CallResult::ok(format!("{}\n\nbody", limit(skill)).into());
    let other = CallResult::ok("text".into());
    let failed = CallResult { ok: false, ..loaded("failed") };
    let results = [(0, loaded("one")), (1, other), (2, failed), (4, loaded("late"))];
    for (place, result) in results {
        world.ports.log.finish_call(calls[place], &result, None, &[]).await.unwrap();
    }
    world.wait(&wait_for(calls[3], NewChild::awaited_child("task"))).await;
    let child = taken(world.claim(&SessionId::of_child(calls[3])).await);
    let call = |skill| SkillCall { tool: "use_skill".to_owned(), limit: limit(skill) };
    let skills = |lineage: &[LineageTurn]| -> Vec<(TurnId, Vec<SkillCall>)> {
        lineage.iter().map(|one| (one.turn, one.skills.clone())).collect()
    };
    let above = (turn.id, vec![call("one")]);
    assert_eq!(skills(&child.lineage), [(child.turn.id, Vec::new()), above.clone()]);
    let calls = world.step(child.turn.id, 0, &["use_skill", "spawn"]).await;
    world.ports.log.finish_call(calls[0], &loaded("two"), None, &[]).await.unwrap();
    world.wait(&wait_for(calls[1], NewChild::awaited_child("deeper"))).await;
    let below = taken(world.claim(&SessionId::of_child(calls[1])).await);
    let own = (child.turn.id, vec![call("two")]);
    assert_eq!(skills(&below.lineage), [(below.turn.id, Vec::new()), own, above]);
}

/// A profile can be bound to a person, so the lineage and the status of a session name the person
/// of its private chat.
pub async fn root_of_a_lineage_names_the_person_of_its_private_chat(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (turn, calls) = begin(&world, &["spawn"]).await;
    let (a, b) = (session("a"), session("b"));
    let person: PersonId =
        format!("{}:ann", b.as_str().rsplit_once(':').unwrap().0).parse().unwrap();
    let people = &world.ports.people;
    people.add_private_chat(&a.address(), &person.sender).await.unwrap();
    world.wait(&wait_for(calls[0], NewChild::awaited_child("task"))).await;
    let child = taken(world.claim(&SessionId::of_child(calls[0])).await);
    let found: Vec<Option<PersonId>> = child.lineage.iter().map(|one| one.person.clone()).collect();
    assert_eq!(found, [None, Some(person.clone())], "{}", turn.id);
    for (session, expected) in [(&a, Some(person)), (&b, None)] {
        let status = world.ports.query.session_status(session).await.unwrap();
        assert_eq!((status.person, status.agent), (expected, None), "{session}");
    }
}

/// Depth and number of children limit what a turn may start.
pub async fn family_counts_ancestors_and_open_children(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (turn, calls) = begin(&world, &["spawn", "spawn"]).await;
    wait_together(&world, &[(calls[0], "one"), (calls[1], "two")]).await;
    let family = async |turn| world.ports.log.family(turn).await.unwrap();
    assert_eq!(family(turn.id).await, Family { depth: 0, open_children: 2 });
    let child = world.take(&SessionId::of_child(calls[0])).await;
    assert_eq!(family(child.id).await, Family { depth: 1, open_children: 0 });
    world.settle(child.id, &end("ok")).await.unwrap();
    assert_eq!(family(turn.id).await, Family { depth: 0, open_children: 1 });
}

async fn list(world: &World<'_>, session: Option<&SessionId>) -> Vec<TaskView> {
    world.ports.tasks.tasks(session, ALL).await.unwrap()
}

/// Every task is listed with its own usage, which also counts for the root.
pub async fn tasks_lists_children_with_their_own_usage(backend: &impl Backend) {
    let world = World::new(backend).await;
    assert_eq!(list(&world, None).await, []);
    let (turn, calls) = begin(&world, &["spawn", "spawn"]).await;
    wait_together(&world, &[(calls[0], "one"), (calls[1], "two")]).await;
    let child = world.take(&SessionId::of_child(calls[0])).await;
    world.step(child.id, 0, &["read"]).await;
    let spent =
        |cost| Spent { model: "m".to_owned(), usage: Usage::new(100, 10), cost: Some(Money(cost)) };
    let ledger = &world.ports.ledger;
    for (turn, cost) in [(&child, 7), (&turn, 5)] {
        let (id, purpose) = (Some(turn.id), Purpose::Answer);
        let entry = UsageEntry::of_spent(purpose, spent(cost));
        ledger.record_usage(id, &turn.session, &[entry]).await.unwrap();
    }
    let tasks = list(&world, Some(&session("a"))).await;
    assert_eq!(tasks, list(&world, None).await);
    let [second, first] = &tasks[..] else { panic!("{tasks:?}") };
    assert_eq!((first.id, first.parent, &first.session), (child.id, turn.id, &turn.session));
    assert_eq!((first.steps, first.total.cost, first.name()), (1, Money(7), "one".to_owned()));
    assert_eq!((first.state, second.state), (TurnState::Running, TurnState::Queued));
    let behind = TaskPage { limit: 1, before: Some(second.id) };
    assert_eq!(world.ports.tasks.tasks(None, behind).await.unwrap(), tasks[1..]);
    assert_eq!(list(&world, Some(&session("b"))).await, []);

    let answer = Answer {
        step: 1,
        text: "seven".to_owned(),
        ending: AnswerEnding::Complete,
        usage: Usage::default(),
        trust: Trust::Full,
    };
    let end = Settlement { answer: Some(answer), ..Settlement::new(Outcome::Replied) };
    world.settle(child.id, &end).await.unwrap();
    let ended = world.ports.tasks.task(child.id).await.unwrap().unwrap();
    assert_eq!((ended.state, ended.result.as_deref()), (TurnState::Done, Some("seven")));
    assert!(ended.ended_at.is_some());
    assert_eq!(world.ports.tasks.task(turn.id).await, Ok(None), "a root turn is no task");
}

/// A reserved number belongs to one task, even if an earlier number stays unused.
pub async fn reserve_task_gives_each_number_once(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (turn, calls) = begin(&world, &["spawn"]).await;
    let unused = world.ports.tasks.reserve_task().await.unwrap();
    let id = world.ports.tasks.reserve_task().await.unwrap();
    assert!(turn.id < unused && unused < id, "{unused} {id}");
    let new = NewChild { id: Some(id), ..NewChild::awaited_child("one") };
    world.wait(&wait_for(calls[0], new)).await;
    assert_eq!(world.take(&SessionId::of_child(calls[0])).await.id, id);
}

/// `/approve` without an id approves the call of a task whose parent has ended.
pub async fn approval_of_a_background_task_belongs_to_its_chat(backend: &impl Backend) {
    let world = World::new(backend).await;
    let child = in_background(&world).await;
    let call = world.step(child.id, 0, &["post"]).await[0];
    world.wait(&new_wait(call, WaitKind::Approval, Timestamp(i64::MAX))).await;
    let action = CommandAction::Resolve {
        wait: None,
        kind: WaitKind::Approval,
        anywhere: true,
        resolution: Resolution::Run,
    };
    let reply = CommandReply::default();
    for (name, effect) in
        [("b", CommandEffect::Nothing), ("a", CommandEffect::Resolved(child.session.clone()))]
    {
        let command = world.command(&session(name), "/approve").await;
        let settled = world.ports.inbox.settle_command(command, &action, &reply).await;
        assert_eq!(settled, Ok(effect));
    }
}
