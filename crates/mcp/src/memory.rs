//! The tools of each server as its last start listed them, and the digests of the approved ones. A
//! file in the data directory keeps them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use avocet_protocol::tool::{McpToolForm, McpToolHints, McpToolState};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::digest_bytes;
use crate::names::plain_name;

/// The request of a server that a tool stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolKind {
    /// A tool of the server.
    #[default]
    Tool,
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

/// A tool as its server lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ListedTool {
    #[serde(default)]
    pub(crate) kind: ToolKind,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Value,
    pub(crate) hints: McpToolHints,
}

impl ListedTool {
    /// Returns the digest of everything that an approval covers. The order of keys is left out: a
    /// server may write them in another order after a restart.
    pub(crate) fn pin_digest(&self) -> String {
        let mut covered = serde_json::to_value(self).unwrap_or_default();
        covered.sort_all_objects();
        digest_bytes(covered.to_string().as_bytes())
    }

    /// Returns the key of the tool's pin. It is made from the name in the registry, so that another
    /// spelling of the server's name gets the same pin.
    pub(crate) fn pin_key(&self) -> String {
        plain_name(&self.name)
    }
}

/// Everything that is known of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct KnownServer {
    /// Name and version, as the server states them.
    pub(crate) software: Option<String>,
    /// Its tools, and those that stand for its resources and prompts.
    pub(crate) tools: Vec<ListedTool>,
    /// The reasons for the tools that are left out.
    pub(crate) left_out: Vec<String>,
    /// The digests of the approved tools, by [`ListedTool::pin_key`].
    pub(crate) approved: BTreeMap<String, String>,
    /// The approved tools themselves, by the same keys. An older version has kept digests only.
    pub(crate) approved_forms: BTreeMap<String, ListedTool>,
    /// `true` if the server is trusted, and its first list of tools was approved with it. Tools that
    /// it adds later wait for an approval.
    pub(crate) is_vouched: bool,
}

impl KnownServer {
    /// Approves the present form of a tool.
    pub(crate) fn approve_tool(&mut self, tool: &ListedTool) {
        self.approved.insert(tool.pin_key(), tool.pin_digest());
        self.approved_forms.insert(tool.pin_key(), tool.clone());
    }

    /// Approves the first list of a trusted server's tools. Their calls may need no approval of a
    /// person, so a tool that the server adds later is not approved with them.
    pub(crate) fn approve_first_list(&mut self, is_trusted: bool) {
        if is_trusted && !self.is_vouched {
            let is_new = |tool: &&ListedTool| self.tool_state(tool) == McpToolState::New;
            let new: Vec<ListedTool> = self.tools.iter().filter(is_new).cloned().collect();
            new.iter().for_each(|tool| self.approve_tool(tool));
        }
        self.is_vouched = is_trusted;
    }

    /// Keeps the forms of approved tools of which only digests are known.
    pub(crate) fn keep_forms(&mut self) {
        let approved = |tool: &&ListedTool| self.tool_state(tool) == McpToolState::Approved;
        let tools: Vec<ListedTool> = self.tools.iter().filter(approved).cloned().collect();
        let forms = tools.into_iter().map(|tool| (tool.pin_key(), tool));
        self.approved_forms.extend(forms);
    }

    /// Returns the approved form of a tool that has changed; `None` if it has not, or the form is
    /// unknown.
    pub(crate) fn approved_form(&self, tool: &ListedTool) -> Option<McpToolForm> {
        if self.tool_state(tool) != McpToolState::Changed {
            return None;
        }
        let form = self.approved_forms.get(&tool.pin_key())?;
        let ListedTool { name: tool, description, schema: parameters, hints, .. } = form.clone();
        Some(McpToolForm { tool, description, parameters, hints })
    }

    /// Returns the state of a tool's pin.
    pub(crate) fn tool_state(&self, tool: &ListedTool) -> McpToolState {
        match self.approved.get(&tool.pin_key()) {
            None if self.is_vouched => McpToolState::Added,
            None => McpToolState::New,
            Some(approved) if *approved == tool.pin_digest() => McpToolState::Approved,
            Some(_) => McpToolState::Changed,
        }
    }
}

/// The file, and its content.
#[derive(Debug)]
pub(crate) struct ServerMemory {
    /// `None` if nothing is kept.
    file: Option<PathBuf>,
    servers: Mutex<BTreeMap<String, KnownServer>>,
}

