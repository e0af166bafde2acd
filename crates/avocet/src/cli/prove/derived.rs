//! The configuration of a throw-away daemon, made from the operator's own: the rules stay, and everything that
//! reaches a model, a platform, another host or the operator's files is replaced or left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, TomlError, Value, table, value};

use crate::configuration::Configuration;
use crate::environment::from_configuration;
use crate::exit::{Exit, Failure};

/// Tables without a meaning in a throw-away daemon, or with addresses of other hosts.
const LEFT_OUT: [&str; 19] = [
    "audit",
    "backup",
    "budgets",
    "channels",
    "daemon",
    "data_dir",
    "durability",
    "embeddings",
    "gateway",
    "heartbeat",
    "hooks",
    "http",
    "models",
    "providers",
    "retention",
    "schedules",
    "speech",
    "telemetry",
    "transcription",
];
/// Keys of agents that name models, or run a command outside of the sandbox.
const AGENT_KEYS: [&str; 6] =
    ["model", "fallbacks", "cheap_model", "models", "effort", "pr_command"];
/// The model that is replaced in this process.
const MODEL: &str = "offline/commands";
/// The value in place of each secret.
const PLACEHOLDER: &str = "placeholder";

/// The daemon of a round.
#[derive(Debug)]
pub(super) struct RoundPlan {
    /// The channel whose lists of tools apply.
    pub(super) channel: String,
    /// Its accounts.
    pub(super) accounts: Vec<String>,
    /// The tool server of the proof, by its URL, if the round needs it.
    pub(super) server: Option<String>,
}

/// The places of a round.
#[derive(Debug)]
pub(super) struct RoundPlaces {
    pub(super) directory: PathBuf,
    /// The copies of the workspaces, by the workspace.
    pub(super) workspaces: BTreeMap<PathBuf, PathBuf>,
    /// The URL of the search engine of the proof.
    pub(super) engine: String,
}

/// A derived configuration.
#[derive(Debug)]
pub(super) struct DerivedConfig {
    pub(super) text: String,
    /// The parts that were left out, each with the reason.
    pub(super) left_out: Vec<String>,
}

/// Derives the configuration of a round.
pub(super) fn derive_config(
    configuration: &Configuration,
    plan: &RoundPlan,
    places: &RoundPlaces,
) -> Result<DerivedConfig, Failure> {
    let parsed = configuration.document.text().parse::<DocumentMut>();
    let document = parsed.map_err(|error: TomlError| {
        Failure::new(Exit::Configuration, error.message().to_owned())
    })?;
    let mut deriving = Deriving { document, configuration, left_out: Vec::new() };
    for key in LEFT_OUT {
        deriving.document.remove(key);
    }
    if let Some(memory) = deriving.table("memory") {
        memory.remove("consolidation");
    }
    deriving.set_places(places);
    deriving.change_agents(places);
    deriving.close_sandbox();
    deriving.change_tools(plan, places)?;
    deriving.add_channel(plan);
    Ok(DerivedConfig { text: deriving.document.to_string(), left_out: deriving.left_out })
}

struct Deriving<'c> {
    document: DocumentMut,
    configuration: &'c Configuration,
    left_out: Vec<String>,
}

