//! The MCP servers of the configuration, and the sandboxes of those that are programs.

pub(crate) mod complete;
pub(crate) mod edit;
pub(crate) mod programs;
pub(crate) mod runners;
pub(crate) mod server_name;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_mcp::{
    ChildProgram, ChildStreams, McpClient, McpClientParts, McpServerConfig, McpServerParts,
};
use avocet_protocol::clock::Clock;
use avocet_protocol::daemon::Check;
use avocet_protocol::ignore_result;
use avocet_protocol::tool::{McpServerStatus, McpServers, McpState};
use avocet_sandbox::{
    ProgramEnd, ProgramRequest, ProgramRights, ProgramSandbox, ProgramStreams, ReachedHosts,
    SandboxError,
};
use avocet_supervise::Group;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::components::shell::Shells;
use crate::configuration::{Configuration, MCP_TOKENS};
use crate::environment::from_configuration;
use crate::exit::Failure;
use crate::registry;
use crate::registry::ChildAccess;

use programs::ProgramFinder;
use runners::PackageRunner;

/// The file in the data directory with the tools of the servers and their approvals.
const FILE: &str = "mcp.json";
/// The warning about hosts that the program cannot reach.
const NO_HOSTS: &str = "`hosts` has no effect: it needs namespaces, which this system lacks; the \
    program has no network";
/// Bytes of the reason for which a program was killed.
const REASON: usize = 4096;

/// Makes the client of all servers of the configuration, and starts none.
pub(crate) fn make_client(
    configuration: &Configuration,
    shells: &Shells,
    clock: &Arc<dyn Clock>,
    group: &Group,
) -> Result<Arc<McpClient>, Failure> {
    client_with(Some(configuration.data_dir.join(FILE)), configuration, shells, clock, group)
}

/// Makes a client like that of the daemon, with another file for tools and approvals, or none.
pub(crate) fn client_with(
    file: Option<PathBuf>,
    configuration: &Configuration,
    shells: &Shells,
    clock: &Arc<dyn Clock>,
    group: &Group,
) -> Result<Arc<McpClient>, Failure> {
    let servers = server_parts(configuration, shells)?;
    let tokens = Some(configuration.data_dir.join(MCP_TOKENS));
    let parts =
        McpClientParts { file, tokens, clock: clock.clone(), group: group.child_group("mcp") };
    Ok(Arc::new(McpClient::new(parts, servers)))
}

/// Returns the servers of a configuration, each with its sandbox.
pub(crate) fn server_parts(
    configuration: &Configuration,
    shells: &Shells,
) -> Result<Vec<McpServerParts>, Failure> {
    let Configuration { document, settings, .. } = configuration;
    let servers = registry::mcp_servers(document, settings)?.into_iter();
    let servers =
        servers.map(|(name, config)| parts_of_server(configuration, shells, name, config));
    servers.collect()
}

/// Returns a server with its sandbox, which is none for a server with a URL.
pub(crate) fn parts_of_server(
    configuration: &Configuration,
    shells: &Shells,
    name: String,
    config: McpServerConfig,
) -> Result<McpServerParts, Failure> {
    let document = &configuration.document;
    let all = |paths: &[PathBuf]| {
        let paths = paths.iter().map(|path| from_configuration(document, path));
        paths.collect::<Result<Vec<_>, Failure>>()
    };
    let (read, write) = (all(&config.read)?, all(&config.write)?);
    let has_hosts = config.command.is_some() && !config.hosts.is_empty();
    let warning = (has_hosts && !shells.opens_hosts()).then(|| NO_HOSTS.to_owned());
    let roots = write.iter().chain(&read).filter(|path| path.is_dir()).cloned().collect();
    let program = match &config.command {
        None => None,
        Some(command) => {
            let hosts = format!("{}.{name}.hosts", registry::MCP_SERVERS);
            let environment = config.env.iter();
            let environment =
                environment.map(|(name, value)| (name.clone(), value.expose().to_owned()));
            let runner = PackageRunner::from_command(command, &config.args);
            let quick = runner.map(|runner| runner.variables(!config.hosts.is_empty()));
            let access = ChildAccess {
                // The variables of the table come last, and win.
                environment: quick.into_iter().flatten().chain(environment).collect(),
                read,
                write,
                hosts: registry::opened_hosts(document, &hosts, &config.hosts)?,
            };
            let program = SandboxedProgram {
                directory: access.directory(),
                program: [command.clone()].into_iter().chain(config.args.clone()).collect(),
                need: waiting_runner(&config).map(PackageRunner::describe_need),
                // Without a sandbox, each start fails with the reason.
                sandbox: shells.child_sandbox(access),
            };
            Some(Arc::new(program) as Arc<dyn ChildProgram>)
        }
    };
    Ok(McpServerParts { name, config, program, roots, secrets: Vec::new(), warning })
}

