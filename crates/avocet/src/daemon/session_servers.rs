//! MCP servers that an editor gives to one session. They run in the sandbox, as those of the
//! configuration do, with the access that `avocet mcp add` would write into their tables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_config::is_for_secrets;
use avocet_mcp::{McpClient, McpServerConfig, McpServerParts};
use avocet_protocol::chat::SessionId;
use avocet_protocol::session::{
    SESSION_SERVER_PREFIX, SessionServer, SessionServerStart, SessionServers,
};
use avocet_supervise::{Group, run_blocking};
use avocet_text::Secret;
use avocet_tools::SessionOffer;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::components::mcp::complete::complete_sandbox_settings;
use crate::components::mcp::edit::ServerTable;
use crate::components::mcp::parts_of_server;
use crate::components::mcp::programs::ProgramFinder;
use crate::components::mcp::server_name::valid_name;
use crate::components::ports::DaemonPorts;
use crate::components::shell::Shells;
use crate::configuration::Configuration;
use crate::redaction;

/// The longest beginning of a server's name, before the number that makes it unique. With it, a tool has
/// 30 characters for its own name.
const LONGEST_NAME: usize = 29;
/// Headers whose values are in ordinary texts, too.
const PLAIN_HEADERS: [&str; 4] = ["accept", "content-type", "origin", "user-agent"];

/// Starts the servers of sessions.
#[derive(Debug)]
pub(crate) struct EditorServers {
    pub(crate) configuration: Configuration,
    pub(crate) ports: DaemonPorts,
    pub(crate) group: Group,
    /// Ends the servers of a session once others replace them.
    pub(crate) replaced: Arc<Mutex<BTreeMap<SessionId, CancellationToken>>>,
}

/// The servers of a session, before their start.
#[derive(Debug, Default)]
struct PlannedServers {
    /// In the order of the request. Those that will run have no error yet.
    starts: Vec<SessionServerStart>,
    parts: Vec<McpServerParts>,
}

#[async_trait]
impl SessionServers for EditorServers {
    async fn give_to_session(
        &self,
        session: SessionId,
        servers: Vec<SessionServer>,
        ended: CancellationToken,
    ) -> Vec<SessionServerStart> {
        redaction::learn_secrets(&secrets_of(&servers));
        let planner = ServerPlanner {
            configuration: self.configuration.clone(),
            shells: self.ports.shells.clone(),
            tables: self.ports.mcp.server_tables(),
            workspace: self.ports.workspaces.path_of(&session),
        };
        let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
        // Programs are looked for in the file system.
        let planned = run_blocking(move || planner.plan(servers)).await;
        let PlannedServers { mut starts, parts } = planned.unwrap_or_else(|panicked| {
            let failed = |name: String| failed_start(name, panicked.to_string());
            PlannedServers { starts: names.into_iter().map(failed).collect(), parts: Vec::new() }
        });
        let ended = self.replace(&session, &ended);
        if parts.is_empty() {
            return starts;
        }
        let DaemonPorts { mcp, session_sources, .. } = &self.ports;
        let client = Arc::new(mcp.with_session_servers(session.as_str(), parts));
        let offer = session_sources.offer_tools(session.clone(), client.clone());
        self.stop_at_end(session, client.clone(), offer, ended);
        let failed: BTreeMap<String, String> = client.start_all().await.into_iter().collect();
        for start in starts.iter_mut().filter(|start| start.error.is_none()) {
            start.error = failed.get(&start.server).cloned();
        }
        starts
    }
}

impl EditorServers {
    /// Ends the servers that the session has had. Returns the token that ends the next ones: it fires
    /// with `ended`, too.
    fn replace(&self, session: &SessionId, ended: &CancellationToken) -> CancellationToken {
        let next = ended.child_token();
        let mut replaced = self.replaced.lock();
        if let Some(former) = replaced.insert(session.clone(), next.clone()) {
            former.cancel();
        }
        next
    }

    fn stop_at_end(
        &self,
        session: SessionId,
        client: Arc<McpClient>,
        offer: SessionOffer,
        ended: CancellationToken,
    ) {
        let (stopping, replaced) = (self.group.cancel_token(), self.replaced.clone());
        self.group.spawn(&format!("servers of {session}"), async move {
            tokio::select! {
                () = ended.cancelled() => {}
                () = stopping.cancelled() => {}
            }
            drop(offer);
            client.stop_all();
            let mut replaced = replaced.lock();
            if replaced.get(&session).is_some_and(CancellationToken::is_cancelled) {
                replaced.remove(&session);
            }
        });
    }
}

/// Makes the parts of the servers of a session.
struct ServerPlanner {
    configuration: Configuration,
    shells: Arc<Shells>,
    tables: Vec<(String, McpServerConfig)>,
    workspace: PathBuf,
}

