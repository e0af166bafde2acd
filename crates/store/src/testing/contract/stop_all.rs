//! Rules of the stop of everything: nothing begins, and nothing is lost.

use avocet_protocol::chat::Outcome;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{
    Actor, AuditFilter, Claim, CommandAction, CommandEffect, CommandReply,
};
use avocet_protocol::tool::{ToolClass, WaitKind};
use avocet_protocol::turn::TurnState;

use super::Backend;
use super::world::{World, new_wait, planned, session};

/// The stop holds over a restart, and its end lets the waiting message be claimed.
pub async fn stop_all_blocks_claims_and_schedules_until_it_ends(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let stop = world.ports.stop.clone();
    assert_eq!(*stop.current_stop(), None);
    assert!(!stop.resume_all(&Actor::Host).await.unwrap(), "nothing is stopped");
    let command = world.command(&a, "/stop all").await;
    let by = "terminal:local:u1".parse().unwrap();
    let action = CommandAction::StopAll { by, chat: a.address() };
    let effect = world.ports.inbox.settle_command(command, &action, &CommandReply::default()).await;
    assert_eq!(effect, Ok(CommandEffect::StoppedAll));
    assert!(!stop.stop_all(&Actor::Host, None).await.unwrap(), "it is in force already");
    let told = (*stop.current_stop()).clone().unwrap();
    assert_eq!((told.by.as_str(), told.chat), ("terminal:local:u1", Some(a.address())));
    let kept = world.say(&a, "kept").await;
    assert_eq!(world.claim(&a).await, Claim::Stopped);
    assert_eq!(stop.untold_messages(&a).await.unwrap(), [], "the reply has told this chat");
    drop(stop);

    let world = world.restart().await;
    let stop = world.ports.stop.clone();
    assert_eq!(
        stop.current_stop().as_ref().as_ref().map(|stop| stop.by.as_str()),
        Some("terminal:local:u1")
    );
    assert_eq!(world.claim(&a).await, Claim::Stopped);
    let late = Timestamp(i64::MAX);
    assert_eq!(world.ports.schedules.due_schedules(late, 9).await.unwrap(), []);
    assert_eq!(world.ports.schedules.next_due().await.unwrap(), None);
    assert!(stop.resume_all(&Actor::Host).await.unwrap());
    assert_eq!(world.take(&a).await.origin.messages()[0].id, kept);
    let rows = AuditFilter { limit: 9, ..AuditFilter::default() };
    let rows = world.ports.audit.audit_rows(&rows).await.unwrap();
    let mut lines: Vec<String> =
        rows.iter().map(|row| format!("{} {}", row.kind, row.actor)).collect();
    lines.sort();
    assert_eq!(lines, ["resumed-all host", "stopped-all terminal:local:u1"]);
}

/// Turns that run and turns that wait are ended, and no chat gets a second notice.
pub async fn stop_all_ends_open_turns_with_one_notice_for_each_chat(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    let running = world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let waiting = world.say(&b, "2").await;
    let waits = world.take(&b).await;
    let calls = world.step(waits.id, 0, &["ask"]).await;
    world.start(calls[0], ToolClass::Effect).await;
    world.wait(&new_wait(calls[0], WaitKind::Approval, Timestamp(i64::MAX / 2))).await;
    let stop = &world.ports.stop;
    let notice = planned(&a, &["stopped"]);
    assert_eq!(stop.end_work(turn.id, Some(&notice)).await, Ok(Vec::new()), "no stop is in force");
    assert!(!stop.tell_chat(&notice).await.unwrap());
    assert!(stop.stop_all(&Actor::Host, None).await.unwrap());
    let open = stop.open_work().await.unwrap();
    let found: Vec<_> =
        open.iter().map(|work| (work.turn, work.asker.as_ref().map(|asker| asker.id))).collect();
    assert_eq!(found, [(turn.id, Some(running)), (waits.id, Some(waiting))]);
    assert_eq!(stop.end_work(turn.id, Some(&notice)).await, Ok(vec![turn.id]));
    assert_eq!(stop.end_work(turn.id, Some(&notice)).await, Ok(Vec::new()), "it has ended");
    assert_eq!(stop.end_work(waits.id, None).await, Ok(vec![waits.id]));
    assert_eq!(stop.open_work().await.unwrap(), []);
    for (chat, message) in [(&a, running), (&b, waiting)] {
        assert_eq!(world.outcome(message).await, Some(Outcome::Stopped));
        assert_eq!(world.turn(chat).await.state, TurnState::Cancelled);
    }
    let (kept_a, kept_b) = (world.say(&a, "3").await, world.say(&b, "4").await);
    world.say(&b, "5").await;
    assert_eq!(stop.untold_messages(&a).await.unwrap(), [], "it got the notice of its turn");
    let untold = stop.untold_messages(&b).await.unwrap();
    assert_eq!(untold.iter().map(|message| message.id).collect::<Vec<_>>(), [kept_b]);
    let notice = planned(&b, &["waits"]);
    assert!(stop.tell_chat(&notice).await.unwrap());
    assert!(!stop.tell_chat(&notice).await.unwrap(), "once");
    assert_eq!(world.delivered_texts(&a).await, ["stopped"]);
    assert_eq!(world.delivered_texts(&b).await, ["waits"]);
    assert!(stop.resume_all(&Actor::Host).await.unwrap());
    assert_eq!(world.take(&a).await.origin.messages()[0].id, kept_a);
    // The next stop tells the chats again.
    assert!(stop.stop_all(&Actor::Host, None).await.unwrap());
    assert_eq!(stop.untold_messages(&b).await.unwrap().len(), 1);
}
