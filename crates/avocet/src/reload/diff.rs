//! Compares two configurations key by key, for people. Secrets are hidden.

use std::path::Path;

use avocet_config::{Document, KeyPath};
use avocet_protocol::ConfigChange;

use super::{SortedChanges, plan, versions};
use crate::context::CommandContext;
use crate::exit::Failure;
use crate::places::Configuration;
use crate::redaction;

/// The text in place of a secret.
const HIDDEN: &str = "(hidden)";

/// Compares the file with the configuration of the running daemon.
pub(crate) fn difference(
    context: &CommandContext,
    running: &Configuration,
) -> Result<Vec<ConfigChange>, Failure> {
    let plan = plan(context, running)?;
    Ok(changes(&plan.changes, &running.document, &plan.document))
}

/// Compares two texts of a configuration. References without a value here are left out.
pub(crate) fn file_difference(
    context: &CommandContext,
    path: &Path,
    old: &str,
    new: &str,
) -> Result<Vec<ConfigChange>, Failure> {
    let (sorted, old, new) = versions(context, path, old, new)?;
    Ok(changes(&sorted, &old, &new))
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
    // A secret may be a part of a longer text.
    Some(redaction::redactor().redact(&value.to_string()).into_owned())
}
