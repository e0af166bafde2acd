//! Direct messages of a channel: the topic of each person is one conversation.

use std::collections::BTreeMap;

use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{
    Attachment, AttachmentKind, AttachmentSource, ChatAddress, ChatKind, Choice, Content,
    LoadedFile, Poll,
};
use avocet_testkit::telegram::{SentMessage, UserMessage, png};

use crate::{ANN, World, chat, delivery};

const CHANNEL: i64 = -1_000_000_000_060;
const BOB: i64 = 8;
/// More than 32 bits.
const OF_ANN: i64 = 4_503_599_627_370_495;
const OF_BOB: i64 = 8;

fn address(topic: i64) -> ChatAddress {
    ChatAddress { topic: Some(format!("d{topic}").parse().unwrap()), ..chat(CHANNEL) }
}

fn by(user: i64, topic: i64, text: &str) -> UserMessage {
    UserMessage::group(user, CHANNEL, text).direct_topic(topic)
}

fn files(names: &[&str]) -> (Vec<Attachment>, Vec<LoadedFile>) {
    let file = |name: &&str| {
        let source = AttachmentSource::Workspace((*name).to_owned());
        let bytes = png(4, 4).into();
        let name = (*name).to_owned();
        (Attachment::new(AttachmentKind::Image, source), LoadedFile { name, bytes })
    };
    names.iter().map(file).unzip()
}

impl World {
    /// A world in which Ann and Bob have written to the channel.
    async fn with_direct_messages() -> Self {
        let world = Self::with(|config| {
            config.groups = BTreeMap::from([(
                CHANNEL.to_string(),
                serde_json::from_value(serde_json::json!({ "mention": false })).unwrap(),
            )]);
        })
        .await;
        world.platform.say(by(ANN, OF_ANN, "hi"));
        world.platform.say(by(BOB, OF_BOB, "hello"));
        world
    }

    async fn to_direct_topic(
        &self,
        topic: i64,
        content: Content,
    ) -> Result<SentMessage, SendError> {
        self.clock.advance(std::time::Duration::from_secs(3));
        let mut sent = delivery(CHANNEL, content);
        sent.address = address(topic);
        sent.files = files(&vec!["a.png"; sent.content.attachments.len()]).1;
        self.telegram.deliver(&sent).await?;
        Ok(self.platform.sent().pop().unwrap())
    }
}

#[tokio::test]
async fn direct_messages_of_each_person_are_a_conversation_of_their_own() {
    let world = World::with_direct_messages().await;
    let _running = world.run();
    let taken = world.bus.taken(2).await;
    let read: Vec<_> = taken.iter().map(|one| (&one.address, one.content.text.as_str())).collect();
    assert_eq!(read, [(&address(OF_ANN), "hi"), (&address(OF_BOB), "hello")]);
    assert!(taken.iter().all(|one| one.chat == ChatKind::Group), "{taken:?}");
    world.platform.wait_for_confirmed().await;
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn direct_messages_to_others_are_context_in_their_own_topic_only() {
    let world = World::new().await;
    let _running = world.run();
    world.platform.say(by(BOB, OF_BOB, "my secret"));
    world.platform.say(by(ANN, OF_ANN, "the boat leaves at nine"));
    world.platform.say(by(ANN, OF_ANN, "@avocet_bot when does it leave?"));
    let received = world.bus.taken(1).await.remove(0);
    let earlier: Vec<_> = received.content.earlier.iter().map(|one| one.text.as_str()).collect();
    assert_eq!((received.address, earlier), (address(OF_ANN), vec!["the boat leaves at nine"]));
}

#[tokio::test]
async fn answer_to_direct_messages_goes_to_their_topic_in_every_form() {
    let world = World::with_direct_messages().await;
    let poll =
        Poll { answers: vec!["yes".to_owned(), "no".to_owned()], multiple: false, hours: 24 };
    let choices = vec![Choice { label: "Yes".to_owned(), says: "yes".to_owned() }];
    let with_files = |names: &[&str]| Content {
        attachments: files(names).0,
        styles: Some(Vec::new()),
        ..Content::default()
    };
    let contents = [
        Content::text("**Good** morning"),
        Content { choices, ..Content::text("Really?") },
        Content { poll: Some(poll), ..Content::text("Which?") },
        with_files(&["a.png"]),
        with_files(&["a.png", "b.png"]),
    ];
    for content in contents {
        let sent = world.to_direct_topic(OF_ANN, content.clone()).await.unwrap();
        assert_eq!((sent.direct_topic, sent.thread), (Some(OF_ANN), None), "{content:?}");
    }
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn pressed_button_in_direct_messages_stays_in_its_topic() {
    let world = World::with_direct_messages().await;
    let choices = vec![Choice { label: "Yes".to_owned(), says: "yes".to_owned() }];
    let content = Content { choices, ..Content::text("Really?") };
    let sent = world.to_direct_topic(OF_ANN, content).await.unwrap();
    world.platform.press(ANN, &sent, "yes");
    let _running = world.run();
    let taken = world.bus.taken(3).await;
    assert_eq!((&taken[2].address, taken[2].content.text.as_str()), (&address(OF_ANN), "yes"));
}

#[tokio::test]
async fn pressed_button_of_an_inaccessible_message_is_answered_and_ignored() {
    let world = World::with_direct_messages().await;
    let _running = world.run();
    world.bus.taken(2).await;
    let chat = serde_json::json!({ "id": CHANNEL, "type": "supergroup", "title": "A channel",
        "is_direct_messages": true });
    let press = serde_json::json!({ "id": "1", "data": "yes", "chat_instance": "1",
        "from": { "id": ANN, "is_bot": false, "first_name": "Ann" },
        "message": { "chat": chat, "message_id": 1, "date": 0 } });
    world.platform.push("callback_query", press).unwrap();
    assert_eq!(world.bus.ignored(1).await, ["a button of an unknown topic"]);
    world.platform.wait_for_calls("answerCallbackQuery", 1).await;
    let answer = world.platform.requests("answerCallbackQuery").remove(0).args;
    assert!(answer["text"].as_str().unwrap().contains("too old"), "{answer}");
    assert_eq!(world.bus.taken(2).await.len(), 2);
}

#[tokio::test]
async fn typing_is_not_shown_in_direct_messages_for_lack_of_a_parameter() {
    let world = World::with_direct_messages().await;
    world.telegram.typing(&address(OF_ANN)).await;
    assert_eq!(world.platform.calls("sendChatAction"), 0);
}

#[tokio::test]
async fn answer_to_a_lost_topic_of_direct_messages_is_refused_and_goes_nowhere_else() {
    let world = World::with_direct_messages().await;
    let refused = world.to_direct_topic(99, Content::text("Good morning")).await.unwrap_err();
    assert!(matches!(refused, SendError::Refused(_)), "{refused:?}");
    assert_eq!(world.platform.sent().len(), 0);
}