impl ServerPlanner {
    fn plan(self, servers: Vec<SessionServer>) -> PlannedServers {
        let finder = ProgramFinder::from_environment();
        let mut taken: BTreeSet<String> =
            self.tables.iter().map(|(name, _)| name.clone()).collect();
        let mut planned = PlannedServers::default();
        for server in servers {
            let name = server.name.clone();
            if let Some(known) = self.find_same(&server, &finder) {
                let start = SessionServerStart { name, server: known, error: None };
                planned.starts.push(start);
                continue;
            }
            let unique = unique_name(&name, &taken);
            match self.parts(server, &unique, &finder) {
                Ok(parts) => {
                    taken.insert(unique.clone());
                    let start = SessionServerStart { name, server: unique, error: None };
                    planned.starts.push(start);
                    planned.parts.push(parts);
                }
                Err(why) => planned.starts.push(failed_start(name, why)),
            }
        }
        planned
    }

    /// Returns the name of a server of the configuration with the same command or URL.
    fn find_same(&self, server: &SessionServer, finder: &ProgramFinder) -> Option<String> {
        let path = |command: &str| {
            let found = finder.find(command).map_or_else(|| command.into(), |found| found.path);
            found.canonicalize().unwrap_or(found)
        };
        let is_same =
            |(_, table): &&(String, McpServerConfig)| match (&server.command, &table.command) {
                (Some(one), Some(other)) => server.args == table.args && path(one) == path(other),
                (None, None) => match (&server.url, &table.url) {
                    (Some(one), Some(other)) => {
                        one.trim_end_matches('/') == other.trim_end_matches('/')
                    }
                    _ => false,
                },
                _ => false,
            };
        self.tables.iter().find(is_same).map(|(name, _)| name.clone())
    }

    fn parts(
        &self,
        server: SessionServer,
        name: &str,
        finder: &ProgramFinder,
    ) -> Result<McpServerParts, String> {
        if server.command.is_none() && server.url.is_none() {
            return Err("it has neither a command nor a URL".to_owned());
        }
        let secrets = secrets_of(std::slice::from_ref(&server));
        let mut config = self.table(server, name, finder);
        config.check_values().map_err(|(key, why)| format!("{key}: {why}"))?;
        if self.shells.can_open(&self.workspace) {
            config.write = vec![self.workspace.clone()];
        }
        let parts = parts_of_server(&self.configuration, &self.shells, name.to_owned(), config);
        let parts = parts.map_err(|failure| format!("{:#}", failure.error))?;
        Ok(McpServerParts { roots: vec![self.workspace.clone()], secrets, ..parts })
    }

    /// Returns the table that `avocet mcp add` would write.
    fn table(&self, server: SessionServer, name: &str, finder: &ProgramFinder) -> McpServerConfig {
        let SessionServer { name: _, command, args, env, url, headers } = server;
        let exposed = |(name, value): (String, Secret)| (name, value.expose().to_owned());
        let mut table = ServerTable {
            name: name.to_owned(),
            command,
            args,
            env: env.into_iter().map(exposed).collect(),
            // Files in the workspace need no further access.
            write: vec![self.workspace.display().to_string()],
            ..ServerTable::default()
        };
        complete_sandbox_settings(&mut table, finder);
        let ServerTable { command, args, env, read, hosts, .. } = table;
        McpServerConfig {
            url: url.filter(|_| command.is_none()),
            command,
            args,
            env: env.into_iter().map(|(name, value)| (name, Secret::new(value))).collect(),
            read: read.into_iter().map(PathBuf::from).collect(),
            hosts,
            headers,
            lazy: false,
            ..McpServerConfig::default()
        }
    }
}

fn failed_start(name: String, why: String) -> SessionServerStart {
    SessionServerStart { server: name.clone(), name, error: Some(why) }
}

/// Returns a name for a server that no other server has.
fn unique_name(given: &str, taken: &BTreeSet<String>) -> String {
    let plain = valid_name(given).unwrap_or_else(|_| "server".to_owned());
    let name = format!("{SESSION_SERVER_PREFIX}{plain}");
    let name = name[..name.floor_char_boundary(LONGEST_NAME)].trim_end_matches(['-', '_']);
    let numbered = (2_u32..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or_default()
}

/// Returns the values that count as secrets, by the rules of the configuration.
fn secrets_of(servers: &[SessionServer]) -> Vec<Secret> {
    let is_secret = |name: &str| is_for_secrets(&format!("mcp.env.{name}"));
    let has_login = |value: &Secret| redaction::without_login(value.expose()).is_some();
    let env = servers.iter().flat_map(|server| &server.env);
    let env = env.filter(|(name, value)| is_secret(name) || has_login(value));
    let headers = servers.iter().flat_map(|server| &server.headers);
    let headers = headers
        .filter(|(name, _)| !PLAIN_HEADERS.iter().any(|plain| name.eq_ignore_ascii_case(plain)));
    env.chain(headers).map(|(_, value)| value.clone()).collect()
}

#[cfg(test)]
#[path = "session_servers_tests.rs"]
mod tests;
