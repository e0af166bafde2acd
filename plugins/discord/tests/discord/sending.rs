//! Sent messages, and the outcome of failed sends.

use std::sync::Arc;
use std::time::Duration;

use avocet_channel_kit::GroupConfig;
use avocet_discord::{Discord, DiscordConfig, DiscordError};
use avocet_protocol::{
    Attachment, AttachmentKind, AttachmentSource, Channel, Choice, Clock, Content, Delivery,
    Health, LoadedFile, OnUnknown, PlatformId, Receipt, SendError, Timestamp,
};
use avocet_testkit::discord::{ApiError, InjectedFault, On, Route};
use avocet_testkit::{ManualClock, START};
use serde_json::json;

use crate::{ANN, BOB, TOKEN, World, chat, delivery, nth};

const MINUTE: Duration = Duration::from_mins(1);

impl World {
    /// Delivers a reply like the outbox: chunk by chunk.
    async fn say(&self, chat_id: u64, reply: Content) -> Vec<Result<(), SendError>> {
        let mut sent = Vec::new();
        for (number, chunk) in (1..).zip(self.discord.plan(&reply)) {
            let delivery = nth(number, chat_id, chunk);
            sent.push(self.discord.deliver(&delivery).await.map(|_| ()));
        }
        sent
    }

    fn sent_texts(&self) -> Vec<String> {
        self.platform.sent().into_iter().map(|message| message.text).collect()
    }

    /// Lets time pass, for the platform and for the bot.
    pub(crate) fn pass(&self, time: Duration) {
        self.platform.advance(time);
        self.clock.advance(time);
    }
}

