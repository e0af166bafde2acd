//! Updates that come through a webhook, and changes between a webhook and polls.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::bus::PublishError;
use avocet_protocol::channel::{Channel, ChannelConfig, Health, Webhook, WebhookError};
use avocet_protocol::daemon::CheckState;
use avocet_protocol::store::StoreError;
use avocet_telegram::{Telegram, TelegramConfig};
use avocet_testkit::http::{HttpFake, HttpRequest, Later, Piece, whole};
use avocet_testkit::telegram::{ApiError, InjectedFault, On, UserMessage};
use serde_json::{Value, json};

use crate::{ANN, TOKEN, World, chat};

const GROUP: i64 = -50;
const URL: &str = "https://bus.example/telegram/main";

/// A world whose account has a webhook, and the server in front of it.
pub(crate) struct WebhookWorld {
    pub(crate) world: World,
    server: HttpFake,
}

impl WebhookWorld {
    pub(crate) async fn new() -> Self {
        Self::of(World::new().await).await
    }

    /// Changes the account of a world to a webhook.
    async fn of(world: World) -> Self {
        let config = TelegramConfig {
            token: Some(TOKEN.to_owned().into()),
            api_url: world.platform.base_url(),
            webhook: Some("https://bus.example".to_owned()),
            ..TelegramConfig::default()
        };
        let (name, account) = ("telegram".parse().unwrap(), "main".parse().unwrap());
        let telegram = Telegram::new(name, account, &config, world.clock.clone()).unwrap();
        let world = World { telegram: Arc::new(telegram), ..world };
        let endpoint = TelegramConfig::webhook(&world.telegram).unwrap();
        let server = HttpFake::start(move |request| answer(&endpoint, request)).await;
        world.platform.deliver_to(Some(server.address()));
        Self { world, server }
    }

    /// Changes the account to polls.
    pub(crate) fn polling(self) -> World {
        self.world.platform.deliver_to(None);
        let telegram = crate::telegram(&self.world.platform.base_url(), &self.world.clock);
        World { telegram: Arc::new(telegram), ..self.world }
    }

    fn fault(&self) -> Option<String> {
        match self.world.telegram.health() {
            Health::Up => None,
            Health::Down(fault) => Some(fault),
        }
    }

    /// Waits for the next check of the webhook, and lets its time pass.
    async fn pass_check(&self) {
        let calls = self.world.platform.calls("getWebhookInfo");
        let interval = Duration::from_secs(40)..Duration::from_secs(51);
        self.world.clock.sleeper_within(interval).await;
        self.world.clock.advance(Duration::from_secs(50));
        self.world.platform.wait_for_calls("getWebhookInfo", calls + 1).await;
    }
}

/// Answers as the daemon's HTTP server does.
#[expect(clippy::disallowed_methods, reason = "it stands for the daemon's server")]
fn answer(endpoint: &Arc<dyn Webhook>, request: HttpRequest) -> Vec<Piece> {
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/telegram/main"));
    let value = request.header(endpoint.header()).unwrap_or_default();
    if !endpoint.is_genuine(value.as_bytes()) {
        return whole(401, &[], "");
    }
    let (answer, pieces) = flume::bounded(1);
    let endpoint = endpoint.clone();
    tokio::spawn(async move {
        let status = match endpoint.receive(&request.body).await {
            Ok(()) => 200,
            Err(WebhookError::Malformed(_)) => 400,
            Err(WebhookError::Unavailable(_)) => 503,
        };
        drop(answer.try_send([whole(status, &[], ""), vec![Piece::Close]].concat()));
    });
    vec![Piece::Later(Later::new(pieces, ()))]
}

fn photo(user: i64, chat: i64, file: &str) -> UserMessage {
    UserMessage::thing(user, chat, "photo", UserMessage::photo(file))
        .with("media_group_id", "a".into())
}

pub(crate) async fn end<T>(world: &World, running: tokio::task::JoinHandle<T>) {
    running.abort();
    drop(running.await);
    world.platform.wait_for_no_poll().await;
}

