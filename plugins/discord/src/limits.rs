//! The platform says when a channel's bucket of requests is empty. What would be refused is not sent:
//! a bot whose requests are refused too often is shut out.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use avocet_protocol::{Clock, SendError};
use serenity::model::id::ChannelId;

/// Until when, by the clock's `elapsed`, nothing is sent to a channel.
#[derive(Debug, Default)]
pub(crate) struct Limits(Mutex<HashMap<ChannelId, Duration>>);

impl Limits {
    /// How long the bucket is still empty.
    pub(crate) fn pause(&self, channel: ChannelId, clock: &dyn Clock) -> Duration {
        let limits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let until = limits.get(&channel).copied().unwrap_or_default();
        until.saturating_sub(clock.elapsed())
    }

    /// # Errors
    /// [`SendError::RetryAfter`] while the bucket is empty.
    pub(crate) fn check(&self, channel: ChannelId, clock: &dyn Clock) -> Result<(), SendError> {
        match self.pause(channel, clock) {
            Duration::ZERO => Ok(()),
            pause => Err(SendError::RetryAfter(pause)),
        }
    }

    /// The bucket is empty for so long.
    pub(crate) fn exhausted(&self, channel: ChannelId, wait: Duration, clock: &dyn Clock) {
        let now = clock.elapsed();
        let mut limits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        limits.retain(|_, until| *until > now);
        limits.insert(channel, now + wait);
    }
}
