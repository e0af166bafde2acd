//! Rules of plain words that answer a question, and of reused keys of other processes.

use avocet_protocol::chat::{
    Attachment, AttachmentKind, AttachmentSource, ChatKind, Choice, Content, InboundKind,
    NewInbound, Quote, Receipt, SessionId,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, DedupeKey, PlatformId, WaitId};
use avocet_protocol::store::{
    AcceptedAs, AuditFilter, CommandAction, CommandEffect, CommandReply, NewWait, OpenQuestion,
    Resolution, SendEnd, SessionRow, TranscriptPage, UsageBy,
};
use avocet_protocol::tool::WaitKind;
use avocet_protocol::turn::{CallResult, CallState, TurnRecord};
use serde_json::json;

use super::Backend;
use super::world::{World, message, new_wait, planned, session};

/// A text from an owner.
fn text(chat: &SessionId, said: &str) -> NewInbound {
    let mut message = message(chat, said, InboundKind::Text);
    message.inbound.by_owner = true;
    message
}

/// Starts a turn whose call waits, with an unsent prompt of three choices.
async fn asks(
    world: &World<'_>,
    chat: &SessionId,
    kind: WaitKind,
    choices: [(&str, &str); 3],
) -> (TurnRecord, WaitId) {
    world.say(chat, "begin").await;
    let turn = world.take(chat).await;
    let call = world.step(turn.id, 0, &["tool"]).await[0];
    let wait = world.ports.turns.reserve_wait().await.unwrap();
    let mut prompt = planned(chat, &["look:", "may I?"]);
    let named = |says: &str| says.replace("{wait}", &wait.to_string());
    prompt.chunks[1].choices =
        choices.into_iter().map(|(label, says)| Choice::new(label, named(says))).collect();
    let never = Timestamp(9_000_000_000_000);
    let begun = NewWait { id: wait, prompt: Some(prompt), ..new_wait(call, kind, never) };
    world.ports.turns.wait(&[begun]).await.unwrap();
    (turn, wait)
}

const APPROVAL: [(&str, &str); 3] = [
    ("1. Allow once", "/approve {wait}"),
    ("2. Allow for this session", "/approve {wait} session"),
    ("3. Deny", "/deny {wait}"),
];

/// Sends the prompt; its last message gets this number on the platform.
async fn show(world: &World<'_>, chat: &SessionId, number: Option<&str>) {
    let outbox = &world.ports.outbox;
    while let Some(head) = outbox.head(&chat.address()).await.unwrap() {
        let id = head.delivery.id;
        outbox.start(id, false).await.unwrap();
        let platform_id = number.map(|number| PlatformId::parse(number).unwrap());
        outbox.finish(id, &SendEnd::Sent(Receipt { platform_id })).await.unwrap();
    }
}

/// Returns the acceptance of a text, and its new text if it became a command.
async fn said(world: &World<'_>, message: &NewInbound) -> (AcceptedAs, Option<String>) {
    let accepted = world.accept(message).await;
    let commands = world.ports.inbox.open_commands().await.unwrap();
    let command = commands.into_iter().find(|command| command.id == accepted.id);
    (accepted.what, command.map(|command| command.message.inbound.content.text))
}

/// A plain word becomes the command of its button, acts, and is audited.
pub async fn accept_turns_a_plain_word_into_the_command_of_its_choice(backend: &impl Backend) {
    let mut world = World::new(backend).await;
    for (word, says) in [
        ("y", "/approve {wait}"),
        ("Yes!", "/approve {wait}"),
        ("1", "/approve {wait}"),
        (" 2. ", "/approve {wait} session"),
        ("3", "/deny {wait}"),
        ("NO", "/deny {wait}"),
    ] {
        let chat = session(&format!("chat {word}"));
        let (turn, wait) = asks(&world, &chat, WaitKind::Approval, APPROVAL).await;
        show(&world, &chat, None).await;
        let accepted = world.accept(&text(&chat, word)).await;
        assert_eq!(accepted.what, AcceptedAs::Decision, "{word}");
        world = world.restart().await;
        let inbox = &world.ports.inbox;
        let command = inbox.open_commands().await.unwrap().remove(0);
        let said = &command.message.inbound.content.text;
        assert_eq!((command.id, said), (accepted.id, &says.replace("{wait}", &wait.to_string())));
        let (kind, resolution) = (WaitKind::Approval, Resolution::Run);
        let action = CommandAction::Resolve { wait: Some(wait), kind, anywhere: true, resolution };
        let effect = inbox.settle_command(command.id, &action, &CommandReply::default()).await;
        assert_eq!(effect, Ok(CommandEffect::Resolved(chat.clone())), "{word}");
        let filter = AuditFilter { limit: 9, ..AuditFilter::default() };
        let last = world.ports.audit.audit_rows(&filter).await.unwrap().pop().unwrap();
        assert_eq!((last.kind.as_str(), last.actor.as_str()), ("allowed", "terminal:local:user"));
        assert_eq!(world.take(&chat).await.id, turn.id);
    }
}

