//! The configuration of a channel that another program serves.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;

use avocet_protocol::access::{Allow, AllowLists, GroupRules};
use avocet_protocol::channel::{Attach, ChannelAccounts, ChannelConfig, ProgramConfig};
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::{AccountName, ChannelName, ChatId, IdError, SenderId};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::External;
use crate::send::{LEAST_TEXT, MOST_TEXT};

/// A channel that another program serves: for IRC, e-mail or any other platform. With `command`, the
/// daemon starts the program, and the table may also be `[channels.irc]`, with any free name. Without
/// it, the program connects to the socket. It then needs the role `channel` in `[gateway.clients]`,
/// unless it runs as the daemon's user. For several programs, write a table for each:
/// `[channels.external.irc]`. The chats are `external:irc:...` in both cases.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExternalConfig {
    /// The program that the daemon starts in a sandbox, and its arguments. Default: `[]`, the program
    /// is started by others.
    pub command: Vec<String>,
    /// Variables for the environment of `command`, which has only a few of the daemon's own. Default:
    /// none.
    pub env: BTreeMap<String, String>,
    /// Files and directories that `command` may read, besides the programs and libraries of the
    /// system. Default: `[]`.
    pub read: Vec<PathBuf>,
    /// Directories that `command` may change; the first is its working directory. Default: `[]`.
    pub write: Vec<PathBuf>,
    /// Hosts that `command` may reach through the proxy in its environment: `"irc.libera.chat:6697"`.
    /// Without a port, 80 and 443 are open. Default: `[]`, no network.
    pub hosts: Vec<String>,
    /// The people who have access, by the ids that the program reports. Owners, and people who were
    /// admitted later by pairing, need not be listed. Default: `[]`.
    pub allow: Vec<String>,
    /// The owners. An owner has every tool and can admit others. Default: `[]`.
    pub owners: Vec<String>,
    /// `true` to send a pairing code to strangers who write in a private chat. An owner can admit
    /// them with this code. Default: `true`.
    pub pairing: bool,
    /// `true` to let the owners of this channel decide about questions of other channels, too: about
    /// calls, strangers, links and rules. The program says who they are, so permit it only to a program that
    /// you trust with all of them. Default: `false`.
    pub approve_others: bool,
    /// Settings of single groups, by chat id.
    pub groups: BTreeMap<String, ExternalGroup>,
    /// Characters of the longest message, from 100 to 100000. The program may set it when it
    /// attaches. Default: 4000.
    pub max_text: usize,
}

/// Settings of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExternalGroup {
    /// The people who may speak to the agent in this group. Default: everyone with access.
    pub allow: Option<Vec<String>>,
    /// `true` to let owners use all tools in this group, although its other members read along.
    /// Default: `false`.
    pub owner_tools: bool,
}

impl ChannelConfig for ExternalConfig {
    const NAME: &'static str = "external";
    const ACCESS_KEYS: &'static [&'static str] =
        &["allow", "owners", "pairing", "approve_others", "groups"];
    const ACCOUNTS: ChannelAccounts = ChannelAccounts::Programs;
    type Channel = External;
    type Error = Infallible;

    fn check(&self) -> Result<(), (&'static str, String)> {
        self.check_program()?;
        match self.max_text {
            LEAST_TEXT..=MOST_TEXT => Ok(()),
            chars => Err((
                "max_text",
                format!("{chars} is not a number from {LEAST_TEXT} to {MOST_TEXT}"),
            )),
        }
    }

    fn allow(&self) -> Result<Allow, IdError> {
        let Self { allow, owners, groups, pairing, approve_others, .. } = self;
        let rules = |group: &ExternalGroup| {
            let allow = group.allow.as_deref().map(ids).transpose()?;
            Ok(GroupRules { allow, owner_tools: group.owner_tools })
        };
        let groups = groups.iter().map(|(id, group)| Ok((ChatId::parse(id)?, rules(group)?)));
        Ok(Allow::Listed(AllowLists {
            users: ids(allow)?,
            owners: ids(owners)?,
            groups: groups.collect::<Result<_, IdError>>()?,
            pairing: *pairing,
            decides_own_only: !approve_others,
            ..AllowLists::default()
        }))
    }

    fn channel(
        &self,
        name: ChannelName,
        account: AccountName,
        _clock: Arc<dyn Clock>,
    ) -> Result<External, Infallible> {
        Ok(External::new(name, account, self.max_text))
    }

    fn program(&self) -> Option<ProgramConfig> {
        let Self { command, env, read, write, hosts, .. } = self.clone();
        (!command.is_empty()).then_some(ProgramConfig { command, env, read, write, hosts })
    }

    fn attach(channel: &Arc<External>) -> Option<Arc<dyn Attach>> {
        Some(channel.clone())
    }
}

