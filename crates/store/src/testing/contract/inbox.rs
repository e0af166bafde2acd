//! Rules of acceptance, deduplication, cursors and commands.

use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{
    ChatAddress, ChatKind, Cursor, InboundKind, NewInbound, Outcome, Quote, SessionId,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{AccountName, ChannelName, MessageId};
use avocet_protocol::store::{
    Accepted, AcceptedAs, Claim, CommandAction, CommandEffect, CommandReply, Correction,
    NoCorrection, Past, Resolution, StoreError,
};
use avocet_protocol::tool::{ToolClass, WaitKind};
use avocet_protocol::turn::TurnState;

use super::Backend;
use super::world::{World, cursor, message, planned, session};

/// A redelivered message is absorbed; the cursor moves with both copies.
pub async fn accept_absorbs_a_redelivered_message_and_moves_the_cursor(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, inbox) = (session("a"), &world.ports.inbox);
    let (channel, account) = (a.address().channel, a.address().account);
    assert_eq!(inbox.cursors(&channel, &account).await, Ok(Vec::new()));

    let hello = message(&a, "hello", InboundKind::Text);
    let first = inbox.accept(&hello, Some(&cursor("7"))).await.unwrap();
    assert_eq!(first.what, AcceptedAs::Queued);
    let again = inbox.accept(&hello, Some(&cursor("8"))).await.unwrap();
    assert_eq!((again.id, again.what), (first.id, AcceptedAs::Duplicate));
    assert_eq!(inbox.cursors(&channel, &account).await, Ok(vec![cursor("8")]));
    assert_eq!(world.texts(&a).await, ["hello"]);

    let world = world.restart().await;
    let again = world.accept(&hello).await;
    assert_eq!((again.id, again.what), (first.id, AcceptedAs::Duplicate));
    assert_eq!(world.claim(&a).await, Claim::Nothing);
}

/// Keys are unique within a chat only.
pub async fn accept_treats_one_key_in_two_chats_as_two_messages(backend: &impl Backend) {
    let world = World::new(backend).await;
    let one = world.say(&session("a"), "1").await;
    let other = world.say(&session("b"), "1").await;
    assert_ne!(one, other);
}

/// Refused or unreadable updates move the cursor and are counted.
pub async fn ignore_counts_the_update_and_moves_the_cursor(backend: &impl Backend) {
    let world = World::new(backend).await;
    let channel = ChannelName::parse("telegram").unwrap();
    let account = AccountName::parse("work").unwrap();
    for position in ["1", "2"] {
        let at = cursor(position);
        world.ports.inbox.ignore(&channel, &account, "not mentioned", Some(&at)).await.unwrap();
    }
    let status = world.ports.query.log_status().await.unwrap();
    let ignored: Vec<_> = status
        .ignored
        .iter()
        .map(|ignored| (ignored.account.as_str(), ignored.reason.as_str(), ignored.count))
        .collect();
    assert_eq!(ignored, [("telegram:work", "not mentioned", 2)]);
    assert_eq!(world.ports.inbox.cursors(&channel, &account).await, Ok(vec![cursor("2")]));
}

/// Commands bypass the lane; their effect and reply are one transaction.
pub async fn settle_command_bypasses_the_lane_and_acts_once(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, inbox) = (session("a"), &world.ports.inbox);
    let command = world.command(&a, "/queue collect").await;
    assert_eq!(world.claim(&a).await, Claim::Nothing);
    assert_eq!(inbox.open_commands().await.unwrap()[0].id, command);

    let action = CommandAction::SetMode(QueueMode::Collect);
    let answer = CommandReply {
        done: Some(planned(&a, &["collecting"])),
        nothing: Some(planned(&a, &["nothing to collect"])),
        replaces: None,
    };
    let effect = inbox.settle_command(command, &action, &answer).await;
    assert_eq!(effect, Ok(CommandEffect::Done));
    assert_eq!(world.ports.query.session_status(&a).await.unwrap().mode, QueueMode::Collect);
    assert_eq!(inbox.open_commands().await, Ok(vec![]));
    assert_eq!(world.outcome(command).await, Some(Outcome::Replied));

    let again = inbox.settle_command(command, &action, &answer).await;
    assert_eq!(again, Err(StoreError::Stale(command.to_string())));
    assert_eq!(world.delivered_texts(&a).await, ["collecting"]);
}

