//! Messages that were missed while the bot was away (F32).

use std::time::Duration;

use avocet_protocol::chat::Cursor;
use avocet_testkit::discord::{ApiError, InjectedFault, On, Route, UserMessage};

use crate::{ANN, World};

impl World {
    /// Commits a message, so that the channel has a cursor.
    async fn has_heard(&self, channel: u64) {
        let received = self.bus.taken(0).await.len();
        self.platform.post(UserMessage::new(channel, ANN, "first").mention());
        self.bus.taken(received + 1).await;
    }
}

#[tokio::test]
async fn f32_history_missed_during_downtime_is_read_once_before_live_messages() {
    let world = World::new().await;
    let running = world.connected().await;
    world.has_heard(world.dm).await;
    running.abort();
    drop(running.await);
    // Three pages of messages.
    let missed: Vec<String> = (0..250).map(|number| format!("missed {number}")).collect();
    for text in &missed {
        world.platform.say(world.dm, ANN, text);
    }

    let world = world.restarted();
    let _running = world.connected().await;
    world.platform.say(world.dm, ANN, "live");
    let texts = world.texts(252).await;
    assert_eq!(texts[0], "first");
    assert_eq!(texts[1..251], missed);
    assert_eq!(texts[251], "live");
    let taken = world.bus.taken(252).await;
    let keys: std::collections::BTreeSet<_> = taken.iter().map(|one| one.key.clone()).collect();
    assert_eq!(keys.len(), 252, "nothing twice");
}

#[tokio::test]
async fn f32_history_fills_a_gap_that_cannot_be_resumed() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.has_heard(world.dm).await;
    world.has_heard(world.channel).await;
    world.platform.drop_connections();
    world.platform.wait_for_disconnected().await;
    world.platform.forget_sessions();
    world.platform.say(world.dm, ANN, "in private");
    world.platform.say(world.channel, ANN, "not for the bot");
    world.platform.post(UserMessage::new(world.channel, ANN, "in public").mention());
    world.connected_again(3).await;
    let mut texts = world.texts(4).await.split_off(2);
    texts.sort();
    assert_eq!(texts, ["in private", "in public"]);
    assert_eq!(world.platform.identifies().len(), 2);
    assert_eq!(world.bus.ignored(1).await, ["not mentioned"]);
}

#[tokio::test]
async fn f32_history_returns_uncommitted_messages_after_a_restart() {
    let world = World::new().await;
    let running = world.connected().await;
    world.has_heard(world.dm).await;
    world.bus.set_open(false);
    world.platform.say(world.dm, ANN, "lost in memory");
    running.abort();
    drop(running.await);
    world.bus.set_open(true);
    let world = world.restarted();
    let _running = world.run();
    assert_eq!(world.texts(2).await, ["first", "lost in memory"]);
}

#[tokio::test]
async fn f32_history_cursor_is_committed_with_its_message() {
    let world = World::new().await;
    let _running = world.connected().await;
    let received = world.platform.say(world.dm, ANN, "hello");
    world.bus.taken(1).await;
    let place = Cursor { scope: world.dm.to_string(), position: received.to_string() };
    assert!(world.bus.moves().contains(&place));
}

#[tokio::test]
async fn f32_history_skips_the_bots_own_messages_without_counting_them() {
    let world = World::new().await;
    let _running = world.connected().await;
    let reply = crate::delivery(world.dm, avocet_protocol::chat::Content::text("hello"));
    avocet_protocol::channel::Channel::deliver(&*world.discord, &reply).await.unwrap();
    let sent = world.platform.sent()[0].id;
    world.has_heard(world.dm).await;
    let place = Cursor { scope: world.dm.to_string(), position: sent.to_string() };
    assert!(world.bus.moves().contains(&place));
    assert_eq!(world.bus.ignored(0).await, [""; 0]);
}

#[tokio::test]
async fn f32_history_of_a_hidden_channel_does_not_block_other_channels() {
    let world = World::new().await;
    let running = world.connected().await;
    world.has_heard(world.dm).await;
    world.has_heard(world.channel).await;
    running.abort();
    drop(running.await);
    world.platform.say(world.dm, ANN, "missed");
    world.platform.hide(world.channel);
    let world = world.restarted();
    let _running = world.run();
    assert_eq!(world.texts(3).await[2], "missed");
}

#[tokio::test]
async fn f32_history_request_is_retried_after_errors_and_rate_limits() {
    let (second, long) = (Duration::from_secs(1), Duration::from_secs(45));
    let faults = [
        (InjectedFault::Refuse(ApiError::internal()), second..=2 * second),
        (InjectedFault::ResetBefore, second..=2 * second),
        (InjectedFault::Refuse(ApiError::rate_limited(long)), long..=long),
    ];
    for (fault, wait) in faults {
        let world = World::new().await;
        let running = world.connected().await;
        world.has_heard(world.dm).await;
        running.abort();
        drop(running.await);
        world.platform.say(world.dm, ANN, "missed");
        world.platform.inject(On::route(Route::History), 1, fault.clone());
        let requests = world.platform.calls(Route::History);
        let world = world.restarted();
        let _running = world.run();
        world.platform.wait_for_calls(Route::History, requests + 1).await;
        world.clock.sleeper_within(wait.clone()).await;
        world.clock.advance(*wait.end());
        assert_eq!(world.texts(2).await[1], "missed", "{fault:?}");
    }
}

#[tokio::test]
async fn f32_history_includes_first_contacts_during_downtime() {
    let world = World::new().await;
    // The message is older than the first start of the bot.
    world.platform.say(world.dm, ANN, "long ago");
    world.pass(Duration::from_hours(1));
    let running = world.connected().await;
    running.abort();
    drop(running.await);
    world.pass(Duration::from_mins(5));
    world.platform.say(world.dm, ANN, "in private");
    world.platform.post(UserMessage::new(world.channel, ANN, "in public").mention());
    let thread = world.platform.thread(world.channel, "plans");
    world.platform.post(UserMessage::new(thread, ANN, "in a thread").mention());

    let world = world.restarted();
    let _running = world.connected().await;
    let mut texts = world.texts(3).await;
    texts.sort();
    assert_eq!(texts, ["in a thread", "in private", "in public"]);
    world.platform.say(world.dm, ANN, "live");
    assert_eq!(world.texts(4).await[3], "live");
    assert_eq!(world.platform.calls(Route::OpenDm), 1, "the log keeps which channel it is");
}

#[tokio::test]
async fn f32_history_before_the_bot_joined_is_not_read() {
    for (joined, looks) in [("2026-01-01T03:00:00Z", 0), ("2026-01-01T01:00:00Z", 1)] {
        let world = World::new().await;
        let _running = world.connected().await;
        world.pass(Duration::from_hours(2));
        let last = world.platform.say(world.dm, ANN, "two hours later");
        world.bus.taken(1).await;
        let channel =
            serde_json::json!({ "id": "5", "type": 0, "last_message_id": last.to_string() });
        let server = serde_json::json!({ "id": "4", "joined_at": joined, "channels": [channel] });
        world.platform.push("GUILD_CREATE", &server);
        world.platform.say(world.dm, ANN, "hello");
        world.bus.taken(2).await;
        // All earlier requests come before this one.
        let reply = crate::delivery(world.dm, avocet_protocol::chat::Content::text("hello"));
        avocet_protocol::channel::Channel::deliver(&*world.discord, &reply).await.unwrap();
        assert_eq!(world.platform.requests_in(Route::History, 5).len(), looks, "{joined}");
    }
}
