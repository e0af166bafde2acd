//! The configuration of a directory.

use std::path::PathBuf;
use std::sync::Arc;

use avocet_protocol::access::Allow;
use avocet_protocol::channel::ChannelConfig;
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::{AccountName, ChannelName, IdError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::DirectoryChannel;

/// A directory of text files, for scripts, cron jobs and sync tools. A file in its `inbox` is a
/// message of the operator, and a file in its `outbox` is an answer. For several conversations,
/// write a table for each: `[channels.directory.backup]`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DirectoryConfig {
    /// The directory. It is created if it is missing. An existing one must belong to the daemon's
    /// user and have mode 0700, because its files count as words of the operator. It must not
    /// overlap the workspaces and the directories of `[tools]` and `[sandbox]`.
    pub path: Option<PathBuf>,
}

/// The required change of the configuration.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryConfigError {
    /// The table names no directory.
    #[error("there is no path; name a separate directory: path = \"~/avocet-files\"")]
    NoPath,
    /// A name cannot be part of a chat's address.
    #[error(transparent)]
    Id(#[from] IdError),
}

impl ChannelConfig for DirectoryConfig {
    const NAME: &'static str = "directory";
    type Channel = DirectoryChannel;
    type Error = DirectoryConfigError;

    fn directory(&mut self) -> Option<(&'static str, &mut PathBuf)> {
        let path = self.path.as_mut().filter(|path| !path.as_os_str().is_empty());
        path.map(|path| ("path", path))
    }

    /// The operating system protects a directory like the socket: it must belong to the daemon's
    /// user alone. So its files count as messages of an owner.
    fn allow(&self) -> Result<Allow, IdError> {
        Ok(Allow::Local)
    }

    fn channel(
        &self,
        name: ChannelName,
        account: AccountName,
        clock: Arc<dyn Clock>,
    ) -> Result<DirectoryChannel, DirectoryConfigError> {
        let path = self.path.clone().filter(|path| !path.as_os_str().is_empty());
        let path = path.ok_or(DirectoryConfigError::NoPath)?;
        Ok(DirectoryChannel::new(name, account, path, clock)?)
    }
}
