//! Compares two configurations key by key: what a running daemon does with each change, and the change
//! as people see it. Secrets are hidden.

mod effects;

use std::collections::BTreeSet;
use std::path::Path;

use avocet_config::{ConfigDocument, KeyPath};
use avocet_protocol::daemon::ConfigChange;
use serde_json::Value;

use crate::components::config_file::FileText;
use crate::configuration::ConfigurationUse;
use crate::context::CommandContext;
use crate::environment::read_variable;
use crate::exit::Failure;
use crate::redaction::{self, HIDDEN};
use crate::registry;

pub(crate) use effects::{SortedChanges, sort_changes};

/// Compares two files. Also returns the keys whose references have no value here; they are left out.
pub(crate) fn file_difference(
    context: &CommandContext,
    old: &FileText,
    new: &FileText,
) -> Result<(Vec<ConfigChange>, BTreeSet<String>), Failure> {
    let (sorted, old, new) =
        compare_versions(context, (&old.path, &old.text), (&new.path, &new.text))?;
    Ok((shown_changes(&sorted, &old, &new), unresolved_keys(&old, &new)))
}

/// Returns what a change of the file's text means for a running daemon, and the keys whose
/// references have no value here. Those are left out.
pub(crate) fn changes_between(
    context: &CommandContext,
    path: &Path,
    old: &str,
    new: &str,
) -> Result<(SortedChanges, BTreeSet<String>), Failure> {
    let (changes, old, new) = compare_versions(context, (path, old), (path, new))?;
    Ok((changes, unresolved_keys(&old, &new)))
}

/// Returns the keys whose references have no value in one of two documents.
fn unresolved_keys(old: &ConfigDocument, new: &ConfigDocument) -> BTreeSet<String> {
    [old, new]
        .into_iter()
        .flat_map(ConfigDocument::unresolved_values)
        .map(|one| one.key.clone())
        .collect()
}

/// Reads two texts of a configuration, each with the path of its file, and sorts the changes
/// between them.
fn compare_versions(
    context: &CommandContext,
    old: (&Path, &str),
    new: (&Path, &str),
) -> Result<(SortedChanges, ConfigDocument, ConfigDocument), Failure> {
    let read = |(path, text): (&Path, &str)| -> Result<_, Failure> {
        let (text, path) = (text.to_owned(), Some(path.to_owned()));
        let references = ConfigurationUse::Check.used_references();
        let document = ConfigDocument::parse_with(text, path, &read_variable, references)?;
        redaction::learn_secrets(document.secrets());
        let settings = document.table("")?;
        let channels = registry::make_channels(&document, &settings, &context.clock)?.channels;
        Ok((document, channels))
    };
    let (old, new) = (read(old)?, read(new)?);
    Ok((sort_changes(&old.0, &new.0, &old.1, &new.1), old.0, new.0))
}

/// Shows sorted changes with their old and new values, in the order of the keys.
pub(crate) fn shown_changes(
    sorted: &SortedChanges,
    old: &ConfigDocument,
    new: &ConfigDocument,
) -> Vec<ConfigChange> {
    let change = |key: &KeyPath, needs_restart| ConfigChange {
        key: key.to_string(),
        running: shown_value(old, key),
        file: shown_value(new, key),
        needs_restart,
    };
    let live = sorted.live.iter().map(|key| change(key, false));
    let waiting = sorted.waiting.iter().map(|key| change(key, true));
    let mut changes: Vec<ConfigChange> = live.chain(waiting).collect();
    changes.sort_by(|one, other| one.key.cmp(&other.key));
    changes
}

/// Returns a value as JSON; `None` if the key has none.
fn shown_value(document: &ConfigDocument, key: &KeyPath) -> Option<String> {
    let value = document.value(key)?;
    if document.is_secret(key) {
        return Some(HIDDEN.to_owned());
    }
    let mut value = value.clone();
    hide_logins(&mut value);
    // A secret may be a part of a longer text.
    Some(redaction::shared_redactor().redact(&value.to_string()).into_owned())
}

fn hide_logins(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(shown) = redaction::without_login(text) {
                *text = shown;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(hide_logins),
        Value::Object(fields) => fields.values_mut().for_each(hide_logins),
        _ => {}
    }
}