/// The bare word ends the turn that runs here, also after a crash. Elsewhere it is a message.
pub async fn accept_turns_a_bare_stop_into_the_command_during_a_turn(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    assert_eq!(said(&world, &text(&a, "stop")).await, (AcceptedAs::Queued, None), "no turn");
    let turn = world.take(&a).await;
    assert_eq!(said(&world, &text(&b, "Stop!")).await, (AcceptedAs::Queued, None), "another chat");
    for word in ["stop please", "stop it", "full stop"] {
        assert_eq!(said(&world, &text(&a, word)).await, (AcceptedAs::Queued, None), "{word}");
    }
    let odd: [fn(&mut NewInbound); 4] = [
        |one| one.inbound.sender.is_bot = true,
        |one| one.inbound.content.forwarded_from = Some("Eve".to_owned()),
        |one| one.inbound.content.quote = Some(quote(Some("Eve"))),
        |one| {
            one.inbound.chat = ChatKind::Group;
            one.inbound.sender.id = "other".parse().unwrap();
        },
    ];
    for (place, change) in odd.into_iter().enumerate() {
        let mut message = text(&a, "Stop");
        message.inbound.key = format!("odd{place}").parse().unwrap();
        change(&mut message);
        assert_eq!(said(&world, &message).await, (AcceptedAs::Queued, None), "{place}");
    }
    let stop = Some("/stop".to_owned());
    assert_eq!(said(&world, &text(&a, "Stop!")).await, (AcceptedAs::Decision, stop));
    let world = world.restart().await;
    let command = world.ports.inbox.open_commands().await.unwrap().remove(0);
    let (action, reply) = (CommandAction::Stop(None), CommandReply::default());
    let effect = world.ports.inbox.settle_command(command.id, &action, &reply).await;
    assert_eq!(effect, Ok(CommandEffect::Stopped(vec![turn.id])));
}

/// While a turn waits for a decision, the bare word stops it. While it waits for an answer, the
/// word is the answer.
pub async fn accept_takes_a_bare_stop_as_the_answer_to_a_question(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    asks(&world, &a, WaitKind::Approval, APPROVAL).await;
    let stop = Some("/stop".to_owned());
    assert_eq!(said(&world, &text(&a, "stop")).await, (AcceptedAs::Decision, stop));
    let colours = [("red", "red"), ("green", "green"), ("blue", "blue")];
    asks(&world, &b, WaitKind::Answer, colours).await;
    assert_eq!(said(&world, &text(&b, "stop")).await, (AcceptedAs::Answer(b.clone()), None));
}

/// Other texts, and texts from people without the right to decide, wait behind the question.
pub async fn accept_queues_other_words_behind_the_question(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let (_, wait) = asks(&world, &a, WaitKind::Approval, APPROVAL).await;
    let behind = |can_answer| (AcceptedAs::Behind(OpenQuestion { wait, can_answer }), None);
    assert_eq!(said(&world, &text(&a, "yes")).await, behind(true), "it is not shown yet");
    show(&world, &a, None).await;
    for word in ["yes please", "4", "0", "maybe", "ja"] {
        assert_eq!(said(&world, &text(&a, word)).await, behind(true), "{word}");
    }
    let mut by_user = text(&a, "y");
    by_user.inbound.by_owner = false;
    assert_eq!(said(&world, &by_user).await, behind(false));
    let odd: [fn(&mut NewInbound); 4] = [
        |one| one.inbound.sender.is_bot = true,
        |one| one.inbound.content.forwarded_from = Some("Eve".to_owned()),
        |one| one.inbound.content.quote = Some(quote(Some("Eve"))),
        |one| {
            let source = AttachmentSource::Lost("gone".to_owned());
            let file = Attachment::new(AttachmentKind::Image, source);
            one.inbound.content.attachments = vec![file];
        },
    ];
    for (number, change) in (0..).zip(odd) {
        let mut message = text(&a, "yes");
        message.inbound.key = DedupeKey::parse(&format!("odd {number}")).unwrap();
        change(&mut message);
        assert_eq!(said(&world, &message).await, behind(true), "{number}");
    }
    let mut elsewhere = text(&a, "no");
    elsewhere.inbound.address = session("linked").address();
    assert_eq!(said(&world, &elsewhere).await, behind(false), "the question was not shown there");
    let mut with_context = text(&a, "No.");
    with_context.inbound.content.earlier = vec![quote(Some("Eve"))];
    assert_eq!(said(&world, &with_context).await.0, AcceptedAs::Decision, "Eve spoke to others");
}

