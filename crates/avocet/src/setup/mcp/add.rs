//! `avocet mcp add` and `avocet mcp remove`: change the configuration file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use avocet_protocol::daemon::ConfigFileError;
use avocet_text::{append_line, plain_io};
use clap::Args;
use serde::Serialize;

use crate::components::config_file::FileText;
use crate::components::mcp::complete::complete_sandbox_settings;
use crate::components::mcp::edit::{self, ServerTable};
use crate::components::mcp::programs::ProgramFinder;
use crate::components::mcp::server_name::valid_name;
use crate::components::places::config_place;
use crate::configuration::last_version;
use crate::context::CommandContext;
use crate::environment::{absolute_path, home_directory};
use crate::exit::{Exit, Failure};
use crate::input::text_or_stdin;
use crate::output::print_warning;
use crate::stderr;

use super::import::{self, Imported, LeftOut, literal_secrets, reasons_text};
use super::test::{AddedTest, test_added};

const USAGE: &str = "avocet mcp add [OPTIONS] NAME -- COMMAND [ARGUMENT]...
       avocet mcp add [OPTIONS] NAME --url URL
       avocet mcp add [OPTIONS] --from FILE [NAME]";

#[derive(Debug, Args)]
#[command(override_usage = USAGE)]
pub(crate) struct AddArgs {
    /// Name of the server; its tools are called NAME__TOOL. With --from: adds only this server of
    /// the file.
    #[arg(required_unless_present = "from")]
    name: Option<String>,
    #[command(flatten)]
    source: Source,
    /// Header of each request to the URL; may be repeated. A reference such as ${NAME} keeps a
    /// secret out of the file.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair, requires = "url")]
    header: Vec<(String, String)>,
    /// Variable in the environment of the command; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair, requires = "command")]
    env: Vec<(String, String)>,
    /// File or directory that the command may read; may be repeated.
    #[arg(long, value_name = "PATH", requires = "command")]
    read: Vec<PathBuf>,
    /// Directory that the command may change; may be repeated.
    #[arg(long, value_name = "PATH", requires = "command")]
    write: Vec<PathBuf>,
    /// Host that the command may reach; may be repeated.
    #[arg(long, value_name = "HOST[:PORT]", requires = "command")]
    host: Vec<String>,
    /// Replace the command or the URL of an existing server, and keep its other settings.
    #[arg(long)]
    replace: bool,
    /// Do not start the new servers. By default, each is started once in its sandbox, and its tools
    /// are listed.
    #[arg(long)]
    pub(crate) no_test: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The description of a server.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// URL of a server with streamable HTTP.
    #[arg(long)]
    url: Option<String>,
    /// Configuration file of another program, such as Claude Code, Codex, Cursor, Goose, opencode, VS
    /// Code or Zed; - is stdin.
    #[arg(long, value_name = "FILE")]
    from: Option<String>,
    /// Command of a server on stdio, with its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Name of the server.
    name: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A change of the configuration file.
#[derive(Debug, Serialize)]
pub(crate) struct ConfigChange {
    /// The configuration file.
    path: String,
    /// The last version of the file; `None` if the file is new.
    before: Option<String>,
    /// Names of the servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    added: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    removed: Vec<String>,
    /// The servers of the other program's file that were not added.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOut>,
    /// Remarks for the operator.
    warnings: Vec<String>,
    /// The first starts of the new servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tests: Vec<AddedTest>,
}

impl ConfigChange {
    /// Formats the change for people, with the next steps.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for name in &self.added {
            append_line(
                &mut text,
                format_args!("added [tools.mcp_servers.{name}] to {}", self.path),
            );
        }
        for name in &self.removed {
            append_line(
                &mut text,
                format_args!("removed [tools.mcp_servers.{name}] from {}", self.path),
            );
        }
        for LeftOut { name, reason, .. } in &self.left_out {
            append_line(&mut text, format_args!("left out server {name:?}: {reason}"));
        }
        if let Some(before) = &self.before {
            append_line(&mut text, format_args!("the last version of the file is {before}"));
        }
        text.extend(self.tests.iter().map(AddedTest::text));
        for name in self.added.iter().filter(|_| self.tests.is_empty()) {
            append_line(
                &mut text,
                format_args!("`avocet mcp test {name}` starts the server and lists its tools"),
            );
        }
        text.push_str("a running daemon uses the change at once\n");
        text
    }
}

impl ConfigChange {
    /// Starts the new servers once.
    pub(crate) async fn test(&mut self, context: &CommandContext) {
        if !self.added.is_empty() {
            stderr::write(&format!("testing {}\n", self.added.join(", ")));
            self.tests = test_added(context, &self.added).await;
        }
    }

    /// Returns the exit code: a failure if a server could not be added.
    pub(crate) fn exit(&self) -> Exit {
        let is_complete = self.left_out.iter().all(|one| one.is_disabled);
        if is_complete { Exit::Done } else { Exit::Failed }
    }
}

