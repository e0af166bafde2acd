//! The effect of each changed key on a running daemon.

use std::collections::BTreeSet;

use avocet_config::{ConfigDocument, KeyPath};

use crate::registry::{AccountId, ConfiguredChannel, MCP_SERVERS};

/// The effect of a changed key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReloadEffect {
    /// The new value is in use at once.
    Live,
    /// The account stops and starts with the new value, or only its access rules change. Accounts
    /// to which other parts of the daemon belong need a restart of the daemon.
    Account,
    /// The old value stays in use until the daemon starts again.
    Restart,
}

use ReloadEffect::{Account, Live, Restart};

/// The effects of all keys, by pattern: `*` is any name, and a table stands for all of its keys.
/// The first pattern that fits applies.
pub(crate) const EFFECTS: &[(&str, ReloadEffect)] = &[
    ("agents.*.prompt_file", Restart),
    ("agents.*.workspace", Restart),
    ("agents", Live),
    ("attachments", Restart),
    ("audit", Restart),
    ("backup", Restart),
    ("budgets", Live),
    ("channels", Account),
    ("daemon", Live),
    ("data_dir", Restart),
    ("durability", Restart),
    ("embeddings", Restart),
    ("gateway", Restart),
    ("heartbeat", Restart),
    ("hooks", Restart),
    ("http", Restart),
    ("log.format", Restart),
    ("log.level", Live),
    ("memory.consolidation.max_memories", Live),
    ("memory.consolidation.max_runs_per_day", Live),
    ("memory.consolidation.max_tokens", Live),
    ("memory.consolidation.model", Live),
    ("memory", Restart),
    ("models", Live),
    ("providers", Live),
    ("retention", Restart),
    ("rules", Live),
    ("sandbox", Restart),
    ("schedules", Restart),
    ("sessions", Restart),
    ("skills", Restart),
    ("speech", Restart),
    ("telemetry", Restart),
    ("tools.approval_minutes", Live),
    ("tools.channels", Live),
    ("tools.ask_last", Live),
    ("tools.choice_bits", Live),
    ("tools.mcp_servers", Live),
    ("tools.policy", Live),
    ("tools.roles", Live),
    ("tools.users", Live),
    ("tools.web_search", Live),
    ("tools", Restart),
    ("transcription", Live),
    ("web", Restart),
];

/// The changed keys by their effect.
#[derive(Debug, Default)]
pub(crate) struct SortedChanges {
    /// The keys whose new values are used at once.
    pub(crate) live: Vec<KeyPath>,
    /// The keys that wait for a restart.
    pub(crate) waiting: Vec<KeyPath>,
    /// The accounts that stop or start.
    pub(crate) accounts: BTreeSet<AccountId>,
}

impl SortedChanges {
    /// Returns the names of MCP servers whose tables have changed.
    pub(crate) fn mcp_servers(&self) -> BTreeSet<String> {
        let in_table = self.live.iter().filter(|key| key.starts_like(MCP_SERVERS));
        in_table.filter_map(|key| key.names().get(2).cloned()).collect()
    }

    /// Returns `true` if a key in one of these tables is to be used at once.
    pub(crate) fn has_tables(&self, tables: &[&str]) -> bool {
        self.live.iter().any(|key| tables.iter().any(|table| key.starts_like(table)))
    }
}

/// Sorts the changes between two versions, whose accounts are `old` and `new`.
pub(crate) fn sort_changes(
    running: &ConfigDocument,
    document: &ConfigDocument,
    old: &[ConfiguredChannel],
    new: &[ConfiguredChannel],
) -> SortedChanges {
    let keys = running.changes(document);
    let has_moved = moves_an_agent(&keys, running, document);
    let waits_for_sandbox = waits_for_sandbox(&keys);
    let mut sorted = SortedChanges::default();
    for key in &keys {
        let is_live = match effect_of(key) {
            Restart => false,
            Live => {
                let is_in_waiting_table = waits_for_sandbox.iter().any(|table| key.is_in(&[table]));
                !(is_in_waiting_table || has_moved && key.is_in(&["agents"]))
            }
            Account => account_change(key, old, new, &mut sorted.accounts),
        };
        if is_live { &mut sorted.live } else { &mut sorted.waiting }.push(key.clone());
    }
    sorted
}

fn effect_of(key: &KeyPath) -> ReloadEffect {
    let known = EFFECTS.iter().find(|(pattern, _)| key.starts_like(pattern));
    known.map_or(Restart, |(_, effect)| *effect)
}

/// Returns `true` if an agent with its own place, a workspace or a file, comes or goes. Half of
/// the change would give its people another agent, or its tools another place.
fn moves_an_agent(keys: &[KeyPath], running: &ConfigDocument, document: &ConfigDocument) -> bool {
    keys.iter().filter(|key| effect_of(key) == Restart).any(|key| {
        let [agents, name, _, ..] = key.names() else { return false };
        let table = KeyPath::from_names(&[agents.as_str(), name.as_str()]);
        agents == "agents" && (running.value(&table).is_none() || document.value(&table).is_none())
    })
}

/// Returns `true` if the change of an account's key can be used at once, and adds the accounts that
/// have to stop or start for it.
fn account_change(
    key: &KeyPath,
    old: &[ConfiguredChannel],
    new: &[ConfiguredChannel],
    accounts: &mut BTreeSet<AccountId>,
) -> bool {
    let (old, new) = (account_of(key, old), account_of(key, new));
    if let (Some(old), Some(new)) = (old, new)
        && old.id() == new.id()
        && old.table.path == new.table.path
        && is_access_key(key, new)
    {
        return true;
    }
    let touched: Vec<&ConfiguredChannel> = old.into_iter().chain(new).collect();
    if touched.is_empty() || touched.iter().any(|one| one.is_bound()) {
        return false;
    }
    accounts.extend(touched.iter().map(|one| one.id()));
    true
}

/// Returns the tables that wait for the restart with a changed sandbox. Tools that are permitted
/// now may count on it.
fn waits_for_sandbox(keys: &[KeyPath]) -> &'static [&'static str] {
    let has = |pattern: &str| keys.iter().any(|key| key.starts_like(pattern));
    match (has("sandbox"), has("agents.*.tools")) {
        (true, true) => &["tools", "agents"],
        (true, false) => &["tools"],
        (false, _) => &[],
    }
}

/// Returns the account to whose table a key belongs.
fn account_of<'c>(
    key: &KeyPath,
    channels: &'c [ConfiguredChannel],
) -> Option<&'c ConfiguredChannel> {
    let key = key.to_string();
    let has_key = |one: &&ConfiguredChannel| {
        let rest = key.strip_prefix(&one.table.path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    channels.iter().filter(has_key).max_by_key(|one| one.table.path.len())
}

fn is_access_key(key: &KeyPath, account: &ConfiguredChannel) -> bool {
    let table = &account.table;
    table.access_keys.iter().any(|pattern| key.starts_like(&format!("{}.{pattern}", table.path)))
}

#[cfg(test)]
#[path = "effects_tests.rs"]
mod tests;
