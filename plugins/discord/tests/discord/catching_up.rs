//! The requests after a new session, and the events that wait for their answers (F32).

use std::sync::Arc;

use avocet_protocol::channel::{Channel, Health};
use avocet_protocol::chat::{ChatKind, Inbound};
use avocet_testkit::discord::{ApiError, InjectedFault, On, Route, UserMessage};
use tokio::sync::Semaphore;

use crate::{ANN, BOB, World};

impl World {
    pub(crate) fn mention(&self, channel: u64, text: &str) -> u64 {
        self.platform.post(UserMessage::new(channel, ANN, text).mention())
    }

    /// Commits a message in each of these channels, then stops the daemon.
    async fn stop_after(&self, channels: &[u64]) {
        let running = self.connected().await;
        for (received, channel) in channels.iter().enumerate() {
            self.mention(*channel, "first");
            self.bus.taken(received + 1).await;
        }
        running.abort();
        drop(running.await);
    }

    /// Returns the committed messages of a channel in order, without the first one and without
    /// corrections: the log itself recognises repeated corrections.
    async fn taken_in(&self, channel: u64, count: usize) -> Vec<String> {
        let of = |taken: Vec<Inbound>| -> Vec<String> {
            let here = |one: &Inbound| {
                one.address.chat.as_str() == channel.to_string() && one.corrects.is_none()
            };
            taken.into_iter().filter(here).skip(1).map(|one| one.content.text).collect()
        };
        let mut all = 0;
        loop {
            let texts = of(self.bus.taken(all).await);
            if texts.len() >= count {
                return texts;
            }
            all = self.bus.taken(all).await.len() + 1;
        }
    }

    fn server(&self) -> u64 {
        let described = self.platform.describe_channel(self.channel);
        described["guild_id"].as_str().unwrap().parse().unwrap()
    }
}

fn trouble() -> InjectedFault {
    InjectedFault::Refuse(ApiError::internal())
}

#[tokio::test]
async fn f32_catch_up_of_500_channels_requests_only_the_one_with_news() {
    let world = World::new().await;
    let server = world.server();
    let channels: Vec<u64> =
        (0..500).map(|number| world.platform.channel(server, &number.to_string())).collect();
    let thread = world.platform.thread(channels[0], "quiet");
    let all: Vec<u64> = channels.iter().copied().chain([thread]).collect();
    world.stop_after(&all).await;
    let world = world.restarted();
    let news = channels[250];
    world.mention(news, "news");

    let _running = world.connected().await;
    assert_eq!(world.texts(502).await.last().unwrap(), "news");
    let asked = world.platform.requests_in(Route::History, news);
    let of = |side: &str| asked.iter().filter(|request| request.contains(side)).count();
    assert_eq!((of("after="), of("before=")), (1, 1), "{asked:?}");
    let private = world.platform.requests_in(Route::History, world.dm).len();
    assert_eq!(world.platform.calls(Route::History), 2 + private);
    assert_eq!(world.platform.calls(Route::Channel), 0);
}

#[tokio::test]
async fn f32_catch_up_reads_a_thread_that_was_archived_meanwhile() {
    let world = World::new().await;
    let [thread, quiet] = ["plans", "quiet"].map(|name| world.platform.thread(world.channel, name));
    world.stop_after(&[thread, quiet]).await;
    let world = world.restarted();
    world.mention(thread, "and then it was silent");
    world.platform.archive(thread);
    world.platform.archive(quiet);
    let _running = world.connected().await;
    let taken = world.bus.taken(3).await;
    assert_eq!(taken[2].content.text, "and then it was silent");
    assert_eq!(taken[2].address, taken[0].address, "it is the thread");
    assert_eq!(world.platform.requests_in(Route::Channel, quiet).len(), 1);
    assert_eq!(world.platform.requests_in(Route::History, quiet).len(), 0, "nothing is new");
}

