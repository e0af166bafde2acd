//! Sent messages, and the outcome of failed sends.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::channel::{Channel, Health, SendError};
use avocet_protocol::chat::{
    Attachment, AttachmentKind, AttachmentSource, Content, Delivery, LoadedFile,
};
use avocet_testkit::discord::{ApiError, InjectedFault, On, Route};
use serde_json::json;

use crate::{ANN, BOB, World, chat, delivery, nth};

impl World {
    /// Delivers a reply like the outbox: chunk by chunk.
    pub(crate) async fn say(&self, chat_id: u64, reply: Content) -> Vec<Result<(), SendError>> {
        let mut sent = Vec::new();
        for (number, chunk) in (1..).zip(self.discord.plan(&reply)) {
            let delivery = nth(number, chat_id, chunk);
            sent.push(self.discord.deliver(&delivery).await.map(|_| ()));
        }
        sent
    }

    pub(crate) fn sent_texts(&self) -> Vec<String> {
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
    assert!(sent.text.starts_with("# Title\n"), "{}", sent.text);
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
async fn ping_notifies_only_the_asker_and_only_of_a_late_answer() {
    for (ping, minutes, notified) in [(true, 3, 1), (true, 1, 0), (false, 3, 0)] {
        let world = World::with(|config| config.ping = ping).await;
        let said = world.platform.say(world.channel, ANN, "how long?");
        world.pass(Duration::from_mins(minutes));
        let reply_to = Some(format!("m{said}").parse().unwrap());
        let text = Content::text("Long, <@77> and @everyone.");
        let chunk = Content { reply_to, ..world.discord.plan(&text).remove(0) };
        assert_eq!(world.discord.notifies(&chunk), notified == 1, "{ping} {minutes}");
        world.discord.deliver(&nth(1, world.channel, chunk)).await.unwrap();
        assert_eq!(world.platform.mentioned().len(), notified, "{ping} {minutes}");
        let allowed = &world.platform.requests(Route::CreateMessage)[0].body["allowed_mentions"];
        assert_eq!(allowed["parse"], json!([]));
    }
}

#[tokio::test]
async fn ping_mentions_the_asker_of_an_answer_without_a_message() {
    for (ping, line, users) in [(true, "<@77>\n", json!(["77"])), (false, "", json!([]))] {
        let world = World::with(|config| config.ping = ping).await;
        let notifies = Some(ANN.to_string().parse().unwrap());
        let text = "Tea time, <@88> and @everyone. ".repeat(150);
        let reply = Content { notifies, ..Content::text(text) };
        assert_eq!(world.discord.notifies(&reply), ping);
        for (number, mut chunk) in (1..).zip(world.discord.plan(&reply)) {
            chunk.notifies = reply.notifies.clone().filter(|_| number == 1);
            world.discord.deliver(&nth(number, world.channel, chunk)).await.unwrap();
        }
        let sent = world.platform.requests(Route::CreateMessage);
        assert!(sent.len() > 1 && sent[0].body["content"].as_str().unwrap().starts_with(line));
        let allowed = |number: usize| sent[number].body["allowed_mentions"].clone();
        assert_eq!((&allowed(0)["users"], &allowed(0)["parse"]), (&users, &json!([])));
        assert_eq!(allowed(1)["users"], json!([]));
        assert_eq!(world.platform.mentioned().len(), usize::from(ping));
        assert_eq!(world.platform.refusals(), []);
    }
}

#[tokio::test]
async fn marks_of_channels_and_times_reach_the_platform_as_they_are() {
    let world = World::new().await;
    let text = "see <#12> at <t:1700000000:R> <:tea:17>, not <@77> or <@&3>";
    assert_eq!(world.say(world.channel, Content::text(text)).await, [Ok(())]);
    let sent = &world.platform.requests(Route::CreateMessage)[0].body["content"];
    assert_eq!(*sent, json!(r"see <#12> at <t:1700000000:R> <:tea:17>, not \<@77> or \<@&3>"));
}

#[tokio::test]
async fn deliver_omits_the_reply_reference_where_the_history_is_closed() {
    let world = World::new().await;
    let said = world.platform.say(world.channel, ANN, "hello");
    world.platform.close_history(world.channel);
    let reply_to: avocet_protocol::ids::DedupeKey = format!("m{said}").parse().unwrap();
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
async fn deliver_to_an_unwritable_chat_is_refused_with_the_reason() {
    let world = World::new().await;
    let blocked = world.platform.dm(BOB);
    world.platform.block(BOB);
    world.platform.mute(world.channel);
    let cases = [
        (blocked.to_string(), "accepts no direct messages"),
        (world.channel.to_string(), "Missing Permissions"),
        ("404".to_owned(), "Unknown Channel"),
        ("general".to_owned(), "is not a channel of Discord"),
        ("0".to_owned(), "is not a channel of Discord"),
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

#[tokio::test]
async fn chat_is_closed_from_a_refusal_of_the_bot_until_a_message_arrives() {
    let cases = [
        (ApiError::missing_access(), true),
        (ApiError::new(403, 50_013, "Missing Permissions"), true),
        (ApiError::new(403, 50_007, "Cannot send messages to this user"), true),
        (ApiError::new(400, 50_035, "Invalid Form Body"), false),
        (ApiError::internal(), false),
    ];
    for (error, is_closed) in cases {
        let world = World::new().await;
        let refuse = InjectedFault::Refuse(error.clone());
        world.platform.inject(On::route(Route::CreateMessage), 1, refuse);
        let send = |row| nth(row, world.channel, Content::text("hello"));
        world.discord.deliver(&send(1)).await.unwrap_err();
        let closed = || world.discord.is_closed(&chat(world.channel));
        assert_eq!((closed(), world.discord.is_closed(&chat(world.dm))), (is_closed, false));
        world.discord.deliver(&send(2)).await.unwrap();
        assert!(!closed(), "{error:?}");
    }
}
