//! Requests besides messages: the bot's identity, its commands, and its health.

use std::time::Duration;

use avocet_protocol::channel::{Channel, CommandHelp, Health};
use avocet_protocol::clock::Clock;
use avocet_testkit::telegram::{ApiError, Break, InjectedFault, On, UserMessage};
use serde_json::json;

use crate::{ANN, World};

const SECOND: Duration = Duration::from_secs(1);

impl World {
    /// Advances the clock by seconds until a condition holds.
    async fn pass_until(&self, mut holds: impl FnMut() -> bool) {
        while !holds() {
            self.clock.advance(SECOND);
            tokio::task::yield_now().await;
        }
    }

    fn fault(&self) -> Option<String> {
        match self.telegram.health() {
            Health::Up => None,
            Health::Down(fault) => Some(fault),
        }
    }

    pub(crate) fn with_commands(mut self, commands: &[(&'static str, &'static str)]) -> Self {
        let help = |&(name, help)| CommandHelp::new(name, "", help);
        self.commands = commands.iter().map(help).collect();
        self
    }
}

#[tokio::test]
async fn f24_health_is_down_after_a_minute_of_404s_and_up_after_an_answer() {
    let world = World::new().await;
    let _running = world.run();
    world.platform.wait_for_poll().await;
    assert_eq!(world.telegram.health(), Health::Up);
    let not_found = || ApiError::new(404, "Not Found");
    world.platform.inject(On::any(), usize::MAX, InjectedFault::Refuse(not_found()));
    assert!(world.platform.break_poll(Break::Refuse(not_found())));
    while world.fault().is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.clock.elapsed(), Duration::ZERO);
    let three_minutes =
        |fault: &String| fault.starts_with("no successful exchange for 3 min: Not Found");
    world.pass_until(|| world.fault().as_ref().is_some_and(three_minutes)).await;
    world.platform.clear_faults();
    world.platform.private_text(ANN, "are you there?");
    world.pass_until(|| world.telegram.health() == Health::Up).await;
    assert_eq!(world.bus.taken(1).await[0].content.text, "are you there?");
}

#[tokio::test]
async fn f24_health_is_down_while_polls_hang_and_up_after_an_answer() {
    let world = World::new().await;
    let _running = world.run();
    world.platform.wait_for_poll().await;
    world.platform.inject(On::method("getUpdates"), usize::MAX, InjectedFault::Hang);
    assert!(world.platform.break_poll(Break::Hang));
    world.clock.advance(60 * SECOND);
    assert_eq!(world.telegram.health(), Health::Up);
    world.clock.advance(SECOND);
    assert_eq!(world.fault().as_deref(), Some("no successful exchange for 1 min"));
    world
        .pass_until(|| world.fault().is_some_and(|fault| fault.contains("no answer in time")))
        .await;
    world.platform.clear_faults();
    world.platform.private_text(ANN, "are you there?");
    world.pass_until(|| world.telegram.health() == Health::Up).await;
}

#[tokio::test]
async fn overdue_means_a_loop_that_hangs_and_not_a_platform_that_is_down() {
    let world = World::new().await;
    let hour = 3600 * SECOND;
    world.clock.advance(hour);
    assert!(world.telegram.is_starting());
    assert_eq!(world.telegram.overdue(), None, "nothing runs yet");
    let running = world.run();
    world.platform.wait_for_poll().await;
    assert!(!world.telegram.is_starting());
    world.platform.inject(On::method("getUpdates"), usize::MAX, InjectedFault::Hang);
    assert!(world.platform.break_poll(Break::Hang));
    let began = world.clock.elapsed();
    world
        .pass_until(|| {
            assert_eq!(world.telegram.overdue(), None);
            world.clock.elapsed() - began > hour
        })
        .await;
    // The loop gets no time to run, as if it were blocked.
    world.clock.advance(hour);
    assert!(world.telegram.overdue().is_some());
    running.abort();
    drop(running.await);
    assert_eq!(world.telegram.overdue(), None, "the loop has ended");
}

#[tokio::test]
async fn get_me_is_retried_after_a_timeout() {
    let world = World::new().await;
    world.platform.inject(On::method("getMe"), 1, InjectedFault::Hang);
    let _running = world.run();
    world.platform.wait_for_calls("getMe", 1).await;
    world.pass_until(|| world.platform.calls("getMe") == 2).await;
    world.platform.wait_for_poll().await;
}

#[tokio::test]
async fn commands_are_registered_again_only_after_a_change() {
    let long: &'static str = "🐦".repeat(200).leak();
    let cut: String = "🐦".repeat(128);
    let mut world = World::new().await;
    let rounds: [(&[(&str, &str)], usize); 3] = [
        (&[("help", "show what I understand"), ("stop", long)], 1),
        (&[("help", "show what I understand"), ("stop", long)], 1),
        (&[("help", "say it"), ("stop", long), ("silent", "")], 2),
    ];
    for (round, (commands, set)) in rounds.into_iter().enumerate() {
        world = world.with_commands(commands);
        let running = world.run();
        world.platform.wait_for_calls("getMyCommands", round + 1).await;
        world.platform.wait_for_calls("setMyCommands", set).await;
        world.platform.wait_for_poll().await;
        running.abort();
        drop(running.await);
        world.platform.wait_for_no_poll().await;
        let stop = json!({ "command": "stop", "description": cut });
        let help = json!({ "command": "help", "description": commands[0].1, "is_ephemeral": true });
        assert_eq!(
            (world.platform.commands(), world.platform.calls("setMyCommands")),
            (vec![help, stop], set)
        );
    }
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn commands_refused_by_telegram_do_not_stop_receiving() {
    for fault in
        [InjectedFault::Refuse(ApiError::bad_request("BOT_COMMAND_INVALID")), InjectedFault::Hang]
    {
        let world = World::new().await.with_commands(&[("help", "show what I understand")]);
        world.platform.inject(On::method("setMyCommands"), usize::MAX, fault);
        let _running = world.run();
        world.platform.wait_for_calls("setMyCommands", 1).await;
        world.platform.private_text(ANN, "hello");
        assert_eq!(world.bus.taken(1).await[0].content.text, "hello");
        assert_eq!(world.telegram.health(), Health::Up);
        assert_eq!(world.platform.commands(), [json!(null); 0]);
    }
}

#[tokio::test]
async fn group_command_is_received_only_if_registered() {
    let world = World::new().await.with_commands(&[("stop", "stop what I am doing")]);
    let _running = world.run();
    world.platform.say(UserMessage::group(ANN, -50, "/weather"));
    world.platform.say(UserMessage::group(ANN, -50, "/stop"));
    assert_eq!(world.bus.taken(1).await[0].content.text, "/stop");
    assert_eq!(world.bus.ignored(1).await, ["not mentioned"]);
}
