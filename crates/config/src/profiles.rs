//! The agents of a configuration: `[agents.defaults]`, and one table for each agent that differs.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::keys::schema;
use crate::shipped::{SHIPPED, Shipped};
use crate::{AgentDefaults, ConfigError, Document};

/// The name of the agent that answers all sessions without an agent of their own.
pub const DEFAULTS: &str = "defaults";

/// The least tokens that leave room for instructions and tools.
const LEAST_CONTEXT: u64 = 2000;

/// One agent of the configuration.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The agent's table is `[agents.NAME]`.
    pub name: String,
    /// The agent's keys, its own and inherited ones.
    pub agent: AgentDefaults,
    /// Patterns of the ids of its sessions; `*` stands for any characters.
    pub sessions: Vec<String>,
}

/// The table of an agent. It inherits the keys of `[agents.defaults]` that it does not set.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProfileKeys {
    /// The keys that differ from `[agents.defaults]`.
    #[serde(flatten)]
    pub agent: AgentDefaults,
    /// The sessions that the agent answers: ids, in which `*` matches any characters. If patterns
    /// of several agents match, the most specific pattern applies; of equally specific patterns,
    /// that of the agent whose name comes first.
    pub sessions: Vec<String>,
}

/// Returns every agent, the defaults first, the others by name. The shipped profiles are among them.
///
/// # Errors
/// [`ConfigError`] names the first unusable key, also if two agents claim the same sessions.
pub fn profiles(document: &Document) -> Result<Vec<Profile>, ConfigError> {
    let defaults: AgentDefaults = document.table(&path(DEFAULTS))?;
    check_limits(document, &path(DEFAULTS), &defaults)?;
    let mut found =
        vec![Profile { name: DEFAULTS.to_owned(), agent: defaults, sessions: Vec::new() }];
    let own = document.keys_at("agents")?;
    let shipped = SHIPPED.iter().map(|profile| profile.name);
    let names: BTreeSet<&str> = own.keys().map(String::as_str).chain(shipped).collect();
    for name in names.into_iter().filter(|name| *name != DEFAULTS) {
        let profile = profile(document, name)?;
        for (place, pattern) in profile.sessions.iter().enumerate() {
            check_pattern(document, &found, SessionPattern { agent: name, place, pattern })?;
        }
        found.push(profile);
    }
    Ok(found)
}

fn path(name: &str) -> String {
    format!("agents.{name}")
}

fn profile(document: &Document, name: &str) -> Result<Profile, ConfigError> {
    let path = path(name);
    // A misspelt `defaults` would become an agent without sessions.
    if strsim::jaro_winkler(name, DEFAULTS) > 0.9 {
        return Err(document.unknown_key(&path, &[DEFAULTS]));
    }
    let mut own = document.keys_at(&path)?;
    document.check_keys(&path, &Value::Object(own.clone()), &schema::<ProfileKeys>())?;
    let sessions = own.remove("sessions").unwrap_or_else(|| Value::Array(Vec::new()));
    let sessions = document.read_as(&format!("{path}.sessions"), sessions)?;
    let mut whole = document.keys_at(&self::path(DEFAULTS))?;
    whole.extend(SHIPPED.iter().filter(|shipped| shipped.name == name).flat_map(Shipped::keys));
    whole.extend(own);
    let agent = document.read_as(&path, Value::Object(whole))?;
    check_limits(document, &path, &agent)?;
    Ok(Profile { name: name.to_owned(), agent, sessions })
}

/// Refuses limits that would prevent every answer.
fn check_limits(document: &Document, path: &str, agent: &AgentDefaults) -> Result<(), ConfigError> {
    let limits = [
        ("max_tool_iterations", u64::from(agent.max_tool_iterations), 1),
        ("max_turn_seconds", agent.max_turn_seconds, 1),
        ("max_turn_tokens", agent.max_turn_tokens, LEAST_CONTEXT),
        ("context_tokens", agent.context_tokens, LEAST_CONTEXT),
    ];
    let too_small = limits.into_iter().find(|(_, value, least)| value < least);
    let Some((key, value, least)) = too_small else { return Ok(()) };
    let at = format!("{path}.{key}");
    let message =
        format!("`{at}`: {value} is too small for any answer; it must be at least {least}");
    Err(document.error_at(&at, message))
}

/// An entry of the key `sessions` of an agent.
#[derive(Clone, Copy)]
struct SessionPattern<'p> {
    agent: &'p str,
    place: usize,
    pattern: &'p str,
}

fn check_pattern(
    document: &Document,
    others: &[Profile],
    session: SessionPattern<'_>,
) -> Result<(), ConfigError> {
    let SessionPattern { agent, place, pattern } = session;
    let at = format!("agents.{agent}.sessions[{place}]");
    let shown = document.shown(&at, pattern);
    if !pattern.contains(['*', ':']) {
        let message = format!(
            "`{at}`: {shown:?} fits no session; write channel:account:chat, with * for any \
                characters"
        );
        return Err(document.error_at(&at, message));
    }
    match others.iter().find(|other| other.sessions.iter().any(|one| one == pattern)) {
        Some(other) => {
            let message = format!(
                "`{at}`: the agent {} answers {shown:?} already; a session has one agent",
                other.name
            );
            Err(document.error_at(&at, message))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "profiles_tests.rs"]
mod tests;