impl ServerMemory {
    /// Reads the file. An unreadable file counts as empty, so that each tool is new.
    pub(crate) fn open(file: Option<PathBuf>) -> Self {
        let servers = file.as_deref().map(read).unwrap_or_default();
        Self { file, servers: Mutex::new(servers) }
    }

    /// Returns everything that is known of a server; empty for a new one.
    pub(crate) fn get(&self, server: &str) -> KnownServer {
        self.servers.lock().get(server).cloned().unwrap_or_default()
    }

    /// Changes the entry of a server, and writes the file if that makes a difference. Returns `true`
    /// if it does.
    ///
    /// # Errors
    /// If the file cannot be written. The change is in effect until the next start.
    pub(crate) fn change_server(
        &self,
        server: &str,
        change: impl FnOnce(&mut KnownServer),
    ) -> io::Result<bool> {
        let mut servers = self.servers.lock();
        let known = servers.entry(server.to_owned()).or_default();
        let before = known.clone();
        change(known);
        if *known == before {
            return Ok(false);
        }
        self.write(&servers).map(|()| true)
    }

    fn write(&self, servers: &BTreeMap<String, KnownServer>) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let new = file.with_extension("new");
        let mut options = File::options();
        let mut written = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        written.write_all(&serde_json::to_vec(servers)?)?;
        written.sync_all()?;
        fs::rename(&new, file)
    }
}

fn read(file: &std::path::Path) -> BTreeMap<String, KnownServer> {
    match fs::read(file).map(|bytes| serde_json::from_slice(&bytes)) {
        Ok(Ok(servers)) => servers,
        Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
        Ok(Err(error)) => warn_of_lost(file, &error.to_string()),
        Err(error) => warn_of_lost(file, &error.to_string()),
    }
}

fn warn_of_lost(file: &std::path::Path, error: &str) -> BTreeMap<String, KnownServer> {
    tracing::warn!(
        file = %file.display(), error,
        "the approvals of MCP tools cannot be read: all tools count as new"
    );
    BTreeMap::new()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    fn tool(description: &str) -> ListedTool {
        let (name, description) = ("read".to_owned(), description.to_owned());
        let kind = ToolKind::Tool;
        ListedTool {
            kind,
            name,
            description,
            schema: json!({"type": "object"}),
            hints: McpToolHints::default(),
        }
    }

    #[test]
    fn state_follows_each_part_of_an_approved_tool() {
        let mut known = KnownServer::default();
        assert_eq!(known.tool_state(&tool("a")), McpToolState::New);
        known.approved.insert(tool("a").pin_key(), tool("a").pin_digest());
        assert_eq!(known.tool_state(&tool("a")), McpToolState::Approved);
        let named = |name: &str| ListedTool { name: name.to_owned(), ..tool("a") };
        known.approved.insert("read_file".to_owned(), named("read_file").pin_digest());
        let hints = McpToolHints { read_only: Some(true), ..McpToolHints::default() };
        for changed in [
            tool("b"),
            // It would have the name and the grants of the approved tool.
            named("read.file"),
            ListedTool { schema: json!({}), ..tool("a") },
            ListedTool { hints, ..tool("a") },
        ] {
            assert_eq!(known.tool_state(&changed), McpToolState::Changed, "{changed:?}");
        }
    }

    #[test]
    fn digest_ignores_the_order_of_keys() {
        let ordered = |text: &str| {
            ListedTool { schema: serde_json::from_str(text).unwrap(), ..tool("a") }.pin_digest()
        };
        let (one, other) = (
            r#"{"type": "object", "x": {"a": 1, "b": 2}}"#,
            r#"{"x": {"b": 2, "a": 1}, "type": "object"}"#,
        );
        assert_eq!(ordered(one), ordered(other));
    }

    #[test]
    fn memory_survives_a_restart_and_a_damaged_file() {
        let home = TempDir::new().unwrap();
        let file = home.path().join("mcp.json");
        let memory = ServerMemory::open(Some(file.clone()));
        memory.change_server("files", |known| known.tools.push(tool("a"))).unwrap();
        assert_eq!(ServerMemory::open(Some(file.clone())).get("files").tools, [tool("a")]);
        assert_eq!(ServerMemory::open(Some(file.clone())).get("other"), KnownServer::default());
        fs::write(&file, "{").unwrap();
        assert_eq!(ServerMemory::open(Some(file)).get("files"), KnownServer::default());
    }
}
