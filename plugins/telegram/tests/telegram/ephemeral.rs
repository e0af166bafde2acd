//! Answers to commands in a group that only their author sees.

use std::time::Duration;

use avocet_protocol::channel::Channel;
use avocet_protocol::chat::{Choice, Content, Inbound};
use avocet_testkit::telegram::{EphemeralMessage, UserMessage};
use serde_json::json;

use crate::{ANN, World, delivery};

const GROUP: i64 = -50;
const COMMANDS: [(&str, &str); 3] =
    [("status", "show what I am doing"), ("model", "show the model"), ("new", "start anew")];

impl World {
    async fn with_group() -> Self {
        let world = Self::new().await.with_commands(&COMMANDS);
        world.platform.open_chat(GROUP);
        world.platform.learn_ephemeral_messages();
        world
    }

    async fn hear(&self, text: &str, count: usize) -> Inbound {
        self.platform.say(UserMessage::group(ANN, GROUP, text));
        self.bus.taken(count).await.pop().unwrap()
    }

    /// Delivers a reply, as the session plans it.
    async fn reply(&self, command: &Inbound, content: Content) {
        self.clock.advance(Duration::from_secs(4));
        let reply = Content { reply_to: command.to_reply_to().cloned(), ..content };
        for mut chunk in self.telegram.plan(&reply) {
            chunk.reply_to = chunk.reply_to.or_else(|| reply.reply_to.clone());
            self.telegram.deliver(&delivery(GROUP, chunk)).await.unwrap();
        }
    }

    fn public(&self) -> Vec<String> {
        self.platform.sent().into_iter().map(|sent| sent.text).collect()
    }
}

fn shown(text: &str, reply_to: Option<i64>) -> EphemeralMessage {
    EphemeralMessage { chat: GROUP, receiver: ANN, reply_to, text: text.to_owned() }
}

#[tokio::test]
async fn answer_to_a_personal_command_is_ephemeral_where_the_bot_is_an_administrator() {
    let world = World::with_group().await;
    world.platform.make_administrator(GROUP);
    let _running = world.run();
    let cases = [("/status", true), ("/model", true), ("/model a/b", false), ("/new", false)];
    for (count, (text, is_ephemeral)) in cases.into_iter().enumerate() {
        let command = world.hear(text, count + 1).await;
        let before = world.platform.shown_ephemeral().len();
        world.reply(&command, Content::text(text)).await;
        let after = world.platform.shown_ephemeral();
        assert_eq!(after.len() - before, usize::from(is_ephemeral), "{text}");
    }
    assert_eq!(world.public(), ["/model a/b", "/new"]);
    // Buttons of such a message could not be answered.
    let command = world.hear("/model", 5).await;
    let choices = vec![Choice::new("a", "/model a/b")];
    world.reply(&command, Content { choices, ..Content::text("Which?") }).await;
    assert_eq!(world.public().last().unwrap(), "Which?");
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn answer_to_a_visible_command_is_public_where_it_cannot_be_ephemeral() {
    let world = World::with_group().await;
    let _running = world.run();
    for count in 1..=2 {
        let command = world.hear("/status", count).await;
        world.reply(&command, Content::text("idle")).await;
        assert_eq!(world.public(), vec!["idle"; count]);
    }
    assert_eq!(world.platform.refusals().len(), 1, "a chat that refuses once is not asked again");
}

#[tokio::test]
async fn answer_on_an_older_server_is_public() {
    let world = World::new().await.with_commands(&COMMANDS);
    let _running = world.run();
    let command = world.hear("/status", 1).await;
    world.reply(&command, Content::text("idle")).await;
    assert_eq!((world.public(), world.platform.refusals()), (vec!["idle".to_owned()], vec![]));
}

#[tokio::test]
async fn ephemeral_command_is_answered_to_its_author_also_after_a_restart() {
    let world = World::with_group().await;
    let running = world.run();
    for (count, number) in [7, 8].into_iter().enumerate() {
        world.platform.say_ephemeral(ANN, GROUP, number, "/status");
        world.bus.taken(count + 1).await;
    }
    let taken = world.bus.taken(2).await;
    world.reply(&taken[0], Content::text("idle")).await;
    running.abort();
    drop(running.await);
    let world = World {
        telegram: std::sync::Arc::new(crate::telegram(&world.platform.base_url(), &world.clock)),
        ..world
    };
    let long = "word ".repeat(1000);
    world.reply(&taken[1], Content::text(&long)).await;
    let ephemeral = world.platform.shown_ephemeral();
    assert_eq!(ephemeral[0], shown("idle", Some(7)));
    assert_eq!(ephemeral.iter().filter(|one| one.reply_to == Some(8)).count(), 2, "both chunks");
    assert_eq!((world.public(), world.platform.refusals()), (vec![], vec![]));
}

#[tokio::test]
async fn answer_to_an_ephemeral_command_that_comes_too_late_is_a_note() {
    let world = World::with_group().await;
    let _running = world.run();
    world.platform.say_ephemeral(ANN, GROUP, 7, "/status");
    let command = world.bus.taken(1).await.pop().unwrap();
    world.platform.forget_ephemeral_commands();
    world.reply(&command, Content::text("a secret")).await;
    let public = world.public();
    assert!(public.len() == 1 && public[0].contains("Write the command again"), "{public:?}");
}

#[tokio::test]
async fn commands_that_only_show_something_are_registered_as_ephemeral() {
    let world = World::with_group().await;
    let _running = world.run();
    world.platform.wait_for_calls("setMyCommands", 1).await;
    let ephemeral: Vec<_> = world
        .platform
        .commands()
        .into_iter()
        .filter(|command| command["is_ephemeral"] == true)
        .map(|command| command["command"].clone())
        .collect();
    assert_eq!(ephemeral, [json!("status")]);
}