/// A reply to a pressed button changes the message with the button, unless it has several chunks.
pub async fn settle_command_replaces_a_message_by_a_reply_of_one_chunk(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let shown: avocet_protocol::ids::PlatformId = "m7".parse().unwrap();
    for (texts, replaces) in [
        (&["page 2"][..], Some(shown.clone())),
        (&["long", "reply"], Some(shown.clone())),
        (&["page 1"], None),
    ] {
        let command = world.command(&a, &format!("/model {}", texts[0])).await;
        let expected = replaces.clone().filter(|_| texts.len() == 1);
        let reply = CommandReply { done: Some(planned(&a, texts)), replaces, nothing: None };
        world.ports.inbox.settle_command(command, &CommandAction::None, &reply).await.unwrap();
        let head = world.ports.outbox.head(&a.address()).await.unwrap().unwrap();
        assert_eq!((head.delivery.shown_as, head.is_edit), (expected, false), "{texts:?}");
        assert_eq!(world.delivered_texts(&a).await, texts);
    }
}

/// A message whose sender has lost access ends with a notice.
pub async fn drop_message_ends_the_message_with_a_notice(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let dropped = world.say(&a, "too late").await;
    let turn = world.take(&a).await;
    let notice = planned(&a, &["I dropped it"]);
    world.ports.inbox.drop_message(dropped, Some(&notice)).await.unwrap();
    world.reply(turn.id, "nothing left").await;
    assert_eq!(world.outcome(dropped).await, Some(Outcome::Dropped));
    assert_eq!(world.delivered_texts(&a).await, ["I dropped it", "nothing left"]);
}

/// A `/stop` redelivered after a crash leaves later turns running.
pub async fn stop_cancels_only_a_turn_that_began_before_it(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, inbox) = (session("a"), &world.ports.inbox);
    let first = world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let stop = world.command(&a, "/stop").await;
    let second = world.say(&a, "2").await;

    let effect =
        inbox.settle_command(stop, &CommandAction::Stop(None), &CommandReply::default()).await;
    assert_eq!(effect, Ok(CommandEffect::Stopped(vec![turn.id])));
    assert_eq!(world.outcome(first).await, Some(Outcome::Stopped));
    assert_eq!(world.turn(&a).await.state, TurnState::Cancelled);

    let next = world.take(&a).await;
    assert_eq!(next.origin.messages()[0].id, second, "queued messages stay");
    let older = world.command(&a, "/stop again").await;
    world.reply(next.id, "done").await;
    let third = world.say(&a, "3").await;
    let waits = "what comes after a command is not begun before it has acted";
    assert_eq!(world.claim(&a).await, Claim::Nothing, "{waits}");
    let effect =
        inbox.settle_command(older, &CommandAction::Stop(None), &CommandReply::default()).await;
    assert_eq!(effect, Ok(CommandEffect::Nothing));
    let running = world.take(&a).await;
    world.reply(running.id, "done").await;
    assert_eq!(world.outcome(third).await, Some(Outcome::Replied));
}

