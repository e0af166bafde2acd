//! Reactions of the bot and of people.

use std::time::Duration;

use avocet_protocol::channel::Channel;
use avocet_protocol::chat::{Content, Outcome};
use avocet_protocol::store::AcceptedAs;
use avocet_testkit::telegram::{ApiError, InjectedFault, On, PostedMessage, UserMessage};

use crate::{ANN, World, delivery};

const BOB: i64 = 8;
const GROUP: i64 = -100;

async fn world() -> World {
    World::with(|config| {
        config.reaction_done = "👍".to_owned();
        config.reaction_failed = "👎".to_owned();
    })
    .await
}

impl World {
    /// Ends the `count`th message.
    async fn end(&self, count: usize, outcome: Outcome) {
        let received = self.bus.taken(count).await.pop().unwrap();
        self.telegram.note_outcome(&received.address, &received.key, outcome);
    }

    /// Lets the second before the reaction to a receipt pass.
    async fn pass_second(&self) {
        let second = Duration::from_secs(1);
        self.clock.sleeper_within(second..=second).await;
        self.clock.advance(second);
    }

    /// Waits for the reaction to a receipt.
    async fn wait_for_eye(&self, message: PostedMessage) {
        self.pass_second().await;
        self.platform.wait_for_reaction(message, "👀").await;
    }

    fn reactions_set(&self) -> usize {
        self.platform.calls("setMessageReaction")
    }
}