impl ExternalConfig {
    /// Refuses keys about the program if there is none.
    fn check_program(&self) -> Result<(), (&'static str, String)> {
        let Self { command, env, read, write, hosts, .. } = self;
        if command.first().is_some_and(|program| program.trim().is_empty()) {
            return Err(("command", "the name of the program is empty".to_owned()));
        }
        let given = [
            ("env", env.is_empty()),
            ("read", read.is_empty()),
            ("write", write.is_empty()),
            ("hosts", hosts.is_empty()),
        ];
        match given.into_iter().find(|(_, is_empty)| !is_empty) {
            Some((key, _)) if command.is_empty() => {
                Err((key, "it is for the program of `command`, which is missing".to_owned()))
            }
            _ => Ok(()),
        }
    }
}

fn ids(ids: &[String]) -> Result<BTreeSet<SenderId>, IdError> {
    ids.iter().map(|id| SenderId::parse(id)).collect()
}

impl Default for ExternalConfig {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            env: BTreeMap::new(),
            read: Vec::new(),
            write: Vec::new(),
            hosts: Vec::new(),
            allow: Vec::new(),
            owners: Vec::new(),
            pairing: true,
            approve_others: false,
            groups: BTreeMap::new(),
            max_text: 4000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allow_has_the_ids_of_people_and_groups() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let group = ExternalGroup { allow: Some(names(&["eve"])), owner_tools: true };
        let config = ExternalConfig {
            allow: names(&["ann"]),
            owners: names(&["bob"]),
            groups: [("#team".to_owned(), group)].into(),
            ..ExternalConfig::default()
        };
        let ids = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect();
        let rules = GroupRules { allow: Some(ids(&["eve"])), owner_tools: true };
        let expected = AllowLists {
            users: ids(&["ann"]),
            owners: ids(&["bob"]),
            groups: [("#team".parse().unwrap(), rules)].into(),
            pairing: true,
            decides_own_only: true,
            ..AllowLists::default()
        };
        assert_eq!(config.allow().unwrap(), Allow::Listed(expected));
        let config = ExternalConfig { allow: names(&[""]), ..ExternalConfig::default() };
        assert!(config.allow().is_err());
    }

    #[test]
    fn check_refuses_access_without_a_program() {
        let hosts = vec!["irc.libera.chat:6697".to_owned()];
        let config = ExternalConfig { hosts, ..ExternalConfig::default() };
        assert_eq!(config.check().unwrap_err().0, "hosts");
        assert_eq!(config.program(), None);
        let config = ExternalConfig { command: vec!["avocet-irc".to_owned()], ..config };
        assert_eq!(config.check(), Ok(()));
        assert_eq!(config.program().unwrap().hosts, config.hosts);
        let config = ExternalConfig { command: vec![" ".to_owned()], ..config };
        assert_eq!(config.check().unwrap_err().0, "command");
    }

    #[test]
    fn check_refuses_a_length_out_of_range() {
        for (max_text, is_good) in [(99, false), (100, true), (100_000, true), (100_001, false)] {
            let config = ExternalConfig { max_text, ..ExternalConfig::default() };
            assert_eq!(config.check().is_ok(), is_good, "{max_text}");
        }
    }
}
