//! Received messages, their authors and places, and messages that are ignored.

use std::time::Duration;

use avocet_protocol::bus::PublishError;
use avocet_protocol::channel::{Channel, FetchError};
use avocet_protocol::chat::{AttachmentKind, AttachmentSource, ChatKind};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::StoreError;
use avocet_testkit::START;
use avocet_testkit::discord::{ApiError, InjectedFault, On, Route, UserMessage};
use serde_json::json;

use crate::{ANN, BOB, World, chat};

#[tokio::test]
async fn edit_that_adds_a_forgotten_mention_is_received_once_as_a_message() {
    let world = World::with(|config| config.earlier_messages = 20).await;
    let _running = world.connected().await;
    let mention = world.mention(world.channel, "hello");
    let mention = world.platform.describe_message(mention)["content"].as_str().unwrap().to_owned();
    let mention = mention.strip_suffix("hello").unwrap();
    world.platform.say(world.channel, BOB, "it leaves at nine");
    let message = world.platform.say(world.channel, ANN, "when does it leave?");
    world.bus.ignored(2).await;
    world.platform.edit(message, "When does it leave?");
    world.bus.ignored(3).await;
    for text in ["when does it leave?", "when does it leave today?"] {
        world.platform.edit(message, &format!("{mention}{text}"));
    }
    let received = world.bus.taken(3).await.split_off(1);
    assert_eq!(received[0].content.text, "when does it leave?");
    assert_eq!(received[0].content.earlier[0].text, "it leaves at nine");
    assert_eq!((received[0].corrects.clone(), received[0].content.earlier.len()), (None, 1));
    assert_eq!(received[1].corrects.as_ref(), Some(&received[0].key), "the next one corrects it");
}

#[tokio::test]
async fn direct_message_is_published_with_sender_text_and_time() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.say(world.dm, ANN, "hello");
    let received = &world.bus.taken(1).await[0];
    assert_eq!((&received.address, received.chat), (&chat(world.dm), ChatKind::Private));
    assert_eq!((received.sender.id.as_str(), received.sender.is_bot), ("77", false));
    assert_eq!(received.content.text, "hello");
    let seconds = |moment: Timestamp| moment.0 / 1000;
    assert_eq!(received.written_at.map(seconds), Some(seconds(START)));
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn server_message_is_published_only_if_addressed_to_the_bot() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.say(world.channel, ANN, "good morning all");
    world.platform.say(world.channel, ANN, "/unknown");
    world.platform.post(UserMessage::new(world.channel, ANN, "what's up?").mention());
    world.platform.say(world.channel, ANN, "/stop");
    let reply = crate::delivery(world.channel, avocet_protocol::chat::Content::text("pong"));
    world.discord.deliver(&reply).await.unwrap();
    let pong = world.platform.sent()[0].id;
    world.platform.post(UserMessage::new(world.channel, ANN, "and?").reply_to(pong));
    assert_eq!(world.texts(3).await, ["what's up?", "/stop", "and?"]);
    let received = world.bus.taken(3).await;
    assert!(received.iter().all(|one| one.chat == ChatKind::Group));
    let quote = received[2].content.quote.clone().unwrap();
    assert_eq!((quote.from, quote.text.as_str()), (None, "pong"));
    assert_eq!(world.bus.ignored(2).await, ["not mentioned"; 2]);
}

#[tokio::test]
async fn thread_is_a_topic_of_its_channel() {
    let world = World::new().await;
    let early = world.platform.thread(world.channel, "early");
    let _running = world.connected().await;
    let late = world.platform.thread(world.channel, "late");
    for thread in [early, late] {
        world.platform.post(UserMessage::new(thread, ANN, "here").mention());
    }
    let received = world.bus.taken(2).await;
    for (place, thread) in [early, late].into_iter().enumerate() {
        let expected = format!("discord:main:{}:{thread}", world.channel);
        assert_eq!(received[place].address.to_string(), expected);
        assert_eq!(received[place].chat, ChatKind::Group);
    }
    let answer = avocet_protocol::chat::Delivery::new(
        avocet_protocol::ids::DeliveryId(1),
        received[0].address.clone(),
        avocet_protocol::chat::Content::text("hello"),
    );
    world.discord.deliver(&answer).await.unwrap();
    assert_eq!(world.platform.sent()[0].channel, early, "the answer goes into the thread");
}