#[tokio::test]
async fn deliver_renders_markdown_without_embeds_or_mentions() {
    let world = World::new().await;
    let reply = "# Title\n\n**bold** [here](https://example.org) @everyone <@77>";
    assert_eq!(world.say(world.channel, Content::text(reply)).await, [Ok(())]);
    let sent = &world.platform.sent()[0];
    assert!(sent.text.starts_with("**Title**"), "{}", sent.text);
    assert_eq!(sent.flags & 4, 4, "no embeds");
    assert_eq!(world.platform.mentioned(), []);
    let body = &world.platform.requests(Route::CreateMessage)[0].body;
    assert_eq!(body["allowed_mentions"]["parse"], json!([]));
    assert_eq!((&body["nonce"], &body["enforce_nonce"]), (&json!("o1"), &json!(true)));
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn deliver_refers_to_the_replied_message_without_a_mention() {
    let world = World::new().await;
    let said = world.platform.say(world.channel, ANN, "hello");
    let cases = [(format!("m{said}"), Some(said)), ("m404".into(), None), ("i5".into(), None)];
    for (number, (key, replied)) in (1..).zip(cases) {
        let reply_to = Some(key.parse().unwrap());
        let chunk = Content { reply_to, ..world.discord.plan(&Content::text("hi")).remove(0) };
        let delivery = nth(number, world.channel, chunk);
        world.discord.deliver(&delivery).await.unwrap();
        assert_eq!(world.platform.sent().last().unwrap().reply_to, replied, "{key}");
    }
    assert_eq!(world.platform.mentioned(), []);
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn deliver_omits_the_reply_reference_where_the_history_is_closed() {
    let world = World::new().await;
    let said = world.platform.say(world.channel, ANN, "hello");
    world.platform.close_history(world.channel);
    let reply_to: avocet_protocol::DedupeKey = format!("m{said}").parse().unwrap();
    for number in 1..=2 {
        let chunk = world.discord.plan(&Content::text(number.to_string())).remove(0);
        let chunk = Content { reply_to: Some(reply_to.clone()), ..chunk };
        let delivery = nth(number, world.channel, chunk);
        world.discord.deliver(&delivery).await.unwrap();
    }
    assert_eq!(world.sent_texts(), ["1", "2"]);
    let nonces: Vec<_> = world.platform.requests(Route::CreateMessage);
    let nonces: Vec<_> = nonces.iter().map(|call| call.body["nonce"].as_str().unwrap()).collect();
    assert_eq!(nonces, ["o1", "o1", "o2"], "and the second is not asked for");
    assert_eq!(world.platform.refusals().len(), 1);
}

#[tokio::test]
async fn f5_deliver_does_not_repeat_where_the_history_is_closed() {
    let world = World::new().await;
    world.platform.close_history(world.channel);
    world.platform.inject(On::route(Route::CreateMessage), 1, InjectedFault::ResetAfter);
    let hello = delivery(world.channel, Content::text("hello"));
    world.discord.deliver(&hello).await.unwrap_err();
    world.pass(10 * MINUTE);
    let again = Delivery { first_sent_at: Some(START), ..hello };
    let sent = world.discord.deliver(&again).await;
    assert!(matches!(sent, Err(SendError::Unknown(_))), "{sent:?}");
    assert_eq!(world.sent_texts(), ["hello"]);
}

#[tokio::test]
async fn f23_deliver_sends_a_long_reply_whole_and_in_order() {
    let world = World::new().await;
    let words: Vec<String> = (0..4000).map(|number| format!("🐦{number}")).collect();
    let sent = world.say(world.dm, Content::text(words.join(" "))).await;
    assert!(sent.len() > 5 && sent.iter().all(Result::is_ok), "{sent:?}");
    assert_eq!(world.sent_texts().join(" ").split_whitespace().collect::<Vec<_>>(), words);
    let combining = format!("e{}", "\u{301}".repeat(4096));
    assert!(world.say(world.dm, Content::text(combining)).await.iter().all(Result::is_ok));
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn config_sets_preview_interval_and_chunk_numbers() {
    let clock = Arc::new(ManualClock::default());
    let bot = |numbered, preview_seconds| {
        let token = Some(TOKEN.to_owned().into());
        let config = DiscordConfig { token, numbered, preview_seconds, ..DiscordConfig::default() };
        let (name, account) = ("discord".parse().unwrap(), "main".parse().unwrap());
        Discord::new(name, account, &config, clock.clone()).unwrap()
    };
    let intervals = [0, 1, 5].map(|seconds| bot(false, seconds).preview_interval());
    let [fastest, five] =
        [1200, 5000].map(|milliseconds| Some(Duration::from_millis(milliseconds)));
    assert_eq!(intervals, [None, fastest, five]);
    let long = Content::text("word ".repeat(500));
    let ends = |bot: Discord| -> Vec<String> {
        let last_line = |one: &Content| one.text.lines().last().unwrap().to_owned();
        bot.plan(&long).iter().map(last_line).collect()
    };
    assert_eq!(ends(bot(true, 1)), ["(1/2)", "(2/2)"]);
    assert!(ends(bot(false, 1)).iter().all(|line| line.ends_with("word")));
}

#[tokio::test]
async fn f5_deliver_repeated_after_a_lost_answer_makes_no_copy() {
    for fault in [InjectedFault::ResetAfter, InjectedFault::CutAnswer] {
        let world = World::new().await;
        let _running = world.connected().await;
        let read = world.platform.calls(Route::History);
        world.platform.inject(On::route(Route::CreateMessage), 1, fault);
        let hello = delivery(world.dm, Content::text("hello"));
        let sent = world.discord.deliver(&hello).await;
        assert!(matches!(sent, Err(SendError::Unknown(_))), "{sent:?}");
        assert_eq!(world.discord.on_unknown(), OnUnknown::RepeatSafe);
        world.pass(3 * MINUTE);
        let again = Delivery { first_sent_at: Some(START), ..hello };
        let sent = world.discord.deliver(&again).await.unwrap();
        assert_eq!(world.sent_texts(), ["hello"]);
        let id = world.platform.sent()[0].id.to_string();
        assert_eq!(sent.platform_id, Some(PlatformId::parse(&id).unwrap()));
        assert_eq!(world.platform.calls(Route::History), read);
    }
}

#[tokio::test]
async fn f5_deliver_reads_the_history_once_the_nonce_has_expired() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.inject(On::route(Route::CreateMessage), 1, InjectedFault::ResetAfter);
    let hello = delivery(world.dm, Content::text("**hello**"));
    world.discord.deliver(&hello).await.unwrap_err();
    // More than a page of messages from others, one with the same text.
    world.platform.say(world.dm, ANN, "**hello**");
    for number in 0..150 {
        world.platform.say(world.dm, ANN, &number.to_string());
    }
    world.pass(10 * MINUTE);
    let again = Delivery { first_sent_at: Some(START), ..hello };
    let sent = world.discord.deliver(&again).await.unwrap();
    assert_eq!(world.platform.created().len(), 1);
    let id = world.platform.created()[0].id.to_string();
    assert_eq!(sent.platform_id, Some(PlatformId::parse(&id).unwrap()));
}

#[tokio::test]
async fn f5_deliver_sends_late_a_message_that_never_arrived() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.inject(On::route(Route::CreateMessage), 1, InjectedFault::ResetBefore);
    let hello = delivery(world.dm, Content::text("hello"));
    world.discord.deliver(&hello).await.unwrap_err();
    for number in 0..150 {
        world.platform.say(world.dm, ANN, &number.to_string());
    }
    world.pass(10 * MINUTE);
    let again = Delivery { first_sent_at: Some(START), ..hello };
    world.discord.deliver(&again).await.unwrap();
    assert_eq!(world.sent_texts(), ["hello"]);
}

#[tokio::test]
async fn f5_deliver_before_connecting_looks_for_the_message_in_the_history() {
    let world = World::new().await;
    world.platform.inject(On::route(Route::CreateMessage), 1, InjectedFault::ResetAfter);
    let hello = delivery(world.dm, Content::text("hello"));
    world.discord.deliver(&hello).await.unwrap_err();
    world.pass(10 * MINUTE);
    let world = world.restarted();
    let again = Delivery { first_sent_at: Some(START), ..hello };
    world.discord.deliver(&again).await.unwrap();
    assert_eq!(world.platform.created().len(), 1);
}

#[tokio::test]
async fn f5_deliver_does_not_repeat_if_the_history_cannot_be_read() {
    let world = World::new().await;
    let refusal = InjectedFault::Refuse(ApiError::missing_access());
    world.platform.inject(On::route(Route::History), 1, refusal);
    world.pass(10 * MINUTE);
    let hello = delivery(world.dm, Content::text("hello"));
    let again = Delivery { first_sent_at: Some(START), ..hello };
    let sent = world.discord.deliver(&again).await;
    assert!(matches!(sent, Err(SendError::Unknown(_))), "{sent:?}");
    assert_eq!(world.platform.calls(Route::CreateMessage), 0);
}

#[tokio::test]
async fn max_file_bytes_follows_the_boost_of_the_server() {
    const MEGABYTE: u64 = 1024 * 1024;
    let world = World::new().await;
    let guild = world.platform.guild("Boosted");
    let old = world.platform.channel(guild, "old");
    let max = |chat_id| world.discord.max_file_bytes(&chat(chat_id)).unwrap() / MEGABYTE;
    assert_eq!(max(old), 10, "nothing is known of it yet");
    let _running = world.connected().await;
    let new = world.platform.channel(guild, "new");
    let thread = format!("discord:main:{old}:{}", world.platform.thread(old, "plans"));
    for (said, (tier, expected)) in (1..).zip([(1, 10), (2, 50), (3, 100), (0, 10)]) {
        world.platform.boost(guild, tier);
        // Events are handled in order.
        world.platform.say(world.dm, ANN, &format!("tier {tier}"));
        world.bus.taken(said).await;
        assert_eq!((max(old), max(new)), (expected, expected), "tier {tier}");
        let in_thread = world.discord.max_file_bytes(&thread.parse().unwrap());
        assert_eq!(in_thread, Some(expected * MEGABYTE));
        assert_eq!((max(world.channel), max(world.dm)), (10, 10), "another server, and none");
    }
}

#[tokio::test]
async fn f6_deliver_returns_retry_after_for_each_form_of_rate_limit() {
    let wait = Duration::from_millis(1700);
    for error in [ApiError::rate_limited(wait), ApiError::globally_limited(wait)] {
        let world = World::new().await;
        world.platform.inject(On::route(Route::CreateMessage), 1, InjectedFault::Refuse(error));
        let sent = world.say(world.dm, Content::text("hello")).await;
        assert_eq!(sent, [Err(SendError::RetryAfter(wait))]);
        assert!(world.sent_texts().is_empty());
    }
}

/// Makes every request that a chat can lead to, except answers to interactions.
async fn ask_for_everything(world: &World) {
    for chat_id in [world.dm, world.channel] {
        let hello = delivery(chat_id, Content::text("hello"));
        let edit = Delivery { shown_as: PlatformId::parse("1").ok(), ..hello.clone() };
        let late = Delivery { first_sent_at: Some(Timestamp(0)), ..hello.clone() };
        for delivery in [hello, edit, late] {
            let sent = world.discord.deliver(&delivery).await;
            let Err(SendError::RetryAfter(wait)) = sent else { panic!("{sent:?}") };
            assert_eq!(world.discord.pause_before(&delivery), wait, "the outbox need not try");
        }
        world.discord.typing(&chat(chat_id)).await;
        world.discord.fetch(&format!("{chat_id}/1/2"), 10).await.unwrap_err();
    }
    world.discord.deliver(&delivery(ANN, Content::text("hello"))).await.unwrap_err();
}

#[tokio::test]
async fn f6_global_rate_limit_holds_every_chat_and_every_request() {
    const ROUTES: [Route; 7] = [
        Route::CreateMessage,
        Route::EditMessage,
        Route::History,
        Route::Typing,
        Route::GetMessage,
        Route::OpenDm,
        Route::Respond,
    ];
    let wait = Duration::from_secs(20);
    for (error, answers) in [(ApiError::globally_limited(wait), 1), (ApiError::shut_out(wait), 0)] {
        let world = World::new().await;
        let _running = world.connected().await;
        let refusal = InjectedFault::Refuse(error);
        world.platform.inject(On::route(Route::CreateMessage), 1, refusal);
        let hello = delivery(world.dm, Content::text("hello"));
        let sent = world.discord.deliver(&hello).await;
        assert_eq!(sent, Err(SendError::RetryAfter(wait)));
        let calls = || ROUTES.map(|route| world.platform.calls(route));
        let before = calls();
        ask_for_everything(&world).await;
        world.pass(wait - Duration::from_millis(1));
        ask_for_everything(&world).await;
        assert_eq!(calls(), before, "nothing is asked for meanwhile");
        // A button press is answered, unless this address is shut out.
        world.platform.slash(ANN, world.dm, "stop", &json!([]));
        world.bus.taken(1).await;
        world.platform.say(world.dm, ANN, "and then");
        world.bus.taken(2).await;
        assert_eq!(world.platform.calls(Route::Respond), answers);

        world.pass(Duration::from_millis(1));
        assert_eq!(world.discord.pause_before(&hello), Duration::ZERO);
        world.discord.deliver(&hello).await.unwrap();
        let hellos = world.sent_texts().iter().filter(|text| *text == "hello").count();
        assert_eq!(hellos, 1);
    }
}

#[tokio::test]
async fn f5_deliver_after_the_clock_was_set_back_distrusts_an_old_nonce() {
    let world = World::new().await;
    world.platform.inject(On::route(Route::CreateMessage), 1, InjectedFault::ResetAfter);
    let hello = delivery(world.dm, Content::text("hello"));
    world.discord.deliver(&hello).await.unwrap_err();
    world.pass(10 * MINUTE);
    world.clock.set_back(20 * MINUTE);
    let again = Delivery { first_sent_at: Some(START), ..hello };
    world.discord.deliver(&again).await.unwrap();
    assert_eq!(world.sent_texts(), ["hello"], "the platform has forgotten the nonce");
}

#[tokio::test]
async fn f6_deliver_sends_no_request_that_would_exceed_the_rate_limit() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.limit_rates(true);
    let mut waits = Vec::new();
    for number in 1..=12 {
        let content = Content::text(number.to_string());
        let delivery = nth(number, world.dm, content);
        while let Err(error) = world.discord.deliver(&delivery).await {
            let SendError::RetryAfter(wait) = error else { panic!("{error}") };
            assert_eq!(world.discord.pause_before(&delivery), wait, "the outbox need not try");
            waits.push(wait);
            world.pass(wait);
        }
    }
    assert_eq!(waits.len(), 2, "{waits:?}");
    assert_eq!(world.sent_texts().len(), 12);
    assert_eq!(world.platform.refusals(), [], "none was too much");
}

