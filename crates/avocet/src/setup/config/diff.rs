//! `avocet config diff`: compares the configuration file with the running daemon, or with an older file.

use std::path::Path;

use avocet_gateway::{DiffConfig, NoParams};
use avocet_protocol::daemon::{ConfigChange, ConfigDiff};

use super::change::{failed, read, refused, warn_of_unresolved};
use crate::components::config_changes::file_difference;
use crate::components::config_file::FileText;
use crate::configuration::{Configuration, Uses};
use crate::connection::connect;
use crate::context::CommandContext;
use crate::environment::given;
use crate::exit::{Exit, Failure};
use crate::output::show;

pub(super) async fn run(
    context: &CommandContext,
    older: Option<&Path>,
    json: bool,
) -> Result<Exit, Failure> {
    let diff = match older {
        Some(older) => with_file(context, older)?,
        None => with_daemon(context).await?,
    };
    show(json, &diff, || match older {
        Some(older) => {
            described(&diff, &format!("The values are the same as in {}.", older.display()))
        }
        None => described(&diff, "The running daemon uses the file as it is."),
    })
}

fn with_file(context: &CommandContext, older: &Path) -> Result<ConfigDiff, Failure> {
    let file = read(context)?;
    let old = FileText::read(given(older)?).map_err(|error| refused(&error))?;
    if !older.exists() {
        return Err(failed(format!("{} does not exist", older.display())));
    }
    let (changes, unresolved) = file_difference(context, &old, &file)?;
    warn_of_unresolved(&unresolved, &old.text, &file.text);
    Ok(ConfigDiff { path: file.path.display().to_string(), changes })
}

async fn with_daemon(context: &CommandContext) -> Result<ConfigDiff, Failure> {
    let configuration = Configuration::load(context, Uses::Daemon)?;
    let client = connect(context, &configuration).await?.ok_or_else(|| {
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
fn described(diff: &ConfigDiff, same: &str) -> String {
    let (waiting, live): (Vec<&ConfigChange>, Vec<&ConfigChange>) =
        diff.changes.iter().partition(|change| change.needs_restart);
    let groups =
        [("In use within a few seconds:", live), ("After a restart of the daemon:", waiting)];
    let texts = groups.into_iter().filter(|(_, changes)| !changes.is_empty());
    let text: String = texts
        .map(|(title, changes)| {
            let lines = changes.iter().map(|change| line(change));
            format!("{title}\n{}", lines.collect::<String>())
        })
        .collect();
    if text.is_empty() { format!("{same}\n") } else { text }
}

fn line(ConfigChange { key, running, file, .. }: &ConfigChange) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "(default)".to_owned());
    format!("  {key}: {} -> {}\n", value(running), value(file))
}
