//! The agents of a configuration: `[agents.defaults]`, and one table for each agent that differs.

use std::collections::BTreeSet;

use avocet_protocol::access::PersonId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::shipped::{SHIPPED, ShippedProfile};
use crate::{AgentDefaults, ConfigDocument, ConfigError};

/// The table of the keys that every profile inherits.
pub const DEFAULTS: &str = "defaults";
/// The profile that answers all sessions without a profile of their own. It exists without a table.
pub const DEFAULT: &str = "default";

/// The least tokens that leave room for instructions and tools.
const LEAST_CONTEXT: u64 = 2000;

/// One agent of the configuration.
#[derive(Debug, Clone)]
pub struct AgentProfile {
    /// The agent's table is `[agents.NAME]`.
    pub name: String,
    /// The agent's keys, its own and inherited ones.
    pub agent: AgentDefaults,
    /// Patterns of the ids of its sessions; `*` stands for any characters.
    pub sessions: Vec<String>,
    /// The people whose private chats it answers.
    pub people: Vec<PersonId>,
    /// The names of the keys that its table sets.
    own: BTreeSet<String>,
}

impl AgentProfile {
    /// Returns the path of a key in the configuration. The default profile usually has no table of
    /// its own.
    #[must_use]
    pub fn path(&self, key: &str) -> String {
        let first = key.split(['.', '[']).next().unwrap_or(key);
        let inherits = self.name == DEFAULT && !self.own.contains(first);
        let table = if inherits { DEFAULTS } else { self.name.as_str() };
        format!("agents.{table}.{key}")
    }

    /// Returns the sessions and people that have this profile, as a list for people.
    #[must_use]
    pub fn bound_to(&self) -> String {
        let people = self.people.iter().map(|person| format!("{person} in private"));
        self.sessions.iter().cloned().chain(people).collect::<Vec<_>>().join(", ")
    }

    /// Returns `true` if this is the profile of that name. The default profile also goes by the
    /// name of the table that all inherit.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || (self.name == DEFAULT && name == DEFAULTS)
    }
}

/// The table of an agent. It inherits the keys of `[agents.defaults]` that it does not set.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProfileKeys {
    /// The keys that differ from `[agents.defaults]`.
    #[serde(flatten)]
    pub agent: AgentDefaults,
    /// The sessions that the agent answers: ids, in which `*` matches any characters. If several
    /// agents match, the order is: a session named in full, a person in `people`, the most specific
    /// pattern, the agent whose name comes first.
    pub sessions: Vec<String>,
    /// The people whose private chats the agent answers, as `channel:account:person`.
    pub people: Vec<String>,
}

/// Returns every agent, the default profile first, the others by name. The shipped profiles are
/// among them.
///
/// # Errors
/// [`ConfigError`] names the first unusable key, also if two agents claim the same sessions.
pub fn read_profiles(document: &ConfigDocument) -> Result<Vec<AgentProfile>, ConfigError> {
    let defaults: AgentDefaults = document.table(&profile_path(DEFAULTS))?;
    check_limits(document, &profile_path(DEFAULTS), &defaults)?;
    let mut found: Vec<AgentProfile> = Vec::new();
    let own = document.keys_at("agents")?;
    let shipped = SHIPPED.iter().map(|profile| profile.name);
    let names: BTreeSet<&str> = own.keys().map(String::as_str).chain(shipped).collect();
    let others = names.into_iter().filter(|name| ![DEFAULT, DEFAULTS].contains(name));
    for name in std::iter::once(DEFAULT).chain(others) {
        let profile = read_profile(document, name)?;
        for (place, pattern) in profile.sessions.iter().enumerate() {
            check_pattern(document, &found, SessionPattern { agent: name, place, pattern })?;
        }
        check_people(document, &found, &profile)?;
        found.push(profile);
    }
    Ok(found)
}

fn profile_path(name: &str) -> String {
    format!("agents.{name}")
}

