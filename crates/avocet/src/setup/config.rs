//! `avocet config`: shows the effective configuration, its faults and its changes, and changes the file.

mod change;
mod diff;

use std::path::{Path, PathBuf};

use avocet_config::{ConfigDocument, DEFAULT, UnresolvedValue};
use avocet_sandbox::RootAccess;
use avocet_text::PlainTable;
use clap::Subcommand;
use serde_json::{Map, Value, json};

use crate::components::mistakes::{check_mistakes, check_programs};
use crate::components::workspaces::check_directories;
use crate::configuration::Root;
use crate::configuration::{Agent, Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::{print_json, print_text, print_warning};

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the configuration and show the paths and the model in use.
    Check {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the keys of the configuration file that the running daemon does not use yet.
    Diff {
        /// Compare the file with this older file instead of the running daemon.
        older: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Edit the configuration file with $VISUAL or $EDITOR; a text with a fault does not replace it.
    Edit,
    /// Show a key or a table as it stands in the configuration file; secrets are hidden.
    Get {
        /// Key, such as agents.defaults.model or models."local/*".context.
        key: String,
    },
    /// Set a key in the configuration file, and tell if a running daemon uses it at once.
    Set {
        /// Key, such as agents.defaults.model.
        key: String,
        /// Value in TOML, or text without quotes. `-` reads it from standard input, so that a secret
        /// stays out of the list of processes.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
}

const NO_FILE: &str =
    "none; every key has its default (avocet/config.toml in $XDG_CONFIG_HOME, or ~/.config)";

pub(crate) async fn run(
    context: &CommandContext,
    command: &ConfigCommand,
) -> Result<Exit, Failure> {
    match command {
        ConfigCommand::Check { json } => check_config(context, *json),
        ConfigCommand::Diff { older, json } => diff::run(context, older.as_deref(), *json).await,
        ConfigCommand::Edit => change::edit_file(context).await,
        ConfigCommand::Get { key } => change::get(context, key),
        ConfigCommand::Set { key, value } => change::set_key(context, key, value).await,
    }
}

fn check_config(context: &CommandContext, json: bool) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Check)?;
    check_directories(&configuration)?;
    check_mistakes(&configuration)?;
    check_programs(context, &configuration)?;
    let unresolved = configuration.document.unresolved_values();
    if json {
        print_json(&as_json(&configuration))?;
        return Ok(Exit::Done);
    }
    print_text(&summary_rows(&configuration).into_iter().collect::<PlainTable>().to_string())?;
    for UnresolvedValue { error, .. } in unresolved {
        print_warning(&error.to_string());
    }
    print_text(if unresolved.is_empty() {
        "The configuration can be used.\n"
    } else {
        "The configuration can be used by a daemon that has values for these references.\n"
    })?;
    Ok(Exit::Done)
}

/// A value that is left out, because its reference has no value here.
fn unresolved_text(UnresolvedValue { key, error }: &UnresolvedValue) -> Value {
    json!({ "key": key, "error": error.to_string() })
}

/// Formats a path. If a reference in its key has no value here, says so.
fn key_place(document: &ConfigDocument, key: &str, path: &Path) -> String {
    if document.is_unresolved(key) {
        format!("unknown here: the reference in `{key}` has no value")
    } else {
        path.display().to_string()
    }
}

fn as_json(configuration: &Configuration) -> Value {
    let Configuration { document, data_dir, agents, socket, roots, .. } = configuration;
    let beside = |access: RootAccess| {
        let of = roots.iter().filter(|root| root.access == access);
        of.map(|root| root.path.clone()).collect::<Vec<_>>()
    };
    let of = |agent: &Agent| {
        let Agent { profile, workspace, .. } = agent;
        json!({
            "model": profile.agent.model,
            "workspace": workspace,
            "sessions": profile.sessions,
            "people": profile.people,
        })
    };
    let (defaults, others): (Vec<_>, Vec<_>) =
        agents.iter().partition(|agent| agent.profile.name == DEFAULT);
    let others: Map<String, Value> =
        others.into_iter().map(|agent| (agent.profile.name.clone(), of(agent))).collect();
    let mut found = json!({
        "config": document.path().map(|path| path.display().to_string()),
        "data_dir": data_dir,
        "socket": socket,
        "agents": others,
        "read": beside(RootAccess::Read),
        "write": beside(RootAccess::Change),
        "unresolved": document.unresolved_values().iter().map(unresolved_text).collect::<Vec<_>>(),
    });
    for agent in defaults {
        found["workspace"] = json!(agent.workspace);
        found["model"] = json!(agent.profile.agent.model);
    }
    found
}

fn summary_rows(configuration: &Configuration) -> Vec<[String; 2]> {
    let Configuration { document, data_dir, agents, socket, roots, .. } = configuration;
    let path =
        document.path().map_or_else(|| NO_FILE.to_owned(), |path| path.display().to_string());
    let row = |name: &str, value: String| [name.to_owned(), value];
    let mut rows =
        vec![row("configuration", path), row("data", key_place(document, "data_dir", data_dir))];
    for Agent { profile, workspace, .. } in agents {
        let (model, workspace) = (profile.agent.model.clone(), workspace.display().to_string());
        if profile.name == DEFAULT {
            rows.push(row("workspace", workspace));
            rows.push(row("socket", key_place(document, "gateway.socket", socket)));
            rows.push(row("model", model));
        } else {
            let sessions = match profile.bound_to().as_str() {
                "" => "tasks and jobs".to_owned(),
                bound => bound.to_owned(),
            };
            let value = format!("{model} for {sessions} in {workspace}");
            rows.push(row(&format!("agent {}", profile.name), value));
        }
    }
    if let Some(directory) = &configuration.backups {
        rows.push(row("copies", directory.display().to_string()));
    }
    rows.extend(roots.iter().map(|Root { path, access, .. }| {
        let name = match access {
            RootAccess::Read => "files, read only",
            RootAccess::Change => "files",
        };
        row(name, path.display().to_string())
    }));
    rows
}
