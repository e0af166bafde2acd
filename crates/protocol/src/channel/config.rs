//! The trait with which a channel declares its configuration table, and creates the channel of an
//! account.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::access::Allow;
use crate::channel::{Attach, BotForm, BotSetup, Channel, Webhook};
use crate::clock::Clock;
use crate::ids::{AccountName, ChannelName, IdError};

/// The table of one account of a channel. Every key has a default.
pub trait ChannelConfig: DeserializeOwned + JsonSchema + fmt::Debug {
    /// The name of the channel, which is also the key of its table in `[channels]`.
    const NAME: &'static str;
    /// The accounts that the channel has.
    const ACCOUNTS: ChannelAccounts = ChannelAccounts::Configured;
    /// The keys that only [`Self::allow`] reads; `*` stands for any name. A change of them needs no
    /// restart of the account.
    const ACCESS_KEYS: &'static [&'static str] = &[];
    /// The bots of the channel, for `avocet init`; `None` if it cannot set up the channel.
    const BOT: Option<BotForm> = None;
    /// The channel of an account.
    type Channel: Channel + 'static;
    /// The reason why a configuration cannot be used.
    type Error: fmt::Display;

    /// Checks the values of single keys.
    ///
    /// # Errors
    /// The key with an unusable value, and the reason, which hides secrets.
    fn check(&self) -> Result<(), (&'static str, String)> {
        Ok(())
    }

    /// The key and the path of a directory whose files are messages of the operator. Before
    /// [`Self::channel`] the caller makes the path absolute, and refuses a directory that the agent
    /// can reach.
    fn directory(&mut self) -> Option<(&'static str, &mut PathBuf)> {
        None
    }

    /// The program that serves the account as a child of the daemon; `None` if there is none.
    fn program(&self) -> Option<ProgramConfig> {
        None
    }

    /// The people with access to the account.
    ///
    /// # Errors
    /// [`IdError`] if an id is malformed.
    fn allow(&self) -> Result<Allow, IdError>;

    /// Creates the channel of the account.
    ///
    /// # Errors
    /// The error names the required change of the configuration.
    fn channel(
        &self,
        name: ChannelName,
        account: AccountName,
        clock: Arc<dyn Clock>,
    ) -> Result<Self::Channel, Self::Error>;

    /// The part of the channel that clients attach to; `None` if clients cannot attach to it.
    fn attach(channel: &Arc<Self::Channel>) -> Option<Arc<dyn Attach>> {
        let _ = channel;
        None
    }

    /// The part of the channel that `avocet init` uses; `None` without [`Self::BOT`].
    fn setup(channel: &Arc<Self::Channel>) -> Option<Arc<dyn BotSetup>> {
        let _ = channel;
        None
    }

    /// The HTTP endpoint to which the platform posts updates; `None` if the account has no webhook.
    fn webhook(channel: &Arc<Self::Channel>) -> Option<Arc<dyn Webhook>> {
        let _ = channel;
        None
    }
}

/// A program that serves an account, and its access to the system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramConfig {
    /// The program, found in `PATH`, and its arguments.
    pub command: Vec<String>,
    /// Variables of its environment.
    pub env: BTreeMap<String, String>,
    /// Files and directories that it may read.
    pub read: Vec<PathBuf>,
    /// Directories that it may change.
    pub write: Vec<PathBuf>,
    /// Hosts that it may reach, as in `[sandbox] hosts`.
    pub hosts: Vec<String>,
}

/// Decides which tables of the configuration make accounts of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelAccounts {
    /// One for the channel's table, or one for each table in it.
    Configured,
    /// Those of [`Self::Configured`], and one for each table `[channels.NAME]` that has a `command`
    /// and is not named after a channel.
    Programs,
    /// Only the account of this name. It exists even without a table.
    Only(&'static str),
}
