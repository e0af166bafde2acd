//! `avocet config diff`: compares the configuration file with the running daemon, or with an older file.

use std::path::Path;

use avocet_gateway::{DiffConfig, NoParams};
use avocet_protocol::daemon::{ConfigChange, ConfigDiff};

use super::change::{command_failure, file_failure, read, warn_of_unresolved};
use crate::components::config_changes::file_difference;
use crate::components::config_file::FileText;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::connection::connect_daemon;
use crate::context::CommandContext;
use crate::environment::absolute_path;
use crate::exit::{Exit, Failure};
use crate::output::print_result;

pub(super) async fn run(
    context: &CommandContext,
    older: Option<&Path>,
    json: bool,
) -> Result<Exit, Failure> {
    let diff = match older {
        Some(older) => with_file(context, older)?,
        None => with_daemon(context).await?,
    };
    print_result(json, &diff, || match older {
        Some(older) => {
            describe_diff(&diff, &format!("The values are the same as in {}.", older.display()))
        }
        None => describe_diff(&diff, "The running daemon uses the file as it is."),
    })
}

fn with_file(context: &CommandContext, older: &Path) -> Result<ConfigDiff, Failure> {
    let file = read(context)?;
    let old = FileText::read(absolute_path(older)?).map_err(|error| file_failure(&error))?;
    if !older.exists() {
        return Err(command_failure(format!("{} does not exist", older.display())));
    }
    let (changes, unresolved) = file_difference(context, &old, &file)?;
    warn_of_unresolved(&unresolved, &old.text, &file.text);
    Ok(ConfigDiff { path: file.path.display().to_string(), changes })
}

async fn with_daemon(context: &CommandContext) -> Result<ConfigDiff, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Daemon)?;
    let client = connect_daemon(context, &configuration).await?.ok_or_else(|| {
        let socket = configuration.socket.display();
        let message = format!(
            "no daemon listens on {socket}; start it with `avocet run`, or name an older file to \
                compare with, such as the version before the last change (config.toml.before)"
        );
        Failure::new(Exit::TryLater, message)
    })?;
    Ok(client.call::<DiffConfig>(&NoParams {}).await?)
}

/// Lists the changes by the time at which they are in use. Without changes, returns `same`.
fn describe_diff(diff: &ConfigDiff, same: &str) -> String {
    let (waiting, live): (Vec<&ConfigChange>, Vec<&ConfigChange>) =
        diff.changes.iter().partition(|change| change.needs_restart);
    let groups =
        [("In use within a few seconds:", live), ("After a restart of the daemon:", waiting)];
    let texts = groups.into_iter().filter(|(_, changes)| !changes.is_empty());
    let text: String = texts
        .map(|(title, changes)| {
            let lines = changes.iter().map(|change| change_line(change));
            format!("{title}\n{}", lines.collect::<String>())
        })
        .collect();
    if text.is_empty() { format!("{same}\n") } else { text }
}

fn change_line(ConfigChange { key, running, file, .. }: &ConfigChange) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "(default)".to_owned());
    format!("  {key}: {} -> {}\n", value(running), value(file))
}
