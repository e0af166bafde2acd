//! Parts of the daemon that make no progress. systemd's watchdog then gets no sign of life.

use std::fmt;
use std::time::Duration;

use avocet_outbox::ChannelRegistry;
use avocet_protocol::store::StoreError;
use avocet_session::NotMoving;

/// A part that makes no progress.
#[derive(Debug)]
pub(crate) enum Stuck {
    Log(StoreError),
    Lanes(NotMoving),
    /// The receive loop of this account is late by this time.
    Channel(String, Duration),
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(error) => write!(f, "the log: {error}"),
            Self::Lanes(error) => write!(f, "the lanes: {error}"),
            Self::Channel(account, late) => {
                write!(f, "the channel {account}: its receive loop is {} s late", late.as_secs())
            }
        }
    }
}

/// Returns the first channel whose receive loop hangs.
pub(crate) fn hung_channel(channels: &ChannelRegistry) -> Option<Stuck> {
    channels.all_channels().into_iter().find_map(|channel| {
        let account = format!("{}:{}", channel.name(), channel.account());
        Some(Stuck::Channel(account, channel.overdue()?))
    })
}

#[cfg(test)]
#[path = "stuck_tests.rs"]
mod tests;