#[tokio::test]
async fn webhook_is_set_for_updates_in_order() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let running = world.run();
    for number in 0..20 {
        world.platform.private_text(ANN, &number.to_string());
    }
    let taken = world.bus.taken(20).await;
    let texts: Vec<&str> = taken.iter().map(|one| one.content.text.as_str()).collect();
    assert_eq!(texts, (0..20).map(|number| number.to_string()).collect::<Vec<_>>());
    assert_eq!(taken[0].address, chat(ANN));
    world.platform.wait_for_confirmed().await;
    let mut args = world.platform.requests("setWebhook").remove(0).args;
    let secret = args["secret_token"].take();
    assert_eq!(secret.as_str().unwrap().len(), 64);
    let kinds = [
        "message",
        "edited_message",
        "callback_query",
        "message_reaction",
        "my_chat_member",
        "stopped_message_generation",
    ];
    let expected = json!({
        "url": URL, "secret_token": null, "max_connections": 1, "allowed_updates": kinds });
    assert_eq!(args, expected);
    assert_eq!((world.platform.calls("getUpdates"), world.platform.refusals()), (0, vec![]));
    assert_eq!(world.telegram.health(), Health::Up);
    world.stop.cancel();
    assert_eq!(running.await.unwrap(), Ok(()));
    let url = world.platform.webhook_info()["url"].clone();
    assert_eq!(url, URL, "Telegram keeps updates for the next start");
}

#[tokio::test]
async fn f2_webhook_update_is_confirmed_only_after_its_commit() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let full = StoreError::Full { path: "avocet.db".to_owned() };
    world.bus.refuse([PublishError::Log(full)]);
    let running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    world.bus.set_open(false);
    let heard = world.platform.private_text(ANN, "hello");
    assert_eq!(world.platform.unconfirmed(), [heard.update.unwrap()]);
    world.bus.set_open(true);
    world.platform.wait_for_confirmed().await;
    assert_eq!(world.bus.taken(1).await.len(), 1);
    let error = world.platform.webhook_info()["last_error_message"].clone();
    assert_eq!(error, "Wrong response from the webhook: 503", "the log was full");
    // After the end of the receive loop, updates wait at the platform.
    world.stop.cancel();
    assert_eq!(running.await.unwrap(), Ok(()));
    world.platform.private_text(ANN, "are you there?");
    let endpoint = TelegramConfig::webhook(&world.telegram).unwrap();
    let refused = endpoint.receive(br#"{"update_id": 1}"#).await.unwrap_err();
    assert!(matches!(refused, WebhookError::Unavailable(_)), "{refused}");
    assert_eq!((world.platform.unconfirmed().len(), world.bus.taken(1).await.len()), (1, 1));
}

#[tokio::test]
async fn webhook_update_that_is_repeated_or_odd_blocks_nothing() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let _running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    world.platform.push_whole(json!({ "message": { "text": "without an id" } }));
    world.platform.push("message", json!({ "tea": "leaves" })).unwrap();
    world.platform.private_text(ANN, "hello");
    world.bus.taken(1).await;
    world.platform.wait_for_confirmed().await;
    assert_eq!(world.bus.ignored(2).await, ["without an id", "of another kind"]);
    let endpoint = TelegramConfig::webhook(&world.telegram).unwrap();
    let message = json!({
        "message_id": 1, "date": 1, "text": "hello",
        "from": { "id": ANN, "is_bot": false, "first_name": "Ann" },
        "chat": { "id": ANN, "type": "private", "first_name": "Ann" } });
    for id in [5, 5, 6] {
        let update = json!({ "update_id": id, "message": message });
        endpoint.receive(update.to_string().as_bytes()).await.unwrap();
    }
    assert_eq!(world.bus.taken(1).await.len(), 1);
    for body in ["", "{", "hello", "\u{0}"] {
        let refused = endpoint.receive(body.as_bytes()).await.unwrap_err();
        assert!(matches!(refused, WebhookError::Malformed(_)), "{body}: {refused}");
    }
    for body in ["[]", "7", "{}", "null"] {
        endpoint.receive(body.as_bytes()).await.unwrap();
    }
}

#[tokio::test]
async fn webhook_button_press_is_answered_after_its_commit() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let _running = world.run();
    let press = json!({
        "id": "q1", "chat_instance": "x", "data": "yes",
        "from": { "id": ANN, "is_bot": false, "first_name": "Ann" },
        "message": { "message_id": 2, "date": 1, "text": "?",
            "chat": { "id": ANN, "type": "private", "first_name": "Ann" } } });
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    world.platform.push("callback_query", press).unwrap();
    assert_eq!(world.bus.taken(1).await[0].content.text, "yes");
    world.platform.wait_for_calls("answerCallbackQuery", 1).await;
}