impl Deriving<'_> {
    /// Returns a table of the file; `None` without one.
    fn table(&mut self, name: &str) -> Option<&mut dyn TableLike> {
        self.document.get_mut(name).and_then(Item::as_table_like_mut)
    }

    /// Returns a table, which is made if necessary.
    fn made_table(&mut self, name: &str) -> &mut Item {
        self.document.entry(name).or_insert_with(table)
    }

    fn leave_out(&mut self, line: impl Into<String>) {
        self.left_out.push(line.into());
    }

    fn set_places(&mut self, RoundPlaces { directory, .. }: &RoundPlaces) {
        let data = directory.join("data");
        self.document["data_dir"] = path_value(&data);
        // A throw-away log need not survive a power failure.
        self.document["durability"] = value("process");
        self.made_table("audit")["head_file"] = path_value(&directory.join("audit-head"));
    }

    fn change_agents(&mut self, places: &RoundPlaces) {
        self.made_table("agents");
        let configuration = self.configuration;
        let default = configuration.agents.first().map(|agent| agent.workspace.clone());
        for agent in &configuration.agents {
            let name = agent.profile.name.clone();
            let Some(table) = self.agent_table(&name) else { continue };
            if table.contains_key("workspace") {
                let copy = places.workspaces.get(&agent.workspace).unwrap_or(&agent.workspace);
                table.insert("workspace", path_value(copy));
            }
            if let Some(file) =
                agent.prompt_file.as_ref().filter(|_| table.contains_key("prompt_file"))
            {
                table.insert("prompt_file", path_value(file));
            }
        }
        let agents = self.made_table("agents");
        if agents.get("defaults").is_none() {
            agents["defaults"] = table();
        }
        let defaults = &mut agents["defaults"];
        defaults["model"] = value(MODEL);
        let copy = default.and_then(|default| places.workspaces.get(&default).cloned());
        let copy = copy.unwrap_or_else(|| places.directory.join("workspace"));
        defaults["workspace"] = path_value(&copy);
    }

    /// Returns the table of an agent without the keys of models.
    fn agent_table(&mut self, name: &str) -> Option<&mut dyn TableLike> {
        let agents = self.document.get_mut("agents")?.as_table_like_mut()?;
        // The first agent has its settings in `[agents.defaults]`.
        let key = if agents.contains_key(name) { name } else { "defaults" };
        let table = agents.get_mut(key)?.as_table_like_mut()?;
        for key in AGENT_KEYS {
            table.remove(key);
        }
        Some(table)
    }

    /// Closes the network of programs, and their way to the operator's own files.
    fn close_sandbox(&mut self) {
        let sandbox = &self.configuration.settings.sandbox;
        let (hosts, unsandboxed) = (!sandbox.hosts.is_empty(), sandbox.allow_unsandboxed_shell);
        let (read, write) =
            (self.configuration.sandbox.read.clone(), self.configuration.sandbox.write.clone());
        if hosts {
            self.leave_out("[sandbox] hosts: programs have no network");
        }
        if unsandboxed {
            self.leave_out("[sandbox] allow_unsandboxed_shell: programs run in the sandbox only");
        }
        if !write.is_empty() {
            self.leave_out("[sandbox] write: programs only read these directories");
        }
        let table = self.made_table("sandbox");
        table["hosts"] = value(Array::new());
        table["allow_unsandboxed_shell"] = value(false);
        table["read"] = paths_value(read.iter().chain(&write));
        table["write"] = value(Array::new());
        let skills = self.configuration.skills.clone();
        self.made_table("skills")["paths"] = paths_value(&skills);
    }

    fn change_tools(&mut self, plan: &RoundPlan, places: &RoundPlaces) -> Result<(), Failure> {
        let roots: Vec<PathBuf> =
            self.configuration.roots.iter().map(|root| root.path.clone()).collect();
        if !self.configuration.settings.tools.write.is_empty() {
            self.leave_out("[tools] write: file tools only read these directories");
        }
        self.change_servers(places)?;
        let tools = self.made_table("tools");
        tools["read"] = paths_value(&roots);
        tools["write"] = value(Array::new());
        if tools.get("web_search").is_some() {
            let mut engine = Table::new();
            engine["provider"] = value("searxng");
            engine["base_url"] = value(places.engine.as_str());
            tools["web_search"] = Item::Table(engine);
        }
        let lists = tools.as_table_like_mut().and_then(|tools| tools.remove("channels"));
        let list = lists.and_then(|lists| lists.get(&plan.channel).cloned());
        if let Some(list) = list {
            tools["channels"] = table();
            tools["channels"]["external"] = list;
        }
        if let Some(url) = &plan.server {
            if tools.get("mcp_servers").is_none() {
                tools["mcp_servers"] = table();
            }
            let mut server = Table::new();
            server["url"] = value(url.as_str());
            server["lazy"] = value(false);
            tools["mcp_servers"]["prove"] = Item::Table(server);
        }
        Ok(())
    }

    /// Leaves out the servers that reach other hosts. The programs of the others get no secret, and change no
    /// file of the operator.
    fn change_servers(&mut self, places: &RoundPlaces) -> Result<(), Failure> {
        let document = &self.configuration.document;
        let mut notes = Vec::new();
        let tools = self.document.get_mut("tools").and_then(Item::as_table_like_mut);
        let Some(tools) = tools else { return Ok(()) };
        let mut gone = Vec::new();
        if let Some(servers) = tools.get_mut("mcp_servers").and_then(Item::as_table_like_mut) {
            let names: Vec<String> = servers.iter().map(|(name, _)| name.to_owned()).collect();
            for name in names {
                let Some(server) = servers.get_mut(&name).and_then(Item::as_table_like_mut) else {
                    continue;
                };
                let has_hosts = path_list(server, "hosts").is_some_and(|hosts| !hosts.is_empty());
                if !server.contains_key("command") || has_hosts {
                    notes.push(format!("[tools.mcp_servers.{name}]: it reaches another host"));
                    servers.remove(&name);
                    gone.push(name);
                    continue;
                }
                let resolve = |paths: Option<Vec<PathBuf>>| {
                    let paths = paths.unwrap_or_default();
                    paths.iter().map(|path| from_configuration(document, path)).collect()
                };
                let read: Result<Vec<PathBuf>, Failure> = resolve(path_list(server, "read"));
                let write: Result<Vec<PathBuf>, Failure> = resolve(path_list(server, "write"));
                let (read, write) = (read?, write?);
                server.insert("read", paths_value(read.iter().chain(&write)));
                if !write.is_empty() {
                    notes.push(format!(
                        "[tools.mcp_servers.{name}] write: the server only reads these directories"
                    ));
                    let own = places.directory.join("servers").join(&name);
                    std::fs::create_dir_all(&own)?;
                    server.insert("write", paths_value([&own]));
                }
                hide_values(server, "env");
            }
        }
        if let Some(policy) = tools.get_mut("policy").and_then(Item::as_table_like_mut) {
            let names: Vec<String> = policy.iter().map(|(name, _)| name.to_owned()).collect();
            for name in names {
                if gone.iter().any(|server| name.starts_with(&format!("{server}__"))) {
                    policy.remove(&name);
                }
            }
        }
        self.left_out.extend(notes);
        Ok(())
    }

    /// Adds the channel of the proof, and lets the patterns of the replaced one fit its chats.
    fn add_channel(&mut self, RoundPlan { channel, accounts, .. }: &RoundPlan) {
        let mut external = Table::new();
        for account in accounts {
            let mut own = Table::new();
            own["owners"] = value(Array::from_iter(["owner"]));
            own["allow"] = value(Array::from_iter(["guest"]));
            own["pairing"] = value(false);
            external[account.as_str()] = Item::Table(own);
        }
        let mut channels = Table::new();
        channels["external"] = Item::Table(external);
        self.document["channels"] = Item::Table(channels);
        for name in ["agents", "rules"] {
            if let Some(item) = self.document.get_mut(name) {
                rename_channel(item, channel);
            }
        }
    }
}