fn read_profile(document: &ConfigDocument, name: &str) -> Result<AgentProfile, ConfigError> {
    let path = profile_path(name);
    // A misspelt `defaults` would become an agent without sessions.
    if name != DEFAULT && strsim::jaro_winkler(name, DEFAULTS) > 0.9 {
        return Err(document.unknown_key(&path, &[DEFAULTS, DEFAULT]));
    }
    let mut table = document.keys_at(&path)?;
    document.check_table::<ProfileKeys>(&path, &Value::Object(table.clone()), &[])?;
    let own = table.keys().cloned().collect();
    let mut list = |key: &str| -> Result<Vec<String>, ConfigError> {
        let value = table.remove(key).unwrap_or_else(|| Value::Array(Vec::new()));
        document.read_as(&format!("{path}.{key}"), value)
    };
    let (sessions, people) = (list("sessions")?, list("people")?);
    let people = read_people(document, name, &people)?;
    if name == DEFAULT && !(sessions.is_empty() && people.is_empty()) {
        let key = if sessions.is_empty() { "people" } else { "sessions" };
        let at = format!("{path}.{key}");
        let message = format!(
            "`{at}`: this profile answers all conversations that no other profile answers; remove \
                the key"
        );
        return Err(document.error_at(&at, message));
    }
    let mut whole = document.keys_at(&profile_path(DEFAULTS))?;
    name_models(document, &profile_path(DEFAULTS), &mut whole)?;
    name_models(document, &path, &mut table)?;
    let shipped =
        SHIPPED.iter().filter(|shipped| shipped.name == name).flat_map(ShippedProfile::keys);
    overlay_keys(&mut whole, shipped.collect());
    overlay_keys(&mut whole, table);
    let agent = document.read_as(&path, Value::Object(whole))?;
    check_limits(document, &path, &agent)?;
    Ok(AgentProfile { name: name.to_owned(), agent, sessions, people, own })
}

/// The keys of `models` that have another name beside it.
const NAMES: [(&str, &str); 2] = [("default", "model"), ("cheap", "cheap_model")];

/// Moves keys of `models` to their other names, so that a profile inherits each of them separately.
fn name_models(
    document: &ConfigDocument,
    path: &str,
    table: &mut Map<String, Value>,
) -> Result<(), ConfigError> {
    for (key, other) in NAMES {
        let models = table.get_mut("models").and_then(Value::as_object_mut);
        let Some(model) = models.and_then(|models| models.remove(key)) else { continue };
        if table.get(other).is_some_and(|named| *named != model) {
            let at = format!("{path}.models.{key}");
            let message = format!("`{at}`: `{other}` names another model; remove one of both");
            return Err(document.error_at(&at, message));
        }
        table.insert(other.to_owned(), model);
    }
    Ok(())
}

/// The keys of the instructions. A table with one of them inherits none of them.
const PROMPTS: [&str; 2] = ["prompt", "prompt_file"];

/// Replaces inherited keys.
fn overlay_keys(whole: &mut Map<String, Value>, mut keys: Map<String, Value>) {
    if PROMPTS.iter().any(|key| keys.contains_key(*key)) {
        PROMPTS.iter().for_each(|key| drop(whole.remove(*key)));
    }
    inherit_core(whole, &mut keys);
    whole.extend(keys);
}

/// Keeps the inherited core of a table that sets other keys of `tools`.
fn inherit_core(whole: &Map<String, Value>, keys: &mut Map<String, Value>) {
    let inherited = whole.get("tools").and_then(|tools| tools.get("core")).cloned();
    let (Some(core), Some(tools)) = (inherited, keys.get_mut("tools")) else { return };
    if tools.is_array() {
        *tools = json!({ "allow": tools.take() });
    }
    if let Value::Object(tools) = tools {
        tools.entry("core").or_insert(core);
    }
}

fn read_people(
    document: &ConfigDocument,
    agent: &str,
    people: &[String],
) -> Result<Vec<PersonId>, ConfigError> {
    let read = |(place, person): (usize, &String)| {
        let at = format!("agents.{agent}.people[{place}]");
        person.parse().map_err(|_| {
            let shown = document.hide_reference(&at, person);
            let message = format!(
                "`{at}`: {shown:?} is not a person; write channel:account:person, for example \
                    \"telegram:main:123456789\""
            );
            document.error_at(&at, message)
        })
    };
    people.iter().enumerate().map(read).collect()
}

/// Refuses people whom an earlier agent answers.
fn check_people(
    document: &ConfigDocument,
    others: &[AgentProfile],
    profile: &AgentProfile,
) -> Result<(), ConfigError> {
    for (place, person) in profile.people.iter().enumerate() {
        let Some(other) = others.iter().find(|other| other.people.contains(person)) else {
            continue;
        };
        let at = format!("agents.{}.people[{place}]", profile.name);
        let person = person.to_string();
        let message = format!(
            "`{at}`: the agent {} answers {:?} already; a person has one agent",
            other.name,
            document.hide_reference(&at, &person)
        );
        return Err(document.error_at(&at, message));
    }
    Ok(())
}

/// Refuses limits that would prevent every answer.
fn check_limits(
    document: &ConfigDocument,
    path: &str,
    agent: &AgentDefaults,
) -> Result<(), ConfigError> {
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
    document: &ConfigDocument,
    others: &[AgentProfile],
    session: SessionPattern<'_>,
) -> Result<(), ConfigError> {
    let SessionPattern { agent, place, pattern } = session;
    let at = format!("agents.{agent}.sessions[{place}]");
    let shown = document.hide_reference(&at, pattern);
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
