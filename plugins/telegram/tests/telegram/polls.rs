//! Polls of the agent.

use avocet_protocol::channel::Channel;
use avocet_protocol::chat::{Content, Delivery, Poll, REPEAT_MARK};
use serde_json::json;

use crate::{ANN, World, delivery};

fn poll(question: &str, answers: &[String], multiple: bool) -> Content {
    let poll = Poll { answers: answers.to_vec(), multiple, hours: 24 };
    Content { poll: Some(poll), ..Content::text(question) }
}

#[tokio::test]
async fn deliver_sends_a_poll_with_its_question_and_answers_unchanged() {
    let world = World::new().await;
    let answers = ["tea", "**x**"].map(ToOwned::to_owned);
    let [content] = &world.telegram.plan(&poll("*Tea* or x?", &answers, true))[..] else {
        panic!("one message")
    };
    world.telegram.deliver(&delivery(ANN, content.clone())).await.unwrap();
    let sent = world.platform.sent().remove(0);
    assert_eq!((sent.text.as_str(), world.platform.calls("sendPoll")), ("*Tea* or x?", 1));
    let expected = json!({
        "options": [{ "text": "tea" }, { "text": "**x**" }], "allows_multiple_answers": true });
    assert_eq!(sent.poll, Some(expected));
}

#[tokio::test]
async fn f5_deliver_marks_a_repeated_poll_above_its_question() {
    let world = World::new().await;
    let answers: Vec<String> =
        ('a'..='j').map(|letter| letter.to_string().repeat(Poll::MAX_ANSWER)).collect();
    let question = "?".repeat(Poll::MAX_QUESTION);
    let content = world.telegram.plan(&poll(&question, &answers, false)).remove(0);
    let delivery = delivery(ANN, content);
    world.telegram.deliver(&Delivery { repeat: true, ..delivery }).await.unwrap();
    assert_eq!(world.platform.sent()[0].text, format!("{REPEAT_MARK}\n{question}"));
    assert_eq!(world.platform.refusals(), vec![]);
}
