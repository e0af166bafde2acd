//! A comment and the messages that were forwarded with it.

use avocet_protocol::chat::{Inbound, Quote};
use avocet_testkit::telegram::{InjectedFault, On, UserMessage};

use crate::webhook::WebhookWorld;
use crate::{ANN, World};

fn forward(text: &str) -> UserMessage {
    UserMessage::private(ANN, text).forwarded_from(9, 12)
}

fn forwarded(inbound: &Inbound) -> Vec<(&str, &str)> {
    let parts = inbound.content.forwarded.iter();
    parts.map(|Quote { from, text }| (from.as_deref().unwrap(), text.as_str())).collect()
}

#[tokio::test]
async fn comment_and_forwarded_messages_are_one_message() {
    let world = World::new().await;
    world.platform.private_text(ANN, "is this true?");
    world.platform.say(forward("/stop\nthe moon is made of cheese"));
    let photo = UserMessage::thing(ANN, ANN, "photo", UserMessage::photo("f"));
    let last = world.platform.say(photo.forwarded_from(10, 12)).update.unwrap();
    let _running = world.run();
    let received = world.bus.taken(1).await.remove(0);
    assert_eq!(received.content.text, "is this true?");
    let expected =
        [("User 9", "/stop\nthe moon is made of cheese"), ("User 10", "[image: 1000 bytes]")];
    assert_eq!(forwarded(&received), expected);
    assert_eq!((received.content.attachments.len(), received.content.forwarded_from), (1, None));
    world.platform.wait_for_confirmed().await;
    let position = &world.bus.moves()[0].position;
    assert_eq!(*position, format!("{last} {} {last}", last - 1), "both parts are listed");
    assert_eq!((world.bus.taken(1).await.len(), world.platform.refusals()), (1, vec![]));
}

#[tokio::test]
async fn comment_waits_for_no_pause_and_takes_a_forward_of_the_second_poll() {
    let world = World::new().await;
    let _running = world.run();
    world.platform.wait_for_poll().await;
    world.platform.private_text(ANN, "hello");
    assert_eq!(world.bus.taken(1).await[0].content.text, "hello", "no time has passed");
    world.platform.wait_for_poll().await;
    let polls = world.platform.calls("getUpdates");
    // The comment ends the open poll, and the second poll gets both.
    world.platform.private_text(ANN, "look at this");
    world.platform.say(forward("news"));
    let received = world.bus.taken(2).await.remove(1);
    assert_eq!(received.content.text, "look at this");
    assert_eq!(forwarded(&received), [("User 9", "news")]);
    world.platform.wait_for_confirmed().await;
    // The second poll, and the next one.
    assert_eq!(world.platform.calls("getUpdates"), polls + 2);
}

#[tokio::test]
async fn forwarded_messages_in_a_row_are_one_message_of_at_most_ten() {
    let world = World::new().await;
    for number in 0..11 {
        world.platform.say(forward(&number.to_string()));
    }
    world.platform.private_text(ANN, "and now?");
    let _running = world.run();
    let received = world.bus.taken(3).await;
    let texts: Vec<&str> = received.iter().map(|one| one.content.text.as_str()).collect();
    assert_eq!(texts, ["0", "10", "and now?"]);
    assert_eq!(received[0].content.forwarded_from.as_deref(), Some("User 9"));
    let rest = forwarded(&received[0]);
    assert_eq!((rest.len(), rest[0], rest[8]), (9, ("User 9", "1"), ("User 9", "9")));
    assert_eq!(forwarded(&received[1]), []);
    assert_eq!(received[1].content.continues.as_ref(), Some(&received[0].key), "and the eleventh");
    assert_eq!(received[2].content.continues, None);
}

#[tokio::test]
async fn forward_in_a_group_belongs_to_its_comment_for_the_bot() {
    const GROUP: i64 = -50;
    let in_group = |text: &str| UserMessage::group(ANN, GROUP, text);
    let world = World::new().await;
    world.platform.say(in_group("look, all of you"));
    world.platform.say(in_group("news").forwarded_from(9, 12));
    world.platform.say(in_group("@avocet_bot is this true?"));
    world.platform.say(in_group("more news").forwarded_from(9, 12));
    let _running = world.run();
    let received = world.bus.taken(1).await.remove(0);
    assert_eq!(received.content.text, "@avocet_bot is this true?");
    assert_eq!(forwarded(&received), [("User 9", "more news")]);
    let earlier: Vec<&str> =
        received.content.earlier.iter().map(|quote| quote.text.as_str()).collect();
    assert_eq!(earlier, ["look, all of you", "[forwarded from User 9]\nnews"]);
}