fn quote(from: Option<&str>) -> Quote {
    Quote { from: from.map(str::to_owned), text: "may I?".to_owned() }
}

/// A word written before the chat was shown the question counts as other text.
pub async fn accept_takes_a_word_written_before_the_question_as_text(backend: &impl Backend) {
    let world = World::new(backend).await;
    // The platform's message numbers decide if they are known; otherwise the clocks do.
    let late = 8_000_000_000_000;
    for (number, (shown_as, key, written, decides)) in (0..).zip([
        (Some("42"), "m41", late, false),
        (Some("42"), "m43", 0, true),
        (None, "m43", 0, false),
        (None, "m41", late, true),
        (Some("42"), "other", 0, false),
    ]) {
        let chat = session(&number.to_string());
        asks(&world, &chat, WaitKind::Approval, APPROVAL).await;
        show(&world, &chat, shown_as).await;
        let mut word = text(&chat, "yes");
        word.inbound.key = DedupeKey::parse(key).unwrap();
        word.inbound.from_platform = true;
        word.inbound.written_at = Some(Timestamp(written));
        let what = world.accept(&word).await.what;
        assert_eq!(what == AcceptedAs::Decision, decides, "{number}: {what:?}");
    }
}

/// In a group, a word counts as a reply to the agent, or from the person who asked.
pub async fn accept_takes_a_word_in_a_group_from_the_asker_or_in_a_reply(backend: &impl Backend) {
    let world = World::new(backend).await;
    for (number, (sender, is_reply, decides)) in
        (0..).zip([("other", false, false), ("other", true, true), ("user", false, true)])
    {
        let chat = session(&number.to_string());
        asks(&world, &chat, WaitKind::Approval, APPROVAL).await;
        show(&world, &chat, None).await;
        let mut word = text(&chat, "yes");
        word.inbound.chat = ChatKind::Group;
        word.inbound.sender.id = sender.parse().unwrap();
        word.inbound.content.quote = is_reply.then(|| quote(None));
        let what = world.accept(&word).await.what;
        assert_eq!(what == AcceptedAs::Decision, decides, "{sender} {is_reply}: {what:?}");
    }
}

/// Everyone with access may decide about an interrupted call.
pub async fn accept_takes_a_word_as_the_choice_for_an_interrupted_call(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let choices =
        [("1. Run", "/retry {wait}"), ("2. Ask", "/skip {wait} a"), ("3. Skip", "/skip {wait}")];
    asks(&world, &a, WaitKind::Choice, choices).await;
    show(&world, &a, None).await;
    let no = message(&a, "n", InboundKind::Text);
    assert_eq!(said(&world, &no).await, (AcceptedAs::Decision, Some("/skip w1".to_owned())));
}

/// A number selects that choice of the agent's own question, unless a choice has the number as its
/// text.
pub async fn accept_answers_a_question_with_the_choice_of_that_number(backend: &impl Backend) {
    let world = World::new(backend).await;
    let colours = [("1. Red", "Red"), ("2. Green", "Green"), ("3. Blue", "Blue")];
    let numbers = [("1. 2", "2"), ("2. 3", "3"), ("3. 1", "1")];
    for (number, (choices, word, answer)) in (0..).zip([
        (colours, "2", "Green"),
        (colours, "3.", "Blue"),
        (colours, "4", "4"),
        (colours, "yes", "yes"),
        (colours, "2 of them", "2 of them"),
        (numbers, "3", "3"),
        (numbers, "1", "1"),
    ]) {
        let chat = session(&number.to_string());
        let (turn, _) = asks(&world, &chat, WaitKind::Answer, choices).await;
        let answered = AcceptedAs::Answer(chat.clone());
        assert_eq!(world.accept(&text(&chat, word)).await.what, answered, "{word}");
        let call = CallId { turn: turn.id, step: 0, ordinal: 0 };
        let result = CallResult::ok(json!({ "answer": answer }));
        assert_eq!(world.call_state(&chat, call).await, CallState::Finished(result), "{word}");
    }
}