/// Every open call gets a result, so that the history stays valid.
pub async fn stop_gives_every_open_call_a_result(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, inbox) = (session("a"), &world.ports.inbox);
    world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let calls = world.step(turn.id, 0, &["read", "write", "send"]).await;
    world.start(calls[0], ToolClass::Pure).await;
    world.finish(calls[0]).await;
    world.start(calls[1], ToolClass::Effect).await;
    let stop = world.command(&a, "/stop").await;
    inbox.settle_command(stop, &CommandAction::Stop(None), &CommandReply::default()).await.unwrap();

    let results: Vec<_> = world.turn(&a).await.steps[0]
        .calls
        .iter()
        .map(|call| call.result().unwrap().value.to_string())
        .collect();
    let cancelled = r#"{"error":"cancelled by the user"}"#;
    assert_eq!(results, [r#""done""#, cancelled, cancelled]);
}

/// After `/new`, later turns read only newer messages.
pub async fn new_hides_older_messages_from_later_turns(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, inbox) = (session("a"), &world.ports.inbox);
    world.say(&a, "old").await;
    world.texts(&a).await;
    world.say(&a, "waits").await;
    let forget = world.command(&a, "/new").await;
    inbox.settle_command(forget, &CommandAction::Forget, &CommandReply::default()).await.unwrap();
    // A waiting message is still answered after `/new`, without the older past. It is then
    // forgotten too.
    for text in ["waits", "new"] {
        if text == "new" {
            world.say(&a, text).await;
        }
        let turn = world.take(&a).await;
        assert_eq!(
            world.ports.log.history(&a, turn.id, usize::MAX).await,
            Ok(Past::default()),
            "{text}"
        );
        world.reply(turn.id, "done").await;
    }
    world.say(&a, "newer").await;
    let turn = world.take(&a).await;
    let history = world.ports.log.history(&a, turn.id, usize::MAX).await.unwrap();
    assert_eq!(history.turns.len(), 1);

    let nothing = CommandAction::Resolve {
        wait: None,
        kind: WaitKind::Choice,
        anywhere: false,
        resolution: Resolution::Run,
    };
    let retry = world.command(&a, "/retry").await;
    world.deliveries(&a.address()).await;
    let reply = CommandReply {
        done: Some(planned(&a, &["retrying"])),
        nothing: Some(planned(&a, &["there is nothing to retry"])),
        replaces: None,
    };
    let effect = inbox.settle_command(retry, &nothing, &reply).await;
    assert_eq!(effect, Ok(CommandEffect::Nothing));
    assert_eq!(world.delivered_texts(&a).await, ["there is nothing to retry"]);
}

/// Every scope of an account has its own cursor, and a message is read back unchanged.
pub async fn accept_keeps_messages_unchanged_and_cursors_by_scope(backend: &impl Backend) {
    let world = World::new(backend).await;
    let inbox = &world.ports.inbox;
    let a = session("a");
    let ChatAddress { channel, account, .. } = a.address();
    let at = |scope: &str, position: &str| Cursor {
        scope: scope.to_owned(),
        position: position.to_owned(),
    };
    let mut hello = message(&a, "hello", InboundKind::Text);
    hello.inbound.chat = ChatKind::Group;
    hello.inbound.written_at = Some(Timestamp(17));
    hello.inbound.sender.is_bot = true;
    inbox.accept(&hello, Some(&at("7", "1"))).await.unwrap();
    inbox.move_cursor(&channel, &account, &at("8", "5")).await.unwrap();
    inbox.move_cursor(&channel, &account, &at("8", "6")).await.unwrap();
    let cursors = inbox.cursors(&channel, &account).await.unwrap();
    assert_eq!(cursors, [at("7", "1"), at("8", "6")]);
    let turn = world.take(&a).await;
    assert_eq!(turn.origin.messages()[0].message, hello);
}

/// Returns an edit of `original` with this text and platform time.
fn edit(original: &NewInbound, text: &str, at: i64) -> NewInbound {
    let mut edit = message(&original.session, text, InboundKind::Text);
    edit.inbound.key = format!("{}e{at}", original.inbound.key).parse().unwrap();
    edit.inbound.corrects = Some(original.inbound.key.clone());
    edit.inbound.written_at = Some(Timestamp(at));
    edit
}