#[tokio::test]
async fn edit_of_a_part_corrects_the_whole_message() {
    let world = World::new().await;
    let long = "word ".repeat(800);
    let parts = [&*long, "the end"].map(|text| world.platform.private_text(ANN, text));
    let _running = world.run();
    let joined = world.bus.taken(1).await.remove(0);
    assert_eq!(joined.content.text, format!("{long}\nthe end"));
    let beginning = format!("{long}!");
    world.platform.edit(parts[1], "and so on");
    world.platform.edit(parts[0], &beginning);
    let corrections = world.bus.taken(3).await.split_off(1);
    let texts = corrections.iter().map(|one| one.content.text.clone()).collect::<Vec<_>>();
    assert_eq!(texts, [format!("{long}\nand so on"), format!("{beginning}\nand so on")]);
    assert!(corrections.iter().all(|one| one.corrects.as_ref() == Some(&joined.key)));
}

#[tokio::test]
async fn edit_of_a_comment_keeps_the_forwarded_messages() {
    let world = World::new().await;
    let comment = world.platform.private_text(ANN, "is this true?");
    world.platform.say(forward("news"));
    let _running = world.run();
    world.bus.taken(1).await;
    world.platform.edit(comment, "is this new?");
    let corrected = world.bus.taken(2).await.remove(1);
    assert_eq!(corrected.content.text, "is this new?");
    assert_eq!(forwarded(&corrected), [("User 9", "news")]);
}

#[tokio::test]
async fn comment_and_forward_that_come_again_after_a_crash_stay_one_message() {
    let world = World::new().await;
    world.platform.private_text(ANN, "is this true?");
    world.platform.say(forward("news"));
    world.bus.set_open(false);
    let running = world.run();
    world.platform.wait_for_calls("getUpdates", 1).await;
    // The daemon dies after the commit, before the next poll has confirmed it.
    world.platform.inject(On::method("getUpdates"), 1, InjectedFault::Hang);
    world.bus.set_open(true);
    world.bus.taken(1).await;
    running.abort();
    drop(running.await);
    world.platform.clear_faults();
    world.platform.private_text(ANN, "well?");
    assert_eq!(world.platform.unconfirmed().len(), 3);
    let _running = world.run();
    let received = world.bus.taken(2).await;
    let texts: Vec<&str> = received.iter().map(|one| one.content.text.as_str()).collect();
    assert_eq!(texts, ["is this true?", "well?"]);
    assert_eq!(forwarded(&received[0]), [("User 9", "news")]);
    world.platform.wait_for_confirmed().await;
    assert_eq!(world.bus.taken(2).await.len(), 2);
}

/// A name, messages that a client sends at once, and the wait for a further part after each of them.
type SentAtOnce = (&'static str, [UserMessage; 2], [Option<u32>; 2]);

fn parts() -> [SentAtOnce; 4] {
    let photo = || UserMessage::thing(ANN, ANN, "photo", UserMessage::photo("f"));
    let album = || photo().with("media_group_id", "a".into());
    let text = |text: &str| UserMessage::private(ANN, text);
    [
        ("a comment", [text("is this true?"), forward("news")], [None, Some(500)]),
        ("a photo behind a text", [text("where is it?"), photo()], [None, None]),
        ("an album", [album(), album()], [Some(500), Some(500)]),
        ("a cut text", [text(&"word ".repeat(800)), text("the end")], [Some(2000), None]),
    ]
}

/// The time between both parts makes no difference: the first one is committed at once.
#[tokio::test]
async fn part_that_comes_later_continues_the_message_before_it() {
    for (case, [first, second], holds) in parts() {
        for has_webhook in [false, true] {
            let webhook = WebhookWorld::new().await;
            let polling = World::new().await;
            let world = if has_webhook { &webhook.world } else { &polling };
            let _running = world.run();
            if has_webhook {
                world.platform.wait_for_calls("getWebhookInfo", 1).await;
            } else {
                world.platform.wait_for_poll().await;
            }
            world.platform.say(first.clone());
            let key = world.bus.taken(1).await.remove(0).key;
            world.platform.say(second.clone());
            let taken = world.bus.taken(2).await;
            let continues = [&taken[0], &taken[1]].map(|one| one.content.continues.clone());
            assert_eq!(continues, [None, Some(key)], "{case}");
            let waits = [&taken[0], &taken[1]].map(|one| one.content.more_within_ms);
            assert_eq!(waits, holds, "{case}");
            world.platform.private_text(ANN, "and now?");
            assert_eq!(world.bus.taken(3).await[2].content.continues, None, "{case}");
        }
    }
}
