//! Rules of recovery after a crash or an orderly stop.

use std::time::Duration;

use avocet_protocol::chat::{Receipt, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{Claim, CommandAction, CommandReply, SendEnd, Suspects};
use avocet_protocol::tool::{Evidence, ToolClass, WaitKind};
use avocet_protocol::turn::{CallState, TurnState};

use super::Backend;
use super::world::{World, new_wait, planned, session, taken};

async fn attempts(world: &World<'_>, session: &SessionId) -> (u32, u32) {
    let claimed =
        taken(world.ports.turns.claim(session, Suspects::Include, Duration::ZERO).await.unwrap());
    (claimed.attempts, claimed.deaths_alone)
}

/// A turn that ran when the process died is a suspect: only a claim for suspects takes it.
pub async fn recovery_requeues_a_running_turn_as_a_suspect(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b, c) = (session("a"), session("b"), session("c"));
    world.say(&a, "1").await;
    world.say(&b, "1").await;
    world.say(&c, "1").await;
    let turn = world.take(&a).await;
    world.take(&b).await;
    let world = world.restart().await;
    assert_eq!(world.turn(&a).await.state, TurnState::Queued);
    assert_eq!(world.claim(&a).await, Claim::Suspect { deaths: 1 });
    assert_eq!(attempts(&world, &a).await, (1, 0), "two ran: neither died alone");
    assert_eq!(world.turn(&a).await.id, turn.id);
    let innocent = taken(world.claim(&c).await);
    assert_eq!((innocent.attempts, innocent.deaths_alone), (0, 0));
}

/// Deaths while the turn ran alone are counted apart, because only they prove that it is poison.
pub async fn recovery_counts_deaths_of_a_turn_that_ran_alone(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    world.take(&a).await;
    let world = world.restart().await;
    assert_eq!(attempts(&world, &a).await, (1, 1));
    let world = world.restart().await;
    assert_eq!(attempts(&world, &a).await, (2, 2));
}

/// Poison kills at the same place each time. A turn with progress since the last death is innocent.
pub async fn recovery_forgets_deaths_after_progress_of_the_turn(backend: &impl Backend) {
    let mut world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await.id;
    world = world.restart().await;
    assert_eq!(attempts(&world, &a).await, (1, 1));
    let calls = world.step(turn, 0, &["read", "read"]).await;
    world = world.restart().await;
    assert_eq!(attempts(&world, &a).await, (1, 1), "the step came before this death");
    world.start(calls[0], ToolClass::Pure).await;
    world = world.restart().await;
    assert_eq!(attempts(&world, &a).await, (2, 2), "a call that has started is no progress");
    world.finish(calls[0]).await;
    world = world.restart().await;
    assert_eq!(attempts(&world, &a).await, (1, 1));
}

/// Turns given back at a stop continue without a counted attempt.
pub async fn release_requeues_a_turn_without_counting_an_attempt(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let calls = world.step(turn.id, 0, &["read", "post"]).await;
    world.start(calls[0], ToolClass::Pure).await;
    world.start(calls[1], ToolClass::Effect).await;
    world.ports.turns.release(turn.id).await.unwrap();
    let world = world.restart().await;
    let claimed = taken(world.claim(&a).await);
    assert_eq!((claimed.turn.id, claimed.attempts), (turn.id, 0));
    assert_eq!(world.call_state(&a, calls[0]).await, CallState::Planned);
    assert_eq!(world.call_state(&a, calls[1]).await, CallState::Interrupted { evidence: None });
}

/// A waiting turn survives a crash without a counted attempt.
pub async fn recovery_keeps_a_waiting_turn_without_an_attempt(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let call = world.step(turn.id, 0, &["tool"]).await[0];
    let (kind, expires_at) = (WaitKind::Approval, Timestamp(1));
    let wait = new_wait(call, kind, expires_at);
    let id = world.wait(&wait).await;
    let world = world.restart().await;
    assert_eq!(world.claim(&a).await, Claim::Nothing);
    assert_eq!(world.ports.turns.open_waits().await.unwrap()[0].id, id);
    world.ports.turns.resolve(id, &avocet_protocol::store::Resolution::Run).await.unwrap();
    assert_eq!(attempts(&world, &a).await, (0, 0));
}

/// Started reads and log writes had no effect yet; the outcome of other calls is unknown.
pub async fn recovery_treats_started_calls_by_their_class(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let calls = world.step(turn.id, 0, &["a", "b", "c", "d", "e"]).await;
    let subject = "notes.txt".to_owned();
    let evidence = Evidence { subject, before: None, after: "abc".to_owned() };
    world.start(calls[0], ToolClass::Pure).await;
    world.start(calls[1], ToolClass::InLog).await;
    let log = &world.ports.log;
    log.start_call(calls[2], ToolClass::Verifiable, Some(&evidence)).await.unwrap();
    world.start(calls[3], ToolClass::Effect).await;

    let world = world.restart().await;
    let states = [
        CallState::Planned,
        CallState::Planned,
        CallState::Interrupted { evidence: Some(evidence) },
        CallState::Interrupted { evidence: None },
        CallState::Planned,
    ];
    for (call, state) in calls.into_iter().zip(states) {
        assert_eq!(world.call_state(&a, call).await, state);
    }
}

/// The end of the turn is committed before the work is interrupted.
pub async fn recovery_does_not_resume_a_stopped_turn(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    world.take(&a).await;
    let stop = world.command(&a, "/stop").await;
    world
        .ports
        .inbox
        .settle_command(stop, &CommandAction::Stop(None), &CommandReply::default())
        .await
        .unwrap();
    let world = world.restart().await;
    assert_eq!(world.ports.turns.open_sessions().await, Ok(vec![]));
    assert_eq!(world.turn(&a).await.state, TurnState::Cancelled);
}

/// The platform may have a chunk that was in state `sending` at a crash.
pub async fn recovery_marks_a_chunk_in_state_sending_as_unknown(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let outbox = &world.ports.outbox;
    let key = "k".parse().unwrap();
    let first = outbox.enqueue(&planned(&a, &["1", "2"]), &key, None).await.unwrap();
    outbox.start(first.id, false).await.unwrap();
    assert_eq!(outbox.head(&a.address()).await, Ok(None), "it is being sent");
    let world = world.restart().await;
    let head = world.ports.outbox.head(&a.address()).await.unwrap().unwrap();
    assert_eq!((head.delivery.id, head.unknown, head.attempts), (first.id, true, 1));
    world.ports.outbox.start(first.id, true).await.unwrap();
    let sent = SendEnd::Sent(Receipt { platform_id: None });
    world.ports.outbox.finish(first.id, &sent).await.unwrap();
    let next = world.ports.outbox.head(&a.address()).await.unwrap().unwrap();
    assert_eq!((next.delivery.content.text.as_str(), next.unknown), ("2", false));
}

/// An accepted command acts after the restart.
pub async fn open_commands_returns_an_unsettled_command_after_a_restart(backend: &impl Backend) {
    let world = World::new(backend).await;
    let command = world.command(&session("a"), "/status").await;
    let world = world.restart().await;
    let open = world.ports.inbox.open_commands().await.unwrap();
    assert_eq!(open.iter().map(|open| open.id).collect::<Vec<_>>(), [command]);
}

/// Settling a turn ends the suspicion, also for the next turn.
pub async fn settle_clears_the_suspicion_of_the_session(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    world.say(&a, "2").await;
    world.take(&a).await;
    let world = world.restart().await;
    world.texts(&a).await;
    let next = taken(world.claim(&a).await);
    assert_eq!((next.attempts, next.deaths_alone), (0, 0));
}
