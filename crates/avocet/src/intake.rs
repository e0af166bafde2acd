//! Runs the channels, from which messages enter the bus.

use std::sync::Arc;
use std::time::Duration;

use avocet_bus::Bus;
use avocet_outbox::{Channels, Deliverer};
use avocet_protocol::{Channel, ChannelContext, ChannelError, Clock, CommandHelp, Publish};
use avocet_supervise::{Group, Restart};

/// The restart policy for channels that end by themselves.
const CHANNEL_RESTART: Restart = Restart {
    first: Duration::from_secs(1),
    longest: Duration::from_mins(1),
    healthy_after: Duration::from_mins(2),
};

/// Runs every channel until the group is cancelled. A channel that fails for good logs the reason
/// and stays down.
pub(crate) fn run_channels(
    channels: &Channels,
    bus: &Arc<Bus>,
    deliverer: &Deliverer,
    clock: &Arc<dyn Clock>,
    intake: &Group,
) {
    let commands: Arc<[CommandHelp]> = avocet_session::commands().collect();
    for channel in channels.iter() {
        let name = format!("{}:{}", channel.name(), channel.account());
        let publish: Arc<dyn Publish> = bus.clone();
        let context = ChannelContext {
            publish,
            deliveries: Arc::new(deliverer.clone()),
            clock: clock.clone(),
            commands: commands.clone(),
            stop: intake.token(),
        };
        let channel = channel.clone();
        intake.spawn_restarting(&name, clock.clone(), CHANNEL_RESTART, move || {
            let (channel, context) = (channel.clone(), context.clone());
            async move { run_channel(channel.as_ref(), context).await }
        });
    }
}

async fn run_channel(channel: &dyn Channel, context: ChannelContext) {
    let (name, account, stop) = (channel.name(), channel.account(), context.stop.clone());
    match channel.run(context).await {
        Ok(()) => {}
        Err(ChannelError::Interrupted(error)) => {
            tracing::warn!(%name, %account, error, "the channel was interrupted");
        }
        Err(ChannelError::Fatal(error)) => {
            tracing::error!(%name, %account, error, "the channel is down until this is fixed");
            stop.cancelled().await;
        }
    }
}
