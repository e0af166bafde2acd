//! Received updates, and the time of their confirmation.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::bus::PublishError;
use avocet_protocol::channel::{Channel, Health};
use avocet_protocol::chat::Cursor;
use avocet_protocol::store::{NoCorrection, StoreError};
use avocet_testkit::telegram::{ApiError, Break, InjectedFault, On, UserMessage};
use serde_json::json;

use crate::{ANN, World, chat};

#[tokio::test]
async fn f2_update_is_confirmed_only_after_its_commit() {
    let world = World::new().await;
    world.bus.set_open(false);
    let running = world.run();
    let heard = world.platform.private_text(ANN, "hello");
    world.platform.wait_for_no_poll().await;
    assert_eq!(world.platform.unconfirmed(), [heard.update.unwrap()]);
    world.bus.set_open(true);
    let taken = world.bus.taken(1).await;
    assert_eq!((&taken[0].address, taken[0].content.text.as_str()), (&chat(ANN), "hello"));
    world.platform.wait_for_confirmed().await;
    world.stop.cancel();
    assert_eq!(running.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn f2_update_not_committed_before_a_stop_is_received_again() {
    let world = World::new().await;
    world.bus.set_open(false);
    let running = world.run();
    world.platform.private_text(ANN, "hello");
    world.platform.wait_for_no_poll().await;
    running.abort();
    drop(running.await);
    world.bus.set_open(true);
    let _running = world.run();
    assert_eq!(world.bus.taken(1).await.len(), 1);
    world.platform.wait_for_confirmed().await;
}

#[tokio::test]
async fn anonymous_admin_and_channel_write_under_the_id_of_their_chat() {
    let world = World::new().await;
    let _running = world.run();
    let from = json!({ "id": 1_087_968_824, "is_bot": true, "first_name": "Group" });
    for (number, (id, title)) in (1..).zip([(-50_i64, "Family"), (-1_000_000_000_077, "News")]) {
        let kind = if id == -50 { "group" } else { "channel" };
        let said = UserMessage::group(ANN, -50, "@avocet_bot hello").with("from", from.clone());
        let chat = json!({ "id": id, "type": kind, "title": title });
        world.platform.say(said.with("sender_chat", chat));
        let received = world.bus.taken(number).await.pop().unwrap();
        assert_eq!(received.sender.id.as_str(), id.to_string());
        assert_eq!((received.sender.name.as_deref(), received.sender.is_bot), (Some(title), false));
        assert!(received.sender.id.is_chat());
    }
}

#[tokio::test]
async fn group_to_which_the_bot_is_added_is_greeted_once() {
    let world = World::new().await;
    let _running = world.run();
    world.platform.open_chat(-50);
    world.platform.kick(ANN, -50);
    world.platform.take_back(ANN, -50);
    world.platform.private_text(ANN, "hello");
    world.bus.taken(1).await;
    let said = world.bus.said();
    let [(greeting, _)] = &said[..] else { panic!("{said:?}") };
    assert_eq!(greeting.address, chat(-50));
    for part in ["Mention me as @", "/id shows", "/setprivacy"] {
        assert!(greeting.content.text.contains(part), "{}", greeting.content.text);
    }
    assert_eq!(world.bus.ignored(2).await.len(), 2, "both changes are no messages");
}

#[tokio::test]
async fn f3_poll_that_hangs_or_breaks_is_retried() {
    for how in [Break::Hang, Break::Cut, Break::Reset] {
        let world = World::new().await;
        let _running = world.run();
        world.platform.wait_for_poll().await;
        assert!(world.platform.break_poll(how.clone()), "{how:?}");
        world.platform.private_text(ANN, "are you there?");
        // The poll's 50 s and 15 s more; after an error the wait is shorter.
        world.clock.sleeper(Duration::ZERO).await;
        while world.platform.calls("getUpdates") < 2 {
            world.clock.advance(Duration::from_secs(1));
            tokio::task::yield_now().await;
        }
        assert_eq!(world.bus.taken(1).await[0].content.text, "are you there?", "{how:?}");
        assert_eq!(world.telegram.health(), Health::Up);
    }
}

#[tokio::test]
async fn f4_poll_conflict_with_another_bot_is_survived_and_shown_in_health() {
    let world = World::new().await;
    world.platform.inject(On::method("getUpdates"), 1, InjectedFault::Refuse(ApiError::conflict()));
    let _running = world.run();
    let shows = |health| matches!(health, Health::Down(why) if why.contains("terminated by other"));
    while !shows(world.telegram.health()) {
        tokio::task::yield_now().await;
    }
    // The wait is longer than the other instance's poll.
    world.clock.sleeper_within(Duration::from_secs(51)..).await;
    world.platform.private_text(ANN, "hello");
    world.clock.advance(Duration::from_secs(70));
    assert_eq!(world.bus.taken(1).await.len(), 1);
    assert_eq!(world.telegram.health(), Health::Up);
    // The last one looks for messages that were forwarded with the text.
    assert_eq!(world.platform.calls("getUpdates"), 3, "one poll at a time");
}

#[tokio::test]
async fn f4_poll_conflict_with_an_abandoned_poll_delays_by_a_second() {
    // The reaction to a receipt sleeps for a second, too.
    let world = World::with(|config| config.reaction_received.clear()).await;
    let _running = world.run();
    world.platform.wait_for_poll().await;
    // The poll that looks for forwarded messages hangs, and is open when the next one comes.
    world.platform.inject(On::method("getUpdates"), 1, InjectedFault::Hang);
    world.platform.inject(On::method("getUpdates"), 1, InjectedFault::Refuse(ApiError::conflict()));
    world.platform.private_text(ANN, "hello");
    for seconds in [3, 1] {
        let wait = Duration::from_secs(seconds);
        world.clock.sleeper_within(wait..=wait).await;
        world.clock.advance(wait);
    }
    world.platform.private_text(ANN, "again");
    assert_eq!(world.bus.taken(2).await[1].content.text, "again");
    assert_eq!(world.telegram.health(), Health::Up);
}

#[tokio::test]
async fn f15_errors_never_show_the_token() {
    let closed = crate::telegram("http://127.0.0.1:1", &Arc::default());
    assert!(!format!("{closed:?}").contains("secret"));
    let sent =
        closed.deliver(&crate::delivery(ANN, avocet_protocol::chat::Content::text("hi"))).await;
    let error = format!("{sent:?} {}", sent.as_ref().unwrap_err());
    assert!(error.contains("no connection") && !error.contains("secret"), "{error}");
}

#[tokio::test]
async fn update_not_for_the_agent_is_counted_and_confirmed() {
    let world = World::new().await;
    let refusal = PublishError::NotAllowed { channel: "telegram".into(), sender: "8".into() };
    world.bus.refuse([refusal]);
    let _running = world.run();
    world.platform.wait_for_poll().await;
    let stranger = world.platform.private_text(8, "let me in").update.unwrap();
    let unreadable = world.platform.push("message", json!({ "tea": "leaves" })).unwrap();
    let reasons = world.bus.ignored(2).await;
    assert_eq!(reasons, ["not allowed", "of another kind"]);
    let moves = [stranger, unreadable]
        .map(|update| Cursor { scope: String::new(), position: update.to_string() });
    assert_eq!(world.bus.moves(), moves);
    world.platform.wait_for_confirmed().await;
}

#[tokio::test]
async fn update_stays_unconfirmed_while_the_log_is_full() {
    let world = World::new().await;
    let full = StoreError::Full { path: "avocet.db".to_owned() };
    world.bus.refuse(vec![PublishError::Log(full); 2]);
    let _running = world.run();
    let heard = world.platform.private_text(ANN, "hello");
    for _ in 0..2 {
        // The first retries come within a second.
        world.clock.sleeper_within(Duration::ZERO..Duration::from_secs(1)).await;
        assert_eq!(world.platform.unconfirmed(), [heard.update.unwrap()]);
        world.clock.advance(Duration::from_secs(5));
    }
    assert_eq!(world.bus.taken(1).await.len(), 1);
    world.platform.wait_for_confirmed().await;
}

#[tokio::test]
async fn album_at_the_end_of_a_full_poll_continues_in_the_next() {
    let world = World::new().await;
    for number in 0..99 {
        world.platform.private_text(ANN, &number.to_string());
    }
    world.platform.album(ANN, ANN, "a", &["1", "2", "3", "4"], "the beach");
    let _running = world.run();
    let taken = world.bus.taken(101).await;
    assert_eq!(
        (taken[99].content.text.as_str(), taken[99].content.attachments.len()),
        ("the beach", 1)
    );
    assert_eq!(taken[100].content.continues.as_ref(), Some(&taken[99].key));
    assert_eq!(taken[100].content.attachments.len(), 3);
    world.platform.wait_for_confirmed().await;
    assert_eq!(world.bus.taken(101).await.len(), 101);
}

#[tokio::test]
async fn edit_is_published_as_a_correction() {
    let world = World::new().await;
    let _running = world.run();
    let heard = world.platform.private_text(ANN, "helo");
    world.bus.taken(1).await;
    world.platform.wait_for_poll().await;
    world.bus.refuse([PublishError::NoCorrection(NoCorrection::Answered)]);
    world.platform.edit(heard, "hello").unwrap();
    assert_eq!(world.bus.ignored(1).await, ["an edit too late"]);
    world.platform.edit(heard, "hello!").unwrap();
    let taken = world.bus.taken(2).await;
    assert_eq!(taken[1].corrects.as_ref(), Some(&taken[0].key));
    assert_eq!(taken[1].content.text, "hello!");
    world.platform.wait_for_confirmed().await;
}