/// Replaces the channel in patterns of chats and people.
fn rename_channel(item: &mut Item, channel: &str) {
    let prefix = format!("{channel}:");
    let renamed = |text: &str| text.strip_prefix(&prefix).map(|rest| format!("external:{rest}"));
    if let Some(text) = item.as_str().and_then(renamed) {
        *item = value(text);
    } else if let Some(array) = item.as_array_mut() {
        for one in array.iter_mut() {
            if let Some(text) = one.as_str().and_then(renamed) {
                *one = Value::from(text);
            }
        }
    } else if let Some(table) = item.as_table_like_mut() {
        let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
        for key in keys {
            let Some(mut below) = table.remove(&key) else { continue };
            rename_channel(&mut below, channel);
            table.insert(&renamed(&key).unwrap_or(key), below);
        }
    }
}

fn path_value(path: &Path) -> Item {
    value(path.to_string_lossy().into_owned())
}

fn paths_value<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Item {
    let paths = paths.into_iter().map(|path| path.to_string_lossy().into_owned());
    value(Array::from_iter(paths))
}

/// Returns a list of texts; `None` without one.
fn path_list(table: &dyn TableLike, key: &str) -> Option<Vec<PathBuf>> {
    let array = table.get(key)?.as_array()?;
    Some(array.iter().filter_map(Value::as_str).map(PathBuf::from).collect())
}

/// Replaces every value of a table.
fn hide_values(table: &mut dyn TableLike, key: &str) {
    let Some(table) = table.get_mut(key).and_then(Item::as_table_like_mut) else { return };
    for (_, item) in table.iter_mut() {
        *item = value(PLACEHOLDER);
    }
}
