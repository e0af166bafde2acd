//! Tests of the message that a reply refers to, while others write.

use avocet_protocol::channel::SendError;
use avocet_protocol::chat::{ChatKind, Delivery, Outcome};
use avocet_protocol::ids::DedupeKey;
use avocet_testkit::OnSend;

use super::*;

/// A message with this key; it may correct another message.
fn said(chat: ChatKind, text: &str, key: &str, corrects: Option<&str>) -> Inbound {
    let sender = Sender::new("me".parse().unwrap());
    let (key, corrects) = (key.parse().unwrap(), corrects.map(|key| key.parse().unwrap()));
    let address = session("a").address();
    Inbound { chat, corrects, ..Inbound::new(address, sender, key, Content::text(text)) }
}

fn refers(taken: &[Delivery]) -> Vec<Option<&str>> {
    taken.iter().map(|one| one.content.reply_to.as_ref().map(DedupeKey::as_str)).collect()
}

impl SessionHarness {
    async fn publish(&self, inbound: Inbound) {
        self.bus.publish(inbound, None).await.unwrap();
    }
}

#[tokio::test]
async fn reply_refers_to_its_message_in_groups_only() {
    let cases = [
        (ChatKind::Group, "hello", Some("m1")),
        (ChatKind::Group, "/status", Some("m1")),
        (ChatKind::Group, "fail", Some("m1")),
        (ChatKind::Private, "hello", None),
    ];
    for (chat, text, expected) in cases {
        let harness =
            SessionHarness::new(ScriptedModel::answering(|request| match last_said(request) {
                "fail" => Scripted::Error(ModelError::Refused {
                    model: "m".to_owned(),
                    detail: "no".into(),
                    lasting: false,
                }),
                text => Scripted::says(text),
            }));
        let harness = harness.await;
        harness.publish(said(chat, text, "m1", None)).await;
        assert_eq!(refers(&harness.channel.taken(1).await), [expected], "{chat:?} {text}");
    }
}

#[tokio::test]
async fn reply_to_an_edit_refers_to_the_edited_message() {
    let permits = Arc::new(Semaphore::new(0));
    let harness = SessionHarness::new(gated_parrot(&permits)).await;
    harness.publish(said(ChatKind::Group, "helo", "m1", None)).await;
    harness.asked(1).await;
    harness.publish(said(ChatKind::Group, "hello", "m1e5", Some("m1"))).await;
    permits.add_permits(2);
    assert_eq!(refers(&harness.channel.taken(2).await), [Some("m1"), Some("m1")]);
}

#[tokio::test]
async fn preview_and_question_refer_to_the_message_in_a_group() {
    let (pen, pieces) = flume::bounded(100);
    let posts = Scripted::calls(&[("post", json!({ "text": "paid" }))]);
    let model = ScriptedModel::new(vec![Scripted::Written(pieces), posts]);
    let setup = Setup { post_hangs: true, ..Setup::default() };
    let harness = previews::harness(model, setup).await;
    harness.publish(said(ChatKind::Group, "a story", "m1", None)).await;
    pen.send(Some("Once upon a time there was ".to_owned())).unwrap();
    harness.interval().await;
    harness.shows("Once upon a time there was …").await;
    drop(pen);
    assert_eq!(refers(&harness.channel.taken(2).await), [Some("m1"), Some("m1")]);
    harness.delivered().await;
    harness.publish(said(ChatKind::Group, "pay", "m2", None)).await;
    while harness.tools.runs("post") == 0 {
        tokio::task::yield_now().await;
    }
    let harness = harness.restart(parrot()).await;
    assert_eq!(refers(&harness.channel.taken(3).await)[2], Some("m2"));
}

#[tokio::test]
async fn f5_reply_is_omitted_if_the_message_tool_has_sent_its_text() {
    let say = Scripted::calls(&[("say", json!({"text": "All is  done."}))]);
    let harness = SessionHarness::new(ScriptedModel::new(vec![
        say.clone(),
        Scripted::says("All is\ndone."),
        say,
        Scripted::says("Anything else?"),
    ]))
    .await;
    let first = harness.say("1").await;
    let second = harness.say("2").await;
    while harness.outcome(second).await.is_none() {
        tokio::task::yield_now().await;
    }
    let texts = harness.channel.texts(3).await;
    assert_eq!(texts, ["All is  done.", "All is  done.", "Anything else?"]);
    assert_eq!(harness.outcome(first).await, Some(Outcome::Replied));
}

#[tokio::test]
async fn message_tool_sends_to_another_chat_at_once() {
    let to_b = json!({"text": "psst", "chat": "terminal:local:b"});
    let say = Scripted::calls(&[("say", to_b)]);
    let harness = SessionHarness::new(ScriptedModel::new(vec![say, Scripted::Hang])).await;
    harness.say("tell b").await;
    assert_eq!(harness.channel.texts(1).await, ["psst"]);
    assert_eq!(harness.channel.taken(1).await[0].address, session("b").address());
}

#[tokio::test]
async fn stop_wakes_deliveries_that_the_cancelled_turn_has_not_woken() {
    let to_b = json!({"text": "psst", "chat": "terminal:local:b"});
    let say = Scripted::calls(&[("say", to_b)]);
    let model = ScriptedModel::new(vec![say, Scripted::Hang]);
    let setup = Setup { tool_wakes: ToolWakes::Lost, ..Setup::default() };
    let harness = SessionHarness::with(model, setup).await;
    harness.say("tell b").await;
    harness.asked(2).await;
    assert!(harness.channel.taken(0).await.is_empty());
    harness.say("/stop").await;
    harness.channel.taken(2).await;
    harness.sent().await;
    let sent = harness.channel.taken(2).await;
    assert!(sent.iter().any(|one| one.address == session("b").address()), "{sent:?}");
}

#[tokio::test]
async fn panic_wakes_deliveries_that_the_turn_has_not_woken() {
    let to_b = json!({"text": "psst", "chat": "terminal:local:b"});
    let answers = vec![Scripted::calls(&[("say", to_b)]), Scripted::calls(&[("panic", json!({}))])];
    let setup = Setup { tool_wakes: ToolWakes::Lost, ..Setup::default() };
    let harness = SessionHarness::with(ScriptedModel::new(answers), setup).await;
    harness.say("tell b").await;
    let sent = harness.channel.taken(2).await;
    assert!(sent.iter().any(|one| one.address == session("b").address()), "{sent:?}");
}

#[tokio::test]
async fn outcome_of_an_answered_message_follows_the_delivery() {
    let refused = OnSend::Say(SendError::Refused("chat not found".to_owned()));
    for (script, expected) in [(vec![], Outcome::Replied), (vec![refused], Outcome::Error)] {
        let harness = SessionHarness::new(parrot()).await;
        harness.channel.script(script);
        harness.channel.give_turns(false);
        harness.publish(said(ChatKind::Private, "hello", "m1", None)).await;
        harness.channel.in_line(1).await;
        assert_eq!(harness.channel.outcomes(0).await, [], "the answer is on its way");
        harness.channel.give_turns(true);
        assert_eq!(harness.channel.outcomes(1).await, [("m1".to_owned(), expected)]);
    }
}