#[tokio::test]
async fn bot_reacts_to_receipt_and_outcome_of_a_message() {
    let world = world().await;
    let _running = world.run();
    let outcomes = [
        (Outcome::Replied, "👍"),
        (Outcome::Merged, "👍"),
        (Outcome::Error, "👎"),
        (Outcome::Dropped, "👎"),
        (Outcome::Stopped, ""),
    ];
    for (count, (outcome, expected)) in (1..).zip(outcomes) {
        let message = world.platform.private_text(ANN, "hello");
        world.wait_for_eye(message).await;
        world.end(count, outcome).await;
        world.platform.wait_for_reaction(message, expected).await;
    }
    assert_eq!(world.reactions_set(), 2 * outcomes.len());
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn answer_within_a_second_needs_no_reaction() {
    let world = World::new().await;
    let _running = world.run();
    world.platform.private_text(ANN, "hello");
    let second = Duration::from_secs(1);
    world.clock.sleeper_within(second..=second).await;
    world.clock.advance(Duration::from_millis(900));
    world.end(1, Outcome::Replied).await;
    let slow = world.platform.private_text(ANN, "again");
    world.bus.taken(2).await;
    world.wait_for_eye(slow).await;
    assert_eq!(world.reactions_set(), 1);
}

#[tokio::test]
async fn bot_shows_only_the_receipt_by_default() {
    let world = World::new().await;
    let _running = world.run();
    let message = world.platform.private_text(ANN, "hello");
    world.wait_for_eye(message).await;
    world.end(1, Outcome::Error).await;
    world.platform.wait_for_reaction(message, "").await;
    assert_eq!(world.reactions_set(), 2);
}

#[tokio::test]
async fn bot_reacts_to_no_command_press_or_edit() {
    let world = World::new().await;
    let _running = world.run();
    let command = world.platform.private_text(ANN, "/stop now");
    let choices = vec![avocet_protocol::chat::Choice::new("Yes", "/approve")];
    let asked = delivery(ANN, Content { choices, ..Content::text("May I?") });
    world.telegram.deliver(&asked).await.unwrap();
    world.platform.press(ANN, &world.platform.sent()[0], "/approve");
    world.bus.taken(2).await;
    let message = world.platform.private_text(ANN, "hello");
    world.wait_for_eye(message).await;
    world.platform.edit(message, "hello!");
    world.bus.taken(4).await;
    world.end(4, Outcome::Replied).await;
    let last = world.platform.private_text(ANN, "again");
    world.wait_for_eye(last).await;
    assert_eq!((world.platform.reaction(command), world.reactions_set()), (String::new(), 2));
}

#[tokio::test]
async fn bot_reacts_only_to_a_message_that_waits_for_the_agent() {
    let world = World::new().await;
    world.bus.accept_as([AcceptedAs::Decision, AcceptedAs::Unsure]);
    let _running = world.run();
    for text in ["long ago", "yes"] {
        world.platform.private_text(ANN, text);
    }
    let message = world.platform.private_text(ANN, "hello");
    world.wait_for_eye(message).await;
    assert_eq!(world.reactions_set(), 1);
}

#[tokio::test]
async fn bot_without_emojis_sends_no_reaction() {
    let world = World::with(|config| config.reaction_received = String::new()).await;
    let _running = world.run();
    for count in 1..3 {
        world.platform.private_text(ANN, "hello");
        world.end(count, Outcome::Replied).await;
    }
    world.platform.wait_for_confirmed().await;
    assert_eq!(world.reactions_set(), 0);
}

#[tokio::test]
async fn chat_that_forbids_reactions_is_asked_once_for_each() {
    let world = world().await;
    world.platform.forbid_reactions(ANN);
    let _running = world.run();
    world.platform.private_text(ANN, "hello");
    world.pass_second().await;
    world.platform.wait_for_calls("setMessageReaction", 1).await;
    world.end(1, Outcome::Replied).await;
    world.platform.wait_for_calls("setMessageReaction", 2).await;
    world.platform.private_text(ANN, "again");
    world.platform.wait_for_confirmed().await;
    world.end(2, Outcome::Replied).await;
    let others = world.platform.say(UserMessage::private(BOB, "hello"));
    world.wait_for_eye(others).await;
    assert_eq!(world.reactions_set(), 3);
}

#[tokio::test]
async fn reaction_that_the_chat_does_not_know_leaves_no_earlier_one() {
    let world = world().await;
    let _running = world.run();
    let message = world.platform.private_text(ANN, "hello");
    world.wait_for_eye(message).await;
    let refusal = ApiError::bad_request("REACTIONS_DISABLED");
    world.platform.inject(On::method("setMessageReaction"), 1, InjectedFault::Refuse(refusal));
    world.end(1, Outcome::Replied).await;
    world.platform.wait_for_reaction(message, "").await;
    assert_eq!(world.reactions_set(), 3);
}

#[tokio::test]
async fn refused_reaction_to_an_end_leaves_no_receipt_on_any_message() {
    let world = world().await;
    let _running = world.run();
    let mut messages = Vec::new();
    for text in ["one", "two"] {
        let message = world.platform.private_text(ANN, text);
        world.wait_for_eye(message).await;
        messages.push(message);
    }
    let refusal = ApiError::bad_request("REACTION_INVALID");
    let on = || On::method("setMessageReaction");
    world.platform.inject(on(), 1, InjectedFault::Refuse(refusal));
    world.platform.inject(on(), 1, InjectedFault::flood(7));
    for received in world.bus.taken(2).await {
        world.telegram.note_outcome(&received.address, &received.key, Outcome::Replied);
    }
    let wait = Duration::from_secs(7);
    world.clock.sleeper_within(wait..=wait).await;
    world.clock.advance(wait);
    for message in messages {
        world.platform.wait_for_reaction(message, "").await;
    }
    let later = world.platform.private_text(ANN, "three");
    world.wait_for_eye(later).await;
    world.end(3, Outcome::Replied).await;
    world.platform.wait_for_reaction(later, "").await;
    let asked = world.platform.requests("setMessageReaction");
    let asked = asked.iter().filter(|call| call.args.to_string().contains("👍"));
    assert_eq!(asked.count(), 1);
}

#[tokio::test]
async fn receipt_that_was_never_shown_is_not_removed_but_its_end_is_shown() {
    for done in ["", "👀"] {
        let world = World::with(|config| config.reaction_done = done.to_owned()).await;
        let _running = world.run();
        world.platform.inject(On::method("setMessageReaction"), 1, InjectedFault::flood(60));
        let first = world.platform.private_text(ANN, "hello");
        world.pass_second().await;
        world.platform.wait_for_calls("setMessageReaction", 1).await;
        world.platform.private_text(ANN, "again");
        let wait = Duration::from_secs(60);
        world.clock.sleeper_within(wait..=wait).await;
        let ended = world.bus.taken(2).await.remove(0);
        world.telegram.note_outcome(&ended.address, &ended.key, Outcome::Replied);
        world.clock.advance(wait);
        let last = world.platform.private_text(ANN, "last");
        world.wait_for_eye(last).await;
        assert_eq!(world.platform.reaction(first), done);
        assert_eq!(world.reactions_set(), if done.is_empty() { 3 } else { 4 });
    }
}

#[tokio::test]
async fn reaction_waits_as_long_as_the_platform_asks() {
    let world = World::new().await;
    let _running = world.run();
    world.platform.inject(On::method("setMessageReaction"), 1, InjectedFault::flood(7));
    let message = world.platform.private_text(ANN, "hello");
    world.pass_second().await;
    // No other part of the bot sleeps that long.
    let wait = Duration::from_secs(7);
    world.clock.sleeper_within(wait..=wait).await;
    assert_eq!(world.platform.reaction(message), "");
    world.clock.advance(wait);
    world.platform.wait_for_reaction(message, "👀").await;
}

#[tokio::test]
async fn reaction_that_waits_in_a_chat_holds_up_no_other_chat() {
    let world = World::new().await;
    let _running = world.run();
    let flood = InjectedFault::flood(7);
    world.platform.inject(On::method("setMessageReaction").chat(ANN), 1, flood);
    let message = world.platform.private_text(ANN, "hello");
    world.pass_second().await;
    let wait = Duration::from_secs(7);
    world.clock.sleeper_within(wait..=wait).await;
    let other = world.platform.say(UserMessage::private(BOB, "hello"));
    world.wait_for_eye(other).await;
    assert_eq!(world.platform.reaction(message), "");
}

#[tokio::test]
async fn reaction_after_a_long_wait_is_left_out_and_others_in_the_chat_wait() {
    let world = World::new().await;
    let _running = world.run();
    world.platform.inject(On::method("setMessageReaction"), 1, InjectedFault::flood(60));
    let first = world.platform.private_text(ANN, "hello");
    world.pass_second().await;
    world.platform.wait_for_calls("setMessageReaction", 1).await;
    let second = world.platform.private_text(ANN, "again");
    let wait = Duration::from_secs(60);
    world.clock.sleeper_within(wait..=wait).await;
    assert_eq!(world.reactions_set(), 1);
    world.clock.advance(wait);
    world.platform.wait_for_reaction(second, "👀").await;
    assert_eq!(world.platform.reaction(first), "");
}

#[tokio::test]
async fn reaction_to_a_receipt_is_removed_after_failed_attempts() {
    let world = World::new().await;
    let _running = world.run();
    let message = world.platform.private_text(ANN, "hello");
    world.wait_for_eye(message).await;
    world.platform.inject(On::method("setMessageReaction"), 1, InjectedFault::ResetBefore);
    world.platform.inject(On::method("setMessageReaction"), 1, InjectedFault::flood(60));
    world.end(1, Outcome::Replied).await;
    for seconds in [1, 60] {
        let wait = Duration::from_secs(seconds);
        world.clock.sleeper_within(wait..=wait).await;
        world.clock.advance(wait);
    }
    world.platform.wait_for_reaction(message, "").await;
}

#[tokio::test]
async fn stop_removes_a_receipt_whose_removal_waits() {
    let world = World::new().await;
    let running = world.run();
    let message = world.platform.private_text(ANN, "hello");
    world.wait_for_eye(message).await;
    world.platform.inject(On::method("setMessageReaction"), 1, InjectedFault::ResetBefore);
    world.end(1, Outcome::Replied).await;
    let wait = Duration::from_secs(1);
    world.clock.sleeper_within(wait..=wait).await;
    world.stop.cancel();
    assert_eq!(running.await.unwrap(), Ok(()));
    assert_eq!((world.platform.reaction(message), world.reactions_set()), (String::new(), 3));
}

#[tokio::test]
async fn stop_waits_five_seconds_for_a_server_that_does_not_answer() {
    let world = World::new().await;
    let running = world.run();
    let message = world.platform.private_text(ANN, "hello");
    world.wait_for_eye(message).await;
    world.platform.inject(On::method("setMessageReaction"), 2, InjectedFault::Hang);
    world.end(1, Outcome::Replied).await;
    world.platform.wait_for_calls("setMessageReaction", 2).await;
    world.stop.cancel();
    let limit = Duration::from_secs(5);
    world.clock.sleeper_within(limit..=limit).await;
    world.platform.wait_for_calls("setMessageReaction", 3).await;
    world.clock.advance(limit);
    assert_eq!(running.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn reactions_to_an_answer_come_with_the_next_message() {
    let world = World::new().await;
    world.platform.open_chat(GROUP);
    world.platform.make_administrator(GROUP);
    let _running = world.run();
    world.platform.wait_for_poll().await;
    for chat in [ANN, GROUP] {
        let content = world.telegram.plan(&Content::text("The answer")).remove(0);
        world.telegram.deliver(&delivery(chat, content)).await.unwrap();
    }
    let [to_ann, to_all] = [0, 1].map(|number| world.platform.sent()[number].clone());
    let own = world.platform.private_text(ANN, "a question");
    world.platform.react_to_user(ANN, own, "🔥");
    world.platform.react(ANN, &to_ann, "👎");
    world.platform.react(ANN, &to_ann, "👍");
    world.platform.react(BOB, &to_all, "🎉");
    world.platform.react(BOB, &to_all, "");
    world.platform.react(BOB, &to_all, "🤔");
    let say_in = |text| world.platform.say(UserMessage::group(ANN, GROUP, text));
    let said: [PostedMessage; 3] = [
        world.platform.private_text(ANN, "good"),
        world.platform.private_text(ANN, "again"),
        say_in("@avocet_bot well?"),
    ];
    assert!(said.iter().all(|message| message.update.is_some()));
    let received = world.bus.taken(4).await;
    let [first, own, none, of_bob] = [0, 1, 2, 3].map(|number| &received[number].content);
    assert_eq!(first.earlier, []);
    let text = "[the author of this message reacted with 👍 to your last message]";
    assert_eq!(own.describe_earlier().unwrap(), format!("[earlier in this chat]\n> {text}"));
    assert!(!own.has_untrusted_parts());
    assert_eq!(none.earlier, [], "each is told once");
    let text = "User 8: [reacted with 🤔 to your last message]";
    assert_eq!(of_bob.describe_earlier().unwrap(), format!("[earlier in this chat]\n> {text}"));
    assert!(of_bob.has_untrusted_parts());
}