#[tokio::test]
async fn f32_catch_up_failure_in_a_channel_delays_no_other_channel_or_live_event() {
    for fault in [trouble(), InjectedFault::Hang] {
        let world = World::new().await;
        let other = world.platform.channel(world.server(), "other");
        world.stop_after(&[world.channel, other, world.dm]).await;
        let world = world.restarted();
        for channel in [world.channel, other, world.dm] {
            world.mention(channel, "missed");
        }
        let on = On::route(Route::History).channel(world.channel);
        world.platform.inject(on, usize::MAX, fault.clone());
        let _running = world.run();
        world.connected_again(2).await;
        for channel in [world.channel, other, world.dm] {
            world.mention(channel, "live");
        }
        for channel in [other, world.dm] {
            assert_eq!(world.taken_in(channel, 2).await, ["missed", "live"], "{fault:?}");
        }
        assert_eq!(world.taken_in(world.channel, 0).await, [""; 0], "its cursor stays");
    }
}

#[tokio::test]
async fn f32_catch_up_retries_a_failing_channel_and_then_keeps_the_order() {
    let world = World::new().await;
    world.stop_after(&[world.channel]).await;
    let world = world.restarted();
    let missed = world.mention(world.channel, "missed");
    let trouble_here = On::route(Route::History).channel(world.channel);
    world.platform.inject(trouble_here, usize::MAX, trouble());
    let _running = world.connected().await;
    let Health::Down(why) = world.discord.health() else { panic!("it is not seen") };
    assert!(
        why.contains("cannot read the messages of a channel yet") && why.contains("500"),
        "{why}"
    );
    let live = world.mention(world.channel, "live");
    let edited = format!("<@{}> missed, and edited", world.platform.bot());
    world.platform.edit(missed, &edited);
    world.platform.say(world.dm, ANN, "in private");
    world.bus.taken(2).await;
    let places = || world.bus.moves().into_iter().map(|cursor| cursor.position);
    assert!(places().all(|place| place != live.to_string()), "it would pass what was missed");

    world.platform.clear_faults();
    tokio::select! {
        biased;
        texts = world.taken_in(world.channel, 2) => {
            assert_eq!(texts, ["missed, and edited", "live"]);
        }
        () = world.pass_short_waits() => {}
    }
    world.mention(world.channel, "later");
    let texts = world.taken_in(world.channel, 3).await;
    assert_eq!(texts, ["missed, and edited", "live", "later"]);
    assert_eq!(world.discord.health(), Health::Up);
}

#[tokio::test]
async fn f32_catch_up_after_a_restart_loses_no_message_of_a_failing_channel() {
    let world = World::new().await;
    world.stop_after(&[world.channel]).await;
    let world = world.restarted();
    world.mention(world.channel, "missed");
    world.platform.inject(On::route(Route::History).channel(world.channel), usize::MAX, trouble());
    let running = world.connected().await;
    world.mention(world.channel, "live");
    world.platform.say(world.dm, ANN, "in private");
    world.bus.taken(2).await;
    running.abort();
    drop(running.await);

    world.platform.clear_faults();
    let world = world.restarted();
    let _running = world.connected().await;
    assert_eq!(world.taken_in(world.channel, 2).await, ["missed", "live"]);
}

#[tokio::test]
async fn f32_catch_up_publishes_live_messages_after_the_history_even_if_it_lacks_them() {
    let world = World::new().await;
    world.stop_after(&[world.channel]).await;
    let world = world.restarted();
    world.mention(world.channel, "missed");
    let answer = Arc::new(Semaphore::new(0));
    let on = || On::route(Route::History).channel(world.channel);
    world.platform.inject(on(), 2, InjectedFault::HoldAnswer(answer.clone()));
    let before = world.platform.requests_in(Route::History, world.channel).len();
    let _running = world.run();
    for asked in 1..=2 {
        world.platform.wait_for_calls_in(Route::History, world.channel, before + asked).await;
        world.mention(world.channel, &format!("live {asked}"));
        world.platform.say(world.dm, ANN, "in private");
        world.bus.taken(1 + asked).await;
        answer.add_permits(1);
    }
    let texts = world.taken_in(world.channel, 3).await;
    assert_eq!(texts, ["missed", "live 1", "live 2"]);
}