#[tokio::test]
async fn deliver_to_an_unwritable_chat_is_refused_with_the_reason() {
    let world = World::new().await;
    let blocked = world.platform.dm(BOB);
    world.platform.block(BOB);
    world.platform.mute(world.channel);
    let cases = [
        (blocked.to_string(), "takes no direct messages"),
        (world.channel.to_string(), "Missing Permissions"),
        ("404".to_owned(), "Unknown Channel"),
        ("general".to_owned(), "is no channel of Discord"),
        ("0".to_owned(), "is no channel of Discord"),
    ];
    for (id, words) in cases {
        let address = format!("discord:main:{id}").parse().unwrap();
        let hello = Delivery { address, ..delivery(1, Content::text("hello")) };
        let sent = world.discord.deliver(&hello).await;
        let Err(SendError::Refused(error)) = sent else { panic!("{id}: {sent:?}") };
        assert!(error.contains(words), "{error}");
    }
}

#[tokio::test]
async fn deliver_reports_a_platform_error_as_temporary() {
    let world = World::new().await;
    world.platform.inject(On::any(), 1, InjectedFault::Refuse(ApiError::internal()));
    let sent = world.say(world.dm, Content::text("hello")).await;
    assert!(matches!(sent[..], [Err(SendError::Unknown(_))]), "{sent:?}");
    assert!(matches!(world.discord.health(), Health::Down(_)));
    assert_eq!(world.say(world.dm, Content::text("hello")).await, [Ok(())]);
    assert_eq!(world.discord.health(), Health::Up);

    world.platform.revoke();
    let sent = world.say(world.dm, Content::text("hello")).await;
    assert!(matches!(sent[..], [Err(SendError::Failed(_))]), "the operator can help: {sent:?}");
}

