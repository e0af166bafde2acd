//! The way to a running daemon if its configuration file has a fault. The daemon keeps the last good
//! configuration, so commands that only ask it need no more than its socket.

use std::fs;

use avocet_config::{ConfigDocument, UsedReferences};
use toml_edit::{DocumentMut, Item};

use crate::components::places::config_path;
use crate::configuration::{Configuration, ConfigurationUse, FileFault};
use crate::context::CommandContext;
use crate::environment::read_variable;
use crate::exit::{Exit, Failure};

/// Reads the configuration for a request to the running daemon. If the file has a fault, reads only
/// `data_dir` and `gateway.socket`, as far as they can be read.
///
/// # Errors
/// [`Failure`] if the file cannot be read, or if its places cannot be used.
pub(crate) fn for_daemon(context: &CommandContext) -> Result<Configuration, Failure> {
    let failure = match Configuration::load(context, ConfigurationUse::Daemon) {
        Err(failure) if failure.exit == Exit::Configuration => failure,
        loaded => return loaded,
    };
    let Some(path) = config_path(&context.cli) else { return Err(failure) };
    // Other kinds of files can be read only once, or have no end.
    if !path.is_file() {
        return Err(failure);
    }
    let Ok(text) = fs::read_to_string(&path) else { return Err(failure) };
    let places = ConfigDocument::parse_with(
        read_place_keys(&text),
        Some(path),
        &read_variable,
        UsedReferences::Places,
    )
    .map_err(Failure::from)
    .and_then(|document| Configuration::from_document(context, document, ConfigurationUse::Daemon));
    let Ok(found) = places else { return Err(failure) };
    Ok(Configuration { fault: Some(FileFault::new(format!("{:#}", failure.error))), ..found })
}

/// Returns a configuration with only the keys of a text that lead to the daemon. If the text is not
/// TOML, its lines before the error count.
fn read_place_keys(text: &str) -> String {
    let document = match text.parse::<DocumentMut>() {
        Ok(document) => document,
        Err(error) => {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let whole_lines = before.rfind('\n').map_or("", |end| &before[..end]);
            whole_lines.parse().unwrap_or_default()
        }
    };
    let mut places = DocumentMut::new();
    if let Some(Item::Value(value)) = document.get("data_dir") {
        places.insert("data_dir", Item::Value(value.clone()));
    }
    let gateway = document.get("gateway").and_then(Item::as_table_like);
    if let Some(Item::Value(value)) = gateway.and_then(|gateway| gateway.get("socket")) {
        places.insert("gateway", toml_edit::table());
        places["gateway"]["socket"] = Item::Value(value.clone());
    }
    places.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_from_a_text_with_a_fault() {
        let socket = "[gateway]\nsocket = \"/s\"\n";
        let table = [
            ("data_dri = \"/x\"\n", ""),
            ("data_dir = \"/d\"\noops = 1\n", "data_dir = \"/d\"\n"),
            ("oops = 1\n[gateway]\nsocket = \"/s\"\nhttp = 7\n", socket),
            ("gateway = { socket = \"/s\" }\n", socket),
            ("gateway = 7\n", ""),
            // Lines from the error on are unknown.
            ("data_dir = \"/d\"\n[log\nlevel = 7\n", "data_dir = \"/d\"\n"),
            ("data_dir = \"/d\n", ""),
            ("data_dir = \"/d\"\n[gateway]\nsocket = \"/s\n", "data_dir = \"/d\"\n"),
        ];
        for (text, expected) in table {
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(words(&read_place_keys(text)), words(expected), "{text}");
        }
    }
}