#[tokio::test]
async fn f32_catch_up_is_not_delayed_by_a_channel_of_unknown_type() {
    let world = World::new().await;
    let thread = world.platform.thread(world.channel, "plans");
    world.stop_after(&[thread]).await;
    let world = world.restarted();
    world.platform.archive(thread);
    world.platform.inject(On::route(Route::Channel), usize::MAX, trouble());
    let _running = world.connected().await;
    // The platform is silent about the thread, which is active again.
    let said = world.platform.describe_message(world.mention(world.channel, "elsewhere"));
    assert_eq!(world.texts(2).await[1], "elsewhere");
    let said = moved(said, thread);
    world.platform.push("MESSAGE_CREATE", &said);
    world.platform.say(world.dm, ANN, "in private");
    assert_eq!(world.texts(3).await[2], "in private");

    world.platform.clear_faults();
    tokio::select! {
        biased;
        taken = world.bus.taken(4) => assert_eq!(taken[3].address, taken[0].address),
        () = world.pass_short_waits() => {}
    }
}

#[tokio::test]
async fn catch_up_treats_a_channel_of_unknown_type_as_a_group() {
    let world = World::new().await;
    let _running = world.connected().await;
    let message = world.platform.describe_message(world.mention(world.channel, "hello"));
    let unknown = 5;
    world.platform.push("MESSAGE_CREATE", &moved(message, unknown));
    let received = &world.bus.taken(2).await[1];
    assert_eq!((&received.address, received.chat), (&crate::chat(unknown), ChatKind::Group));
}

/// Returns a message with the next id and the same text in another channel.
fn moved(mut message: serde_json::Value, channel: u64) -> serde_json::Value {
    message["channel_id"] = channel.to_string().into();
    message["id"] =
        (message["id"].as_str().unwrap().parse::<u64>().unwrap() + 1).to_string().into();
    message
}

#[tokio::test]
async fn f32_catch_up_keeps_the_order_of_a_direct_channel_that_opens_late() {
    let world = World::new().await;
    let running = world.connected().await;
    running.abort();
    drop(running.await);
    // The log has no entry about Ann.
    let world = World { bus: Arc::default(), ..world.restarted() };
    world.platform.inject(On::route(Route::OpenDm), usize::MAX, trouble());
    world.platform.say(world.dm, ANN, "first");
    let _running = world.connected().await;
    world.platform.say(world.dm, ANN, "second");
    world.platform.say(world.platform.dm(BOB), BOB, "a stranger");
    let mut texts = world.texts(3).await;
    texts.retain(|text| text != "a stranger");
    assert_eq!(texts, ["first", "second"]);
}

#[tokio::test]
async fn catch_up_publishes_edits_made_meanwhile_as_corrections() {
    let world = World::new().await;
    world.stop_after(&[world.channel, world.dm]).await;
    let world = world.restarted();
    let received: Vec<u64> = world.bus.taken(2).await.iter().map(number).collect();
    world.pass(std::time::Duration::from_mins(5));
    for message in &received {
        let text = format!("<@{}> edited", world.platform.bot());
        world.platform.edit(*message, &text);
    }
    let missed = world.mention(world.channel, "misssed");
    world.platform.edit(missed, &format!("<@{}> missed", world.platform.bot()));

    let running = world.connected().await;
    let taken = world.bus.taken(5).await;
    let corrections: Vec<&Inbound> = taken.iter().filter(|one| one.corrects.is_some()).collect();
    let mut corrected: Vec<u64> = corrections.iter().map(|one| number(one)).collect();
    corrected.sort_unstable();
    assert_eq!(corrected, received);
    assert!(corrections.iter().all(|one| one.content.text == "edited"));
    let read = taken.iter().find(|one| number(one) == missed).unwrap();
    assert_eq!((read.content.text.as_str(), &read.corrects), ("missed", &None));
    assert_eq!(read.edited_at, Some(world.platform.now()), "so that the log knows a double");
    assert!(taken.iter().filter(|one| one.corrects.is_none()).count() == 3);

    // The next session sees the same keys.
    running.abort();
    drop(running.await);
    let world = world.restarted();
    let _running = world.connected().await;
    world.platform.say(world.dm, ANN, "live");
    let taken = world.bus.taken(6).await;
    assert_eq!(taken[5].content.text, "live", "nothing twice");
}