/// Adds servers to the configuration file.
pub(crate) fn add_server(context: &CommandContext, args: AddArgs) -> Result<ConfigChange, Failure> {
    let (replace, is_import) = (args.replace, args.source.from.is_some());
    let Imported { mut servers, mut left_out, mut warnings } = new_servers(args)?;
    warnings.extend(servers.iter().flat_map(literal_secrets));
    let finder = ProgramFinder::from_environment();
    for server in &mut servers {
        let remarks = complete_sandbox_settings(server, &finder);
        warnings.extend(remarks.iter().map(|remark| format!("server {}: {remark}", server.name)));
    }
    let change = write(context, |text| {
        if is_import && !replace {
            left_out.extend(take_existing(text, &mut servers)?);
        }
        edit::put_servers(text, &servers, replace).map_err(command_failure)
    })?;
    let added = servers.iter().map(|server| server.name.clone()).collect();
    for one in &warnings {
        print_warning(one);
    }
    Ok(ConfigChange { added, left_out, warnings, ..change })
}

/// Removes the servers that the configuration has already, and returns them with the reason.
fn take_existing(text: &str, servers: &mut Vec<ServerTable>) -> Result<Vec<LeftOut>, Failure> {
    let known = edit::list_servers(text).map_err(command_failure)?;
    let is_known = |server: &ServerTable| known.iter().any(|one| one.name == server.name);
    let (existing, new): (Vec<_>, Vec<_>) = std::mem::take(servers).into_iter().partition(is_known);
    *servers = new;
    let left_out = existing.into_iter().map(|server| LeftOut {
        reason: format!(
            "the configuration already has [tools.mcp_servers.{}]; --replace replaces it",
            server.name
        ),
        name: server.name,
        is_disabled: false,
    });
    let left_out: Vec<LeftOut> = left_out.collect();
    if servers.is_empty() {
        return Err(command_failure(format!("no server was added:{}", reasons_text(&left_out))));
    }
    Ok(left_out)
}

/// Removes a server from the configuration file.
pub(crate) fn remove_server(
    context: &CommandContext,
    args: &RemoveArgs,
) -> Result<ConfigChange, Failure> {
    let name = &args.name;
    let change = write(context, |text| {
        edit::remove_server(text, name).map_err(command_failure)?.ok_or_else(|| {
            command_failure(format!(
                "the configuration has no [tools.mcp_servers.{name}]; `avocet mcp list` shows all"
            ))
        })
    })?;
    Ok(ConfigChange { removed: vec![name.clone()], ..change })
}

/// Changes the configuration file, and checks the new text before it is written.
fn write(
    context: &CommandContext,
    change: impl FnOnce(&str) -> Result<String, Failure>,
) -> Result<ConfigChange, Failure> {
    let path = config_place(&context.cli).ok_or_else(|| {
        command_failure("there is no home directory, so the configuration file has no place; give --config FILE")
    })?;
    let file = FileText::read(absolute_path(&path)?).map_err(file_failure)?;
    let text = change(&file.text)?;
    let is_new = !file.path.exists();
    file.replace(context, &text).map_err(file_failure)?;
    Ok(ConfigChange {
        path: file.path.display().to_string(),
        before: (!is_new).then(|| last_version(&real_path(&file.path)).display().to_string()),
        added: Vec::new(),
        removed: Vec::new(),
        left_out: Vec::new(),
        warnings: Vec::new(),
        tests: Vec::new(),
    })
}

fn new_servers(args: AddArgs) -> Result<Imported, Failure> {
    let AddArgs { name, source: Source { url, from, command }, header, env, .. } = args;
    if let Some(from) = from {
        let text = match &*from {
            "-" => text_or_stdin(Some(from))?,
            path => {
                let unreadable =
                    |why: String| command_failure(format!("cannot read {path}: {why}"));
                let bytes = fs::read(path).map_err(|error| unreadable(plain_io(&error)))?;
                import::decode_file(bytes).map_err(unreadable)?
            }
        };
        let home = home_directory().map(|home| home.display().to_string());
        return import::import_servers(&text, name.as_deref(), home.as_deref())
            .map_err(command_failure);
    }
    let given_name = name.unwrap_or_default();
    let name = valid_name(&given_name).map_err(command_failure)?;
    let mut warnings = Vec::new();
    if name != given_name {
        warnings.push(format!("server {given_name:?}: its name here is {name}"));
    }
    let mut command = command.into_iter();
    let server = ServerTable {
        name,
        command: command.next(),
        args: command.collect(),
        env: env.into_iter().collect::<BTreeMap<_, _>>(),
        url,
        headers: header.into_iter().collect(),
        read: absolute_paths(&args.read)?,
        write: absolute_paths(&args.write)?,
        hosts: args.host,
    };
    Ok(Imported { servers: vec![server], left_out: Vec::new(), warnings })
}

/// Completes paths of the command line, because the configuration file stands elsewhere.
fn absolute_paths(paths: &[PathBuf]) -> Result<Vec<String>, Failure> {
    paths.iter().map(|path| absolute_path(path).map(|path| path.display().to_string())).collect()
}

/// The file itself, after all symbolic links.
fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Parses `KEY=VALUE`; a header may also be `KEY: VALUE`.
fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once(['=', ':']) {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("give it as KEY=VALUE".to_owned()),
    }
}

pub(crate) fn command_failure(message: impl Into<String>) -> Failure {
    Failure::new(Exit::Failed, message)
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub(crate) fn file_failure(error: ConfigFileError) -> Failure {
    let exit = match error {
        ConfigFileError::Unusable(_) => Exit::Configuration,
        _ => Exit::Failed,
    };
    Failure::new(exit, error.to_string())
}
