//! Earlier messages of a channel, which a mention gives to the model.

use std::sync::Arc;

use avocet_discord::DiscordConfig;
use avocet_protocol::channel::Channel;
use avocet_protocol::chat::{Content, Inbound};
use avocet_testkit::discord::{ApiError, InjectedFault, On, Route};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::interactions::reply_to;
use crate::{ANN, BOB, World, chat, delivery};

impl World {
    /// Returns the earlier messages that the last of `count` messages came with.
    async fn earlier(&self, count: usize) -> Vec<String> {
        texts(&self.bus.taken(count).await[count - 1])
    }
}

fn texts(inbound: &Inbound) -> Vec<String> {
    inbound.content.earlier.iter().map(|quote| quote.text.clone()).collect()
}

#[tokio::test]
async fn mention_comes_with_the_messages_since_the_last_one() {
    let world = World::with(|config| config.earlier_messages = 20).await;
    let _running = world.connected().await;
    world.platform.say(world.channel, BOB, "the boat leaves at nine");
    world.platform.say(world.channel, ANN, "thanks");
    world.mention(world.channel, "when does it leave?");
    let received = world.bus.taken(1).await.remove(0);
    assert_eq!(texts(&received), ["the boat leaves at nine", "thanks"]);
    assert_eq!(received.content.earlier[0].from.as_deref(), Some("user88"));
    assert!(received.content.has_untrusted_parts());
    world.platform.say(world.channel, BOB, "no, at ten");
    world.mention(world.channel, "and now?");
    assert_eq!(world.earlier(2).await, ["no, at ten"], "nothing is given twice");
    world.mention(world.channel, "thank you");
    assert_eq!(world.earlier(3).await, [""; 0]);
    world.platform.say(world.dm, ANN, "hello");
    assert_eq!(world.earlier(4).await, [""; 0], "a private chat has only messages to the agent");
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn mention_after_a_start_comes_with_messages_of_the_history() {
    let world = World::with(|config| config.earlier_messages = 20).await;
    let running = world.connected().await;
    world.platform.say(world.channel, BOB, "before the answer");
    world.mention(world.channel, "one");
    world.bus.taken(1).await;
    world.discord.deliver(&delivery(world.channel, Content::text("answer"))).await.unwrap();
    for number in 0..25 {
        world.platform.say(world.channel, BOB, &format!("bird {number}"));
    }
    world.bus.ignored(26).await;
    world.stop.cancel();
    running.await.unwrap().unwrap();
    let world = world.restarted_with(|config| config.earlier_messages = 20);
    let _running = world.connected().await;
    let before = world.platform.calls(Route::History);
    world.mention(world.channel, "two");
    let expected: Vec<String> = (5..25).map(|number| format!("bird {number}")).collect();
    assert_eq!(world.earlier(2).await, expected);
    world.platform.say(world.channel, BOB, "later");
    world.mention(world.channel, "three");
    assert_eq!(world.earlier(3).await, ["later"]);
    assert_eq!(world.platform.calls(Route::History), before + 1, "the history is read once");
}

#[tokio::test]
async fn history_that_cannot_be_read_is_read_at_the_next_mention_unless_it_is_refused() {
    for (fault, is_read_again) in [(ApiError::internal(), 1), (ApiError::missing_access(), 0)] {
        let world = World::with(|config| config.earlier_messages = 20).await;
        let _running = world.connected().await;
        world.platform.inject(On::route(Route::History), 1, InjectedFault::Refuse(fault));
        let before = world.platform.calls(Route::History);
        world.mention(world.channel, "one");
        assert_eq!(world.texts(1).await, ["one"]);
        world.mention(world.channel, "two");
        assert_eq!(world.texts(2).await, ["one", "two"]);
        assert_eq!(world.platform.calls(Route::History), before + 1 + is_read_again);
    }
}

#[tokio::test]
async fn first_mention_waits_for_its_history_beside_other_chats_and_commands() {
    let world = World::with(|config| config.earlier_messages = 20).await;
    let guild = world.platform.guild("More birds");
    let busy: Vec<u64> =
        (0..15).map(|number| world.platform.channel(guild, &format!("busy-{number}"))).collect();
    world.platform.say(busy[0], BOB, "before the start");
    let _running = world.connected().await;
    let permits = Arc::new(Semaphore::new(0));
    let held = InjectedFault::HoldAnswer(permits.clone());
    world.platform.inject(On::route(Route::History), 15, held);
    for channel in &busy {
        world.mention(*channel, "well?");
        world.platform.say(*channel, ANN, "no mention");
        world.mention(*channel, "and now?");
    }
    // Everything else goes on while the histories are awaited.
    world.platform.say(world.dm, ANN, "hello");
    assert_eq!(world.texts(1).await, ["hello"]);
    let stop = world.platform.slash(ANN, busy[0], "stop", &json!([]));
    let command = world.bus.taken(2).await.remove(1);
    world.discord.deliver(&reply_to(&command, 1, "Stopped.")).await.unwrap();
    assert_eq!(world.platform.interaction(stop).answered, Some(4));
    permits.add_permits(15);
    let received = world.bus.taken(2 + 30).await;
    for (number, channel) in busy.into_iter().enumerate() {
        let of_channel = received.iter().filter(|one| one.address == chat(channel));
        let mentions: Vec<_> =
            of_channel.filter(|one| !one.content.text.starts_with('/')).collect();
        let [first, second] = mentions[..] else { panic!("{mentions:?}") };
        assert_eq!((&*first.content.text, &*second.content.text), ("well?", "and now?"));
        assert_eq!(texts(first), ["before the start"][usize::from(number > 0)..]);
        assert_eq!(texts(second), ["no mention"]);
    }
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn missed_mention_comes_with_the_messages_before_it() {
    let settings = |config: &mut DiscordConfig| config.earlier_messages = 20;
    let world = World::with(settings).await;
    let running = world.connected().await;
    world.mention(world.channel, "one");
    world.bus.taken(1).await;
    world.stop.cancel();
    running.await.unwrap().unwrap();
    world.platform.say(world.channel, BOB, "missed");
    world.mention(world.channel, "two");
    world.platform.say(world.channel, BOB, "missed, too");
    world.mention(world.channel, "three");
    let world = world.restarted_with(settings);
    let _running = world.connected().await;
    assert_eq!(world.earlier(2).await, ["missed"]);
    assert_eq!(world.earlier(3).await, ["missed, too"]);
    assert_eq!(world.texts(3).await, ["one", "two", "three"], "each once, in order");
}

#[tokio::test]
async fn mention_comes_without_earlier_messages_if_they_are_switched_off() {
    let world = World::with(|config| config.earlier_messages = 0).await;
    let _running = world.connected().await;
    let before = world.platform.calls(Route::History);
    world.platform.say(world.channel, BOB, "hello");
    world.mention(world.channel, "one");
    assert_eq!(world.earlier(1).await, [""; 0]);
    assert_eq!(world.platform.calls(Route::History), before);
}

#[tokio::test]
async fn edit_of_a_mention_keeps_its_earlier_messages_and_a_command_takes_none() {
    let world = World::with(|config| config.earlier_messages = 20).await;
    let _running = world.connected().await;
    world.platform.say(world.channel, BOB, "the boat leaves at nine");
    world.mention(world.channel, "/stop");
    assert_eq!(world.earlier(1).await, [""; 0]);
    let mention = world.mention(world.channel, "when does it leave?");
    assert_eq!(world.earlier(2).await, ["the boat leaves at nine"]);
    let text = world.platform.describe_message(mention)["content"].to_string();
    world.platform.edit(mention, text.trim_matches('"'));
    assert_eq!(world.earlier(3).await, ["the boat leaves at nine"]);
}