#[tokio::test]
async fn f32_catch_up_publishes_an_edit_before_the_message_that_followed_it() {
    let world = World::new().await;
    world.stop_after(&[world.channel]).await;
    let world = world.restarted();
    let first = number(&world.bus.taken(1).await[0]);
    let answer = Arc::new(Semaphore::new(0));
    let on = On::route(Route::History).channel(world.channel);
    world.platform.inject(on, 1, InjectedFault::HoldAnswer(answer.clone()));
    let before = world.platform.requests_in(Route::History, world.channel).len();
    world.mention(world.channel, "missed");
    let _running = world.run();
    // The search for edits is over when the edit and the next message come.
    world.platform.wait_for_calls_in(Route::History, world.channel, before + 1).await;
    world.platform.edit(first, &format!("<@{}> edited", world.platform.bot()));
    world.mention(world.channel, "live");
    world.platform.say(world.dm, ANN, "in private");
    world.bus.taken(2).await;
    answer.add_permits(1);
    let texts: Vec<String> =
        world.bus.taken(5).await.into_iter().skip(2).map(|one| one.content.text).collect();
    assert_eq!(texts, ["missed", "edited", "live"]);
}

/// Returns the id of the message, or of the one that it corrects.
fn number(inbound: &Inbound) -> u64 {
    let key = inbound.corrects.as_ref().unwrap_or(&inbound.key).as_str();
    key.trim_start_matches('m').parse().unwrap()
}

#[tokio::test]
async fn f11_command_acts_once_during_a_failing_catch_up() {
    let world = World::new().await;
    world.stop_after(&[world.dm, world.channel]).await;
    let world = world.restarted();
    for channel in [world.dm, world.channel] {
        world.mention(channel, "missed");
    }
    world.platform.inject(On::route(Route::History), usize::MAX, trouble());
    let _running = world.connected().await;
    world.platform.say(world.dm, ANN, "live");
    let stop = world.platform.say(world.dm, ANN, "/stop");
    world.platform.say(world.dm, ANN, "/unknown");
    world.mention(world.channel, "/stop");
    assert_eq!(world.texts(4).await[2..], ["/stop", "/stop"]);
    let places = || world.bus.moves().into_iter().map(|cursor| cursor.position);
    assert!(places().all(|place| place != stop.to_string()), "it would pass what was missed");

    world.platform.clear_faults();
    tokio::select! {
        biased;
        texts = world.taken_in(world.dm, 4) => {
            assert_eq!(texts, ["/stop", "missed", "live", "/unknown"]);
        }
        () = world.pass_short_waits() => {}
    }
    world.platform.say(world.dm, ANN, "later");
    assert_eq!(world.taken_in(world.dm, 5).await[4], "later");
    assert!(places().any(|place| place == stop.to_string()));
}

#[tokio::test]
async fn f32_catch_up_rereads_dropped_live_messages_from_the_history_in_order() {
    let world = World::new().await;
    world.stop_after(&[world.channel]).await;
    let world = world.restarted();
    world.mention(world.channel, "missed");
    let answer = Arc::new(Semaphore::new(1));
    let on = On::route(Route::History).channel(world.channel);
    world.platform.inject(on, 2, InjectedFault::HoldAnswer(answer.clone()));
    let before = world.platform.requests_in(Route::History, world.channel).len();
    let _running = world.run();
    world.platform.wait_for_calls_in(Route::History, world.channel, before + 2).await;
    let live: Vec<String> = (0..1005).map(|number| format!("live {number}")).collect();
    for text in &live {
        world.mention(world.channel, text);
    }
    // Events are in order, so those before this one have been processed, too.
    world.platform.say(world.dm, ANN, "in private");
    world.bus.taken(2).await;
    answer.add_permits(1);
    let texts = world.taken_in(world.channel, 1006).await;
    assert_eq!((texts[0].as_str(), &texts[1..]), ("missed", &live[..]));
}

#[tokio::test]
async fn catch_up_requests_a_deleted_channel_once() {
    let world = World::new().await;
    let [gone, hidden] = ["gone", "hidden"].map(|name| world.platform.thread(world.channel, name));
    world.stop_after(&[gone, hidden]).await;
    let world = world.restarted();
    world.platform.delete_channel(gone);
    world.platform.hide(hidden);
    let _running = world.connected().await;
    world.platform.invalidate_session(false);
    let asked_again = world.platform.wait_for_calls_in(Route::Channel, hidden, 2);
    tokio::select! {
        biased;
        () = asked_again => {}
        () = world.pass_short_waits() => {}
    }
    assert_eq!(world.platform.requests_in(Route::Channel, gone).len(), 1);
}
