//! Builds the rules for tools from the configuration's tables.

use std::time::Duration;

use avocet_config::{
    AgentProfile, AgentTools, ConfigDocument, ConfigError, ConfigSettings, SHIPPED, read_profiles,
};
use avocet_protocol::tool::ChoiceBits;
use avocet_text::nearest;
use avocet_tools::{AgentPolicy, ListedTools, ToolRegistry, tool_meant_by};

use crate::configuration::Agent;

/// Returns the rules of the agent `name`. The list of every other agent applies to children below
/// it.
pub(crate) fn agent_policy(settings: &ConfigSettings, agents: &[Agent], name: &str) -> AgentPolicy {
    let listed = |agent: &Agent| {
        let profile = &agent.profile;
        let AgentProfile { name: other, agent, .. } = profile;
        ListedTools {
            table: format!("[{}]", profile.path("tools")),
            above: Some(other.clone()).filter(|other| other != name),
            channel: None,
            role: None,
            tools: agent.tools.list(),
        }
    };
    let own = agents.iter().map(listed);
    let roles = settings.tools.roles.iter().map(|(role, tools)| ListedTools {
        table: format!("[tools.roles.{}]", role.as_str()),
        above: None,
        channel: None,
        role: Some(*role),
        tools: tools.clone(),
    });
    let channels = settings.tools.channels.iter().map(|(channel, tools)| ListedTools {
        table: format!("[tools.channels.{channel}]"),
        above: None,
        channel: Some(channel.clone()),
        role: None,
        tools: tools.clone(),
    });
    let rules = settings.tools.policy.iter().map(|(pattern, said)| (pattern.clone(), *said));
    AgentPolicy { rules: rules.collect(), lists: own.chain(roles).chain(channels).collect() }
}

/// Returns the time that an approval may wait.
pub(crate) fn approval_expiry(settings: &ConfigSettings) -> Duration {
    Duration::from_mins(settings.tools.approval_minutes.max(1))
}

/// Returns the bits that the choices of a turn may tell.
pub(crate) fn choice_budget(settings: &ConfigSettings) -> ChoiceBits {
    ChoiceBits::from_bits(settings.tools.choice_bits)
}

/// Refuses the name of an unknown tool. A misspelt name would leave a tool without approval, or
/// open to people who should lack it. Patterns may concern tools of servers that connect later.
pub(crate) fn check_names(
    document: &ConfigDocument,
    settings: &ConfigSettings,
    tools: &[String],
) -> Result<(), ConfigError> {
    let lists = [
        settings
            .tools
            .roles
            .iter()
            .map(|(role, list)| (format!("tools.roles.{}", role.as_str()), list))
            .collect(),
        settings
            .tools
            .channels
            .iter()
            .map(|(name, list)| (format!("tools.channels.{name}"), list))
            .collect::<Vec<_>>(),
    ];
    let profiles = read_profiles(document)?;
    let agents = profiles.iter().map(|one| (one.path("tools"), &one.agent.tools));
    let in_list = |path: &str, names: &[String]| {
        let place = |(place, name): (usize, &String)| (format!("{path}[{place}]"), name.clone());
        names.iter().enumerate().map(place).collect::<Vec<_>>()
    };
    let mut named = in_list("tools.users", &settings.tools.users);
    named.extend(
        settings.tools.policy.keys().map(|name| (format!("tools.policy.{name}"), name.clone())),
    );
    for (path, list) in lists.into_iter().flatten() {
        named.extend(in_list(&format!("{path}.allow"), &list.allow));
        named.extend(in_list(&format!("{path}.deny"), &list.deny));
    }
    for (path, AgentTools { allow, deny, core }) in agents {
        named.extend(in_list(&format!("{path}.allow"), allow));
        named.extend(in_list(&format!("{path}.deny"), deny));
        named.extend(in_list(&format!("{path}.core"), core.as_deref().unwrap_or_default()));
    }
    let servers = &settings.tools.mcp_servers;
    let is_of_server =
        |name: &str| name.split_once("__").is_some_and(|(server, _)| servers.contains_key(server));
    let unknown = |name: &str| {
        !name.contains('*') && !is_of_server(name) && !tools.iter().any(|tool| tool == name)
    };
    match named.iter().find(|(_, name)| unknown(name)) {
        None => Ok(()),
        Some((path, name)) => {
            let name = document.hide_reference(path, name);
            let meant =
                tool_meant_by(name).or_else(|| nearest(name, tools.iter().map(String::as_str)));
            let meant = match meant {
                Some(tool) => format!("did you mean `{tool}`?"),
                None => format!("the tools are {}", tools.join(", ")),
            };
            Err(document.error_at(path, format!("`{path}`: there is no tool {name:?}; {meant}")))
        }
    }
}

/// Gives tools to users. Warns of names without a tool here.
pub(crate) fn open(registry: &mut ToolRegistry, settings: &ConfigSettings) {
    for pattern in &settings.tools.users {
        if registry.open_to_users(pattern) == 0 && !registry.has_match(pattern) {
            tracing::warn!(pattern, "a name in [tools] users matches no tool; check the spelling");
        }
    }
}

/// Warns of names without a tool here: the shell's if there is no shell, and patterns. The lists of
/// shipped profiles are known to be right.
pub(crate) fn warn_of_unused(
    registry: &ToolRegistry,
    document: &ConfigDocument,
    policy: &AgentPolicy,
) {
    let is_shipped = |table: &str| {
        let path = table.trim_matches(['[', ']']).trim_end_matches(".tools");
        SHIPPED.iter().any(|one| path == format!("agents.{}", one.name))
            && document.get(path).is_none()
    };
    let own = policy.lists.iter().filter(|list| list.above.is_none() && !is_shipped(&list.table));
    let named = own.flat_map(|list| {
        let patterns = list.tools.allow.iter().chain(&list.tools.deny);
        patterns.map(|pattern| (list.table.as_str(), pattern))
    });
    let rules = policy.rules.iter().map(|(pattern, _)| ("[tools.policy]", pattern));
    for (table, pattern) in named.chain(rules) {
        if !registry.has_match(pattern) {
            tracing::warn!(table, pattern, "the name matches no tool; check the spelling");
        }
    }
}