#[tokio::test]
async fn set_webhook_is_retried_and_its_error_is_in_the_health() {
    let world = WebhookWorld::new().await;
    let refusal = ApiError::bad_request("bad webhook: Failed to resolve host");
    world.world.platform.inject(On::method("setWebhook"), 2, InjectedFault::Refuse(refusal));
    let _running = world.world.run();
    for calls in 1..=2 {
        world.world.platform.wait_for_calls("setWebhook", calls).await;
        while !world.fault().is_some_and(|fault| fault.contains("Failed to resolve host")) {
            tokio::task::yield_now().await;
        }
        world.world.clock.sleeper_within(Duration::ZERO..Duration::from_secs(10)).await;
        world.world.clock.advance(Duration::from_secs(10));
    }
    world.world.platform.private_text(ANN, "hello");
    world.world.bus.taken(1).await;
    while world.fault().is_some() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn webhook_that_telegram_cannot_reach_is_in_the_health_and_in_the_doctor() {
    let world = WebhookWorld::new().await;
    let _running = world.world.run();
    let platform = &world.world.platform;
    platform.private_text(ANN, "one");
    world.world.bus.taken(1).await;
    platform.wait_for_confirmed().await;
    let server = world.server.address();
    platform.deliver_to(Some("127.0.0.1:1".parse().unwrap()));
    platform.private_text(ANN, "two");
    while platform.webhook_info()["last_error_message"] != "Connection refused" {
        tokio::task::yield_now().await;
    }
    // The first check finds that an update arrived since the start.
    world.pass_check().await;
    while world.fault().is_none() {
        world.pass_check().await;
    }
    let fault = world.fault().unwrap();
    let says = "Telegram cannot deliver updates to bus.example: Connection refused (1 wait)";
    assert!(fault.ends_with(says), "{fault}");
    let checks = world.world.telegram.probe().await;
    let bad = checks.iter().find(|check| check.state == CheckState::Bad).unwrap();
    assert!(bad.says.contains("bus.example: Connection refused; 1 updates wait"), "{bad:?}");
    platform.deliver_to(Some(server));
    world.world.bus.taken(2).await;
    platform.wait_for_confirmed().await;
    while world.fault().is_some() {
        tokio::task::yield_now().await;
    }
    // An old error is no fault.
    for _ in 0..2 {
        world.pass_check().await;
    }
    assert_eq!(world.fault(), None);
    let checks = world.world.telegram.probe().await;
    assert!(checks.iter().all(|check| check.state == CheckState::Good), "{checks:?}");
}

#[tokio::test]
async fn webhook_that_another_program_changed_is_set_again() {
    let world = WebhookWorld::new().await;
    let _running = world.world.run();
    let platform = &world.world.platform;
    platform.wait_for_calls("getWebhookInfo", 1).await;
    platform.set_webhook();
    let checks = world.world.telegram.probe().await;
    let fair = checks.iter().find(|check| check.state == CheckState::Fair).unwrap();
    assert!(fair.says.contains("another one, at hooks.example.org"), "{fair:?}");
    world.pass_check().await;
    while !world.fault().is_some_and(|fault| fault.contains("hooks.example.org")) {
        tokio::task::yield_now().await;
    }
    world.pass_check().await;
    assert_eq!(platform.webhook_info()["url"], URL);
    platform.private_text(ANN, "hello");
    world.world.bus.taken(1).await;
}

#[tokio::test]
async fn album_through_a_webhook_is_taken_part_by_part_even_after_a_restart() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let running = world.run();
    world.platform.say(photo(ANN, GROUP, "0").with("media_group_id", "other".into()));
    assert_eq!(world.bus.ignored(1).await, ["not mentioned"]);
    let caption = "@avocet_bot the beach";
    let entities = json!([{ "type": "mention", "offset": 0, "length": 11 }]);
    let first = photo(ANN, GROUP, "1").with("caption", caption.into());
    world.platform.say(first.with("caption_entities", entities));
    world.platform.say(photo(ANN, GROUP, "2"));
    assert_eq!(world.bus.taken(2).await.len(), 2);
    world.platform.wait_for_confirmed().await;
    end(world, running).await;
    let _running = world.run();
    world.platform.say(photo(ANN, GROUP, "3"));
    let taken = world.bus.taken(3).await;
    assert!(taken.iter().all(|one| one.content.attachments.len() == 1), "{taken:?}");
    world.platform.say(photo(ANN, GROUP, "4").with("media_group_id", "later".into()));
    assert_eq!(world.bus.ignored(2).await, ["not mentioned"; 2]);
}

/// The scope of the cursor that records the way in which updates come.
fn mode(world: &World) -> Option<String> {
    let moves = world.bus.moves();
    moves.into_iter().rev().find(|one| one.scope == "mode").map(|one| one.position)
}

