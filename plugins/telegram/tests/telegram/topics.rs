//! Topics that refuse messages: theirs go to the main chat, with a line that says so.

use std::time::Duration;

use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{
    Attachment, AttachmentKind, AttachmentSource, ChatAddress, Content, Delivery, LoadedFile,
    REPEAT_MARK, Receipt,
};
use avocet_testkit::telegram::{ApiError, InjectedFault, On, SentMessage, TelegramFake};

use crate::{ANN, World, chat, delivery};

const FORUM: i64 = -1_000_000_000_030;
const TOPIC: i64 = 5;
const SECOND: Duration = Duration::from_secs(1);
const DELETED: &str = "(This was written in a topic that no longer exists.)";
const CLOSED: &str = "(This was written in a topic that is closed.)";

fn topic() -> ChatAddress {
    ChatAddress { topic: Some(TOPIC.to_string().parse().unwrap()), ..chat(FORUM) }
}

impl World {
    /// A world in which Ann has written in a topic of a forum.
    async fn with_topic() -> Self {
        let world = Self::new().await;
        world.platform.topic_text(ANN, FORUM, TOPIC, "hi");
        world
    }

    /// Sends a chunk to the topic, or edits its message.
    async fn to_topic(&self, text: &str, delivery: Delivery) -> Result<Receipt, SendError> {
        let content = self.telegram.plan(&Content::text(text)).remove(0);
        let content = Content { reply_to: Some("m1".parse().unwrap()), ..content };
        self.clock.advance(SECOND);
        self.telegram.deliver(&Delivery { address: topic(), content, ..delivery }).await
    }

    fn last(&self) -> SentMessage {
        self.platform.sent().pop().unwrap()
    }
}

fn new() -> Delivery {
    delivery(FORUM, Content::default())
}

#[tokio::test]
async fn topic_that_is_lost_redirects_a_chunk_to_the_chat_with_a_note() {
    type Lose = fn(&TelegramFake);
    let delete: Lose = |platform| platform.delete_topic(FORUM, TOPIC);
    let close: Lose = |platform| platform.close_topic(FORUM, TOPIC);
    let deleted_there: Lose = |platform| {
        let error = ApiError::bad_request("TOPIC_DELETED");
        platform.inject(On::method("sendMessage"), 1, InjectedFault::Refuse(error));
    };
    for (lose, line) in [(delete, DELETED), (close, CLOSED), (deleted_there, DELETED)] {
        let world = World::with_topic().await;
        lose(&world.platform);
        world.to_topic("**Good** morning.", new()).await.unwrap();
        let sent = world.last();
        assert_eq!(sent.text, format!("{line}\nGood morning."));
        assert_eq!((sent.thread, sent.reply_to), (None, None));
        assert_eq!(sent.entities[0]["offset"], line.len() + 1, "the style moves with the text");
        world.to_topic("Again.", Delivery { repeat: true, ..new() }).await.unwrap();
        assert_eq!(world.last().text, format!("{REPEAT_MARK}\n{line}\nAgain."));
    }
}

#[tokio::test]
async fn topic_that_is_reopened_receives_chunks_after_a_minute() {
    let world = World::with_topic().await;
    world.platform.close_topic(FORUM, TOPIC);
    world.to_topic("One.", new()).await.unwrap();
    let calls = world.platform.calls("sendMessage");
    world.to_topic("Two.", new()).await.unwrap();
    assert_eq!(world.platform.calls("sendMessage"), calls + 1, "the topic is left alone");
    world.platform.reopen_topic(FORUM, TOPIC);
    world.clock.advance(60 * SECOND);
    world.to_topic("Three.", new()).await.unwrap();
    assert_eq!((world.last().text.as_str(), world.last().thread), ("Three.", Some(TOPIC)));
}

#[tokio::test]
async fn topic_note_stays_after_each_edit_of_a_redirected_message() {
    let world = World::with_topic().await;
    world.platform.delete_topic(FORUM, TOPIC);
    let shown = world.to_topic("Once …", new()).await.unwrap().platform_id;
    let edit = Delivery { shown_as: shown.clone(), ..new() };
    let receipt = world.to_topic("Once upon a time.", edit).await.unwrap();
    assert_eq!(receipt.platform_id, shown);
    assert_eq!(world.platform.sent().len(), 1);
    assert_eq!(world.last().text, format!("{DELETED}\nOnce upon a time."));
    world.telegram.retract(&topic(), &shown.unwrap()).await.unwrap();
    assert!(world.last().deleted);
}

#[tokio::test]
async fn topic_deleted_with_its_preview_makes_an_edit_return_gone() {
    let world = World::with_topic().await;
    let shown = world.to_topic("Once …", new()).await.unwrap().platform_id;
    world.platform.delete_topic(FORUM, TOPIC);
    let edit = Delivery { shown_as: shown, ..new() };
    assert_eq!(world.to_topic("Once upon a time.", edit).await, Err(SendError::Gone));
}

#[tokio::test]
async fn topic_that_is_lost_redirects_a_file_to_the_chat_with_a_note() {
    for (text, caption) in [("", DELETED.to_owned()), ("look", format!("{DELETED}\nlook"))] {
        let world = World::with_topic().await;
        world.platform.delete_topic(FORUM, TOPIC);
        let source = AttachmentSource::Workspace("a.txt".to_owned());
        let attachments = vec![Attachment::new(AttachmentKind::Document, source)];
        let reply = Content { attachments, ..Content::text(text) };
        let content = world.telegram.plan(&reply).remove(0);
        let file = LoadedFile { name: "a.txt".to_owned(), bytes: b"text".as_slice().into() };
        let file = Delivery { address: topic(), content, files: vec![file], ..new() };
        world.telegram.deliver(&file).await.unwrap();
        assert_eq!((world.last().text, world.last().thread), (caption, None));
    }
}

#[tokio::test]
async fn topic_note_and_repeat_mark_fit_above_the_longest_chunk() {
    let world = World::with_topic().await;
    world.platform.delete_topic(FORUM, TOPIC);
    let long = "🐦".repeat(4000);
    world.to_topic(&long, Delivery { repeat: true, ..new() }).await.unwrap();
    assert!(world.last().text.starts_with(REPEAT_MARK) && world.last().text.contains(DELETED));
}
