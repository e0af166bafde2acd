//! `avocet config`: what holds, and what does not.

use avocet_sandbox::Workspace;
use serde_json::json;

use crate::Context;
use crate::exit::{Exit, Failure};
use crate::output::{columns, print, print_json};
use crate::places::Configuration;

pub(crate) fn check(context: &Context, json: bool) -> Result<Exit, Failure> {
    let configuration = Configuration::load(&context.cli)?;
    // What does not exist yet is made by the daemon, not by a check.
    if configuration.workspace.exists() {
        Workspace::open(&configuration.workspace)?;
    }
    let Configuration { document, settings, data_dir, workspace, socket } = &configuration;
    let path = document.path().map(|path| path.display().to_string());
    let model = &settings.agents.defaults.model;
    if json {
        print_json(&json!({
            "config": path,
            "data_dir": data_dir,
            "workspace": workspace,
            "socket": socket,
            "model": model,
        }))?;
        return Ok(Exit::Done);
    }
    let path = path.unwrap_or_else(|| {
        "none; every key has its default (avocet/config.toml in $XDG_CONFIG_HOME, or ~/.config)"
            .to_owned()
    });
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let rows = [
        row("configuration", path),
        row("data", data_dir.display().to_string()),
        row("workspace", workspace.display().to_string()),
        row("socket", socket.display().to_string()),
        row("model", model.clone()),
    ];
    print(&columns(&rows))?;
    print("The configuration can be used.\n")?;
    Ok(Exit::Done)
}