#[tokio::test]
async fn change_from_polls_to_a_webhook_loses_and_doubles_nothing() {
    let world = World::new().await;
    world.platform.album(ANN, ANN, "a", &["1", "2", "3"], "the beach");
    world.platform.private_text(ANN, "hello");
    world.bus.set_open(false);
    let running = world.run();
    // The second poll looks for messages that were forwarded with the text.
    world.platform.wait_for_calls("getUpdates", 2).await;
    // The daemon dies after the commit, before the next poll has confirmed it.
    world.platform.inject(On::method("getUpdates"), 1, InjectedFault::Hang);
    world.bus.set_open(true);
    world.platform.wait_for_calls("getUpdates", 3).await;
    end(&world, running).await;
    world.platform.private_text(ANN, "good night");
    assert_eq!((world.bus.taken(2).await.len(), world.platform.unconfirmed().len()), (2, 5));
    let WebhookWorld { world, .. } = &WebhookWorld::of(world).await;
    let _running = world.run();
    let taken = world.bus.taken(3).await;
    world.platform.wait_for_confirmed().await;
    let texts: Vec<&str> = taken.iter().map(|one| one.content.text.as_str()).collect();
    assert_eq!(texts, ["the beach", "hello", "good night"]);
    assert_eq!((taken[0].content.attachments.len(), world.bus.taken(3).await.len()), (3, 3));
    assert_eq!(mode(world).as_deref(), Some("webhook"));
}

#[tokio::test]
async fn change_from_a_webhook_to_polls_loses_and_doubles_nothing() {
    let webhook = WebhookWorld::new().await;
    let running = webhook.world.run();
    webhook.world.platform.wait_for_calls("getWebhookInfo", 1).await;
    webhook.world.platform.deliver_to(None);
    for file in ["1", "2", "3"] {
        webhook.world.platform.say(photo(ANN, ANN, file));
    }
    // The first part is committed, and the daemon dies before its response arrives.
    let first = webhook.world.platform.pending_updates()[0].to_string();
    let endpoint = TelegramConfig::webhook(&webhook.world.telegram).unwrap();
    endpoint.receive(first.as_bytes()).await.unwrap();
    assert_eq!(webhook.world.bus.taken(1).await.len(), 1);
    end(&webhook.world, running).await;
    let world = webhook.polling();
    let _running = world.run();
    let taken = world.bus.taken(3).await;
    world.platform.wait_for_confirmed().await;
    let count: usize = taken.iter().map(|one| one.content.attachments.len()).sum();
    assert_eq!((count, world.bus.taken(3).await.len()), (3, 3));
    assert_eq!(world.platform.calls("deleteWebhook"), 1);
    let args = world.platform.requests("deleteWebhook").remove(0).args;
    assert_eq!(args["drop_pending_updates"], Value::Null);
    // The next poll has confirmed the updates of the webhook.
    world.platform.wait_for_poll().await;
    world.platform.private_text(ANN, "hello");
    world.bus.taken(4).await;
    assert_eq!(mode(&world).as_deref(), Some("polling"));
}

#[tokio::test]
async fn polls_delete_a_webhook_at_the_start_only() {
    let world = World::new().await;
    world.platform.set_webhook();
    world.platform.inject(
        On::method("deleteWebhook"),
        1,
        InjectedFault::Refuse(ApiError::bad_gateway()),
    );
    let _running = world.run();
    world.platform.wait_for_calls("deleteWebhook", 1).await;
    world.clock.sleeper_within(Duration::ZERO..Duration::from_secs(10)).await;
    world.clock.advance(Duration::from_secs(10));
    world.platform.wait_for_calls("deleteWebhook", 2).await;
    world.platform.private_text(ANN, "hello");
    world.bus.taken(1).await;
    world.platform.wait_for_poll().await;
    world.platform.set_webhook();
    world.platform.end_poll();
    let is_down = |health| matches!(health, Health::Down(why) if why.contains("webhook is active"));
    while !is_down(world.telegram.health()) {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.platform.calls("deleteWebhook"), 2);
    let checks = world.telegram.probe().await;
    let bad = checks.iter().find(|check| check.state == CheckState::Bad).unwrap();
    assert!(bad.says.contains("a webhook at hooks.example.org"), "{bad:?}");
}

#[tokio::test]
async fn webhook_update_that_is_no_json_is_skipped_when_it_comes_again() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let _running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    world.platform.write_odd_bytes("HALF", br"\ud83d");
    world.platform.write_odd_bytes("BAD", br#"","x":1e999,"text":""#);
    for text in ["one", "HALF", "BAD", "four", "five"] {
        world.platform.private_text(ANN, text);
    }
    let taken = world.bus.taken(4).await;
    let texts: Vec<&str> = taken.iter().map(|one| one.content.text.as_str()).collect();
    assert_eq!(texts, ["one", "\u{fffd}", "four", "five"]);
    world.platform.wait_for_confirmed().await;
    assert_eq!(world.bus.ignored(1).await, ["unreadable"]);
}
