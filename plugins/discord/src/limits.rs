//! The rate limits of the platform, for a channel or for the whole bot. A request that would be
//! refused is not made, because the platform blocks a bot after too many refused requests.

use std::collections::HashMap;
use std::time::Duration;

use avocet_protocol::channel::SendError;
use parking_lot::Mutex;
use serenity::model::id::ChannelId;

use crate::fault::{Limited, Scope};

/// The ends of the limits, by the clock's `elapsed`.
#[derive(Debug, Default)]
pub(crate) struct RateLimits(Mutex<RetryTimes>);

#[derive(Debug, Default)]
struct RetryTimes {
    channels: HashMap<ChannelId, Duration>,
    /// All requests except answers to interactions.
    bot: Duration,
    /// All requests from this address.
    address: Duration,
}

impl RateLimits {
    /// Returns the time until a message may be sent to the channel.
    pub(crate) fn pause(&self, channel: ChannelId, now: Duration) -> Duration {
        let times = self.0.lock();
        let of_channel = times.channels.get(&channel).copied().unwrap_or_default();
        of_channel.max(times.bot).max(times.address).saturating_sub(now)
    }

    /// # Errors
    /// [`SendError::RetryAfter`] while the channel is limited.
    pub(crate) fn check(&self, channel: ChannelId, now: Duration) -> Result<(), SendError> {
        match self.pause(channel, now) {
            Duration::ZERO => Ok(()),
            pause => Err(SendError::RetryAfter(pause)),
        }
    }

    /// Returns the time until any request may be made.
    pub(crate) fn pause_of_bot(&self, is_interaction: bool, now: Duration) -> Duration {
        let RetryTimes { bot, address, .. } = *self.0.lock();
        let until = if is_interaction { address } else { bot.max(address) };
        until.saturating_sub(now)
    }

    /// Notes that the channel's bucket is empty for this time.
    pub(crate) fn note_exhausted(&self, channel: ChannelId, wait: Duration, now: Duration) {
        let mut times = self.0.lock();
        times.channels.retain(|_, until| *until > now);
        times.channels.insert(channel, now + wait);
    }

    /// Blocks the whole bot if a 429 is about more than one channel. A block never becomes shorter.
    pub(crate) fn block(&self, limited: &Limited, now: Duration) {
        let mut times = self.0.lock();
        let until = match limited.scope {
            Scope::Channel => return,
            Scope::Bot => &mut times.bot,
            Scope::Address => &mut times.address,
        };
        if *until <= now {
            let (wait, scope) = (limited.wait, limited.scope);
            tracing::warn!(
                ?wait,
                ?scope,
                "Discord limits the whole bot; requests pause until the limit ends"
            );
        }
        *until = (*until).max(now.saturating_add(limited.wait));
    }
}
