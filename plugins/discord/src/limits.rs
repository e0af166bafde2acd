//! The rate limits of the platform, for a channel or for the whole bot. A request that would be
//! refused is not made: a bot with too many refused requests is shut out.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use avocet_protocol::SendError;
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
        let held = self.held();
        let of_channel = held.channels.get(&channel).copied().unwrap_or_default();
        of_channel.max(held.bot).max(held.address).saturating_sub(now)
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
    pub(crate) fn pause_of_account(&self, is_interaction: bool, now: Duration) -> Duration {
        let RetryTimes { bot, address, .. } = *self.held();
        let held = if is_interaction { address } else { bot.max(address) };
        held.saturating_sub(now)
    }

    /// Notes that the channel's bucket is empty for this time.
    pub(crate) fn exhausted(&self, channel: ChannelId, wait: Duration, now: Duration) {
        let mut held = self.held();
        held.channels.retain(|_, until| *until > now);
        held.channels.insert(channel, now + wait);
    }

    /// Blocks the account if a 429 is about more than one channel. A block never becomes shorter.
    pub(crate) fn hold_account(&self, limited: &Limited, now: Duration) {
        let mut held = self.held();
        let until = match limited.scope {
            Scope::Channel => return,
            Scope::Bot => &mut held.bot,
            Scope::Address => &mut held.address,
        };
        if *until <= now {
            let (wait, scope) = (limited.wait, limited.scope);
            tracing::warn!(
                ?wait,
                ?scope,
                "Discord limits the whole bot; no request is made until then"
            );
        }
        *until = (*until).max(now.saturating_add(limited.wait));
    }

    fn held(&self) -> MutexGuard<'_, RetryTimes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
