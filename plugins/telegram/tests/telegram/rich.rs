//! Rich messages: tables as Telegram shows them.

use std::time::Duration;

use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{ChatAddress, Choice, Content, Delivery, REPEAT_MARK, Receipt};
use avocet_testkit::telegram::{ApiError, InjectedFault, On, SentMessage};

use crate::{ANN, World, chat, delivery};

const FORUM: i64 = -1_000_000_000_080;

const TABLE: &str = "## Birds\n\n| Bird | Eggs |\n|--|--:|\n| **Goose** | 5 |";
const AS_TEXT: &str = "Birds\n\nBird  | Eggs\n------+-----\nGoose |    5";
const NATIVE: &str = "Birds\nBird | Eggs\nGoose | 5";

impl World {
    async fn rich(knows: bool) -> Self {
        let world = Self::with(|config| config.rich_tables = true).await;
        if knows {
            world.platform.learn_rich_messages();
        }
        world
    }

    fn table(&self) -> Delivery {
        let chunks = self.telegram.plan(&Content::text(TABLE));
        assert_eq!(chunks.len(), 1, "{chunks:?}");
        delivery(ANN, chunks.into_iter().next().unwrap())
    }

    async fn send_table(&self, sent: Delivery) -> Result<(Receipt, SentMessage), SendError> {
        self.clock.advance(Duration::from_secs(2));
        let receipt = self.telegram.deliver(&sent).await?;
        Ok((receipt, self.platform.sent().pop().unwrap()))
    }
}

#[tokio::test]
async fn table_leaves_as_a_native_one_and_an_edit_keeps_it() {
    let world = World::rich(true).await;
    let (receipt, sent) = world.send_table(world.table()).await.unwrap();
    assert_eq!((sent.text.as_str(), sent.rich.is_some()), (NATIVE, true));
    let shown_as = receipt.platform_id;
    for _ in 0..2 {
        let edit = Delivery { shown_as: shown_as.clone(), ..world.table() };
        let (_, edited) = world.send_table(edit).await.unwrap();
        assert_eq!((edited.id, edited.text.as_str()), (sent.id, NATIVE));
    }
    let refusals = world.platform.refusals();
    assert!(refusals.iter().all(|one| one.error.description.contains("not modified")));
    assert_eq!(world.platform.calls("sendMessage"), 0);
}