#[tokio::test]
async fn f15_deliver_errors_never_show_the_token() {
    let closed = crate::discord("http://127.0.0.1:1", &Arc::default());
    assert!(!format!("{closed:?}").contains("secret"));
    let sent = closed.deliver(&delivery(1, Content::text("hi"))).await;
    let error = format!("{sent:?} {}", sent.as_ref().unwrap_err());
    assert!(error.contains("no connection") && !error.contains("secret"), "{error}");
    assert!(matches!(sent, Err(SendError::Failed(_))), "nothing was sent");
}

#[tokio::test]
async fn deliver_edits_the_preview_into_the_message() {
    let world = World::new().await;
    let preview = delivery(world.dm, Content::text("I am th"));
    let Receipt { platform_id } = world.discord.deliver(&preview).await.unwrap();
    let choices = vec![Choice::new("Go on", "go on")];
    let whole = Content { choices, ..Content::text("I am **thinking** @everyone") };
    let whole = Delivery { shown_as: platform_id.clone(), ..delivery(world.dm, whole) };
    for _ in 0..2 {
        let receipt = world.discord.deliver(&whole).await.unwrap();
        assert_eq!(receipt.platform_id, platform_id, "an edit can be repeated");
    }
    let sent = world.platform.sent();
    assert_eq!(sent.len(), 1);
    assert!(sent[0].text.starts_with("I am **thinking**"), "{}", sent[0].text);
    assert_eq!((sent[0].buttons().len(), sent[0].flags & 4), (1, 4));
    assert_eq!((world.platform.mentioned(), world.platform.refusals()), (vec![], vec![]));
}