/// A waiting message takes the text of its latest edit, in any order of redelivery.
pub async fn correct_replaces_a_waiting_message(backend: &impl Backend) {
    let world = World::new(backend).await;
    let inbox = &world.ports.inbox;
    let a = session("a");
    let original = message(&a, "helo", InboundKind::Text);
    let id = world.accept(&original).await.id;
    for (text, at) in [("hello", 1), ("hello!", 2), ("hello", 1)] {
        let edit = edit(&original, text, at);
        let replaced = inbox.correct(&edit, Some(&cursor(text))).await;
        assert_eq!(replaced, Ok(Correction::Replaced(id)), "{text}");
    }
    let turn = world.take(&a).await;
    let again = inbox.correct(&edit(&original, "hello!", 2), None).await;
    assert_eq!(again, Ok(Correction::Replaced(id)), "delivered again while it is answered");
    assert_eq!(turn.origin.messages()[0].model_text(), "hello!");
    world.reply(turn.id, "hi").await;
    let ChatAddress { channel, account, .. } = a.address();
    assert_eq!(inbox.cursors(&channel, &account).await, Ok(vec![cursor("hello")]));
    assert_eq!(world.claim(&a).await, Claim::Nothing);
}

/// Returns the keys of the unanswered messages in the account of a session.
async fn unanswered(world: &World<'_>, session: &SessionId, limit: u32) -> Vec<String> {
    let ChatAddress { channel, account, .. } = session.address();
    let unanswered = world.ports.inbox.list_unanswered(&channel, &account, limit).await.unwrap();
    assert!(unanswered.iter().all(|message| message.chat == session.address()));
    unanswered.into_iter().map(|message| message.key.to_string()).collect()
}

/// A deleted message is not answered, and the turn for it alone ends. A turn for several goes on.
pub async fn withdraw_ends_a_waiting_message_or_the_turn_for_it_alone(backend: &impl Backend) {
    let world = World::new(backend).await;
    let inbox = &world.ports.inbox;
    let a = session("a");
    let chat = a.address();
    let of_platform = |text: &str| {
        let mut message = message(&a, text, InboundKind::Text);
        message.inbound.from_platform = true;
        message
    };
    let [first, second, third] = ["first", "second", "third"].map(of_platform);
    let ids = [world.accept(&first).await.id, world.accept(&second).await.id];
    let gone = inbox.withdraw_message(&chat, &second.inbound.key).await.unwrap().unwrap();
    assert_eq!((gone.session, gone.ended), (a.clone(), Vec::new()));
    assert_eq!(unanswered(&world, &a, 9).await, ["first"]);
    let turn = world.take(&a).await;
    world.accept(&of_platform("fourth")).await;
    assert_eq!(unanswered(&world, &a, 9).await, ["first", "fourth"], "running and waiting");
    assert_eq!(unanswered(&world, &a, 1).await, ["first"]);
    let fourth = "fourth".parse().unwrap();
    inbox.withdraw_message(&chat, &fourth).await.unwrap();
    assert_eq!(turn.origin.messages().len(), 1, "the deleted message is left out");
    let gone = inbox.withdraw_message(&chat, &first.inbound.key).await.unwrap().unwrap();
    assert_eq!(gone.ended, [turn.id]);
    for id in ids {
        let status = world.ports.query.message(id).await.unwrap().unwrap();
        assert_eq!(status.outcome, Some(Outcome::Stopped));
    }
    assert_eq!(world.claim(&a).await, Claim::Nothing);
    assert_eq!(unanswered(&world, &a, 9).await, [""; 0]);
    for known in [&first, &third] {
        assert_eq!(
            inbox.withdraw_message(&chat, &known.inbound.key).await,
            Ok(None),
            "nothing is open"
        );
    }
}

/// The edit of a comment leaves the messages that were forwarded with it.
pub async fn correct_keeps_what_was_forwarded_with_the_message(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let mut original = message(&a, "tru?", InboundKind::Text);
    let forwarded = Quote { from: Some("Eve".to_owned()), text: "news".to_owned() };
    original.inbound.content.forwarded = vec![forwarded];
    let id = world.accept(&original).await.id;
    let replaced = world.ports.inbox.correct(&edit(&original, "true?", 1), None).await;
    assert_eq!(replaced, Ok(Correction::Replaced(id)));
    assert_eq!(world.texts(&a).await, ["true?\n[forwarded from Eve]\n> news"]);
}

