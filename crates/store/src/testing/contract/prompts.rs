//! Rules of the messages that ask a person, and become the outcome.

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{Choice, InboundKind, Receipt, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{PlatformId, WaitId};
use avocet_protocol::store::{CommandAction, CommandReply, NewWait, Resolution, SendEnd};
use avocet_protocol::tool::WaitKind;

use super::Backend;
use super::world::{World, message, new_wait, planned, session};

/// A time long after every test.
const NEVER: Timestamp = Timestamp(9_000_000_000_000);

/// Starts a turn of a session that asks for an approval in its chat and in an owner's chat, which can
/// edit.
async fn asks(world: &World<'_>, chats: &[SessionId; 2], expires_at: Timestamp) -> WaitId {
    asks_for(world, chats, WaitKind::Approval, expires_at).await
}

async fn asks_for(
    world: &World<'_>,
    chats: &[SessionId; 2],
    kind: WaitKind,
    expires_at: Timestamp,
) -> WaitId {
    let [a, owner] = chats;
    world.say(a, "begin").await;
    let turn = world.take(a).await;
    let call = world.step(turn.id, 0, &["tool"]).await[0];
    let wait = world.ports.turns.reserve_wait().await.unwrap();
    let prompt = |chat: &SessionId| {
        let mut prompt = planned(chat, &["look:", "may I?"]);
        prompt.chunks[1].choices = vec![Choice::new("Yes", format!("/approve {wait}"))];
        prompt
    };
    let editable = vec![a.address(), owner.address()];
    let (prompt, notices) = (Some(prompt(a)), vec![prompt(owner)]);
    let new = NewWait { id: wait, prompt, notices, editable, ..new_wait(call, kind, expires_at) };
    world.ports.turns.wait(&[new]).await.unwrap();
    wait
}

/// Sends what waits for a chat. Returns the edited message and the text of each.
async fn sent(world: &World<'_>, chat: &SessionId) -> Vec<(Option<String>, String)> {
    let outbox = &world.ports.outbox;
    let mut sent = Vec::new();
    while let Some(head) = outbox.head(&chat.address()).await.unwrap() {
        let (id, text) = (head.delivery.id, head.delivery.content.text);
        let edited = head.delivery.shown_as.map(|message| message.to_string());
        assert_eq!(head.is_edit, edited.is_some(), "{text}");
        outbox.start(id, false).await.unwrap();
        let platform_id = PlatformId::parse(&format!("p{text}")).ok();
        outbox.finish(id, &SendEnd::Sent(Receipt { platform_id })).await.unwrap();
        sent.push((edited, text));
    }
    sent
}

async fn command(world: &World<'_>, owner: &SessionId, text: &str, action: CommandAction) {
    let command = world.command(owner, text).await;
    let done = Some(planned(owner, &["done"]));
    let reply = CommandReply { done, nothing: None, replaces: None };
    world.ports.inbox.settle_command(command, &action, &reply).await.unwrap();
}

fn chats(number: usize) -> [SessionId; 2] {
    ["asker", "owner"].map(|name| session(&format!("{name}{number}")))
}

fn decides(wait: WaitId, resolution: Resolution) -> CommandAction {
    let kind = WaitKind::Approval;
    CommandAction::Resolve { wait: Some(wait), kind, anywhere: true, resolution }
}

/// The last message of each prompt is edited once, also if the decision came before the send, and
/// across a restart. The chat of the decision gets no further reply.
pub async fn resolve_edits_each_prompt_to_the_outcome_once(backend: &impl Backend) {
    use Resolution::{Run, RunAlways};
    let denied = || Resolution::error("denied");
    let table = [
        (Run, "Allowed by user at "),
        (RunAlways, "Allowed for this session by user at "),
        (denied(), "Refused by user at "),
    ];
    let mut world = World::new(backend).await;
    for (number, (resolution, shown)) in (0..).zip(table) {
        let chats = chats(number);
        let [asker, owner] = &chats;
        let wait = asks(&world, &chats, NEVER).await;
        assert_eq!(sent(&world, owner).await.len(), 2);
        command(&world, owner, "/approve", decides(wait, resolution.clone())).await;
        command(&world, owner, "/approve again", decides(wait, resolution)).await;
        world = world.restart().await;
        for (chat, more) in [(owner, 1), (asker, 3)] {
            let sent = sent(&world, chat).await;
            let (edited, text) = sent.last().unwrap();
            assert_eq!((sent.len(), edited.as_deref()), (more, Some("pmay I?")), "{sent:?}");
            assert!(text.starts_with(shown) && text.ends_with(": tool"), "{text}");
        }
    }
}

/// Without a person's decision, the outcome says why the wait ended.
pub async fn prompt_of_an_ended_wait_says_why_it_ended(backend: &impl Backend) {
    let world = World::new(backend).await;
    let expired = Resolution::error("no approval came");
    let table = [
        (Timestamp(1), expired, "Ended, no answer came in time: tool"),
        (NEVER, Resolution::Run, "Allowed by the operator at "),
    ];
    for (number, (expires_at, resolution, shown)) in (0..).zip(table) {
        let wait = asks(&world, &chats(number), expires_at).await;
        world.ports.turns.resolve(wait, &resolution).await.unwrap();
        let last = sent(&world, &chats(number)[0]).await.pop().unwrap();
        assert!(last.1.starts_with(shown), "{last:?}");
    }

    let chats = chats(2);
    asks(&world, &chats, NEVER).await;
    let stop = world.command(&chats[0], "/stop").await;
    let reply = CommandReply::default();
    world.ports.inbox.settle_command(stop, &CommandAction::Stop(None), &reply).await.unwrap();
    for chat in &chats {
        let last = sent(&world, chat).await.pop().unwrap();
        let stopped = "Ended, the work was stopped: tool".to_owned();
        assert_eq!(last, (Some("pmay I?".to_owned()), stopped));
    }
}

/// An outcome whose message gave no id is no message of its own.
pub async fn outcome_without_a_message_to_edit_is_no_message(backend: &impl Backend) {
    let world = World::new(backend).await;
    let chats = chats(0);
    let wait = asks(&world, &chats, NEVER).await;
    let asker = chats[0].address();
    assert_eq!(world.deliveries(&asker).await.len(), 2);
    world.ports.turns.resolve(wait, &Resolution::Run).await.unwrap();
    let head = world.ports.outbox.head(&asker).await.unwrap().unwrap();
    assert_eq!((head.is_edit, head.delivery.shown_as), (true, None));
}

/// A choice about an interrupted call, and a question of the model, end in place, too. The question
/// stays above its answer.
pub async fn resolve_edits_choices_and_questions(backend: &impl Backend) {
    let answer = Resolution::Answer { text: "red\nor so".to_owned(), trust: Trust::User };
    let skipped = || Resolution::error("skipped");
    let table = [
        (WaitKind::Choice, NEVER, Resolution::Run, "Run again by the operator at ", ": tool"),
        (WaitKind::Choice, NEVER, skipped(), "Skipped by the operator at ", ": tool"),
        (WaitKind::Choice, Timestamp(1), skipped(), "Ended, no answer came in time: ", "tool"),
        (WaitKind::Answer, NEVER, answer, "may I?\n\nAnswered by the operator at ", ": red or so"),
        (WaitKind::Answer, Timestamp(1), skipped(), "may I?\n\nEnded, no answer ", "came in time."),
    ];
    let world = World::new(backend).await;
    for (number, (kind, expires_at, resolution, start, end)) in (0..).zip(table) {
        let chats = chats(number);
        let wait = asks_for(&world, &chats, kind, expires_at).await;
        sent(&world, &chats[0]).await;
        world.ports.turns.resolve(wait, &resolution).await.unwrap();
        let edits = sent(&world, &chats[0]).await;
        let [(Some(edited), text)] = &edits[..] else { panic!("{edits:?}") };
        assert_eq!(edited, "pmay I?");
        assert!(text.starts_with(start) && text.ends_with(end), "{text}");
    }
}

/// A question without room for its outcome stays, and loses its buttons. The chat of the command gets
/// the reply, because the question does not show the outcome.
pub async fn resolve_keeps_a_long_question_without_its_buttons(backend: &impl Backend) {
    let world = World::new(backend).await;
    let [a, _] = &chats(0);
    world.say(a, "begin").await;
    let turn = world.take(a).await;
    let call = world.step(turn.id, 0, &["tool"]).await[0];
    let wait = world.ports.turns.reserve_wait().await.unwrap();
    let question = "why ".repeat(400);
    let mut prompt = planned(a, &[&question]);
    prompt.chunks[0].choices = vec![Choice::new("Red", format!("/answer {wait} red"))];
    let (prompt, editable) = (Some(prompt), vec![a.address()]);
    let new = NewWait { id: wait, prompt, editable, ..new_wait(call, WaitKind::Answer, NEVER) };
    world.ports.turns.wait(&[new]).await.unwrap();
    world.deliveries(&a.address()).await;
    let resolution = Resolution::Answer { text: "red".to_owned(), trust: Trust::User };
    let (wait, kind) = (Some(wait), WaitKind::Answer);
    let action = CommandAction::Resolve { wait, kind, anywhere: true, resolution };
    command(&world, a, "/answer", action).await;
    let sent = world.deliveries(&a.address()).await;
    let contents: Vec<_> =
        sent.iter().map(|one| (&*one.content.text, one.content.choices.len())).collect();
    assert_eq!(contents, [(&*question, 0), ("done", 0)]);
}

/// A command of a platform that shows answers in place of the command gets its answer there. The
/// press of a button has the edited message as its answer.
pub async fn command_with_a_place_is_answered_besides_the_edit(backend: &impl Backend) {
    for pressed in [None, Some("9".parse().unwrap())] {
        decide_with_a_place(backend, pressed).await;
    }
}

async fn decide_with_a_place(backend: &impl Backend, pressed: Option<PlatformId>) {
    let is_press = pressed.is_some();
    let world = World::new(backend).await;
    let chats = chats(usize::from(is_press));
    let wait = asks(&world, &chats, NEVER).await;
    for chat in &chats {
        sent(&world, chat).await;
    }
    let kind = InboundKind::Command;
    let mut command = message(&chats[1], "/approve", kind);
    command.inbound.content.reply_to = Some("i1".parse().unwrap());
    command.inbound.content.pressed = pressed;
    let command = world.accept(&command).await.id;
    let reply =
        CommandReply { done: Some(planned(&chats[1], &["done"])), nothing: None, replaces: None };
    let action = decides(wait, Resolution::Run);
    world.ports.inbox.settle_command(command, &action, &reply).await.unwrap();
    let texts: Vec<_> = sent(&world, &chats[1]).await.into_iter().map(|(_, text)| text).collect();
    let says_done = texts.last().is_some_and(|text| text == "done");
    assert_eq!(
        (texts.len(), says_done),
        if is_press { (1, false) } else { (2, true) },
        "{texts:?}"
    );
}