#[tokio::test]
async fn edit_is_published_as_a_correction() {
    let world = World::new().await;
    let _running = world.connected().await;
    let message = world.platform.say(world.dm, ANN, "helo");
    world.platform.advance(Duration::from_secs(2));
    world.platform.edit(message, "hello");
    let received = world.bus.taken(2).await;
    assert_eq!(received[1].content.text, "hello");
    assert_eq!(received[1].corrects.as_ref(), Some(&received[0].key));
    assert_ne!(received[1].key, received[0].key);
    assert_eq!(received[1].written_at, Some(START.after(Duration::from_secs(2))));
}

#[tokio::test]
async fn deleted_message_is_withdrawn_and_no_longer_told() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.mention(world.channel, "are you there?");
    world.bus.taken(1).await;
    let secret = world.platform.say(world.channel, 99, "the door is 1234");
    let asked = world.platform.say(world.dm, ANN, "hello");
    let first = world.bus.taken(2).await.remove(1);
    let delete = |channel: u64, ids: &[u64]| json!({ "channel_id": channel.to_string(), "ids": ids.iter().map(u64::to_string).collect::<Vec<_>>() });
    let one = json!({ "channel_id": world.dm.to_string(), "id": asked.to_string() });
    world.platform.push("MESSAGE_DELETE", &one);
    world.platform.push("MESSAGE_DELETE_BULK", &delete(world.channel, &[secret]));
    let withdrawn = world.bus.withdrawn(2).await;
    assert_eq!(withdrawn[0], (first.address, first.key));
    world.platform.post(UserMessage::new(world.channel, ANN, "what was it?").mention());
    let next = world.bus.taken(3).await.remove(2);
    assert!(!format!("{:?}", next.content.earlier).contains("1234"), "{:?}", next.content);
}

#[tokio::test]
async fn link_preview_update_is_not_an_edit() {
    let world = World::new().await;
    let _running = world.connected().await;
    let message = world.platform.say(world.dm, ANN, "https://example.org");
    world.platform.push("MESSAGE_UPDATE", &world.platform.describe_message(message));
    world.platform.say(world.dm, ANN, "and now?");
    assert_eq!(world.texts(2).await, ["https://example.org", "and now?"]);
}

#[tokio::test]
async fn sender_that_is_a_bot_is_marked_as_bot() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.post(UserMessage::new(world.channel, 99, "beep").mention().by_bot());
    assert!(world.bus.taken(1).await[0].sender.is_bot);
}

#[tokio::test]
async fn fetch_resolves_a_file_reference_to_a_fresh_url() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.post(UserMessage::new(world.dm, ANN, "").file("bird.png", "image/png", b"PNG"));
    world.platform.post(UserMessage::new(world.dm, ANN, "").file(
        "notes.txt",
        "text/plain",
        b"notes",
    ));
    let received = world.bus.taken(2).await;
    let (image, notes) = (&received[0].content.attachments[0], &received[1].content.attachments[0]);
    assert_eq!((image.kind, image.bytes), (AttachmentKind::Image, Some(3)));
    assert_eq!((notes.kind, notes.name.as_deref()), (AttachmentKind::Document, Some("notes.txt")));
    let AttachmentSource::Platform(reference) = &notes.source else { panic!("{notes:?}") };

    // A URL expires earlier.
    world.platform.advance(Duration::from_hours(48));
    assert_eq!(world.discord.fetch(reference, 5).await, Ok(b"notes".to_vec()));
    assert_eq!(world.discord.fetch(reference, 4).await, Err(FetchError::TooLarge { limit: 4 }));
    for nonsense in ["", "1/2", "1/2/3/4", "a/b/c", "0/0/0"] {
        let fetched = world.discord.fetch(nonsense, 5).await;
        assert!(matches!(fetched, Err(FetchError::Gone(_))), "{nonsense}: {fetched:?}");
    }
    world.platform.delete(received[1].key.as_str()[1..].parse().unwrap());
    let fetched = world.discord.fetch(reference, 5).await;
    assert!(matches!(fetched, Err(FetchError::Gone(_))), "{fetched:?}");
}

#[tokio::test]
async fn fetch_refuses_a_file_larger_than_declared() {
    let world = World::new().await;
    let _running = world.connected().await;
    let bomb =
        UserMessage::new(world.dm, ANN, "").file_of_size("a.txt", "text/plain", 3, &[0; 5000]);
    world.platform.post(bomb);
    let received = &world.bus.taken(1).await[0];
    let AttachmentSource::Platform(reference) = &received.content.attachments[0].source else {
        panic!("{received:?}")
    };
    let fetched = world.discord.fetch(reference, 100).await;
    assert_eq!(fetched, Err(FetchError::TooLarge { limit: 100 }));
}

