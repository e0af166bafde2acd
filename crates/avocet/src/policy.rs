//! The rules for tools, from the configuration's tables.

use std::time::Duration;

use avocet_config::{ConfigError, Document, Settings};
use avocet_protocol::ToolList;
use avocet_tools::{Listed, Policy, Registry};

use crate::registry::CHANNELS;

/// The rules of an agent that has these tools.
pub(crate) fn policy(settings: &Settings, agent: &str, tools: &ToolList) -> Policy {
    let own = [Listed {
        table: format!("[agents.{agent}.tools]"),
        channel: None,
        role: None,
        tools: tools.clone(),
    }];
    let roles = settings.tools.roles.iter().map(|(role, tools)| Listed {
        table: format!("[tools.roles.{}]", role.word()),
        channel: None,
        role: Some(*role),
        tools: tools.clone(),
    });
    let channels = settings.tools.channels.iter().map(|(channel, tools)| Listed {
        table: format!("[tools.channels.{channel}]"),
        channel: Some(channel.clone()),
        role: None,
        tools: tools.clone(),
    });
    let rules = settings.tools.policy.iter().map(|(pattern, said)| (pattern.clone(), *said));
    Policy { rules: rules.collect(), lists: own.into_iter().chain(roles).chain(channels).collect() }
}

/// How long an approval may wait.
pub(crate) fn approvals(settings: &Settings) -> Duration {
    Duration::from_mins(settings.tools.approval_minutes.max(1))
}

/// Complains about a table for a channel that there is not.
pub(crate) fn check(document: &Document, settings: &Settings) -> Result<(), ConfigError> {
    let known: Vec<&str> = CHANNELS.iter().map(|kind| kind.name).collect();
    match settings.tools.channels.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(document.unknown_key(&format!("tools.channels.{name}"), &known)),
        None => Ok(()),
    }
}

/// Gives tools to users, and warns of names that are no tool's: a slip of the pen opens or closes
/// something else than was meant.
pub(crate) fn open_and_warn(registry: &mut Registry, settings: &Settings, policy: &Policy) {
    for pattern in &settings.tools.users {
        if registry.open_to_users(pattern) == 0 {
            tracing::warn!(pattern, "[tools] users names no tool; look for a slip of the pen");
        }
    }
    let named = policy.lists.iter().flat_map(|list| {
        let patterns = list.tools.allow.iter().chain(&list.tools.deny);
        patterns.map(|pattern| (list.table.as_str(), pattern))
    });
    let rules = policy.rules.iter().map(|(pattern, _)| ("[tools.policy]", pattern));
    for (table, pattern) in named.chain(rules) {
        if !registry.has(pattern) {
            tracing::warn!(table, pattern, "it names no tool here; look for a slip of the pen");
        }
    }
}
