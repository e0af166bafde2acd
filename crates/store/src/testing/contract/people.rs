//! Rules of admitted people, pairing codes, private chats and links.

use avocet_protocol::access::{
    ChatLink, Decision, DecisionEffect, Pairing, PairingCode, PersonId, Role, SettledPairing,
};
use avocet_protocol::chat::{
    ChatAddress, Choice, Content, Inbound, InboundKind, NewInbound, SessionId,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{
    AcceptedAs, Claim, CommandAction, CommandEffect, CommandReply, NewWait,
};
use avocet_protocol::tool::{LogWrite, NewChild, WaitKind};

use super::Backend;
use super::world::{World, message, new_wait, planned, session};

fn code(bits: u128) -> PairingCode {
    PairingCode::from_bits(bits)
}

fn chat() -> ChatAddress {
    "telegram:main:8".parse().unwrap()
}

/// A pairing whose code stays open while the test's clock stands still.
fn pairing(bits: u128, created_at: i64) -> Pairing {
    Pairing {
        code: code(bits),
        person: "telegram:main:8".parse().unwrap(),
        name: Some("Bob".to_owned()),
        chat: chat(),
        created_at: Timestamp(created_at),
        expires_at: Timestamp(i64::MAX),
        decision: None,
    }
}

fn settled(bits: u128, decision: Decision) -> SettledPairing {
    SettledPairing {
        code: code(bits),
        decision,
        notice: Some(planned(&session("a"), &["welcome"])),
        outcomes: Vec::new(),
    }
}

/// A code is stored with its hint in one transaction, and deleted when it is old.
pub async fn add_pairing_stores_a_code_with_its_hint(backend: &impl Backend) {
    let world = World::new(backend).await;
    let hint = [planned(&session("a"), &["hint"])];
    let people = &world.ports.people;
    people.add_pairing(&pairing(1, 100), &hint, Timestamp(0)).await.unwrap();
    people.add_pairing(&pairing(2, 200), &[], Timestamp(100)).await.unwrap();
    let known = people.stored_access().await.unwrap().pairings;
    assert_eq!(known, [pairing(1, 100), pairing(2, 200)]);
    people.add_pairing(&pairing(3, 300), &[], Timestamp(101)).await.unwrap();
    let world = world.restart().await;
    let known = world.ports.people.stored_access().await.unwrap().pairings;
    assert_eq!(known, [pairing(2, 200), pairing(3, 300)]);
    assert_eq!(world.delivered_texts(&session("a")).await, ["hint"]);
}

/// The cards of all owners end in place, except the card whose press has its own reply.
pub async fn decide_ends_the_cards_of_all_owners(backend: &impl Backend) {
    let world = World::new(backend).await;
    let people = &world.ports.people;
    let card = |chat: &str| {
        let mut card = planned(&session(chat), &["let them in?"]);
        card.chunks[0].choices = vec![Choice::new("Approve", "/pair approve")];
        card
    };
    let messages = [planned(&session("c"), &["hint"]), card("a"), card("b")];
    people.add_pairing(&pairing(1, 1), &messages, Timestamp(0)).await.unwrap();
    let outcome = |chat: &str| planned(&session(chat), &["let in at {time}"]);
    let outcomes = vec![outcome("a"), outcome("b"), outcome("d")];
    let settled = SettledPairing { outcomes, notice: None, ..settled(1, Decision::Denied) };
    people.decide(&settled).await.unwrap();
    for chat in ["a", "b"] {
        let texts = world.delivered_texts(&session(chat)).await;
        let [asked, ended] = &texts[..] else { panic!("{texts:?}") };
        assert_eq!(asked, "let them in?");
        assert!(ended.starts_with("let in at ") && !ended.contains('{'), "{ended}");
    }
    assert_eq!(world.delivered_texts(&session("d")).await, Vec::<String>::new(), "no card there");
}

/// A code is decided once, and the same transaction informs the stranger.
pub async fn decide_accepts_one_decision_per_code(backend: &impl Backend) {
    let world = World::new(backend).await;
    let people = &world.ports.people;
    let expired = Pairing { expires_at: Timestamp(0), ..pairing(3, 0) };
    for pairing in [pairing(1, 1), pairing(2, 2), expired] {
        people.add_pairing(&pairing, &[], Timestamp(0)).await.unwrap();
    }
    let approved = Decision::Approved(Role::Owner);
    let decided = async |bits, decision| {
        let effect = people.decide(&settled(bits, decision)).await.unwrap();
        assert!(matches!(effect, DecisionEffect::Decided | DecisionEffect::Nothing), "{effect:?}");
        effect == DecisionEffect::Decided
    };
    assert!(decided(1, approved).await);
    assert!(!decided(1, Decision::Denied).await);
    assert!(decided(2, Decision::Denied).await);
    assert!(!decided(3, approved).await, "expired");
    assert!(!decided(4, approved).await, "unknown");
    let known = people.stored_access().await.unwrap();
    let decisions: Vec<_> = known.pairings.iter().map(|one| one.decision).collect();
    assert_eq!(decisions, [None, Some(approved), Some(Decision::Denied)]);
    let [person] = &known.people[..] else { panic!("{known:?}") };
    assert_eq!((person.id.to_string().as_str(), person.role), ("telegram:main:8", Role::Owner));
    assert_eq!((person.name.as_deref(), person.since.is_some()), (Some("Bob"), true));
    let [(chat, whose)] = &known.chats[..] else { panic!("{known:?}") };
    assert_eq!((chat, whose), (&pairing(1, 1).chat, &person.id.sender), "where they wrote");
    assert_eq!(world.delivered_texts(&session("a")).await, ["welcome", "welcome"]);
}

/// Makes a message of the stranger, or an edit of a message with the time in seconds.
fn of_stranger(key: &str, text: &str, edit: Option<(&str, i64)>) -> NewInbound {
    let message = message(&SessionId::from_address(&chat()).unwrap(), key, InboundKind::Text);
    let inbound = Inbound {
        content: Content::text(text),
        corrects: edit.map(|(corrected, _)| corrected.parse().unwrap()),
        written_at: edit.map(|(_, seconds)| Timestamp(seconds * 1000)),
        from_platform: true,
        ..message.inbound
    };
    NewInbound { inbound, ..message }
}

/// The first message of a stranger joins the log with the approval, and never before.
pub async fn decide_accepts_the_kept_message_of_an_admitted_stranger(backend: &impl Backend) {
    let world = World::new(backend).await;
    let people = &world.ports.people;
    for bits in [1, 2] {
        people.add_pairing(&pairing(bits, 1), &[], Timestamp(0)).await.unwrap();
    }
    let messages = [
        of_stranger("1", "one", None),
        of_stranger("2", "two", None),
        of_stranger("1e9", "one, better", Some(("1", 9))),
        of_stranger("1e8", "an older edit", Some(("1", 8))),
        of_stranger("2e9", "an edit of another", Some(("2", 9))),
    ];
    for message in &messages {
        people.keep_message(&code(1), message).await.unwrap();
    }
    people.keep_message(&code(2), &of_stranger("3", "denied", None)).await.unwrap();
    people.keep_message(&code(4), &of_stranger("4", "no code", None)).await.unwrap();

    let world = world.restart().await;
    let people = &world.ports.people;
    let kept = async || people.stored_access().await.unwrap().kept;
    let stranger = SessionId::from_address(&chat()).unwrap();
    assert_eq!(kept().await, [code(1), code(2)]);
    assert_eq!(people.decide(&settled(2, Decision::Denied)).await, Ok(DecisionEffect::Decided));
    assert_eq!(kept().await, [code(1)]);
    assert_eq!(world.claim(&stranger).await, Claim::Nothing, "no turn before the approval");
    let approved = settled(1, Decision::Approved(Role::User));
    let queued = DecisionEffect::Queued(stranger.clone());
    assert_eq!(people.decide(&approved).await, Ok(queued));
    assert_eq!(people.decide(&approved).await, Ok(DecisionEffect::Nothing));
    people.keep_message(&code(1), &of_stranger("5", "too late", None)).await.unwrap();
    assert_eq!(kept().await, []);
    let again = world.accept(&of_stranger("1", "one", None)).await;
    assert_eq!(again.what, AcceptedAs::Duplicate, "the platform sends it again");
    assert_eq!(world.texts(&stranger).await, ["one, better"]);
}

/// A command decides, links and unlinks in the transaction of its reply.
pub async fn settle_command_decides_links_and_unlinks(backend: &impl Backend) {
    let world = World::new(backend).await;
    let people = &world.ports.people;
    people.add_pairing(&pairing(1, 1), &[], Timestamp(0)).await.unwrap();
    let link = ChatLink { chat: chat(), session: session("a") };
    let decide = CommandAction::Decide(settled(1, Decision::Approved(Role::User)));
    let table = [
        (decide.clone(), CommandEffect::Done),
        (decide, CommandEffect::Nothing),
        (CommandAction::Link(link), CommandEffect::Done),
        (CommandAction::Unlink(chat()), CommandEffect::Done),
        (CommandAction::Unlink(chat()), CommandEffect::Nothing),
    ];
    for (number, (action, expected)) in table.into_iter().enumerate() {
        let command = world.command(&session("a"), &format!("/{number}")).await;
        let inbox = &world.ports.inbox;
        let effect = inbox.settle_command(command, &action, &CommandReply::default()).await;
        assert_eq!(effect, Ok(expected), "{action:?}");
    }
    let known = people.stored_access().await.unwrap();
    assert_eq!((known.people.len(), known.links), (1, vec![]));
}

/// Removing a person also removes links and codes, so that a later admission starts clean.
pub async fn remove_person_removes_links_chats_and_codes_of_the_person(backend: &impl Backend) {
    let world = World::new(backend).await;
    let people = &world.ports.people;
    people.add_pairing(&pairing(1, 1), &[], Timestamp(0)).await.unwrap();
    people.add_pairing(&pairing(2, 2), &[], Timestamp(0)).await.unwrap();
    people.decide(&settled(1, Decision::Approved(Role::User))).await.unwrap();
    let person: PersonId = "telegram:main:8".parse().unwrap();
    let other: ChatAddress = "telegram:main:9".parse().unwrap();
    for (chat, sender) in [(chat(), "8"), (other.clone(), "9")] {
        people.add_private_chat(&chat, &sender.parse().unwrap()).await.unwrap();
    }
    people.add_private_chat(&other, &person.sender).await.unwrap();
    let into = |chat: &str| chat.parse().unwrap();
    let from = ChatLink { chat: chat(), session: into("telegram:main:9") };
    let to = ChatLink { chat: "discord:main:1".parse().unwrap(), session: into("telegram:main:8") };
    let kept = ChatLink { chat: "discord:main:2".parse().unwrap(), session: into("a:b:c") };
    for link in [&from, &to, &kept] {
        people.link(link).await.unwrap();
    }
    assert_eq!(people.remove_person(&person).await, Ok(true));
    assert_eq!(people.remove_person(&person).await, Ok(false));
    let known = people.stored_access().await.unwrap();
    assert_eq!((known.people.len(), known.links), (0, vec![kept]));
    let first_come = "a private chat is one person's";
    assert_eq!(known.chats, [(other, "9".parse().unwrap())], "{first_come}");
    assert!(known.pairings.iter().all(|one| one.decision.is_some()), "{:?}", known.pairings);
}

/// A turn works on its own messages, those that steered it, and its parent's.
pub async fn asked_by_returns_own_steering_and_parent_messages(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let turns = &world.ports.turns;
    let mode = world.command(&a, "/queue steer").await;
    let steer = CommandAction::SetMode(avocet_protocol::bus::QueueMode::Steer);
    world.ports.inbox.settle_command(mode, &steer, &CommandReply::default()).await.unwrap();
    let first = world.say(&a, "first").await;
    let turn = world.take(&a).await;
    let call = world.step(turn.id, 0, &["read"]).await[0];
    let second = world.accept(&message(&a, "second", InboundKind::Text)).await.id;
    world.finish(call).await;
    let call = world.step(turn.id, 1, &["spawn"]).await[0];
    let wait = NewWait {
        writes: vec![LogWrite::Spawn(NewChild::awaited_child("count"))],
        ..new_wait(call, WaitKind::Child, Timestamp(i64::MAX))
    };
    world.wait(&wait).await;
    let open = turns.open_sessions().await.unwrap();
    let Claim::Turn(child) = world.claim(&open[0]).await else { panic!("the child is open") };
    for turn in [turn.id, child.turn.id] {
        let messages = turns.asked_by(turn).await.unwrap();
        let ids: Vec<_> = messages.into_iter().map(|message| message.id).collect();
        assert_eq!(ids, [first, second]);
    }
}