#[tokio::test]
async fn preview_message_is_edited_to_a_native_table() {
    let world = World::rich(true).await;
    let preview = delivery(ANN, Content::text("Birds …"));
    let (receipt, sent) = world.send_table(preview).await.unwrap();
    let edit = Delivery { shown_as: receipt.platform_id, ..world.table() };
    let (_, edited) = world.send_table(edit).await.unwrap();
    assert_eq!(world.platform.refusals(), []);
    assert_eq!((edited.id, edited.text.as_str(), edited.rich.is_some()), (sent.id, NATIVE, true));
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn older_server_refuses_one_rich_message_in_a_run_and_gets_text() {
    let world = World::rich(false).await;
    for count in 1..=3 {
        let (_, sent) = world.send_table(world.table()).await.unwrap();
        assert_eq!((sent.text.as_str(), sent.rich), (AS_TEXT, None));
        assert_eq!(world.platform.sent().len(), count, "nothing is sent twice");
    }
    assert_eq!(world.platform.calls("sendRichMessage"), 1);
    assert_eq!(world.platform.calls("sendMessage"), 3);
}

#[tokio::test]
async fn refusal_about_a_chat_or_message_leaves_later_tables_native() {
    let world = World::rich(true).await;
    for text in ["chat not found", "PEER_ID_INVALID", "not enough rights", "RICH_BLOCK_INVALID"] {
        let refusal = InjectedFault::Refuse(ApiError::bad_request(text));
        world.platform.inject(On::method("sendRichMessage"), 1, refusal);
        let (_, sent) = world.send_table(world.table()).await.unwrap();
        assert_eq!((sent.text.as_str(), sent.rich), (AS_TEXT, None), "{text}");
        let (_, sent) = world.send_table(world.table()).await.unwrap();
        assert_eq!(sent.text, NATIVE, "{text}");
    }
}

#[tokio::test]
async fn server_that_refuses_the_method_or_the_edit_is_asked_once() {
    for (method, text) in
        [("sendRichMessage", "BOT_METHOD_INVALID"), ("editMessageText", "message text is empty")]
    {
        let world = World::rich(true).await;
        let (receipt, _) = world.send_table(world.table()).await.unwrap();
        let refusal = InjectedFault::Refuse(ApiError::bad_request(text));
        world.platform.inject(On::method(method), 1, refusal);
        let is_edit = method == "editMessageText";
        let shown_as = receipt.platform_id.filter(|_| is_edit);
        let (_, sent) = world.send_table(Delivery { shown_as, ..world.table() }).await.unwrap();
        assert_eq!(sent.text, AS_TEXT, "{text}");
        let asked = world.platform.calls("sendRichMessage");
        let (_, sent) = world.send_table(world.table()).await.unwrap();
        assert_eq!((sent.text.as_str(), asked), (AS_TEXT, if is_edit { 1 } else { 2 }));
        assert_eq!(world.platform.calls("sendRichMessage"), asked, "{text}");
    }
}

#[tokio::test]
async fn rich_message_of_unknown_outcome_is_repeated_below_the_mark_only() {
    let world = World::rich(true).await;
    let broken = InjectedFault::ResetAfter;
    world.platform.inject(On::method("sendRichMessage"), 1, broken);
    let unknown = world.send_table(world.table()).await.unwrap_err();
    assert!(matches!(unknown, SendError::Unknown(_)), "{unknown:?}");
    let again = Delivery { repeat: true, ..world.table() };
    let (_, sent) = world.send_table(again).await.unwrap();
    assert_eq!(sent.text, format!("{REPEAT_MARK}\n{NATIVE}"));
    assert_eq!((world.platform.sent().len(), world.platform.calls("sendMessage")), (2, 0));
}

#[tokio::test]
async fn flood_control_on_a_rich_message_is_no_refusal() {
    let world = World::rich(true).await;
    world.platform.inject(On::method("sendRichMessage"), 1, InjectedFault::flood(3));
    let held = world.send_table(world.table()).await.unwrap_err();
    assert_eq!(held, SendError::RetryAfter(Duration::from_secs(3)));
    world.clock.advance(Duration::from_secs(3));
    let (_, sent) = world.send_table(world.table()).await.unwrap();
    assert_eq!(sent.text, NATIVE);
    let lost = ApiError::bad_request("message thread not found");
    world.platform.inject(On::method("sendRichMessage"), 1, InjectedFault::Refuse(lost));
    world.send_table(world.table()).await.unwrap_err();
    let (_, sent) = world.send_table(world.table()).await.unwrap();
    assert_eq!(sent.text, NATIVE, "a lost topic is no refusal either");
}

#[tokio::test]
async fn rich_message_goes_to_its_topic_with_buttons_and_reply() {
    let world = World::rich(true).await;
    world.platform.topic_text(ANN, FORUM, 5, "hi");
    let mut sent = world.table();
    sent.address = ChatAddress { topic: Some("5".parse().unwrap()), ..chat(FORUM) };
    sent.content.choices = vec![Choice::new("Yes", "yes")];
    sent.content.reply_to = Some("m1".parse().unwrap());
    let (_, sent) = world.send_table(sent).await.unwrap();
    assert_eq!((sent.thread, sent.reply_to, sent.buttons().len()), (Some(5), Some(1), 1));
    assert_eq!((sent.text.as_str(), world.platform.refusals()), (NATIVE, vec![]));
}

#[tokio::test]
async fn table_is_text_by_default() {
    let world = World::new().await;
    world.platform.learn_rich_messages();
    let (_, sent) = world.send_table(world.table()).await.unwrap();
    assert_eq!((sent.text.as_str(), world.platform.calls("sendRichMessage")), (AS_TEXT, 0));
}
