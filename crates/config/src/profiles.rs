//! The agents of a configuration: `[agents.defaults]`, and a table for each that has something of its
//! own.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::keys::schema;
use crate::{AgentDefaults, ConfigError, Document};

/// The name of the agent that answers whatever no other does.
pub const DEFAULTS: &str = "defaults";

/// An agent.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Its table is `[agents.NAME]`.
    pub name: String,
    /// What it has, by itself or by inheritance.
    pub agent: AgentDefaults,
    /// The sessions that it answers: ids, in which `*` stands for any characters.
    pub sessions: Vec<String>,
}

/// The table of an agent: every key of `[agents.defaults]` that it does not have itself is inherited.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProfileKeys {
    /// What is different from `[agents.defaults]`.
    #[serde(flatten)]
    pub agent: AgentDefaults,
    /// The sessions that it answers: ids, in which `*` stands for any characters. The first agent that
    /// one of these fits, by name, answers.
    pub sessions: Vec<String>,
}

/// Every agent, the defaults first, the others by name.
///
/// # Errors
/// [`ConfigError`] names the first key that cannot be used, also where two agents want the same
/// sessions.
pub fn profiles(document: &Document) -> Result<Vec<Profile>, ConfigError> {
    let defaults: AgentDefaults = document.table(&path(DEFAULTS))?;
    let mut found =
        vec![Profile { name: DEFAULTS.to_owned(), agent: defaults, sessions: Vec::new() }];
    for name in document.keys_at("agents")?.keys().filter(|name| *name != DEFAULTS) {
        let profile = profile(document, name)?;
        for (place, pattern) in profile.sessions.iter().enumerate() {
            check_pattern(document, &found, (name, place), pattern)?;
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
    // A table of defaults with a slip of the pen would be an agent that answers nobody.
    if strsim::jaro_winkler(name, DEFAULTS) > 0.9 {
        return Err(document.unknown_key(&path, &[DEFAULTS]));
    }
    let mut own = document.keys_at(&path)?;
    document.check_keys(&path, &Value::Object(own.clone()), &schema::<ProfileKeys>())?;
    let sessions = own.remove("sessions").unwrap_or_else(|| Value::Array(Vec::new()));
    let sessions = document.read_as(&format!("{path}.sessions"), sessions)?;
    let mut whole = document.keys_at(&self::path(DEFAULTS))?;
    whole.extend(own);
    let agent = document.read_as(&path, Value::Object(whole))?;
    Ok(Profile { name: name.to_owned(), agent, sessions })
}

fn check_pattern(
    document: &Document,
    others: &[Profile],
    (name, place): (&str, usize),
    pattern: &str,
) -> Result<(), ConfigError> {
    let at = format!("agents.{name}.sessions[{place}]");
    let shown = document.shown(&at, pattern);
    if !pattern.contains(['*', ':']) {
        let message = format!(
            "`{at}`: {shown:?} fits no session; write channel:account:chat, with * for any characters"
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
