//! Edits, the typing indicator, and deletions.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{ChatAddress, Choice, Content, Delivery, Receipt};
use avocet_protocol::ids::PlatformId;
use avocet_telegram::{Telegram, TelegramConfig};
use avocet_testkit::ManualClock;
use avocet_testkit::telegram::{ApiError, InjectedFault, On};
use serde_json::json;

use crate::{ANN, World, chat, delivery};

impl World {
    async fn deliver(
        &self,
        text: &str,
        shown_as: Option<&PlatformId>,
    ) -> Result<PlatformId, SendError> {
        let content = self.telegram.plan(&Content::text(text)).remove(0);
        let delivery = Delivery { shown_as: shown_as.cloned(), ..delivery(ANN, content) };
        let Receipt { platform_id } = self.telegram.deliver(&delivery).await?;
        Ok(platform_id.unwrap())
    }

    /// Sends the message of a preview.
    async fn shown(&self) -> PlatformId {
        self.deliver("Once upon …", None).await.unwrap()
    }

    fn one_message(&self) -> (String, Vec<String>) {
        let sent = self.platform.sent();
        assert_eq!(sent.len(), 1, "{sent:?}");
        assert!(sent[0].preview_off);
        (sent[0].text.clone(), sent[0].edits.clone())
    }
}

#[tokio::test]
async fn edit_replaces_a_shown_message_with_its_format_and_buttons() {
    let world = World::new().await;
    let shown = world.shown().await;
    let mut content = world.telegram.plan(&Content::text("**Once** upon a time")).remove(0);
    content.choices = vec![Choice::new("More", "/more")];
    let edit = Delivery { shown_as: Some(shown.clone()), repeat: true, ..delivery(ANN, content) };
    let receipt = world.telegram.deliver(&edit).await.unwrap();
    assert_eq!(receipt.platform_id, Some(shown));
    let text = "Once upon a time".to_owned();
    assert_eq!(world.one_message(), (text, vec!["Once upon …".to_owned()]), "and without a mark");
    let sent = &world.platform.sent()[0];
    assert_eq!((&sent.entities[0]["type"], sent.buttons().len()), (&json!("bold"), 1));
}

#[tokio::test]
async fn edit_can_be_repeated_after_a_lost_answer() {
    for fault in [InjectedFault::ResetAfter, InjectedFault::CutAnswer] {
        let world = World::new().await;
        let shown = world.shown().await;
        world.platform.inject(On::method("editMessageText"), 1, fault);
        let unknown = world.deliver("Once upon a time", Some(&shown)).await;
        assert!(matches!(unknown, Err(SendError::Unknown(_))), "{unknown:?}");
        assert_eq!(world.deliver("Once upon a time", Some(&shown)).await, Ok(shown));
        assert_eq!(world.one_message().0, "Once upon a time");
        assert_eq!(world.platform.refusals().len(), 1, "it was not modified");
    }
}

#[tokio::test]
async fn edit_of_a_deleted_or_another_users_message_returns_gone() {
    let world = World::new().await;
    let shown = world.shown().await;
    assert_eq!(world.telegram.retract(&chat(ANN), &shown).await, Ok(()));
    assert!(world.platform.sent()[0].deleted);
    let heard = world.platform.private_text(ANN, "mine").id.to_string().parse().unwrap();
    for message in [&shown, &heard, &"nonsense".parse().unwrap()] {
        assert_eq!(world.deliver("Once", Some(message)).await, Err(SendError::Gone), "{message}");
    }
    assert_eq!(world.telegram.retract(&chat(ANN), &shown).await, Ok(()), "deleted already");
    let unknown = world.telegram.retract(&chat(ANN), &"nonsense".parse().unwrap()).await;
    assert_eq!(unknown, Err(SendError::Gone));
}

#[tokio::test]
async fn f23_edit_with_refused_markup_is_sent_as_plain_text() {
    let world = World::new().await;
    let shown = world.shown().await;
    let refusal = ApiError::bad_request("can't parse entities: unsupported start tag");
    world.platform.inject(On::method("editMessageText"), 1, InjectedFault::Refuse(refusal));
    world.deliver("**bold**", Some(&shown)).await.unwrap();
    let sent = &world.platform.sent()[0];
    assert_eq!((sent.text.as_str(), sent.entities.len()), ("bold", 0));
}

#[tokio::test]
async fn f6_edit_returns_retry_after_on_flood_control() {
    let world = World::new().await;
    let shown = world.shown().await;
    world.platform.inject(On::method("editMessageText"), 1, InjectedFault::flood(17));
    let refused = world.deliver("Once upon a time", Some(&shown)).await;
    assert_eq!(refused, Err(SendError::RetryAfter(Duration::from_secs(17))));
}

#[tokio::test]
async fn typing_is_shown_in_the_topic_and_ignores_a_refusal() {
    let world = World::new().await;
    world.telegram.typing(&chat(ANN)).await;
    let forum = -1_000_000_000_030;
    world.platform.topic_text(ANN, forum, 5, "hi");
    world.telegram.typing(&ChatAddress { topic: Some("5".parse().unwrap()), ..chat(forum) }).await;
    world.telegram.typing(&chat(404)).await;
    let typed = world.platform.requests("sendChatAction");
    let seen: Vec<_> = typed
        .iter()
        .map(|call| {
            (call.args["chat_id"].to_string(), call.args.get("message_thread_id").is_some())
        })
        .collect();
    let expected = [ANN, forum, 404].map(|id| id.to_string());
    assert_eq!(seen.iter().map(|(id, _)| id.trim_matches('"')).collect::<Vec<_>>(), expected);
    assert_eq!(seen.iter().map(|(_, topic)| *topic).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!(typed[0].args["action"], "typing");
}

#[test]
fn preview_interval_follows_the_configuration() {
    for (preview_seconds, interval) in [(0, None), (1, Some(1)), (5, Some(5))] {
        let token = Some("4711:AA".to_owned().into());
        let config = TelegramConfig { token, preview_seconds, ..TelegramConfig::default() };
        let (name, account) = ("telegram".parse().unwrap(), "main".parse().unwrap());
        let clock = Arc::new(ManualClock::default());
        let telegram = Telegram::new(name, account, &config, clock).unwrap();
        assert_eq!(telegram.capabilities().preview_interval, interval.map(Duration::from_secs));
    }
    assert_eq!(TelegramConfig::default().preview_seconds, 1);
}
