//! Tests the channel over the wire against the strict fake of Discord.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod catching_up;
mod configuring;
mod connecting;
mod deletions;
mod earlier;
mod ephemeral;
mod forums;
mod history;
mod interactions;
mod polls;
mod previews;
mod proxy;
mod rate_limits;
mod reactions;
mod receiving;
mod repeating;
mod roles;
mod sending;
mod serenity;
mod threads;
mod voice;

use std::sync::Arc;
use std::time::Duration;

use avocet_discord::{Discord, DiscordConfig};
use avocet_protocol::channel::{ChannelContext, ChannelError, CommandAccess, CommandHelp};
use avocet_protocol::chat::{ChatAddress, Content, Delivery};
use avocet_protocol::ids::DeliveryId;
use avocet_testkit::discord::{DiscordFake, Route};
use avocet_testkit::{FakeBus, FakeDestinations, ManualClock};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const TOKEN: &str = "MTIz.secret.token";
const ANN: u64 = 77;
const BOB: u64 = 88;

const COMMANDS: [CommandHelp; 2] = [
    CommandHelp::new("stop", "", "stop what I am doing"),
    CommandHelp {
        choices: &["steer"],
        access: CommandAccess::OwnersInPrivate,
        ..CommandHelp::new("queue", "[mode]", "what happens to messages")
    },
];

struct World {
    platform: DiscordFake,
    discord: Arc<Discord>,
    bus: Arc<FakeBus>,
    clock: Arc<ManualClock>,
    stop: CancellationToken,
    /// A channel of a server.
    channel: u64,
    /// The direct messages with Ann.
    dm: u64,
}

impl World {
    async fn new() -> Self {
        let platform = DiscordFake::start(TOKEN).await;
        platform.limit_rates(false);
        let channel = platform.channel(platform.guild("Birds"), "general");
        let dm = platform.dm(ANN);
        let (bus, clock) = (Arc::default(), Arc::default());
        let discord = Arc::new(discord(&platform.base_url(), &clock));
        Self { platform, discord, bus, clock, stop: CancellationToken::new(), channel, dm }
    }

    /// Starts a world whose bot has other settings.
    async fn with(change: impl FnOnce(&mut DiscordConfig)) -> Self {
        let world = Self::new().await;
        let mut config = config(&world.platform.base_url());
        change(&mut config);
        let discord = Arc::new(bot(&config, &world.clock));
        Self { discord, ..world }
    }

    #[expect(clippy::disallowed_methods, reason = "the test runs the channel")]
    fn run(&self) -> JoinHandle<Result<(), ChannelError>> {
        let context = ChannelContext {
            publish: self.bus.clone(),
            deliveries: Arc::new(FakeDestinations::default()),
            clock: self.clock.clone(),
            commands: Arc::new(COMMANDS),
            stop: self.stop.clone(),
        };
        let discord = self.discord.clone();
        tokio::spawn(
            async move { avocet_protocol::channel::Channel::run(&*discord, context).await },
        )
    }

    /// Runs the channel until it is connected and has read the missed messages.
    async fn connected(&self) -> JoinHandle<Result<(), ChannelError>> {
        let offers = self.platform.calls(Route::SetCommands);
        let running = self.run();
        self.platform.wait_for_calls(Route::SetCommands, offers + 1).await;
        running
    }

    /// Starts a new daemon with other settings, which knows only the log.
    fn restarted_with(self, change: impl FnOnce(&mut DiscordConfig)) -> Self {
        let mut config = config(&self.platform.base_url());
        change(&mut config);
        let discord = Arc::new(bot(&config, &self.clock));
        Self { discord, stop: CancellationToken::new(), ..self }
    }

    /// Starts a new daemon, which knows only the log.
    fn restarted(self) -> Self {
        let discord = Arc::new(discord(&self.platform.base_url(), &self.clock));
        Self { discord, stop: CancellationToken::new(), ..self }
    }

    /// Lets the waits before retries pass until this many connections were made, and the last one
    /// has a session.
    async fn connected_again(&self, connection: u64) {
        let connecting = async {
            self.platform.wait_for_connections(connection).await;
            self.platform.wait_for_connected().await;
        };
        tokio::select! {
            biased;
            () = connecting => {}
            () = self.pass_short_waits() => {}
        }
    }

    /// Lets waits of up to five seconds pass, again and again. Never returns.
    async fn pass_short_waits(&self) {
        let second = Duration::from_secs(1);
        loop {
            self.clock.sleeper_within(Duration::from_nanos(1)..=5 * second).await;
            self.clock.advance(second);
        }
    }

    async fn texts(&self, count: usize) -> Vec<String> {
        self.bus.taken(count).await.into_iter().map(|inbound| inbound.content.text).collect()
    }
}

fn discord(url: &str, clock: &Arc<ManualClock>) -> Discord {
    bot(&config(url), clock)
}

fn config(url: &str) -> DiscordConfig {
    DiscordConfig {
        token: Some(TOKEN.to_owned().into()),
        api_url: url.to_owned(),
        allow: vec![ANN],
        // Most tests count the requests of the history.
        earlier_messages: 0,
        ..DiscordConfig::default()
    }
}

fn bot(config: &DiscordConfig, clock: &Arc<ManualClock>) -> Discord {
    let (name, account) = ("discord".parse().unwrap(), "main".parse().unwrap());
    Discord::new(name, account, config, clock.clone()).unwrap()
}

fn chat(id: u64) -> ChatAddress {
    format!("discord:main:{id}").parse().unwrap()
}

fn delivery(chat_id: u64, content: Content) -> Delivery {
    nth(1, chat_id, content)
}

/// Returns a delivery for another row of the outbox.
fn nth(row: i64, chat_id: u64, content: Content) -> Delivery {
    Delivery::new(DeliveryId(row), chat(chat_id), content)
}