/// Returns the runner of packages that has no way to its registry.
fn waiting_runner(config: &McpServerConfig) -> Option<&'static PackageRunner> {
    let command = config.command.as_deref().filter(|_| config.hosts.is_empty())?;
    PackageRunner::from_command(command, &config.args)
}

/// Describes a server that needs the operator; `None` if there is no problem.
pub(crate) fn server_problem(server: &McpServerStatus) -> Option<String> {
    let McpServerStatus { name, state, why, changed, warning, .. } = server;
    if *state == McpState::Failed {
        let why = why.as_deref().unwrap_or("unknown reason");
        return Some(format!("the MCP server {name} does not run: {why}"));
    }
    if !changed.is_empty() {
        return Some(format!(
            "the MCP server {name} has changed tools since their approval, and they are disabled: \
             {}; see `avocet mcp tools {name}`",
            changed.join(", ")
        ));
    }
    warning.as_ref().map(|warning| format!("the MCP server {name}: {warning}"))
}

/// Checks the servers; without a daemon, their tables.
pub(crate) fn check_servers(
    configuration: &Configuration,
    client: Option<&McpClient>,
) -> Vec<Check> {
    const FIX: &str = "see its table in [tools.mcp_servers], and the log of the daemon";
    let Some(client) = client else {
        let Configuration { document, settings, .. } = configuration;
        let servers = registry::mcp_servers(document, settings).unwrap_or_default();
        let incomplete = |(name, config): (String, McpServerConfig)| {
            let why = "its table has neither a command nor a URL, so it is left out";
            let is_incomplete = config.command.is_none() && config.url.is_none();
            is_incomplete.then(|| Check::fair(format!("mcp {name}"), why, FIX))
        };
        return servers.into_iter().filter_map(incomplete).collect();
    };
    let check = |server: McpServerStatus| {
        let name = format!("mcp {}", server.name);
        match server_problem(&server) {
            Some(problem) => Check::fair(name, problem, FIX),
            None => Check::good(name, format!("{}; {} tools", server.state.as_str(), server.tools)),
        }
    };
    client.servers().into_iter().map(check).collect()
}

#[derive(Debug)]
struct SandboxedProgram {
    sandbox: Result<ProgramSandbox, String>,
    program: Vec<String>,
    directory: PathBuf,
    /// The reason why the program may wait for the network in vain.
    need: Option<String>,
}

impl SandboxedProgram {
    /// Says where a program is that the sandbox does not find.
    fn describe_hidden(&self) -> Option<String> {
        let found = ProgramFinder::from_environment().find(self.program.first()?)?;
        if found.read.is_empty() {
            return None;
        }
        let read: Vec<String> = found.read.iter().map(|path| format!("{path:?}")).collect();
        let path = found.path.display();
        let search = found.search_path.map(|path| format!(", env = {{ PATH = {path:?} }}"));
        Some(format!(
            "it is at {path}, and the sandbox hides it or a part of it: set command = \"{path}\", \
             read = [{}]{} in its table, or add the server again with `avocet mcp add`, which does so",
            read.join(", "),
            search.unwrap_or_default()
        ))
    }
}

