//! Rules of questions that a scheduled task asks in the chat of its schedule.

use avocet_protocol::chat::{
    ChatKind, Choice, InboundKind, NewInbound, Outcome, Receipt, Sender, SessionId,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::CallId;
use avocet_protocol::store::{
    AcceptedAs, CommandAction, CommandEffect, CommandReply, NewWait, Resolution, SendEnd,
};
use avocet_protocol::tool::WaitKind;
use avocet_protocol::turn::{CallResult, CallState, TurnRecord};
use serde_json::json;

use super::Backend;
use super::schedules::{FIRST, new, task, task_claim};
use super::world::{World, message, new_wait, planned, session};

/// Starts a run of a schedule for chat `a` that asks there; the chat has been shown the question.
async fn asks(world: &World<'_>, kind: WaitKind) -> (TurnRecord, CallId) {
    let id = world.ports.schedules.add_schedule(&new("a", None, task()), None).await.unwrap();
    let schedule = world.schedule(id).await;
    assert!(world.claims(&task_claim(&schedule, FIRST, None)).await);
    let turn = world.take(&SessionId::of_schedule(id)).await;
    let call = world.step(turn.id, 0, &["tool"]).await[0];
    let wait = world.ports.turns.reserve_wait().await.unwrap();
    let mut prompt = planned(&session("a"), &["may I?"]);
    prompt.chunks[0].choices = vec![
        Choice::new("Retry", format!("/retry {wait}")),
        Choice::new("Skip", format!("/skip {wait}")),
    ];
    let never = Timestamp(9_000_000_000_000);
    let begun = NewWait { id: wait, prompt: Some(prompt), ..new_wait(call, kind, never) };
    world.ports.turns.wait(&[begun]).await.unwrap();
    (turn, call)
}

/// Sends all messages to chat `a`.
async fn show(world: &World<'_>) {
    let outbox = &world.ports.outbox;
    while let Some(head) = outbox.head(&session("a").address()).await.unwrap() {
        outbox.start(head.delivery.id, false).await.unwrap();
        let sent = SendEnd::Sent(Receipt { platform_id: None });
        outbox.finish(head.delivery.id, &sent).await.unwrap();
    }
}

fn says(chat: &str, text: &str) -> NewInbound {
    message(&session(chat), text, InboundKind::Text)
}

/// The next text in the chat of a schedule answers the question of its run, and no other text does.
pub async fn question_of_a_scheduled_task_is_answered_in_its_chat(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (turn, call) = asks(&world, WaitKind::Answer).await;
    assert_eq!(world.accept(&says("a", "not yet shown")).await.what, AcceptedAs::Queued);
    show(&world).await;
    assert_eq!(world.accept(&says("b", "another chat")).await.what, AcceptedAs::Queued);
    let mut stranger = says("a", "another person");
    stranger.inbound.sender = Sender::new("other".parse().unwrap());
    assert_eq!(world.accept(&stranger).await.what, AcceptedAs::Queued);
    let mut in_group = says("a", "another person in a group");
    in_group.inbound.chat = ChatKind::Group;
    in_group.inbound.sender = Sender::new("other".parse().unwrap());
    in_group.inbound.by_owner = true;
    assert_eq!(world.accept(&in_group).await.what, AcceptedAs::Queued);

    let world = world.restart().await;
    let answer = world.accept(&says("a", "blue")).await;
    assert_eq!(answer.what, AcceptedAs::Answer(turn.session.clone()));
    let result = CallResult::ok(json!({ "answer": "blue" }));
    assert_eq!(world.call_state(&turn.session, call).await, CallState::Finished(result));
    assert_eq!(world.take(&turn.session).await.id, turn.id);
    world.reply(turn.id, "blue it is").await;
    assert_eq!(world.outcome(answer.id).await, Some(Outcome::Merged));
    // The conversation of the chat goes on with the other texts.
    let asked = world.take(&session("a")).await;
    assert_eq!(asked.origin.messages()[0].message.inbound.content.text, "not yet shown");
}

/// A plain word or a command in the chat of a schedule decides what its run asks. Other texts do not
/// wait behind the question.
pub async fn choice_of_a_scheduled_task_is_decided_in_its_chat(backend: &impl Backend) {
    let world = World::new(backend).await;
    for (says_skip, other) in [("no", "1?"), ("/skip w2", "2?"), ("/skip", "3?")] {
        let (turn, call) = asks(&world, WaitKind::Choice).await;
        show(&world).await;
        assert_eq!(world.accept(&says("a", other)).await.what, AcceptedAs::Queued);
        let id = if says_skip == "no" {
            let decision = world.accept(&says("a", "no")).await;
            assert_eq!(decision.what, AcceptedAs::Decision);
            decision.id
        } else {
            world.command(&session("a"), says_skip).await
        };
        let open = world.ports.inbox.open_commands().await.unwrap();
        let text = &open[0].message.inbound.content.text;
        let wait = text.split_once(' ').map(|(_, wait)| wait.parse().unwrap());
        let (kind, resolution) = (WaitKind::Choice, Resolution::error("skipped"));
        let action = CommandAction::Resolve { wait, kind, anywhere: false, resolution };
        let effect = world.ports.inbox.settle_command(id, &action, &CommandReply::default()).await;
        assert_eq!(effect, Ok(CommandEffect::Resolved(turn.session.clone())), "{says_skip}");
        let state = world.call_state(&turn.session, call).await;
        assert_eq!(state, CallState::Finished(CallResult::error("skipped")));
    }
}