#[tokio::test]
async fn fetch_refuses_a_file_url_on_this_host_or_a_private_network() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.post(UserMessage::new(world.dm, ANN, "").file(
        "notes.txt",
        "text/plain",
        b"notes",
    ));
    let received = &world.bus.taken(1).await[0];
    let AttachmentSource::Platform(reference) = &received.content.attachments[0].source else {
        panic!("{received:?}")
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    for (host, expected) in [
        ("127.0.0.1", "127.0.0.1 is not public"),
        ("localhost", "a local name"),
        ("[::ffff:127.0.0.1]", "is not public"),
    ] {
        world.platform.files_at(&format!("http://{host}:{port}"));
        let fetched = world.discord.fetch(reference, 100).await;
        let Err(FetchError::Gone(why)) = &fetched else { panic!("{host}: {fetched:?}") };
        assert!(why.contains(expected), "{host}: {why}");
    }
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn event_not_for_the_agent_is_counted_and_skipped() {
    let world = World::new().await;
    let refusal = PublishError::NotAllowed { channel: "discord".into(), sender: "88".into() };
    world.bus.refuse([refusal]);
    let _running = world.connected().await;
    let stranger = world.platform.say(world.platform.dm(BOB), BOB, "let me in");
    world.platform.push("SOMETHING_NEW", &json!({ "tea": "leaves" }));
    world.platform.push("MESSAGE_CREATE", &json!({ "tea": "leaves" }));
    let odd = json!({ "id": "5000", "channel_id": world.dm.to_string(), "content": 7 });
    world.platform.push("MESSAGE_CREATE", &odd);
    world.platform.push("INTERACTION_CREATE", &json!({ "type": 3 }));
    world.platform.post(UserMessage::new(world.dm, ANN, "joined").with("type", 7.into()));
    let reasons = world.bus.ignored(6).await;
    let expected = [
        "not allowed",
        "of another kind",
        "unreadable",
        "unreadable",
        "unreadable",
        "of another kind",
    ];
    assert_eq!(reasons, expected);
    let places: Vec<String> = world.bus.moves().into_iter().map(|place| place.position).collect();
    assert!(places.contains(&stranger.to_string()) && places.contains(&"5000".to_owned()));
}

#[tokio::test]
async fn gateway_connection_survives_malformed_payloads() {
    let world = World::new().await;
    let _running = world.connected().await;
    for payload in ["", "{", "[]", "7", r#"{"op":99}"#, r#"{"op":0}"#, r#"{"op":0,"t":"X","s":-1}"#]
    {
        world.platform.push_raw(payload);
    }
    world.platform.say(world.dm, ANN, "still there?");
    assert_eq!(world.texts(1).await, ["still there?"]);
    assert_eq!(world.platform.connections(), 1);
}

#[tokio::test]
async fn channel_request_that_fails_is_retried() {
    let world = World::new().await;
    let thread = world.platform.thread(world.channel, "plans");
    let running = world.connected().await;
    world.platform.post(UserMessage::new(thread, ANN, "one").mention());
    world.bus.taken(1).await;
    running.abort();
    drop(running.await);

    // Only the history has the message now, without the type of its channel.
    world.platform.post(UserMessage::new(thread, ANN, "two").mention());
    let trouble = InjectedFault::Refuse(ApiError::internal());
    world.platform.inject(On::route(Route::Channel), 1, trouble);
    let world = world.restarted();
    let _running = world.run();
    world.connected_again(2).await;
    tokio::select! {
        biased;
        received = world.bus.taken(2) => {
            assert_eq!(received[1].address, received[0].address);
        }
        () = world.pass_short_waits() => {}
    }
}

#[tokio::test]
async fn full_log_delays_messages_and_loses_none() {
    let world = World::new().await;
    let _running = world.connected().await;
    let full = StoreError::Full { path: "avocet.db".to_owned() };
    world.bus.refuse(vec![PublishError::Log(full); 2]);
    for text in ["one", "two"] {
        world.platform.say(world.dm, ANN, text);
    }
    tokio::select! {
        biased;
        texts = world.texts(2) => assert_eq!(texts, ["one", "two"]),
        () = world.pass_short_waits() => {}
    }
}

#[tokio::test]
async fn unreadable_direct_message_is_declined_to_its_sender() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.say(world.dm, ANN, "");
    assert_eq!(world.bus.ignored(1).await, ["of an unsupported kind"]);
    let lines = world.bus.said();
    let [(line, _)] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(line.address, chat(world.dm));
    assert!(line.content.text.starts_with("I cannot read this kind of message"));
}

#[tokio::test]
async fn file_of_a_message_with_a_malformed_field_is_fetched_all_the_same() {
    let world = World::new().await;
    let _running = world.connected().await;
    let odd = UserMessage::new(world.dm, ANN, "look").file("a.txt", "text/plain", b"notes");
    world.platform.post(odd.with("flags", json!("new")));
    let received = world.bus.taken(1).await.remove(0);
    let AttachmentSource::Platform(reference) = &received.content.attachments[0].source else {
        panic!("{received:?}")
    };
    assert_eq!(world.discord.fetch(reference, 100).await.unwrap(), b"notes");
}

#[tokio::test]
async fn malformed_message_is_published_with_its_readable_fields() {
    let world = World::new().await;
    let running = world.connected().await;
    let odd = |text: &str| UserMessage::new(world.dm, ANN, text).with("flags", "new".into());
    let file = odd("with a file").file("a.txt", "text/plain", b"notes");
    let edited = world.platform.post(odd("helo"));
    world.platform.post(file);
    world
        .platform
        .post(UserMessage::new(world.channel, ANN, "hi").mention().with("flags", "new".into()));
    world
        .platform
        .post(UserMessage::new(world.channel, ANN, "to others").with("flags", "new".into()));
    world.platform.edit(edited, "hello");
    let received = world.bus.taken(4).await;
    let texts: Vec<&str> = received.iter().map(|one| one.content.text.as_str()).collect();
    assert_eq!(texts, ["helo", "with a file", "hi", "hello"]);
    assert_eq!((received[0].sender.id.as_str(), received[0].chat), ("77", ChatKind::Private));
    assert_eq!(received[1].content.attachments.len(), 1);
    assert_eq!(received[3].corrects.as_ref(), Some(&received[0].key));
    // This message has no readable content.
    world.platform.post(odd("").with("content", 7.into()));
    assert_eq!(world.bus.ignored(2).await, ["not mentioned", "of an unsupported kind"]);
    assert_eq!(world.bus.said().len(), 1);

    // Missed messages are read in the same way.
    running.abort();
    drop(running.await);
    let world = world.restarted();
    world.platform.post(UserMessage::new(world.dm, ANN, "missed").with("flags", "new".into()));
    let _running = world.connected().await;
    assert_eq!(world.texts(5).await[4], "missed");
}

#[tokio::test]
async fn empty_server_message_to_the_bot_is_declined() {
    let world = World::new().await;
    let _running = world.connected().await;
    let pong = crate::delivery(world.channel, avocet_protocol::chat::Content::text("pong"));
    world.discord.deliver(&pong).await.unwrap();
    let pong = world.platform.sent()[0].id;
    let empty = || UserMessage::new(world.channel, ANN, "");
    for said in [empty(), empty().mention(), empty().reply_to(pong)] {
        world.platform.post(said);
    }
    let unreadable = "of an unsupported kind";
    assert_eq!(world.bus.ignored(3).await, ["not mentioned", unreadable, unreadable]);
    let said = world.bus.said();
    assert_eq!(said.len(), 2);
    for (line, _) in &said {
        assert_eq!(line.address, chat(world.channel));
        assert!(line.content.reply_to.is_some(), "{line:?}");
    }
    assert!(said[0].0.content.text.contains("an empty one, or one whose content"));
}

#[tokio::test]
async fn gateway_event_with_odd_bytes_or_types_is_received() {
    let world = World::new().await;
    let _running = world.connected().await;
    let channel = world.dm;
    let event = |op: &str, sequence: &str, id: u64, more: &str| {
        format!(
            r#"{{"op":{op},"s":{sequence},"t":"MESSAGE_CREATE","d":{{"id":"{id}",
            "channel_id":"{channel}","author":{{"id":"{ANN}","username":"ann"}},{more}}}}}"#
        )
    };
    for (op, sequence, id, more) in [
        ("0", "null", 5001, r#""type":0,"content":"one \ud83d""#),
        ("\"0\"", "\"x\"", 5002, r#""type":0,"content":"x","content":"two""#),
        ("null", "1.5", 5003, r#""type":0,"content":"three","embeds":{},"flags":"new""#),
        ("0.0", "{}", 5004, "\"type\":0,\"content\":\"four\n\""),
        ("0", "null", 5005, r#""content":"five","position":NaN"#),
    ] {
        world.platform.push_raw(&event(op, sequence, id, more));
    }
    assert_eq!(world.texts(5).await, ["one \u{fffd}", "two", "three", "four", "five"]);
    assert_eq!(world.platform.connections(), 1);
}