#[tokio::test]
async fn deliver_replaces_a_deleted_preview_with_a_new_message() {
    let world = World::new().await;
    let preview = delivery(world.dm, Content::text("I am th"));
    let shown_as = world.discord.deliver(&preview).await.unwrap().platform_id;
    world.platform.delete(world.platform.sent()[0].id);
    let whole = delivery(world.dm, Content::text("I am thinking"));
    let gone = Delivery { shown_as, ..whole.clone() };
    assert_eq!(world.discord.deliver(&gone).await, Err(SendError::Gone));
    // The platform may still remember the nonce of the deleted preview.
    world.discord.deliver(&whole).await.unwrap();
    assert_eq!(world.sent_texts()[1], "I am thinking");
}

#[tokio::test]
async fn f5_deliver_reuses_a_preview_of_unknown_outcome() {
    for late in [false, true] {
        let world = World::new().await;
        let first_sent_at = Some(world.clock.now());
        let preview = delivery(world.dm, Content::text("I am …"));
        world.discord.deliver(&preview).await.unwrap();
        if late {
            world.pass(10 * MINUTE);
        }
        let whole = delivery(world.dm, Content::text("I am thinking"));
        world.discord.deliver(&Delivery { first_sent_at, ..whole }).await.unwrap();
        assert_eq!(world.sent_texts(), ["I am thinking"], "{late}");
    }
}

