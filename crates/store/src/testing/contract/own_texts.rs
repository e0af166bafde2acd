//! Rules of the agent's own texts that come back: pressed buttons, chosen options, quoted answers.

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{Choice, InboundKind, LoggedInbound, Quote, Receipt, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, PlatformId};
use avocet_protocol::store::{
    AcceptedAs, Answer, CommandAction, CommandReply, NewStep, NewWait, SendEnd, Settlement,
};
use avocet_protocol::tool::WaitKind;
use avocet_protocol::turn::{CallResult, CallState};
use serde_json::json;

use super::Backend;
use super::world::{World, message, new_step, new_wait, planned, reply, session};

const NEVER: Timestamp = Timestamp(9_000_000_000_000);

/// An option of a question has the trust of the request in which the model wrote it, however a person
/// chooses it. Words of the person's own are the person's.
pub async fn accept_gives_a_chosen_option_the_trust_of_its_question(backend: &impl Backend) {
    let world = World::new(backend).await;
    let table = [
        (Trust::Low, "evil.example", false, "evil.example", Trust::Low),
        (Trust::Low, " 2. ", false, "evil.example", Trust::Low),
        (Trust::Low, "evil.example", true, "evil.example", Trust::Low),
        (Trust::Low, "neither of them", false, "neither of them", Trust::Full),
        (Trust::Full, "evil.example", false, "evil.example", Trust::Full),
        (Trust::Full, "evil.example", true, "evil.example", Trust::Full),
        (Trust::Full, "2", false, "evil.example", Trust::Full),
    ];
    for (number, (written, said, by_button, answer, expected)) in (0..).zip(table) {
        let chat = session(&number.to_string());
        world.say(&chat, "begin").await;
        let turn = world.take(&chat).await;
        let step = NewStep { trust: written, ..new_step(0, &["ask_user"]) };
        world.record_step(turn.id, step).await.unwrap();
        let call = CallId { turn: turn.id, step: 0, ordinal: 0 };
        let wait = world.ports.turns.reserve_wait().await.unwrap();
        let mut prompt = planned(&chat, &["which one?"]);
        prompt.chunks[0].choices =
            ["good.example", "evil.example"].map(|option| Choice::new(option, option)).into();
        let new = NewWait { prompt: Some(prompt), ..new_wait(call, WaitKind::Answer, NEVER) };
        world.ports.turns.wait(&[NewWait { id: wait, ..new }]).await.unwrap();
        let mut words = message(&chat, said, InboundKind::Text);
        if by_button {
            words.inbound.content.by_button = true;
            show(&world, &chat, "7").await;
            words.inbound.content.pressed = Some("7".parse().unwrap());
        }
        let accepted = world.accept(&words).await.what;
        assert_eq!(accepted, AcceptedAs::Answer(chat.clone()), "{said}");
        let result = CallResult { trust: expected, ..CallResult::ok(json!({ "answer": answer })) };
        let state = world.call_state(&chat, call).await;
        assert_eq!(state, CallState::Finished(result), "{written:?} {said:?}");
    }
}

/// The text of a button that is pressed after its question has ended is a message. It has the trust
/// of the message with the button, and decides no question.
pub async fn accept_gives_a_late_press_the_trust_of_its_message(backend: &impl Backend) {
    let world = World::new(backend).await;
    let table = [
        (Some("8"), Trust::Full, Trust::Full),
        (Some("9"), Trust::Low, Trust::Low),
        (Some("nothing"), Trust::Full, Trust::Low),
        (None, Trust::Full, Trust::Low),
    ];
    for (number, (pressed, written, expected)) in (0..).zip(table) {
        let chat = session(&number.to_string());
        answer(&world, &chat, "shall I?", written).await;
        show(&world, &chat, pressed.unwrap_or("9")).await;
        let mut press = message(&chat, "yes", InboundKind::Text);
        press.inbound.by_owner = true;
        press.inbound.content.by_button = true;
        press.inbound.content.pressed = pressed.filter(|id| *id != "nothing").map(platform_id);
        if pressed == Some("nothing") {
            press.inbound.content.pressed = Some(platform_id("unknown"));
        }
        assert_eq!(world.accept(&press).await.what, AcceptedAs::Queued);
        let claimed = messages_of_next_turn(&world, &chat).await;
        assert_eq!(claimed[0].message.trust, expected, "{pressed:?} {written:?}");
    }
    let chat = session("approval");
    world.say(&chat, "begin").await;
    let turn = world.take(&chat).await;
    let call = world.step(turn.id, 0, &["tool"]).await[0];
    let wait = world.ports.turns.reserve_wait().await.unwrap();
    let mut prompt = planned(&chat, &["may I?"]);
    prompt.chunks[0].choices = vec![Choice::new("Yes", format!("/approve {wait}"))];
    let new = NewWait { prompt: Some(prompt), ..new_wait(call, WaitKind::Approval, NEVER) };
    world.ports.turns.wait(&[NewWait { id: wait, ..new }]).await.unwrap();
    show(&world, &chat, "7").await;
    let mut press = message(&chat, "yes", InboundKind::Text);
    press.inbound.by_owner = true;
    press.inbound.content.by_button = true;
    let accepted = world.accept(&press).await.what;
    assert!(matches!(accepted, AcceptedAs::Behind(_)), "{accepted:?}");
}

