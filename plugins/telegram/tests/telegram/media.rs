//! Content besides text: kept by reference, downloaded on demand, and declined once if unreadable.

use avocet_protocol::bus::PublishError;
use avocet_protocol::channel::{Channel, FetchError};
use avocet_protocol::chat::{AttachmentKind, AttachmentSource, ChatAddress, Content, Delivery};
use avocet_testkit::telegram::{ApiError, InjectedFault, On, UserMessage};
use serde_json::json;

use crate::{ANN, TOKEN, World, chat, delivery};

const LIMIT: u64 = 20 * 1024 * 1024;

#[tokio::test]
async fn photo_is_received_by_reference_with_its_caption() {
    let world = World::new().await;
    let _running = world.run();
    let photo = UserMessage::thing(ANN, ANN, "photo", UserMessage::photo("beach"));
    world.platform.say(photo.with("caption", "look".into()));
    let heard = world.bus.taken(1).await.remove(0).content;
    let attachment = &heard.attachments[0];
    assert_eq!((heard.text.as_str(), attachment.kind), ("look", AttachmentKind::Image));
    assert_eq!(attachment.source, AttachmentSource::Platform("beach".to_owned()));
    assert_eq!(world.platform.calls("getFile"), 0, "it is fetched after it is confirmed");
}

#[tokio::test]
async fn fetch_returns_the_whole_file() {
    let world = World::new().await;
    let bytes: Vec<u8> = (0..100_000_u32).map(|number| number.to_le_bytes()[0]).collect();
    for size in [Some(100_000), None] {
        world.platform.add_file("f", size, &bytes);
        assert_eq!(world.telegram.fetch("f", LIMIT).await.as_ref(), Ok(&bytes));
    }
    world.platform.add_file("empty", Some(0), b"");
    assert_eq!(world.telegram.fetch("empty", LIMIT).await, Ok(Vec::new()));
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn fetch_stops_at_the_limit_even_if_telegram_reports_less() {
    let world = World::new().await;
    world.platform.add_file("honest", Some(1001), &[7; 1001]);
    world.platform.add_file("silent", None, &[7; 1001]);
    world.platform.add_file("liar", Some(10), &[7; 1001]);
    for file in ["honest", "silent", "liar"] {
        let fetched = world.telegram.fetch(file, 1000).await;
        assert_eq!(fetched, Err(FetchError::TooLarge { limit: 1000 }), "{file}");
    }
    assert_eq!(world.telegram.fetch("liar", 1001).await.map(|bytes| bytes.len()), Ok(1001));
    // The platform refuses files above its own limit.
    world.platform.add_file("big", Some(LIMIT + 1), b"");
    let fetched = world.telegram.fetch("big", 10 * LIMIT).await;
    assert_eq!(fetched, Err(FetchError::TooLarge { limit: LIMIT }));
}

#[tokio::test]
async fn f15_fetch_errors_name_the_cause_and_never_the_token() {
    let world = World::new().await;
    world.platform.add_file("f", Some(5), b"12345");
    let fetch = async |reference| world.telegram.fetch(reference, LIMIT).await.unwrap_err();
    let gone = "wrong file_id or the file is temporarily unavailable".to_owned();
    assert_eq!(fetch("unknown").await, FetchError::Gone(gone));
    let on = || On::method("getFile");
    let faults = [
        (InjectedFault::flood(3), "retry after 3s"),
        (InjectedFault::ResetBefore, "the connection broke"),
        (InjectedFault::CutAnswer, "the connection broke"),
        (InjectedFault::Refuse(ApiError::unauthorized()), "unauthorized"),
    ];
    for (fault, says) in faults {
        world.platform.inject(on(), 1, fault);
        let FetchError::Failed(why) = fetch("f").await else { panic!("{says}: final") };
        assert!(why.to_lowercase().contains(&says.to_lowercase()), "{why}");
    }
    world.platform.cut_downloads(true);
    let cut = fetch("f").await;
    assert!(matches!(cut, FetchError::Failed(_)), "{cut}");
    let closed =
        crate::telegram("http://127.0.0.1:1", &world.clock).fetch("f", LIMIT).await.unwrap_err();
    for error in [cut, closed] {
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(TOKEN) && !shown.contains("secret"), "{shown}");
    }
}

#[tokio::test]
async fn unreadable_message_is_declined_once_to_an_allowed_sender() {
    let world = World::new().await;
    let _running = world.run();
    let game = || json!({ "title": "g", "description": "d", "photo": [] });
    let (channel, sender) = ("telegram".to_owned(), "8".to_owned());
    world.bus.refuse([PublishError::NotAllowed { channel, sender }]);
    world.platform.say(UserMessage::thing(8, 8, "game", game()));
    let declined = world.platform.say(UserMessage::thing(ANN, ANN, "game", game()));
    let reasons = world.bus.ignored(2).await;
    assert_eq!(reasons, ["of an unsupported kind"; 2]);
    let said = world.bus.said();
    let [(line, key)] = &said[..] else { panic!("{said:?}") };
    assert_eq!(line.address, chat(ANN));
    assert!(line.content.text.starts_with("I cannot read this kind of message: a game."));
    assert_eq!(key.as_str(), format!("unreadable m{}", declined.id));
    world.platform.wait_for_confirmed().await;
}

#[tokio::test]
async fn unreadable_group_message_is_declined_if_addressed_to_the_bot() {
    const BIRDS: i64 = -1_001_000_000_001;
    let world = World::new().await;
    world.platform.topic_text(8, BIRDS, 9, "hi all");
    let topic = ChatAddress { topic: Some("9".parse().unwrap()), ..chat(BIRDS) };
    let hello = Delivery { address: topic.clone(), ..delivery(BIRDS, Content::text("hello")) };
    world.telegram.deliver(&hello).await.unwrap();
    let ours = world.platform.sent()[0].id;
    let _running = world.run();
    world.platform.wait_for_poll().await;
    let game = || {
        let game = json!({ "title": "g", "description": "d", "photo": [] });
        UserMessage::thing(ANN, BIRDS, "game", game).thread(9)
    };
    world.platform.say(game());
    let declined = world.platform.say(game().reply_to(ours));
    let reasons = world.bus.ignored(3).await;
    assert_eq!(reasons[1..], ["not mentioned", "of an unsupported kind"]);
    let said = world.bus.said();
    let [(line, _)] = &said[..] else { panic!("{said:?}") };
    assert_eq!(line.address, topic);
    assert!(line.content.text.contains("a game"));
    let replied = format!("m{}", declined.id).parse().unwrap();
    assert_eq!(line.content.reply_to, Some(replied), "others see who is meant");
}

#[tokio::test]
async fn unreadable_message_stays_unconfirmed_while_the_log_is_full() {
    let world = World::new().await;
    world.bus.set_open(false);
    let _running = world.run();
    let game = json!({ "title": "g", "description": "d", "photo": [] });
    let declined = world.platform.say(UserMessage::thing(ANN, ANN, "game", game));
    world.platform.wait_for_no_poll().await;
    assert_eq!(world.platform.unconfirmed(), [declined.update.unwrap()]);
    world.bus.set_open(true);
    world.bus.ignored(1).await;
    assert_eq!(world.bus.said().len(), 1);
}
