//! Drafts of growing answers.

use std::time::Duration;

use avocet_protocol::channel::Channel;
use avocet_protocol::chat::{ChatAddress, Content, DraftError};
use avocet_protocol::ids::TurnId;
use avocet_testkit::telegram::{ApiError, InjectedFault, On};
use serde_json::json;

use crate::{ANN, World, chat, delivery};

const GROUP: i64 = -100;

impl World {
    /// Shows a draft of turn 17.
    async fn draft(&self, id: i64, text: &str) -> Result<(), DraftError> {
        let content = self.telegram.plan(&Content::text(text)).remove(0);
        self.telegram.show_draft(&chat(id), TurnId(17), &content).await
    }
}

#[tokio::test]
async fn draft_grows_in_a_private_chat_until_the_answer_comes() {
    let world = World::new().await;
    world.platform.learn_drafts();
    for text in ["**Once** upon", "**Once** upon a time"] {
        assert_eq!(world.draft(ANN, text).await, Ok(()));
    }
    assert_eq!(world.platform.draft(ANN).as_deref(), Some("Once upon a time"));
    let request = world.platform.requests("sendMessageDraft").remove(1).args;
    assert_eq!(
        (&request["draft_id"], &request["entities"][0]["type"]),
        (&json!(17), &json!("bold"))
    );
    world.telegram.deliver(&delivery(ANN, Content::text("The end"))).await.unwrap();
    assert_eq!(world.platform.draft(ANN), None);
    assert_eq!((world.platform.sent().len(), world.platform.refusals()), (1, vec![]));
}

#[tokio::test]
async fn button_below_a_draft_stops_the_answer_and_keeps_the_draft() {
    let world = World::new().await;
    world.platform.learn_drafts();
    let _running = world.run();
    world.platform.wait_for_poll().await;
    assert_eq!(world.draft(ANN, "Once").await, Ok(()));
    world.platform.stop_draft(ANN).expect("the bot has asked for these updates");
    let stop = world.bus.taken(1).await.remove(0);
    assert_eq!((stop.content.text.as_str(), stop.sender.id.as_str()), ("/stop", "7"));
    assert_eq!((stop.address, stop.from_platform), (chat(ANN), true));
    assert_eq!(world.platform.draft(ANN).as_deref(), Some("Once"), "until the answer comes");
    world.platform.wait_for_confirmed().await;
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn older_server_is_asked_for_a_draft_once() {
    let world = World::new().await;
    for _ in 0..3 {
        assert_eq!(world.draft(ANN, "Once").await, Err(DraftError::Unsupported));
    }
    world.platform.learn_drafts();
    assert_eq!(world.draft(ANN, "Once").await, Err(DraftError::Unsupported), "in this run");
    assert_eq!(world.platform.calls("sendMessageDraft"), 1);
}

#[tokio::test]
async fn draft_of_a_topic_in_a_private_chat_goes_to_the_topic() {
    let world = World::new().await;
    world.platform.learn_drafts();
    world.platform.topic_text(ANN, ANN, 5, "hi");
    let topic = ChatAddress { topic: Some("5".parse().unwrap()), ..chat(ANN) };
    let content = Content::text("Once");
    assert_eq!(world.telegram.show_draft(&topic, TurnId(17), &content).await, Ok(()));
    let request = world.platform.requests("sendMessageDraft").remove(0).args;
    assert_eq!(request["message_thread_id"], json!(5));
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn group_gets_no_draft() {
    let world = World::new().await;
    world.platform.learn_drafts();
    world.platform.open_chat(GROUP);
    assert_eq!(world.draft(GROUP, "Once").await, Err(DraftError::Unsupported));
    assert_eq!(
        (world.draft(ANN, "Once").await, world.platform.calls("sendMessageDraft")),
        (Ok(()), 1)
    );
}

#[tokio::test]
async fn draft_waits_or_fails_without_giving_drafts_up() {
    let world = World::new().await;
    world.platform.learn_drafts();
    let later = Err(DraftError::Later(Duration::from_secs(3)));
    world.platform.inject(On::method("sendMessageDraft"), 1, InjectedFault::flood(3));
    assert_eq!(world.draft(ANN, "Once").await, later);
    for fault in [InjectedFault::Refuse(ApiError::bad_gateway()), InjectedFault::ResetBefore] {
        world.platform.inject(On::method("sendMessageDraft"), 1, fault);
        let failed = world.draft(ANN, "Once").await;
        assert!(matches!(failed, Err(DraftError::Failed(_))), "{failed:?}");
    }
    assert_eq!(world.draft(ANN, "Once").await, Ok(()));
}

#[tokio::test]
async fn draft_that_is_switched_off_is_not_sent() {
    let world = World::with(|config| config.drafts = false).await;
    world.platform.learn_drafts();
    assert!(!world.telegram.shows_drafts(&chat(ANN)));
    assert_eq!(world.draft(ANN, "Once").await, Err(DraftError::Unsupported));
    assert_eq!(world.platform.calls("sendMessageDraft"), 0);
}

#[tokio::test]
async fn draft_replaces_the_typing_indicator_until_the_answer_comes() {
    let world = World::new().await;
    world.platform.learn_drafts();
    world.telegram.typing(&chat(ANN)).await;
    assert_eq!(world.draft(ANN, "Once").await, Ok(()));
    world.telegram.typing(&chat(ANN)).await;
    assert_eq!(world.platform.calls("sendChatAction"), 1);
    world.telegram.deliver(&delivery(ANN, Content::text("The end"))).await.unwrap();
    world.telegram.typing(&chat(ANN)).await;
    assert_eq!(world.platform.calls("sendChatAction"), 2);
}

#[tokio::test]
async fn refusal_about_a_chat_is_no_reason_to_give_drafts_up() {
    let world = World::new().await;
    world.platform.learn_drafts();
    let refuse = |text| {
        let refusal = InjectedFault::Refuse(ApiError::bad_request(text));
        world.platform.inject(On::method("sendMessageDraft"), 1, refusal);
    };
    for text in ["chat not found", "PEER_ID_INVALID", "not enough rights"] {
        refuse(text);
        assert_eq!(world.draft(ANN, "Once").await, Err(DraftError::Unsupported), "{text}");
        assert!(world.telegram.shows_drafts(&chat(ANN)), "{text}");
        assert_eq!(world.draft(ANN, "Once").await, Ok(()), "{text}");
        world.clock.advance(Duration::from_secs(2));
    }
    refuse("BOT_METHOD_INVALID");
    assert_eq!(world.draft(ANN, "Once").await, Err(DraftError::Unsupported));
    assert!(!world.telegram.shows_drafts(&chat(ANN)), "the server refuses it in all chats");
}

#[tokio::test]
async fn draft_of_a_lost_topic_is_no_reason_to_give_drafts_up() {
    let world = World::new().await;
    world.platform.learn_drafts();
    let lost = ApiError::bad_request("message thread not found");
    world.platform.inject(On::method("sendMessageDraft"), 1, InjectedFault::Refuse(lost));
    assert_eq!(world.draft(ANN, "Once").await, Err(DraftError::Unsupported));
    assert!(world.telegram.shows_drafts(&chat(ANN)));
    assert_eq!(world.draft(ANN, "Once").await, Ok(()));
}
