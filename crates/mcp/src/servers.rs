//! All servers of the configuration: the source of their tools, and the port of their states.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::OnceLock;

use async_trait::async_trait;
use avocet_net::HttpClient;
use avocet_protocol::clock::Clock;
use avocet_protocol::ignore_result;
use avocet_protocol::tool::{
    McpError, McpServerStatus, McpServers, McpState, McpToolView, McpTransport, OutsideTool,
    ToolSource,
};
use avocet_supervise::{Group, RepeatedLines};
use avocet_text::{Redactor, Secret};
use parking_lot::{Mutex, RwLock};

use crate::McpServerConfig;
use crate::link::{ChildProgram, ServerEndpoint};
use crate::memory::{ListedTool, ServerMemory};
use crate::names::{SEPARATOR, registry_name};
use crate::oauth::{OAuthHttp, ServerAccess, ServerAccessParts, TokenFile};
use crate::server::{ConfiguredServer, NO_ENDPOINT, ServerLife};
use crate::services::McpServices;
use crate::tool::ServerTool;
use crate::tools_version::ToolsVersion;

/// A server of the configuration.
#[derive(Debug)]
pub struct McpServerParts {
    /// The name of its table.
    pub name: String,
    /// Its table.
    pub config: McpServerConfig,
    /// Its program; `None` without a command.
    pub program: Option<Arc<dyn ChildProgram>>,
    /// The directories that it may use, sent in answer to `roots/list`.
    pub roots: Vec<PathBuf>,
    /// Secrets that are removed from its texts, such as those of its environment.
    pub secrets: Vec<Secret>,
    /// A key of its table that has no effect on this system, as a sentence.
    pub warning: Option<String>,
}

/// The parts that all servers share.
#[derive(Debug)]
pub struct McpClientParts {
    /// The file for the tools and their approvals; `None` to keep none.
    pub file: Option<PathBuf>,
    /// The file for the tokens of logins; `None` to keep none.
    pub tokens: Option<PathBuf>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The group of all tasks.
    pub group: Group,
}

/// The client of all servers.
#[derive(Debug)]
pub struct McpClient {
    servers: RwLock<BTreeMap<String, Arc<ConfiguredServer>>>,
    pub(crate) shared: SharedParts,
}

/// The parts of each server.
#[derive(Debug)]
pub(crate) struct SharedParts {
    pub(crate) tokens: TokenFile,
    /// `false` for servers that only the client of a session knows, at which nobody can log in.
    pub(crate) has_logins: bool,
    pub(crate) memory: Arc<ServerMemory>,
    pub(crate) version: ToolsVersion,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) group: Group,
    pub(crate) repeats: Arc<RepeatedLines>,
    pub(crate) services: Arc<OnceLock<McpServices>>,
}

impl McpClient {
    /// Makes the client without starting a server.
    #[must_use]
    pub fn new(parts: McpClientParts, servers: Vec<McpServerParts>) -> Self {
        let McpClientParts { file, tokens, clock, group } = parts;
        let shared = SharedParts {
            tokens: TokenFile::new(tokens),
            has_logins: true,
            memory: Arc::new(ServerMemory::open(file)),
            version: ToolsVersion::default(),
            clock,
            group,
            repeats: Arc::new(RepeatedLines::new()),
            services: Arc::default(),
        };
        Self::from_shared(shared, servers)
    }

    pub(crate) fn from_shared(shared: SharedParts, servers: Vec<McpServerParts>) -> Self {
        let servers = servers.into_iter().map(|parts| shared.make_server(parts)).collect();
        Self { servers: RwLock::new(servers), shared }
    }

    pub(crate) fn all_servers(&self) -> BTreeMap<String, Arc<ConfiguredServer>> {
        self.servers.read().clone()
    }

    /// Takes a changed configuration into use. Servers that are not among `changed` go on; the
    /// others, and those that are gone, stop. New ones start as with [`Self::start`].
    pub fn replace_servers(&self, servers: Vec<McpServerParts>, changed: &BTreeSet<String>) {
        let mut old = self.all_servers();
        let mut begun = Vec::new();
        let next = servers.into_iter().map(|parts| {
            let kept = old.remove(&parts.name).filter(|server| {
                let is_same = !changed.contains(&parts.name);
                if !is_same {
                    server.end_server();
                }
                is_same
            });
            if let Some(kept) = kept {
                return (parts.name, kept);
            }
            let (name, server) = self.shared.make_server(parts);
            begun.push(server.clone());
            (name, server)
        });
        let next = next.collect();
        *self.servers.write() = next;
        old.values().for_each(|server| server.end_server());
        self.shared.version.increase_version();
        begun.iter().for_each(ConfiguredServer::begin_with_daemon);
    }

    /// Starts the servers that run with the daemon, and those whose tools are unknown. `services` answer
    /// the own requests of servers.
    pub fn start(&self, services: McpServices) {
        ignore_result(self.shared.services.set(services), "a second start changes nothing");
        self.all_servers().values().for_each(ConfiguredServer::begin_with_daemon);
    }

    pub(crate) fn find_server(&self, server: &str) -> Result<Arc<ConfiguredServer>, McpError> {
        let unknown = || McpError::UnknownServer { server: server.to_owned() };
        self.all_servers().remove(server).ok_or_else(unknown)
    }
}

