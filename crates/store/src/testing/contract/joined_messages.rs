//! Rules of messages of several parts.

use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{Content, InboundKind, LoggedInbound, NewInbound, Outcome, SessionId};
use avocet_protocol::ids::PlatformId;
use avocet_protocol::store::{AcceptedAs, Claim, Preview, Showing, StoreError};
use avocet_protocol::turn::TurnRecord;

use super::Backend;
use super::turns::set_mode;
use super::world::{World, good, message, reply, session};

/// A further part of the message with this text.
fn part(session: &SessionId, text: &str, of: &str) -> NewInbound {
    let mut part = message(session, text, InboundKind::Text);
    part.inbound.content.continues = Some(of.parse().unwrap());
    part
}

fn texts(turn: &TurnRecord) -> Vec<String> {
    turn.origin.messages().iter().map(LoggedInbound::model_text).collect()
}

/// Parts that wait are answered by one turn, in each queue mode; another message is not.
pub async fn parts_of_a_message_that_waits_are_claimed_together(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "comment").await;
    world.accept(&part(&a, "one", "comment")).await;
    world.accept(&part(&a, "two", "one")).await;
    world.say(&a, "other").await;
    let orphan = world.accept(&part(&a, "orphan", "unknown")).await;
    assert_eq!(orphan.what, AcceptedAs::Queued);
    for expected in [&["comment", "one", "two"][..], &["other"], &["orphan"]] {
        assert_eq!(world.texts(&a).await, expected);
    }
}

/// A part that comes while its turn has recorded nothing joins the turn, which begins anew, also after
/// a crash. The worker of the turn can write nothing more.
pub async fn part_of_a_running_message_joins_its_turn(backend: &impl Backend) {
    for mode in QueueMode::ALL {
        let mut world = World::new(backend).await;
        let a = session(&format!("joins-{}", mode.as_str()));
        set_mode(&world, &a, mode).await;
        let first = world.say(&a, "comment").await;
        let turn = world.take(&a).await;
        let joined = world.accept(&part(&a, "forward", "comment")).await;
        assert_eq!(joined.what, AcceptedAs::Joined(turn.id), "{mode:?}");
        let late = world.settle(turn.id, &reply("about the comment only")).await;
        assert!(matches!(late, Err(StoreError::Stale(_))), "{late:?}");
        let again = world.accept(&part(&a, "forward", "comment")).await;
        assert_eq!(again.what, AcceptedAs::Duplicate);
        let third = world.accept(&part(&a, "third", "forward")).await;
        assert_eq!(third.what, AcceptedAs::Queued, "the turn is queued already");
        world = world.restart().await;
        let turn = world.take(&a).await;
        assert_eq!(texts(&turn), ["comment", "forward", "third"]);
        world.reply(turn.id, "about all").await;
        assert_eq!(world.outcome(first).await, Some(Outcome::Merged));
        assert_eq!(world.outcome(third.id).await, Some(Outcome::Replied));
        assert!(matches!(world.claim(&a).await, Claim::Nothing));
        drop(world);
        backend.kill().await;
    }
}

/// A growing answer is no obstacle: the turn goes on in its message.
pub async fn part_of_a_message_joins_a_turn_that_shows_its_answer(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, outbox) = (session("a"), &world.ports.outbox);
    world.say(&a, "comment").await;
    let turn = world.take(&a).await;
    let (chat, content) = (a.address(), Content::text("It is …"));
    let Preview::Begun { id, .. } =
        outbox.begin_preview(turn.id, 0, &chat, &content).await.unwrap()
    else {
        panic!("not begun")
    };
    let joined = world.accept(&part(&a, "forward", "comment")).await;
    assert_eq!(joined.what, AcceptedAs::Joined(turn.id), "it is being sent");
    let platform_id: PlatformId = "7".parse().unwrap();
    let shown = Showing::Shown { content: content.clone(), platform_id: platform_id.clone() };
    outbox.finish_preview(id, &shown).await.unwrap();
    let further = outbox.begin_preview(turn.id, 1, &chat, &content).await;
    assert!(matches!(further, Err(StoreError::Stale(_))), "{further:?}");
    let third = world.accept(&part(&a, "third", "forward")).await;
    assert_eq!(third.what, AcceptedAs::Queued);
    assert_eq!(texts(&world.take(&a).await), ["comment", "forward", "third"]);
    let again = outbox.begin_preview(turn.id, 0, &chat, &content).await.unwrap();
    assert_eq!(again, Preview::Shown(id, platform_id));
}

/// Parts that come after the first step of their turn steer the turn, in each queue mode.
pub async fn parts_of_a_message_steer_a_turn_with_steps(backend: &impl Backend) {
    for mode in QueueMode::ALL {
        let world = World::new(backend).await;
        let a = session(&format!("steers-{}", mode.as_str()));
        set_mode(&world, &a, mode).await;
        world.say(&a, "comment").await;
        let turn = world.take(&a).await;
        let calls = world.step(turn.id, 0, &["read"]).await;
        let mut last = None;
        for (text, of) in [("one", "comment"), ("two", "one"), ("three", "two")] {
            let accepted = world.accept(&part(&a, text, of)).await;
            assert_eq!(accepted.what, AcceptedAs::Queued, "{mode:?}");
            last = Some(accepted.id);
        }
        let steered = world.ports.log.finish_call(calls[0], &good(), None, &[]).await.unwrap();
        let steered: Vec<String> = steered.unwrap().iter().map(LoggedInbound::model_text).collect();
        assert_eq!(steered, ["one", "two", "three"], "{mode:?}");
        world.reply(turn.id, "about all").await;
        assert_eq!(world.outcome(last.unwrap()).await, Some(Outcome::Replied));
        drop(world);
        backend.kill().await;
    }
}

/// A part of an answered message, of another author or of another session is a message of its own.
pub async fn part_of_an_answered_message_is_a_message_of_its_own(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "comment").await;
    assert_eq!(world.texts(&a).await, ["comment"]);
    world.accept(&part(&a, "late", "comment")).await;
    let turn = world.take(&a).await;
    assert_eq!(texts(&turn), ["late"]);
    let mut of_bob = part(&a, "of bob", "late");
    of_bob.inbound.sender.id = "bob".parse().unwrap();
    assert_eq!(world.accept(&of_bob).await.what, AcceptedAs::Queued);
    world.reply(turn.id, "ok").await;
    assert_eq!(world.texts(&a).await, ["of bob"]);
}

/// A turn waits for a further part of its last message, but no longer than announced.
pub async fn claim_waits_for_the_announced_part_of_a_message(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let mut cut = message(&a, "cut", InboundKind::Text);
    cut.inbound.content.more_within_ms = Some(10_000_000);
    world.accept(&cut).await;
    let Claim::Incomplete(whole) = world.claim(&a).await else { panic!("no wait") };
    let again = world.claim(&a).await;
    assert!(
        matches!(again, Claim::Incomplete(end) if end == whole),
        "at most ten seconds: {again:?}"
    );
    world.accept(&part(&a, "end", "cut")).await;
    assert_eq!(world.texts(&a).await, ["cut", "end"]);
}
