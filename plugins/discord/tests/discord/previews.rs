//! Messages that grow while the model writes, and become the final message.

use std::time::Duration;

use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{Choice, Content, Delivery, Receipt};
use avocet_protocol::clock::Clock;

use crate::{World, chat, delivery, nth};

const MINUTE: Duration = Duration::from_mins(1);

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
async fn retract_deletes_a_message_once_and_accepts_a_missing_one() {
    let world = World::new().await;
    let surplus = delivery(world.dm, Content::text("…"));
    let message = world.discord.deliver(&surplus).await.unwrap().platform_id.unwrap();
    for _ in 0..2 {
        assert_eq!(world.discord.retract(&chat(world.dm), &message).await, Ok(()));
        assert!(world.platform.sent()[0].deleted);
    }
    let nonsense = world.discord.retract(&chat(world.dm), &"nonsense".parse().unwrap()).await;
    assert_eq!(nonsense, Err(SendError::Gone));
}

#[tokio::test]
async fn plan_preview_keeps_its_messages_while_the_text_grows() {
    for numbered in [false, true] {
        let world = World::with(|config| config.numbered = numbered).await;
        let text = "A sentence with **bold** and `code` words. ".repeat(200);
        let plan = |text: &str| world.discord.plan_preview(&Content::text(text));
        let mut known: Vec<Content> = Vec::new();
        for end in (100..text.len()).step_by(617) {
            let chunks = plan(&format!("{} …", text[..end].trim_end()));
            let (_, complete) = chunks.split_last().unwrap();
            assert_eq!(known[..], complete[..known.len()], "{end}");
            known = complete.to_vec();
        }
        assert!(known.len() >= 3);
        let last = world.discord.plan(&Content::text(&text));
        assert_eq!(numbered, last[0].text != known[0].text);
        assert!(last[0].text.starts_with(&known[0].text), "a number needs no other cut");
    }
}