#[tokio::test]
async fn f5_deliver_reuses_a_preview_with_other_text() {
    let whole = "Do **this and that**:\n```\nlet a = 1;\nlet b = 2;\n```";
    let previews = [
        "Do **this …",
        "Do **this and that**:\n```\nlet a = 1;\n```\n…",
        "Still working: run_tests (1 min)",
        "Let me look at it …",
    ];
    for preview in previews {
        let world = World::new().await;
        let earlier = nth(7, world.dm, Content::text("Well …"));
        world.discord.deliver(&earlier).await.unwrap();
        world.pass(MINUTE / 2);
        let first_sent_at = Some(world.clock.now());
        let shown = delivery(world.dm, Content::text(preview));
        world.discord.deliver(&shown).await.unwrap();
        world.pass(10 * MINUTE);
        let whole = delivery(world.dm, world.discord.plan(&Content::text(whole)).remove(0));
        world.discord.deliver(&Delivery { first_sent_at, ..whole }).await.unwrap();
        assert_eq!(world.platform.created().len(), 2, "{preview}");
        assert_eq!(world.sent_texts()[0], "Well …");
        assert!(world.sent_texts()[1].contains("let b"), "{preview}");
    }
}

#[tokio::test]
async fn deliver_to_a_user_id_opens_a_direct_channel() {
    let world = World::new().await;
    assert_eq!(world.say(ANN, Content::text("hello")).await, [Ok(())]);
    assert_eq!(world.platform.sent()[0].channel, world.dm);
}

#[tokio::test]
async fn typing_is_shown_while_the_bot_writes() {
    let world = World::new().await;
    world.discord.typing(&chat(world.channel)).await;
    world.discord.typing(&chat(404)).await;
    assert_eq!(world.platform.calls(Route::Typing), 2);
}

#[test]
fn config_that_is_unusable_is_an_error_without_panic() {
    let bot = |config: &DiscordConfig| {
        let (name, account) = ("discord".parse().unwrap(), "main".parse().unwrap());
        Discord::new(name, account, config, Arc::new(ManualClock::default())).unwrap_err()
    };
    assert_eq!(bot(&DiscordConfig::default()), DiscordError::NoToken);
    let with = |token: &str, api_url: &str| DiscordConfig {
        token: Some(token.to_owned().into()),
        api_url: api_url.to_owned(),
        ..Default::default()
    };
    for id in ["birds", "-7", "0"] {
        let groups = [(id.to_owned(), GroupConfig::default())].into();
        let config = DiscordConfig { groups, ..with(TOKEN, "https://discord.com") };
        assert_eq!(bot(&config), DiscordError::Group(id.to_owned()));
    }
    for api_url in ["nonsense", "mailto:ann@example.org", "ftp://example.org", ""] {
        assert_eq!(bot(&with(TOKEN, api_url)), DiscordError::Url, "{api_url}");
    }
    for token in ["a b", "a\nb", "tökén"] {
        assert_eq!(bot(&with(token, "https://discord.com")), DiscordError::Token, "{token}");
    }
    assert_eq!(bot(&with(" ", "https://discord.com")), DiscordError::NoToken);
}

#[tokio::test]
async fn deliver_attaches_files_to_the_last_message_once() {
    let world = World::new().await;
    let file = |path: &str| {
        let source = AttachmentSource::Workspace(path.to_owned());
        Attachment::new(AttachmentKind::Document, source)
    };
    let loaded =
        |name: &str, bytes: &[u8]| LoadedFile { name: name.to_owned(), bytes: bytes.into() };
    for text in ["**Here** they are.", ""] {
        let reply =
            Content { attachments: vec![file("out/a.csv"), file("b.txt")], ..Content::text(text) };
        let chunks = world.discord.plan(&reply);
        assert_eq!((chunks.len(), chunks[0].attachments.len()), (1, 2), "{text}");
        let files = vec![loaded("a.csv", b"1,2"), loaded("b.txt", b"hello")];
        let row = i64::try_from(text.len()).unwrap();
        let send = Delivery { files, ..nth(row, world.dm, chunks[0].clone()) };
        for _ in 0..2 {
            world.discord.deliver(&send).await.unwrap();
        }
    }
    let sent = world.platform.sent();
    assert_eq!(world.sent_texts(), ["**Here** they are.", ""]);
    for message in &sent {
        let files: Vec<_> = message.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(files, ["a.csv", "b.txt"]);
    }
    world.platform.limit_uploads(4);
    let large = delivery(world.dm, Content { attachments: vec![file("c")], ..Content::default() });
    let files = vec![loaded("c", b"12345")];
    let large = Delivery { files, ..nth(99, world.dm, large.content) };
    let refused = world.discord.deliver(&large).await.unwrap_err();
    assert!(matches!(&refused, SendError::Refused(why) if why.contains("too large")), "{refused}");
}
