//! The channel against the strict fake, over the wire.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod albums;
mod broken_answers;
mod checklists;
mod connecting;
mod direct_messages;
mod drafts;
mod earlier;
mod editing;
mod ephemeral;
mod files;
mod forwarding;
mod malformed;
mod media;
mod moving;
mod pacing;
mod polls;
mod presses;
mod proxy;
mod reactions;
mod receiving;
mod rich;
mod sending;
mod token;
mod topics;
mod webhook;
mod webhook_parts;

use std::sync::Arc;

use avocet_protocol::channel::{Channel, ChannelContext, ChannelError, CommandHelp};
use avocet_protocol::chat::{ChatAddress, Content, Delivery};
use avocet_protocol::ids::DeliveryId;
use avocet_telegram::{Telegram, TelegramConfig};
use avocet_testkit::telegram::TelegramFake;
use avocet_testkit::{FakeBus, FakeDestinations, ManualClock};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const TOKEN: &str = "4711:AA-secret";
const ANN: i64 = 7;

struct World {
    platform: TelegramFake,
    telegram: Arc<Telegram>,
    bus: Arc<FakeBus>,
    clock: Arc<ManualClock>,
    commands: Arc<[CommandHelp]>,
    stop: CancellationToken,
}

impl World {
    async fn new() -> Self {
        Self::with(|_| ()).await
    }

    /// A bot with other settings.
    async fn with(change: impl FnOnce(&mut TelegramConfig)) -> Self {
        let platform = TelegramFake::start(TOKEN).await;
        platform.open_chat(ANN);
        let (bus, clock) = (Arc::default(), Arc::<ManualClock>::default());
        let telegram = Arc::new(telegram_with(&platform.base_url(), &clock, change));
        let (commands, stop) = (Arc::default(), CancellationToken::new());
        Self { platform, telegram, bus, clock, commands, stop }
    }

    #[expect(clippy::disallowed_methods, reason = "the test runs the channel")]
    fn run(&self) -> JoinHandle<Result<(), ChannelError>> {
        let context = ChannelContext {
            publish: self.bus.clone(),
            deliveries: Arc::new(FakeDestinations::default()),
            clock: self.clock.clone(),
            commands: self.commands.clone(),
            stop: self.stop.clone(),
        };
        let telegram = self.telegram.clone();
        tokio::spawn(async move { telegram.run(context).await })
    }
}

fn telegram(url: &str, clock: &Arc<ManualClock>) -> Telegram {
    telegram_with(url, clock, |_| ())
}

fn telegram_with(
    url: &str,
    clock: &Arc<ManualClock>,
    change: impl FnOnce(&mut TelegramConfig),
) -> Telegram {
    let mut config = TelegramConfig {
        token: Some(TOKEN.to_owned().into()),
        api_url: url.to_owned(),
        allow: vec![7],
        ..TelegramConfig::default()
    };
    change(&mut config);
    let (name, account) = ("telegram".parse().unwrap(), "main".parse().unwrap());
    Telegram::new(name, account, &config, clock.clone()).unwrap()
}

fn chat(id: i64) -> ChatAddress {
    format!("telegram:main:{id}").parse().unwrap()
}

fn delivery(id: i64, content: Content) -> Delivery {
    Delivery::new(DeliveryId(1), chat(id), content)
}