impl SharedParts {
    /// Makes a server without starting it.
    fn make_server(&self, parts: McpServerParts) -> (String, Arc<ConfiguredServer>) {
        let McpServerParts { name, config, program, roots, secrets, warning } = parts;
        let Self { memory, version, clock, repeats, services, .. } = self;
        let group = self.group.child_group(&name);
        let found = match program {
            Some(program) => Ok(ServerEndpoint::Program(program)),
            None => url_endpoint(&name, &config, self, &group),
        };
        let (endpoint, state) = match found {
            Ok(endpoint) => (Some(endpoint), (McpState::Stopped, None)),
            Err(why) => {
                tracing::warn!(server = name, "an MCP server is left out: {why}");
                (None, (McpState::Failed, Some(why)))
            }
        };
        let server = ConfiguredServer {
            name: name.as_str().into(),
            config,
            endpoint,
            roots: roots.into(),
            secrets: (!secrets.is_empty()).then(|| Redactor::new(secrets)),
            warning,
            memory: memory.clone(),
            version: version.clone(),
            clock: clock.clone(),
            group,
            repeats: repeats.clone(),
            life: tokio::sync::Mutex::new(ServerLife::default()),
            state: Mutex::new(state),
            services: services.clone(),
        };
        (name, Arc::new(server))
    }
}

/// Returns the way to reach a server by its URL, or the reason why there is none.
fn url_endpoint(
    name: &str,
    config: &McpServerConfig,
    shared: &SharedParts,
    group: &Group,
) -> Result<ServerEndpoint, String> {
    let Some(url) = &config.url else { return Err(NO_ENDPOINT.to_owned()) };
    let url: Arc<str> = url.as_str().into();
    let with_headers = |headers| {
        let client = if config.untrusted {
            HttpClient::with_public_only(headers)
        } else {
            HttpClient::with_headers(headers)
        };
        client.map_err(|error| error.to_string())
    };
    let client = with_headers(&config.headers)?;
    if config.has_token() || !shared.has_logins {
        return Ok(ServerEndpoint::Http { client, url, access: None });
    }
    // The headers are for the server, and not for its authorization server.
    let http =
        if config.headers.is_empty() { client.clone() } else { with_headers(&BTreeMap::new())? };
    let access = ServerAccess::new(ServerAccessParts {
        server: name.into(),
        url: url.clone(),
        table: config.oauth.clone(),
        has_headers: !config.headers.is_empty(),
        http: OAuthHttp { client: http, clock: shared.clock.clone() },
        tokens: shared.tokens.clone(),
        group: group.clone(),
    });
    Ok(ServerEndpoint::Http { client, url, access: Some(Arc::new(access)) })
}

/// Returns the tools that models are offered.
fn offered_tools(server: &ConfiguredServer) -> Vec<ListedTool> {
    if server.endpoint.is_none() {
        return Vec::new();
    }
    let known = server.known_server();
    let offered = known.tools.iter().filter(|tool| !known.tool_state(tool).is_disabled());
    offered.cloned().collect()
}

impl ToolSource for McpClient {
    fn version(&self) -> u64 {
        self.shared.version.get()
    }

    fn tools(&self) -> Vec<Arc<dyn OutsideTool>> {
        let of = |server: &Arc<ConfiguredServer>| {
            let tools = offered_tools(server).into_iter();
            let server = server.clone();
            tools.map(move |listed| {
                Arc::new(ServerTool { server: server.clone(), listed }) as Arc<dyn OutsideTool>
            })
        };
        self.all_servers().values().flat_map(of).collect()
    }

    fn may_have(&self, pattern: &str) -> bool {
        self.all_servers().keys().any(|server| {
            let start = format!("{server}{SEPARATOR}");
            let (fixed, has_star) = match pattern.split_once('*') {
                Some((fixed, _)) => (fixed, true),
                None => (pattern, false),
            };
            fixed.starts_with(&start) || (has_star && start.starts_with(fixed))
        })
    }
}

#[async_trait]
impl McpServers for McpClient {
    fn servers(&self) -> Vec<McpServerStatus> {
        let status = |server: &Arc<ConfiguredServer>| {
            let (state, why) = server.current_state();
            let known = server.known_server();
            let changed = known.tools.iter().filter(|tool| known.tool_state(tool).is_disabled());
            let changed: Vec<String> =
                changed.map(|tool| registry_name(&server.name, &tool.name)).collect();
            McpServerStatus {
                name: server.name.to_string(),
                transport: match &server.endpoint {
                    Some(endpoint) => endpoint.transport_kind(),
                    None => McpTransport::Missing,
                },
                state,
                why,
                trusted: server.config.trusted,
                lazy: server.config.lazy,
                tools: u32::try_from(offered_tools(server).len()).unwrap_or(u32::MAX),
                software: known.software,
                changed,
                left_out: known.left_out,
                warning: server.warning.clone(),
            }
        };
        self.all_servers().values().map(status).collect()
    }

    async fn tools(&self, server: &str, refresh: bool) -> Result<Vec<McpToolView>, McpError> {
        let server = self.find_server(server)?;
        if refresh {
            server
                .refresh_tools()
                .await
                .map_err(|why| McpError::Failed { server: server.name.to_string(), why })?;
        }
        let known = server.known_server();
        let view = |tool: &ListedTool| McpToolView {
            name: registry_name(&server.name, &tool.name),
            tool: tool.name.clone(),
            description: tool.description.clone(),
            class: ServerTool::class_of(server.config.trusted, tool),
            state: known.tool_state(tool),
            parameters: tool.schema.clone(),
            hints: tool.hints,
            digest: tool.pin_digest(),
            approved: known.approved_form(tool),
        };
        let mut views: Vec<McpToolView> = known.tools.iter().map(view).collect();
        views.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(views)
    }

    async fn approve(
        &self,
        server: &str,
        tool: Option<&str>,
        shown: Option<&[String]>,
    ) -> Result<Vec<String>, McpError> {
        self.find_server(server)?.approve_tools(tool, shown)
    }
}
