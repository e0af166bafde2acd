//! Sent messages, and the outcome if a send fails.

use std::sync::Arc;
use std::time::Duration;

use avocet_channel_kit::GroupConfig;
use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{Choice, Content, Delivery, REPEAT_MARK};
use avocet_telegram::{Telegram, TelegramConfig, TelegramError};
use avocet_testkit::ManualClock;
use avocet_testkit::telegram::{ApiError, InjectedFault, On, UserMessage};

use crate::{ANN, World, delivery};

const SECOND: Duration = Duration::from_secs(1);

impl World {
    /// Delivers a reply chunk by chunk, as the outbox does.
    async fn say(&self, chat: i64, reply: Content) -> Vec<Result<(), SendError>> {
        let mut sent = Vec::new();
        for chunk in self.telegram.plan(&reply) {
            self.clock.advance(SECOND);
            sent.push(self.telegram.deliver(&delivery(chat, chunk)).await.map(|_| ()));
        }
        sent
    }

    fn texts(&self) -> Vec<String> {
        self.platform.sent().into_iter().map(|message| message.text).collect()
    }
}

#[tokio::test]
async fn deliver_renders_markdown_without_link_previews() {
    let world = World::new().await;
    let reply =
        "# Title\n\n**bold** and `code`: [here](https://example.org)\n\n```rust\nfn main() {}\n```";
    assert_eq!(world.say(ANN, Content::text(reply)).await, [Ok(())]);
    let sent = &world.platform.sent()[0];
    assert!(sent.preview_off);
    assert!(!sent.text.contains("**") && !sent.text.contains("```"), "{}", sent.text);
    let kinds: Vec<&str> =
        sent.entities.iter().map(|entity| entity["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["bold", "bold", "code", "text_link", "pre"]);
}

#[tokio::test]
async fn deliver_refers_to_the_replied_message_if_it_exists() {
    const BIRDS: i64 = -1_001_000_000_001;
    let world = World::new().await;
    let heard = world.platform.say(UserMessage::group(ANN, BIRDS, "hello"));
    let cases = [
        (format!("m{}", heard.id), Some(heard.id)),
        ("m404".to_owned(), None),
        ("c4000000001".to_owned(), None),
    ];
    for (key, replied) in cases {
        let reply_to = Some(key.parse().unwrap());
        world.clock.advance(Duration::from_secs(4));
        let chunk = Content { reply_to, ..world.telegram.plan(&Content::text("hi")).remove(0) };
        world.telegram.deliver(&delivery(BIRDS, chunk)).await.unwrap();
        let sent = world.platform.sent();
        assert_eq!(sent.last().unwrap().reply_to, replied, "{key}");
    }
}

#[tokio::test]
async fn f23_deliver_sends_a_long_reply_whole_and_in_order() {
    let world = World::new().await;
    let words: Vec<String> = (0..4000).map(|number| format!("🐦{number}")).collect();
    let sent = world.say(ANN, Content::text(words.join(" "))).await;
    assert!(sent.len() > 5 && sent.iter().all(Result::is_ok), "{sent:?}");
    assert_eq!(world.texts().join(" ").split_whitespace().collect::<Vec<_>>(), words);
}

#[tokio::test]
async fn f23_deliver_sends_refused_markup_as_plain_text() {
    let world = World::new().await;
    let refusal = ApiError::bad_request("can't parse entities: unsupported start tag");
    world.platform.inject(On::method("sendMessage"), 1, InjectedFault::Refuse(refusal));
    assert_eq!(world.say(ANN, Content::text("**bold**")).await, [Ok(())]);
    let sent = &world.platform.sent()[0];
    assert_eq!((sent.text.as_str(), sent.entities.len()), ("bold", 0));
}

#[tokio::test]
async fn f5_deliver_after_a_lost_answer_is_unknown_and_not_repeated() {
    for fault in [InjectedFault::ResetAfter, InjectedFault::CutAnswer] {
        let world = World::new().await;
        world.platform.inject(On::method("sendMessage"), 1, fault);
        let sent = world.say(ANN, Content::text("hello")).await;
        assert!(matches!(sent[..], [Err(SendError::Unknown(_))]), "{sent:?}");
        assert_eq!(world.texts(), ["hello"]);
        world.clock.advance(SECOND);
        let again = Delivery { repeat: true, ..delivery(ANN, Content::text("**hello**")) };
        world.telegram.deliver(&again).await.unwrap();
        assert_eq!(world.texts()[1], format!("{REPEAT_MARK}\nhello"));
        let entity = &world.platform.sent()[1].entities[0];
        assert_eq!(entity["offset"], REPEAT_MARK.len() + 1, "the style moves with the text");
    }
}

#[tokio::test]
async fn f5_deliver_treats_a_5xx_as_failed_only_if_the_bot_api_reports_it() {
    let cases = [
        (ApiError::new(500, "Internal Server Error"), true),
        (ApiError::new(500, "Internal Server Error: restart"), false),
        (ApiError::bad_gateway(), false),
        (ApiError::new(504, "Gateway Timeout"), false),
    ];
    for (error, is_certain) in cases {
        let world = World::new().await;
        let words = error.description.clone();
        world.platform.inject(On::method("sendMessage"), 1, InjectedFault::Refuse(error));
        let expected =
            if is_certain { SendError::Failed(words) } else { SendError::Unknown(words) };
        assert_eq!(world.say(ANN, Content::text("hello")).await, [Err(expected)]);
    }
    let unreachable = crate::telegram("http://127.0.0.1:1", &Arc::default());
    let sent = unreachable.deliver(&delivery(ANN, Content::text("hello"))).await;
    assert_eq!(sent, Err(SendError::Failed("no connection".to_owned())));
}

#[tokio::test]
async fn f6_deliver_returns_retry_after_on_flood_control() {
    let world = World::new().await;
    world.platform.inject(On::method("sendMessage"), 1, InjectedFault::flood(17));
    let sent = world.say(ANN, Content::text("hello")).await;
    assert_eq!(sent, [Err(SendError::RetryAfter(Duration::from_secs(17)))]);
    assert!(world.texts().is_empty());
}

#[tokio::test]
async fn deliver_to_an_unwritable_chat_is_refused_for_good() {
    let world = World::new().await;
    world.platform.block(ANN);
    for chat in [ANN, 404] {
        let sent = world.say(chat, Content::text("hello")).await;
        assert!(matches!(sent[..], [Err(SendError::Refused(_))]), "{sent:?}");
    }
    let nonsense = Delivery {
        address: "telegram:main:me".parse().unwrap(),
        ..delivery(ANN, Content::text("hello"))
    };
    let refused = world.telegram.deliver(&nonsense).await;
    assert!(matches!(refused, Err(SendError::Refused(_))), "{refused:?}");
}

#[tokio::test]
async fn choices_are_buttons_whose_press_is_received_as_text() {
    let world = World::new().await;
    let _running = world.run();
    let choices = vec![Choice::new("Retry", "/retry w3"), Choice::new("Skip", "/skip w3")];
    let question = Content { choices, ..Content::text("Again?") };
    assert_eq!(world.say(ANN, question).await, [Ok(())]);
    let sent = world.platform.sent().remove(0);
    world.platform.wait_for_poll().await;
    world.platform.press(ANN, &sent, "/skip w3");
    let heard = &world.bus.taken(1).await[0];
    assert_eq!((heard.content.text.as_str(), heard.sender.id.as_str()), ("/skip w3", "7"));
    let pressed = heard.content.pressed.as_ref().unwrap();
    assert_eq!(pressed.as_str(), sent.id.to_string(), "the message with the button");
    assert_eq!(heard.content.reply_to.as_ref(), Some(&heard.key), "the answer to the press");
    assert_eq!(world.platform.refusals(), []);
}

#[test]
fn config_sets_preview_interval_and_chunk_numbers() {
    let bot = |numbered, preview_seconds| {
        let token = Some(crate::TOKEN.to_owned().into());
        let config =
            TelegramConfig { token, numbered, preview_seconds, ..TelegramConfig::default() };
        let (name, account) = ("telegram".parse().unwrap(), "main".parse().unwrap());
        Telegram::new(name, account, &config, Arc::<ManualClock>::default()).unwrap()
    };
    let intervals = [0, 1, 5].map(|seconds| bot(false, seconds).capabilities().preview_interval);
    assert_eq!(intervals, [None, Some(SECOND), Some(5 * SECOND)]);
    let long = Content::text("word ".repeat(1000));
    let ends = |bot: Telegram| -> Vec<String> {
        let last_line = |one: &Content| one.text.lines().last().unwrap().to_owned();
        bot.plan(&long).iter().map(last_line).collect()
    };
    assert_eq!(ends(bot(true, 1)), ["(1/2)", "(2/2)"]);
    assert!(ends(bot(false, 1)).iter().all(|line| line.ends_with("word")));
}

#[test]
fn config_that_is_unusable_is_an_error_without_panic() {
    let bot = |config: &TelegramConfig| {
        let (name, account) = ("telegram".parse().unwrap(), "main".parse().unwrap());
        Telegram::new(name, account, config, Arc::new(ManualClock::default())).unwrap_err()
    };
    assert_eq!(bot(&TelegramConfig::default()), TelegramError::NoToken);
    for id in ["birds", "7", "-x"] {
        let groups = [(id.to_owned(), GroupConfig::default())].into();
        let token = Some("4711:AA".to_owned().into());
        let config = TelegramConfig { token, groups, ..TelegramConfig::default() };
        assert_eq!(bot(&config), TelegramError::Group(id.to_owned()));
    }
    for api_url in ["nonsense", "mailto:ann@example.org", "ftp://example.org", ""] {
        let token = Some("4711:AA".to_owned().into());
        let config = TelegramConfig { token, api_url: api_url.into(), ..Default::default() };
        assert_eq!(bot(&config), TelegramError::Url, "{api_url}");
    }
}

#[tokio::test]
async fn deliver_sends_once_if_the_answer_cannot_be_read() {
    let odd: [&[u8]; 3] =
        [br#""message_id":"\ud83d","x""#, br#""message_id":1e999,"x""#, br#""another_field""#];
    for bytes in odd {
        let world = World::new().await;
        world.platform.write_odd_bytes("\"message_id\"", bytes);
        let sent = world.say(ANN, Content::text("hello")).await;
        let shown = String::from_utf8_lossy(bytes);
        assert_eq!((sent, world.texts()), (vec![Ok(())], vec!["hello".to_owned()]), "{shown}");
    }
}
