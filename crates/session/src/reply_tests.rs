//! Tests of the message that a reply refers to, while others write.

use avocet_protocol::{ChatKind, DedupeKey, Delivery};

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

impl World {
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
        let world = World::new(ScriptedModel::answering(|request| match last_said(request) {
            "fail" => Scripted::Error(ModelError::Refused {
                model: "m".to_owned(),
                detail: "no".to_owned(),
                lasting: false,
            }),
            text => Scripted::says(text),
        }));
        let world = world.await;
        world.publish(said(chat, text, "m1", None)).await;
        assert_eq!(refers(&world.channel.taken(1).await), [expected], "{chat:?} {text}");
    }
}

#[tokio::test]
async fn reply_to_an_edit_refers_to_the_edited_message() {
    let permits = Arc::new(Semaphore::new(0));
    let world = World::new(patient_parrot(&permits)).await;
    world.publish(said(ChatKind::Group, "helo", "m1", None)).await;
    world.asked(1).await;
    world.publish(said(ChatKind::Group, "hello", "m1e5", Some("m1"))).await;
    permits.add_permits(2);
    assert_eq!(refers(&world.channel.taken(2).await), [Some("m1"), Some("m1")]);
}

#[tokio::test]
async fn preview_and_question_refer_to_the_message_in_a_group() {
    let (pen, pieces) = flume::bounded(100);
    let posts = Scripted::calls(&[("post", json!({ "text": "paid" }))]);
    let model = ScriptedModel::new(vec![Scripted::Written(pieces), posts]);
    let setup = Setup { post_hangs: true, ..Setup::default() };
    let world = previews::world(model, setup).await;
    world.publish(said(ChatKind::Group, "a story", "m1", None)).await;
    pen.send(Some("Once upon a time there was ".to_owned())).unwrap();
    world.interval().await;
    world.shows("Once upon a time there was …").await;
    drop(pen);
    assert_eq!(refers(&world.channel.taken(2).await), [Some("m1"), Some("m1")]);
    world.delivered().await;
    world.publish(said(ChatKind::Group, "pay", "m2", None)).await;
    while world.tools.runs("post") == 0 {
        tokio::task::yield_now().await;
    }
    let world = world.restart(parrot()).await;
    assert_eq!(refers(&world.channel.taken(3).await)[2], Some("m2"));
}
