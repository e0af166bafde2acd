//! A group that becomes a supergroup: a new id, new message numbers, and the same chat.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::bus::Publish;
use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{Content, Cursor, Delivery};
use avocet_protocol::ids::PlatformId;
use avocet_telegram::{Telegram, TelegramConfig};
use avocet_testkit::telegram::{PostedMessage, UserMessage};
use tokio_util::sync::CancellationToken;

use crate::{ANN, TOKEN, World, chat, delivery};

const OLD: i64 = -50;
const NEW: i64 = -1_000_000_000_050;

impl World {
    fn say_in(&self, chat: i64, text: &str) -> PostedMessage {
        self.platform.say(UserMessage::group(ANN, chat, &format!("@avocet_bot {text}")))
    }

    /// Sends to the group by its old id.
    async fn send(&self, text: &str, reply_to: Option<&str>) -> PlatformId {
        self.clock.advance(Duration::from_secs(4));
        let chunk = self.telegram.plan(&Content::text(text)).remove(0);
        let reply_to = reply_to.map(|key| key.parse().unwrap());
        let chunk = delivery(OLD, Content { reply_to, ..chunk });
        self.telegram.deliver(&chunk).await.unwrap().platform_id.unwrap()
    }

    async fn edit(&self, text: &str, shown_as: &PlatformId) -> Result<(), SendError> {
        let edit = Delivery {
            shown_as: Some(shown_as.clone()),
            ..delivery(OLD, self.telegram.plan(&Content::text(text)).remove(0))
        };
        self.telegram.deliver(&edit).await.map(|_| ())
    }

    /// Restarts the channel with the same log.
    async fn restart(&mut self) {
        self.platform.wait_for_confirmed().await;
        self.stop.cancel();
        self.platform.wait_for_no_poll().await;
        self.stop = CancellationToken::new();
        self.telegram = Arc::new(crate::telegram(&self.platform.base_url(), &self.clock));
    }
}

#[tokio::test]
async fn moved_group_keeps_its_chat_address_across_a_restart() {
    let mut world = World::new().await;
    let _running = world.run();
    world.platform.wait_for_poll().await;
    assert_eq!(world.say_in(OLD, "hello").id, 1);
    world.platform.migrate(ANN, OLD, NEW);
    assert_eq!(world.say_in(NEW, "and now?").id, 2);
    world.bus.taken(2).await;
    world.restart().await;
    let _running = world.run();
    assert_eq!(world.say_in(NEW, "and later?").id, 3);
    let heard = world.bus.taken(3).await;
    let of: Vec<_> = heard.iter().map(|one| (one.address.clone(), one.key.as_str())).collect();
    assert_eq!(of, [(chat(OLD), "m1"), (chat(OLD), "n2"), (chat(OLD), "n3")]);
    assert_eq!(world.bus.ignored(2).await, ["a group that moved"; 2]);
    let said = world.bus.said();
    assert!(said.is_empty(), "no message is needed: {said:?}");
}

#[tokio::test]
async fn moved_group_is_noted_once_before_its_update_is_confirmed() {
    for on_either_side in [true, false] {
        let world = World::new().await;
        let _running = world.run();
        world.platform.wait_for_poll().await;
        if on_either_side {
            world.platform.migrate(ANN, OLD, NEW);
        } else {
            world.platform.say(UserMessage::thing(ANN, NEW, "migrate_from_chat_id", OLD.into()));
        }
        world.say_in(NEW, "and now?");
        assert_eq!(world.bus.taken(1).await[0].address, chat(OLD));
        let scopes: Vec<String> = world.bus.moves().into_iter().map(|one| one.scope).collect();
        let others = scopes.len() - 1;
        assert_eq!(scopes[0], format!("moved {NEW}"));
        assert_eq!(scopes[1..], vec![String::new(); others]);
    }
}