#[async_trait]
impl ChildProgram for SandboxedProgram {
    async fn run(
        &self,
        streams: oneshot::Sender<ChildStreams>,
        cancel: CancellationToken,
    ) -> String {
        let sandbox = match &self.sandbox {
            Ok(sandbox) => sandbox,
            Err(why) => return why.clone(),
        };
        let request = ProgramRequest {
            program: self.program.clone(),
            directory: self.directory.clone(),
            limit: Duration::MAX,
            output: REASON,
            cancel,
            reached: ReachedHosts::default(),
            rights: ProgramRights::default(),
        };
        let (sender, started) = oneshot::channel();
        let hand_over = async {
            let Ok(ProgramStreams { stdin, stdout, stderr }) = started.await else { return };
            let ours = ChildStreams {
                stdin: Box::new(stdin),
                stdout: Box::new(stdout),
                stderr: Box::new(stderr),
            };
            ignore_result(streams.send(ours), "a client that is gone has cancelled the program");
        };
        let (ended, ()) = tokio::join!(sandbox.run_with_streams(request, sender), hand_over);
        match ended {
            Err(error) => {
                let is_missing = matches!(error, SandboxError::NoProgram(_));
                let hidden = is_missing.then(|| self.describe_hidden());
                join_reasons(error.to_string(), hidden.flatten())
            }
            Ok(result) => {
                let end = match result.ended {
                    ProgramEnd::Code(code) => format!("it ended with exit code {code}"),
                    ProgramEnd::Signal(signal) => format!("signal {signal} ended it"),
                    ProgramEnd::TimedOut | ProgramEnd::Cancelled => "it was stopped".to_owned(),
                };
                let note = result.output.to_text();
                let end = if note.is_empty() { end } else { format!("{end} ({note})") };
                join_reasons(end, self.need.clone())
            }
        }
    }
}

fn join_reasons(why: String, more: Option<String>) -> String {
    match more {
        Some(more) => format!("{why}; {more}"),
        None => why,
    }
}

#[cfg(test)]
mod tests {
    use avocet_protocol::tool::McpTransport;

    use super::*;

    #[test]
    fn waiting_runner_is_one_without_hosts() {
        let server = |command: &str, hosts: &[&str]| McpServerConfig {
            command: Some(command.to_owned()),
            args: vec!["-y".to_owned(), "mcp-x".to_owned()],
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            ..McpServerConfig::default()
        };
        let waiting = server("npx", &[]);
        let runner = waiting_runner(&waiting).unwrap();
        let variables = runner.variables(false);
        assert_eq!(variables, [("npm_config_offline".to_owned(), "true".to_owned())]);
        assert!(runner.describe_need().contains("npx downloads its package at each start"));
        assert_eq!(waiting_runner(&server("npx", &["npm.example.org"])), None);
        assert_eq!(waiting_runner(&server("node", &[])), None);
    }

    #[test]
    fn problem_names_a_failure_before_changes_and_warnings() {
        let mut server = McpServerStatus {
            name: "files".to_owned(),
            transport: McpTransport::Stdio,
            state: McpState::Ready,
            why: None,
            trusted: false,
            lazy: true,
            software: None,
            tools: 1,
            changed: Vec::new(),
            left_out: Vec::new(),
            warning: None,
        };
        assert_eq!(server_problem(&server), None);
        server.warning = Some(NO_HOSTS.to_owned());
        let problems = |server: &McpServerStatus| server_problem(server).unwrap();
        assert!(problems(&server).starts_with("the MCP server files: `hosts` has no effect"));
        server.changed = vec!["files__a".to_owned()];
        assert!(problems(&server).contains("disabled: files__a"));
        server.state = McpState::Failed;
        assert!(problems(&server).contains("files does not run"));
    }
}
