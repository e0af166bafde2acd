//! Untrusted sources: the descriptions and results of a tool server, and the web.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use avocet_net::{GuardedClient, ResolveNames};
use avocet_protocol::tool::{Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome};
use avocet_supervise::run_blocking;
use avocet_tools::{AlreadyRegistered, ToolRegistry};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Resolves every name to this address and allows its port. The names are written to the file
/// `looked_up`, if given.
pub(crate) fn web(
    client: GuardedClient,
    address: SocketAddr,
    looked_up: Option<PathBuf>,
) -> GuardedClient {
    client
        .with_resolver(Arc::new(Everywhere { address: address.ip(), looked_up }))
        .with_allowed(address)
}

#[derive(Debug)]
struct Everywhere {
    address: IpAddr,
    looked_up: Option<PathBuf>,
}

#[async_trait]
impl ResolveNames for Everywhere {
    async fn resolve_name(&self, name: &str) -> Vec<IpAddr> {
        if let Some(path) = self.looked_up.clone() {
            let line = format!("{name}\n");
            let noted = run_blocking(move || append(&path, &line)).await;
            assert!(matches!(noted, Ok(Ok(()))), "{name} is not noted: {noted:?}");
        }
        vec![self.address]
    }
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(line.as_bytes())
}

pub(crate) fn add(
    registry: &mut ToolRegistry,
    directory: PathBuf,
) -> Result<(), AlreadyRegistered> {
    let described = std::fs::read_to_string(directory.join("description.txt")).unwrap_or_default();
    // A server's description of its tools is known when the tools are registered.
    let board = described.leak();
    let lookup = "Look a topic up in the library of a server.";
    registry.add_tool(Library {
        name: "mcp_lookup",
        text: lookup,
        directory: directory.clone(),
    })?;
    registry.add_tool(Outbox { directory: directory.clone() })?;
    registry.add_tool(Library { name: "mcp_board", text: board, directory })
}

/// The file of the sent texts, one in each line behind its recipient.
const SENT: &str = "sent.txt";

/// Sends a text to a recipient: a line of a file.
#[derive(Debug)]
struct Outbox {
    directory: PathBuf,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Letter {
    /// Recipient of the letter.
    to: String,
    /// Text of the letter.
    text: String,
}

#[async_trait]
impl Tool for Outbox {
    type Arguments = Letter;

    fn describe(&self) -> Description {
        let text = "Send a letter with a server.";
        Description::new("mcp_send", ToolClass::Effect, text).returns_untrusted_text()
    }

    async fn execute(
        &self,
        Letter { to, text }: Letter,
        _context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let path = self.directory.join(SENT);
        let line = format!("{to}: {text}\n");
        let noted = run_blocking(move || append(&path, &line)).await;
        assert!(matches!(noted, Ok(Ok(()))), "the letter is not noted: {noted:?}");
        Ok(json!({ "sent": true }).into())
    }
}

/// Returns the test's text about a topic, as untrusted content.
#[derive(Debug)]
struct Library {
    name: &'static str,
    text: &'static str,
    directory: PathBuf,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Topic {
    /// What to look up.
    topic: String,
}

#[async_trait]
impl Tool for Library {
    type Arguments = Topic;

    fn describe(&self) -> Description {
        Description::new(self.name, ToolClass::Pure, self.text).returns_untrusted_text()
    }

    async fn execute(
        &self,
        Topic { topic }: Topic,
        _context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let path = self.directory.join(topic).with_extension("txt");
        let read = run_blocking(move || std::fs::read_to_string(path)).await;
        let text = read.map_err(|panicked| ToolError::ExecutionFailed(panicked.to_string()))?;
        Ok(json!({ "text": text.unwrap_or_else(|_| "nothing".to_owned()) }).into())
    }
}
