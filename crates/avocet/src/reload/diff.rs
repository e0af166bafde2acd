//! Compares two configurations key by key, for people. Secrets are hidden.

use std::collections::BTreeSet;

use avocet_config::{Document, KeyPath};
use avocet_protocol::ConfigChange;
use serde_json::Value;

use super::{SortedChanges, plan, unresolved, versions};
use crate::config_file::FileText;
use crate::configuration::Configuration;
use crate::context::CommandContext;
use crate::exit::Failure;
use crate::redaction::{self, HIDDEN};

/// Compares the file with the configuration of the running daemon.
pub(crate) fn difference(
    context: &CommandContext,
    running: &Configuration,
) -> Result<Vec<ConfigChange>, Failure> {
    let plan = plan(context, running)?;
    Ok(changes(&plan.changes, &running.document, &plan.document))
}

/// Compares two files. Also returns the keys whose references have no value here; they are left out.
pub(crate) fn file_difference(
    context: &CommandContext,
    old: &FileText,
    new: &FileText,
) -> Result<(Vec<ConfigChange>, BTreeSet<String>), Failure> {
    let (sorted, old, new) = versions(context, (&old.path, &old.text), (&new.path, &new.text))?;
    Ok((changes(&sorted, &old, &new), unresolved(&old, &new)))
}

fn changes(sorted: &SortedChanges, old: &Document, new: &Document) -> Vec<ConfigChange> {
    let change = |key: &KeyPath, needs_restart| ConfigChange {
        key: key.to_string(),
        running: shown(old, key),
        file: shown(new, key),
        needs_restart,
    };
    let live = sorted.live.iter().map(|key| change(key, false));
    let waiting = sorted.waiting.iter().map(|key| change(key, true));
    let mut changes: Vec<ConfigChange> = live.chain(waiting).collect();
    changes.sort_by(|one, other| one.key.cmp(&other.key));
    changes
}

/// Returns a value as JSON; `None` if the key has none.
fn shown(document: &Document, key: &KeyPath) -> Option<String> {
    let value = document.value(key)?;
    if document.is_secret(key) {
        return Some(HIDDEN.to_owned());
    }
    let mut value = value.clone();
    hide_logins(&mut value);
    // A secret may be a part of a longer text.
    Some(redaction::redactor().redact(&value.to_string()).into_owned())
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