/// A reused key with another text or topic is reported; a platform's message may change.
pub async fn accept_and_enqueue_report_a_reused_key_with_another_text(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let one = |text: &str| {
        let mut message = message(&a, text, InboundKind::Text);
        message.inbound.key = DedupeKey::parse("one").unwrap();
        message
    };
    let first = world.accept(&one("deploy")).await;
    let mut edit = one("deploy now");
    edit.inbound.key = DedupeKey::parse("edit").unwrap();
    edit.inbound.corrects = Some(DedupeKey::parse("one").unwrap());
    edit.inbound.from_platform = true;
    world.ports.inbox.correct(&edit, None).await.unwrap();
    let world = world.restart().await;
    let mut topic = one("deploy");
    topic.inbound.address.topic = Some("7".parse().unwrap());
    let mut redelivered = one("deploy, edited");
    redelivered.inbound.from_platform = true;
    for (again, what) in [
        (one("deploy"), AcceptedAs::Duplicate),
        (one("destroy"), AcceptedAs::KeyTaken),
        (topic, AcceptedAs::KeyTaken),
        (redelivered, AcceptedAs::Duplicate),
    ] {
        let accepted = world.accept(&again).await;
        assert_eq!((accepted.id, accepted.what), (first.id, what), "{again:?}");
    }
    assert_eq!(world.texts(&a).await, ["deploy now"], "a refused message is not in the log");

    let send = async |chunks: &[&str], said: Option<&str>| {
        let said = said.map(Content::text);
        let key = DedupeKey::parse("one").unwrap();
        let sent = world.ports.outbox.enqueue(&planned(&a, chunks), &key, said.as_ref()).await;
        sent.map(|sent| (sent.duplicate, sent.key_taken)).unwrap()
    };
    assert_eq!(send(&["a", "b"], Some("a b")).await, (false, false));
    assert_eq!(send(&["a b"], Some("a b")).await, (true, false), "the same text in other chunks");
    assert_eq!(send(&["a", "b"], Some("b a")).await, (true, true));
    assert_eq!(send(&["c"], None).await, (true, false));
}

/// Lists are read page by page.
pub async fn query_reads_sessions_transcripts_and_usage_by_page(backend: &impl Backend) {
    let world = World::new(backend).await;
    let query = &world.ports.query;
    for name in ["a", "b", "c", "d", "e"] {
        world.say(&session(name), "hello").await;
    }
    // Lists leave out the conversations of one request.
    world.say(&SessionId::one_off("phone", "1f3a").unwrap(), "hello").await;
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = query.sessions(2, after.as_ref()).await.unwrap();
        let Some(last) = page.last() else { break };
        assert!(page.len() <= 2);
        after = Some(SessionRow { used_at: last.used_at, session: last.session.clone() });
        all.extend(page);
    }
    assert_eq!(all, query.sessions(9, None).await.unwrap());
    assert_eq!(all.len(), 5);

    let a = session("a");
    for number in 0..4 {
        let turn = world.take(&a).await;
        world.reply(turn.id, &number.to_string()).await;
        world.say(&a, &number.to_string()).await;
    }
    let whole = query.transcript(&a, 9).await.unwrap();
    let page =
        |turns, before, bytes| query.transcript_page(&a, TranscriptPage { turns, before, bytes });
    let last = page(2, None, usize::MAX).await.unwrap();
    assert_eq!(last, whole[2..]);
    assert_eq!(page(9, Some(last[0].id), usize::MAX).await.unwrap(), whole[..2]);
    assert_eq!(page(9, None, 1).await.unwrap(), whole[3..], "one turn, however long it is");
    assert_eq!(page(9, Some(whole[0].id), 1).await.unwrap(), []);

    let usage = query.usage(UsageBy::Session, Timestamp(0)).await.unwrap();
    let pages = [(1, 0), (9, 1)].map(|(limit, skip)| async move {
        query.usage_page(UsageBy::Session, Timestamp(0), limit, skip).await.unwrap()
    });
    let mut paged = Vec::new();
    for page in pages {
        paged.extend(page.await);
    }
    assert_eq!(paged, usage);
}
