//! Polls of the agent.

use std::time::Duration;

use avocet_protocol::channel::Channel;
use avocet_protocol::chat::{Content, Delivery, Poll, REPEAT_MARK};
use avocet_protocol::clock::Clock;
use serde_json::json;

use crate::{World, delivery};

fn poll(question: &str, answers: &[&str]) -> Content {
    let answers = answers.iter().map(|answer| (*answer).to_owned()).collect();
    let poll = Poll { answers, multiple: true, hours: Poll::MAX_HOURS };
    Content { poll: Some(poll), ..Content::text(question) }
}

#[tokio::test]
async fn deliver_sends_a_poll_with_its_question_and_answers_unchanged() {
    let world = World::new().await;
    let [content] = &world.discord.plan(&poll("*Tea* or @everyone?", &["tea", "**x**"]))[..] else {
        panic!("one message")
    };
    world.discord.deliver(&delivery(world.dm, content.clone())).await.unwrap();
    let sent = world.platform.sent().remove(0);
    let answer = |text: &str| json!({ "poll_media": { "text": text, "emoji": null } });
    let created = sent.poll.unwrap();
    assert_eq!(created["question"], json!({ "text": "*Tea* or @everyone?" }));
    assert_eq!(created["answers"], json!([answer("tea"), answer("**x**")]));
    assert_eq!((&created["duration"], &created["allow_multiselect"]), (&json!(768), &json!(true)));
    assert_eq!((sent.text.as_str(), world.platform.refusals()), ("", vec![]));
}

#[tokio::test]
async fn deliver_sends_the_largest_poll() {
    let world = World::new().await;
    let answers: Vec<String> =
        ('a'..='j').map(|letter| letter.to_string().repeat(Poll::MAX_ANSWER)).collect();
    let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
    let content = poll(&"?".repeat(Poll::MAX_QUESTION), &answers);
    let delivery = Delivery { repeat: true, ..delivery(world.dm, content) };
    world.discord.deliver(&delivery).await.unwrap();
    assert_eq!(world.sent_texts(), [REPEAT_MARK]);
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn f5_deliver_reuses_a_poll_of_unknown_outcome() {
    for late in [false, true] {
        let world = World::new().await;
        let first_sent_at = Some(world.clock.now());
        let poll = delivery(world.dm, poll("Which?", &["a", "b"]));
        world.discord.deliver(&poll).await.unwrap();
        if late {
            world.pass(Duration::from_mins(10));
        }
        world.discord.deliver(&Delivery { first_sent_at, ..poll }).await.unwrap();
        assert_eq!(world.platform.sent().len(), 1, "{late}");
    }
}
