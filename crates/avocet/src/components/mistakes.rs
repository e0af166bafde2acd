//! Mistakes of a configuration with which a daemon still runs: it leaves a part out, or ignores a key.
//! `avocet config check` and the check before each save refuse them, since no one writes them on purpose.

use avocet_config::{ConfigDocument, ConfigError};

use crate::components::mcp::programs::ProgramFinder;
use crate::configuration::Configuration;
use crate::context::CommandContext;
use crate::registry::{MCP_SERVERS, make_channels, mcp_servers};

/// Refuses a server of MCP that can never start, and a model that is its own fallback.
///
/// # Errors
/// The first mistake, with its place and its correction.
pub(crate) fn check_mistakes(configuration: &Configuration) -> Result<(), ConfigError> {
    let Configuration { document, settings, .. } = configuration;
    for (name, server) in mcp_servers(document, settings)? {
        if server.command.is_none() && server.url.is_none() {
            let path = format!("{MCP_SERVERS}.{name}");
            let message = format!(
                "`{path}`: the server has neither a command nor a URL; add `command`, a program \
                 of this machine, or `url`, the address of a server"
            );
            return Err(document.error_at(&path, message));
        }
    }
    let agents = document.get("agents").and_then(|agents| agents.as_object());
    let mut names = agents.into_iter().flatten().map(|(name, _)| name);
    names.try_for_each(|agent| check_fallbacks(document, agent))
}

/// Refuses the model of a table that is also among the fallbacks of the same table. A profile may choose one of
/// the shared fallbacks as its model.
fn check_fallbacks(document: &ConfigDocument, agent: &str) -> Result<(), ConfigError> {
    let path = format!("agents.{agent}");
    let Some(model) = document.get(&format!("{path}.model")).and_then(|model| model.as_str())
    else {
        return Ok(());
    };
    let fallbacks = document.get(&format!("{path}.fallbacks"));
    let fallbacks = fallbacks.and_then(|list| list.as_array());
    let place = fallbacks.and_then(|list| list.iter().position(|one| one.as_str() == Some(model)));
    place.map_or(Ok(()), |place| {
        let path = format!("{path}.fallbacks[{place}]");
        let model = document.hide_reference(&path, model);
        let message = format!(
            "`{path}`: {model:?} is the model itself, and a fallback is asked when that fails; \
             name another model, or leave it out"
        );
        Err(document.error_at(&path, message))
    })
}

/// Refuses programs that are not on this machine: those of MCP servers and of channels.
///
/// # Errors
/// The first missing program, with its place and its correction.
pub(crate) fn check_programs(
    context: &CommandContext,
    configuration: &Configuration,
) -> Result<(), ConfigError> {
    let Configuration { document, settings, .. } = configuration;
    let finder = ProgramFinder::from_environment();
    let check = |path: String, command: &str| {
        if finder.find(command).is_some() {
            return Ok(());
        }
        let command = document.hide_reference(&path, command);
        let message = format!(
            "`{path}`: there is no program {command:?} on this machine; install it, or write its \
             full path"
        );
        Err(document.error_at(&path, message))
    };
    for (name, server) in mcp_servers(document, settings)? {
        // A server with a `PATH` of its own may find a program that this process does not.
        let is_own = server.env.contains_key("PATH");
        if let Some(command) = server.command.as_deref().filter(|_| !is_own) {
            check(format!("{MCP_SERVERS}.{name}.command"), command)?;
        }
    }
    for channel in make_channels(document, settings, &context.clock)?.channels {
        let command = channel.program.as_ref().and_then(|program| program.command.first());
        if let Some(command) = command {
            check(format!("{}.command[0]", channel.table.path), command)?;
        }
    }
    Ok(())
}