#[tokio::test]
async fn moved_group_that_is_configured_has_its_own_address() {
    let mut world = World::new().await;
    let config = TelegramConfig {
        token: Some(TOKEN.to_owned().into()),
        api_url: world.platform.base_url(),
        groups: [(NEW.to_string(), avocet_channel_kit::GroupConfig::default())].into(),
        ..TelegramConfig::default()
    };
    let (name, account) = ("telegram".parse().unwrap(), "main".parse().unwrap());
    let telegram = Telegram::new(name, account, &config, world.clock.clone()).unwrap();
    world.telegram = Arc::new(telegram);
    let _running = world.run();
    world.platform.migrate(ANN, OLD, NEW);
    world.say_in(NEW, "and now?");
    let heard = world.bus.taken(1).await;
    assert_eq!((&heard[0].address, heard[0].key.as_str()), (&chat(NEW), "m2"));
}

#[tokio::test]
async fn moved_group_receives_replies_without_references_to_old_messages() {
    for is_known in [true, false] {
        let world = World::new().await;
        world.say_in(OLD, "hello");
        world.platform.migrate(ANN, OLD, NEW);
        world.say_in(NEW, "and now?");
        if is_known {
            let _running = world.run();
            world.bus.taken(2).await;
        }
        // Both chats have messages 1 and 2.
        for (reply_to, replied) in [("m1", None), ("n2", Some(2)), ("c2", None)] {
            assert!(world.send("hi", Some(reply_to)).await.as_str().starts_with('n'));
            let sent = world.platform.sent().pop().unwrap();
            assert_eq!((sent.chat, sent.reply_to), (NEW, replied), "{reply_to} {is_known}");
        }
        let refused = world.platform.refusals().len();
        assert_eq!(
            refused == 0,
            is_known,
            "nothing is sent to the old id that is known to be none"
        );
    }
}

#[tokio::test]
async fn moved_group_edit_of_an_old_message_returns_gone_and_changes_no_new_one() {
    for is_known in [true, false] {
        let world = World::new().await;
        world.platform.open_chat(OLD);
        world.platform.open_chat(NEW);
        let before = world.send("Once upon …", None).await;
        world.platform.migrate(ANN, OLD, NEW);
        if is_known {
            let _running = world.run();
            world.bus.ignored(2).await;
        }
        let after = world.send("Once upon …", None).await;
        // The id of a message in the old group with the same number.
        let same: PlatformId = after.as_str().trim_start_matches('n').parse().unwrap();
        for left_behind in [&before, &same] {
            let edited = world.edit("Once upon a time", left_behind).await;
            assert_eq!(edited, Err(SendError::Gone), "{left_behind}");
            world.telegram.retract(&chat(OLD), left_behind).await.unwrap();
        }
        let sent = world.platform.sent();
        assert!(sent.iter().all(|one| !one.deleted && one.edits.is_empty()), "{sent:?}");
        assert_eq!(world.edit("Once upon a time", &after).await, Ok(()));
        world.telegram.retract(&chat(OLD), &after).await.unwrap();
        let sent = world.platform.sent().pop().unwrap();
        assert_eq!((sent.chat, sent.text.as_str(), sent.deleted), (NEW, "Once upon a time", true));
    }
}

#[tokio::test]
async fn moved_group_cursors_are_not_taken_for_the_last_update() {
    let world = World::new().await;
    let photo = || {
        let photo = UserMessage::thing(ANN, ANN, "photo", UserMessage::photo("f"));
        world.platform.say(photo.with("media_group_id", "a".into())).update.unwrap()
    };
    let (name, account) = ("telegram".parse().unwrap(), "main".parse().unwrap());
    let committed =
        [(String::new(), photo().to_string()), (format!("moved {NEW}"), OLD.to_string())];
    for (scope, position) in committed {
        world.bus.move_cursor(&name, &account, Cursor { scope, position }).await.unwrap();
    }
    photo();
    let _running = world.run();
    let taken = world.bus.taken(2).await;
    assert!(
        taken.iter().all(|one| one.content.attachments.len() == 1),
        "what is new is not mixed in"
    );
}