/// The log knows with which trust the agent wrote a quoted answer, also after `/new`. An owner can
/// have declared it trusted.
pub async fn accept_notes_the_trust_of_a_quoted_answer(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    answer(&world, &a, "the plan", Trust::Full).await;
    show(&world, &a, "1").await;
    answer(&world, &a, "what the page says", Trust::Low).await;
    show(&world, &a, "2").await;
    let trusts = async |said: &str, quoted: &str, from: Option<&str>| {
        let mut words = message(&a, said, InboundKind::Text);
        words.inbound.content.quoted = Some(platform_id(quoted));
        let from = from.map(str::to_owned);
        words.inbound.content.quote = Some(Quote { from, text: "the".to_owned() });
        world.accept(&words).await;
        let claimed = messages_of_next_turn(&world, &a).await;
        let message = &claimed[0].message;
        (message.inbound.content.quote_trust, message.trust)
    };
    assert_eq!(trusts("do 1", "1", None).await, (Some(Trust::Full), Trust::Full));
    assert_eq!(
        trusts("do 2", "2", None).await,
        (Some(Trust::Low), Trust::Full),
        "the words are typed"
    );
    assert_eq!(trusts("do 3", "3", None).await, (None, Trust::Full));
    assert_eq!(trusts("do 4", "2", Some("Eve")).await, (None, Trust::Full));
    let new = world.command(&a, "/new").await;
    let reply = CommandReply::default();
    world.ports.inbox.settle_command(new, &CommandAction::Forget, &reply).await.unwrap();
    assert_eq!(trusts("do 5", "2", None).await, (Some(Trust::Low), Trust::Full));
    let trust = world.command(&a, "/trust").await;
    world.ports.inbox.settle_command(trust, &CommandAction::TrustPast, &reply).await.unwrap();
    assert_eq!(trusts("do 6", "2", None).await, (Some(Trust::Full), Trust::Full));
}

fn platform_id(id: &str) -> PlatformId {
    id.parse().unwrap()
}

/// Answers a message in a request of this trust.
async fn answer(world: &World<'_>, chat: &SessionId, text: &str, trust: Trust) {
    world.say(chat, &format!("write {text}")).await;
    let turn = world.take(chat).await.id;
    let Settlement { answer, .. } = reply(text);
    let answer = answer.map(|answer| Answer { trust, ..answer });
    let settlement = Settlement { answer, reply: Some(planned(chat, &[text])), ..reply(text) };
    world.settle(turn, &settlement).await.unwrap();
}

/// Answers the messages that wait, and returns them.
async fn messages_of_next_turn(world: &World<'_>, chat: &SessionId) -> Vec<LoggedInbound> {
    let turn = world.take(chat).await;
    let end = Settlement { reply: None, ..reply("ok") };
    world.settle(turn.id, &end).await.unwrap();
    turn.origin.messages().to_vec()
}

/// Delivers what waits for a chat; each message gets this id.
async fn show(world: &World<'_>, chat: &SessionId, id: &str) {
    let outbox = &world.ports.outbox;
    while let Some(head) = outbox.head(&chat.address()).await.unwrap() {
        let delivery = head.delivery.id;
        outbox.start(delivery, false).await.unwrap();
        let platform_id = Some(platform_id(id));
        outbox.finish(delivery, &SendEnd::Sent(Receipt { platform_id })).await.unwrap();
    }
}