/// The correction of a message in progress is a separate message. It can be corrected in turn,
/// and its redelivery is absorbed.
pub async fn correct_adds_a_message_while_the_original_is_being_answered(backend: &impl Backend) {
    let world = World::new(backend).await;
    let inbox = &world.ports.inbox;
    let a = session("a");
    let original = message(&a, "helo", InboundKind::Text);
    world.accept(&original).await;
    let turn = world.take(&a).await;
    let first = inbox.correct(&edit(&original, "hello", 1), None).await.unwrap();
    let Correction::Accepted(Accepted { id, what: AcceptedAs::Queued }) = first else {
        panic!("{first:?}")
    };
    let again = inbox.correct(&edit(&original, "hello", 1), None).await;
    assert_eq!(again, Ok(Correction::Replaced(id)));
    let second = inbox.correct(&edit(&original, "hello!", 2), None).await;
    assert_eq!(second, Ok(Correction::Replaced(id)));
    world.reply(turn.id, "hi").await;
    let texts = world.texts(&a).await;
    assert_eq!(texts.len(), 1);
    assert!(texts[0].ends_with("[corrects an earlier message]\nhello!"), "{texts:?}");
}

/// A message may first arrive in edited form. The redelivered edit then changes nothing in any
/// later state.
pub async fn correct_absorbs_an_edit_that_the_message_arrived_with(backend: &impl Backend) {
    let world = World::new(backend).await;
    let inbox = &world.ports.inbox;
    let a = session("a");
    let mut edited = message(&a, "hello", InboundKind::Text);
    edited.inbound.edited_at = Some(Timestamp(5));
    let id = world.accept(&edited).await.id;
    let again = async || inbox.correct(&edit(&edited, "hello", 5), None).await;
    assert_eq!(again().await, Ok(Correction::Replaced(id)));
    let turn = world.take(&a).await;
    assert_eq!(turn.origin.messages()[0].message.inbound.edited_at, Some(Timestamp(5)));
    assert_eq!(again().await, Ok(Correction::Replaced(id)), "while it is answered");
    world.reply(turn.id, "hi").await;
    assert_eq!(again().await, Ok(Correction::Replaced(id)), "once it is answered");
    assert_eq!(world.claim(&a).await, Claim::Nothing);
}

/// Answered messages keep their answers, unless the configuration says otherwise; a command acts
/// once.
pub async fn correct_refuses_answered_messages_commands_and_unknown_keys(backend: &impl Backend) {
    let world = World::new(backend).await;
    let inbox = &world.ports.inbox;
    let a = session("a");
    let (answered, command) =
        (message(&a, "hello", InboundKind::Text), message(&a, "/stop", InboundKind::Command));
    world.accept(&answered).await;
    world.accept(&command).await;
    inbox
        .settle_command(MessageId(2), &CommandAction::None, &CommandReply::default())
        .await
        .unwrap();
    world.texts(&a).await;
    let mut to_command = edit(&answered, "/new", 1);
    to_command.kind = InboundKind::Command;
    let table = [
        (edit(&answered, "hello!", 1), NoCorrection::Answered),
        (edit(&command, "stop", 1), NoCorrection::Command),
        (to_command, NoCorrection::Command),
        (edit(&message(&a, "unknown", InboundKind::Text), "?", 1), NoCorrection::Unknown),
        (edit(&message(&session("b"), "hello", InboundKind::Text), "?", 1), NoCorrection::Unknown),
    ];
    for (edit, why) in table {
        let refused = inbox.correct(&edit, Some(&cursor("9"))).await;
        assert_eq!(refused, Ok(Correction::Refused(why)), "{edit:?}");
    }
    let ChatAddress { channel, account, .. } = a.address();
    assert_eq!(inbox.cursors(&channel, &account).await, Ok(Vec::new()), "nothing is written");
    assert_eq!(world.claim(&a).await, Claim::Nothing);
}
