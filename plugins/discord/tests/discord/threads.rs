//! Threads that the bot makes, and threads in which it answers without a mention.

use avocet_discord::Threads;
use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{Content, Delivery, Inbound};
use avocet_protocol::ids::DeliveryId;
use avocet_testkit::discord::{ApiError, InjectedFault, On, Route, UserMessage};
use serde_json::json;

use crate::{ANN, BOB, World, chat};

async fn world() -> World {
    World::with(|config| {
        config.threads = Threads::Auto;
        config.thread_mention = false;
    })
    .await
}

/// Returns the answer to a message, as the outbox delivers it.
fn answer(inbound: &Inbound, row: i64, text: &str) -> Delivery {
    let content = Content { reply_to: inbound.to_reply_to().cloned(), ..Content::text(text) };
    Delivery::new(DeliveryId(row), inbound.address.clone(), content)
}

#[tokio::test]
async fn mention_gets_a_thread_of_its_own_and_follow_ups_need_no_mention() {
    let world = world().await;
    let _running = world.connected().await;
    let task = world.platform.post(
        UserMessage::new(world.channel, ANN, &format!("compare {}", "birds ".repeat(40))).mention(),
    );
    let received = world.bus.taken(1).await.remove(0);
    let address = format!("discord:main:{}:{task}", world.channel);
    assert_eq!(received.address.to_string(), address);
    assert_eq!(world.platform.calls(Route::CreateThread), 0, "there is no sign of the agent yet");
    world.discord.typing(&received.address).await;
    world.discord.deliver(&answer(&received, 1, "ducks")).await.unwrap();
    let sent = world.platform.sent().remove(0);
    assert_eq!((sent.channel, sent.reply_to), (task, None));
    let name = world.platform.describe_channel(task)["name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("compare birds") && name.ends_with("birds…"), "{name}");
    assert_eq!(world.platform.calls(Route::CreateThread), 1);

    world.platform.say(task, BOB, "and geese?");
    let follow_up = world.bus.taken(2).await.remove(1);
    assert_eq!(follow_up.address.to_string(), address, "the thread is one conversation");
    assert_eq!(follow_up.content.earlier, []);
    world.platform.say(world.channel, BOB, "not for the bot");
    world.platform.say(world.platform.thread(world.channel, "of people"), BOB, "nor this");
    assert_eq!(world.bus.ignored(2).await, ["not mentioned"; 2]);
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn thread_is_found_or_created_after_a_restart() {
    let world = world().await;
    let running = world.connected().await;
    for text in ["one", "two"] {
        world.platform.post(UserMessage::new(world.channel, ANN, text).mention());
    }
    let received = world.bus.taken(2).await;
    world.discord.deliver(&answer(&received[0], 1, "first")).await.unwrap();
    world.stop.cancel();
    running.await.unwrap().unwrap();
    let world = world.restarted_with(|config| config.threads = Threads::Auto);
    for (row, inbound) in [(2, &received[0]), (3, &received[1])] {
        world.discord.deliver(&answer(inbound, row, "again")).await.unwrap();
    }
    let places: Vec<String> =
        world.platform.sent().iter().map(|sent| sent.channel.to_string()).collect();
    let topics = [&received[0], &received[0], &received[1]];
    let topics = topics.map(|one| one.address.topic.as_ref().unwrap().to_string());
    assert_eq!(places, topics);
    let second = world.platform.sent()[2].channel;
    let name = world.platform.describe_channel(second)["name"].clone();
    assert!(name.as_str().unwrap().ends_with("two"), "{name}");
}

#[tokio::test]
async fn first_message_of_a_forum_post_comes_with_title_and_tags() {
    let world = World::new().await;
    let _running = world.connected().await;
    let mut forum = world.platform.describe_channel(world.channel);
    (forum["id"], forum["type"], forum["name"]) = (json!("9000"), json!(15), json!("help"));
    forum["available_tags"] = json!([{ "id": "1", "name": "bug" }, { "id": "2", "name": "linux" }]);
    world.platform.push("CHANNEL_CREATE", &forum);
    let thread = world.platform.thread(world.channel, "It does not start");
    let mut post = world.platform.describe_channel(thread);
    (post["parent_id"], post["applied_tags"]) = (json!("9000"), json!(["2", "1", "7"]));
    world.platform.push("THREAD_CREATE", &post);
    let said = world.platform.post(UserMessage::new(thread, ANN, "It says no.").mention());
    let mut first = world.platform.describe_message(said);
    first["id"] = json!(thread.to_string());
    world.platform.push("MESSAGE_CREATE", &first);
    let texts = world.texts(2).await;
    assert_eq!(texts[0], "It says no.", "this is not the first message");
    assert_eq!(texts[1], "[post: It does not start; tags: linux, bug]\nIt says no.");
    let address = world.bus.taken(2).await[1].address.to_string();
    assert_eq!(address, format!("discord:main:9000:{thread}"));
}

#[tokio::test]
async fn answer_goes_into_the_channel_where_threads_are_refused() {
    let world = world().await;
    let _running = world.connected().await;
    let task = world.platform.post(UserMessage::new(world.channel, ANN, "a task").mention());
    let received = world.bus.taken(1).await.remove(0);
    let refusal = InjectedFault::Refuse(ApiError::missing_permissions());
    world.platform.inject(On::route(Route::CreateThread), 1, refusal);
    for row in 1..=2 {
        world.discord.deliver(&answer(&received, row, "done")).await.unwrap();
    }
    let sent = world.platform.sent();
    let replies: Vec<_> = sent.iter().map(|one| (one.channel, one.reply_to)).collect();
    assert_eq!(replies, [(world.channel, Some(task)); 2]);
    assert_eq!(world.platform.calls(Route::CreateThread), 1, "it is not asked for again");
}

#[tokio::test]
async fn thread_creation_with_an_unknown_outcome_is_repeated_before_the_message() {
    let world = world().await;
    let _running = world.connected().await;
    world.platform.post(UserMessage::new(world.channel, ANN, "a task").mention());
    let received = world.bus.taken(1).await.remove(0);
    world.platform.inject(On::route(Route::CreateThread), 1, InjectedFault::ResetAfter);
    let done = answer(&received, 1, "done");
    let sent = world.discord.deliver(&done).await;
    assert!(matches!(sent, Err(SendError::Failed(_))), "{sent:?}");
    world.discord.deliver(&done).await.unwrap();
    assert_eq!(world.sent_texts(), ["done"]);
}

#[tokio::test]
async fn commands_and_threads_of_others_get_no_thread() {
    let world = world().await;
    let thread = world.platform.thread(world.channel, "plans");
    let _running = world.connected().await;
    world.platform.post(UserMessage::new(world.channel, ANN, "/stop").mention());
    world.platform.slash(ANN, world.channel, "stop", &json!([]));
    world.platform.post(UserMessage::new(thread, ANN, "hello").mention());
    world.platform.say(world.dm, ANN, "hello");
    let received = world.bus.taken(4).await;
    let places: Vec<String> = received.iter().map(|one| one.address.to_string()).collect();
    let channel = chat(world.channel).to_string();
    assert_eq!(places[..2], [channel.clone(), channel.clone()]);
    assert_eq!(places[2], format!("{channel}:{thread}"));
    assert_eq!(places[3], chat(world.dm).to_string());
}

#[tokio::test]
async fn thread_in_which_the_bot_has_written_needs_a_mention_by_default() {
    for (needs_mention, expected) in [(true, 1), (false, 2)] {
        let world = World::with(|config| config.thread_mention = needs_mention).await;
        let thread = world.platform.thread(world.channel, "plans");
        let running = world.connected().await;
        world.platform.post(UserMessage::new(thread, ANN, "hello").mention());
        let received = world.bus.taken(1).await.remove(0);
        world.discord.deliver(&answer(&received, 1, "hi")).await.unwrap();
        world.stop.cancel();
        running.await.unwrap().unwrap();
        let world = world.restarted_with(|config| config.thread_mention = needs_mention);
        let _running = world.connected().await;
        world.platform.say(thread, BOB, "and you?");
        world.platform.say(world.dm, ANN, "the end");
        let taken = world.bus.taken(expected + 1).await;
        let texts: Vec<&str> = taken.iter().map(|one| one.content.text.as_str()).collect();
        let all = ["hello", "and you?", "the end"];
        let wanted = if needs_mention { vec![all[0], all[2]] } else { all.to_vec() };
        assert_eq!(texts, wanted);
    }
}

#[tokio::test]
async fn answer_to_a_deleted_thread_of_people_stays_out_of_the_channel() {
    let world = world().await;
    let thread = world.platform.thread(world.channel, "secret plans");
    let running = world.connected().await;
    world.platform.post(UserMessage::new(thread, ANN, "hello").mention());
    let received = world.bus.taken(1).await.remove(0);
    world.stop.cancel();
    running.await.unwrap().unwrap();
    let world = world.restarted_with(|config| config.threads = Threads::Auto);
    let unknown = InjectedFault::Refuse(ApiError::new(404, 10_003, "Unknown Channel"));
    world.platform.inject(On::any().channel(thread), 9, unknown);
    let sent = world.discord.deliver(&answer(&received, 1, "secret")).await;
    assert!(matches!(sent, Err(SendError::Refused(_))), "{sent:?}");
    assert_eq!(world.sent_texts(), [""; 0]);
}
