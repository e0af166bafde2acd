//! Finds the files of erased rows, and the copies of the log that an erasure does not reach.

use std::fs;
use std::path::{Path, PathBuf};

use avocet_protocol::channel::WEB_CHANNEL;
use avocet_store::{DATABASE, EraseSubject, ErasedIds};
use serde_json::Value;

use crate::configuration::{Configuration, KEPT_COPIES, MEMORY_FILES};

/// Directories of a workspace for files of messages, results and answers.
const WORKSPACE_DIRECTORIES: [&str; 2] = ["inbox", "answers"];
/// The channel of `avocet chat`.
const TERMINAL: &str = "terminal";

/// Returns the files to remove.
pub(super) fn files_of(
    configuration: &Configuration,
    subject: &EraseSubject,
    ids: &ErasedIds,
) -> Vec<PathBuf> {
    let mut files = workspace_files(configuration, ids);
    files.extend(memory_files(configuration, ids));
    let channel = match subject {
        EraseSubject::Person(person) => Some(person.channel.to_string()),
        EraseSubject::Session(session) => Some(session.address().channel.to_string()),
        EraseSubject::Memory(_) => None,
    };
    if channel.as_deref() == Some(WEB_CHANNEL) {
        // A fetched upload is no longer referred to; the workspace has its own copy.
        let is_needed = |file: &PathBuf| ids.kept_uploads.iter().any(|kept| file.ends_with(kept));
        files.extend(list(&configuration.uploads()).into_iter().filter(|file| !is_needed(file)));
    }
    if channel.as_deref() == Some(TERMINAL) {
        let history = configuration.data_dir.join("terminal.history");
        files.extend(history.is_file().then_some(history));
    }
    if channel.is_some() {
        files.extend(kept_copies(configuration));
    }
    if let EraseSubject::Person(person) = subject {
        files.extend(program_files(configuration, person.sender.as_str()));
    }
    files.sort();
    files.dedup();
    files
}

/// Returns the files of messages and turns in the workspaces of all agents.
pub(crate) fn workspace_files(configuration: &Configuration, ids: &ErasedIds) -> Vec<PathBuf> {
    let directories = configuration
        .agents
        .iter()
        .flat_map(|agent| WORKSPACE_DIRECTORIES.map(|directory| agent.workspace.join(directory)));
    let files = directories.flat_map(|directory| list(&directory));
    files.filter(|file| is_of(file, ids)).collect()
}

/// Returns `true` for `m12-0.png` of message 12, and for `t3s0c1-0.png`, `t3.md` and `t3-5.txt` of
/// turn 3.
fn is_of(file: &Path, ids: &ErasedIds) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let (kind, rest) = (name.chars().next(), name.get(1..).unwrap_or_default());
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let Ok(number) = rest[..digits].parse::<i64>() else { return false };
    match kind {
        Some('m') => ids.messages.contains(&number),
        Some('t') => ids.turns.contains(&number),
        _ => false,
    }
}

/// Returns the files that the agent wrote in the erased turns and that stay in the workspaces. They may be
/// the work of other people, too.
pub(super) fn list_written_files(configuration: &Configuration, ids: &ErasedIds) -> Vec<PathBuf> {
    let workspaces = configuration.agents.iter().map(|agent| &agent.workspace);
    let paths = workspaces
        .flat_map(|workspace| ids.written_files.iter().map(move |path| workspace.join(path)));
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    files.dedup();
    files
}

/// Returns the files of the memory that show a scope with an erased memory. They are written again
/// from the log.
fn memory_files(configuration: &Configuration, ids: &ErasedIds) -> Vec<PathBuf> {
    let shows_scope = |file: &PathBuf| {
        let text = fs::read(file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        ids.scopes.iter().any(|scope| text.contains(&format!("# Memory: {scope}")))
    };
    list(&configuration.data_dir.join(MEMORY_FILES)).into_iter().filter(shows_scope).collect()
}

/// Returns the copies of files whose changes wait for a review. They may have been made from any file of
/// a workspace. Without them the changes stay.
fn kept_copies(configuration: &Configuration) -> Vec<PathBuf> {
    let conversations = fs::read_dir(configuration.data_dir.join(KEPT_COPIES));
    let conversations = conversations.into_iter().flatten().flatten();
    conversations.flat_map(|conversation| list(&conversation.path())).collect()
}

/// Returns the files that a program has uploaded over HTTP, with their descriptions.
fn program_files(configuration: &Configuration, owner: &str) -> Vec<PathBuf> {
    let is_of_owner = |file: &PathBuf| {
        let read = fs::read(file).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
        read.is_some_and(|description| description["owner"] == owner)
    };
    let descriptions = list(&configuration.program_files()).into_iter().filter(is_of_owner);
    descriptions.flat_map(|file| [file.with_extension(""), file]).filter(|f| f.is_file()).collect()
}

/// Returns the copies of the log that still hold the texts: backups, and logs that were moved aside.
pub(super) fn other_copies(configuration: &Configuration) -> Vec<PathBuf> {
    let mut copies: Vec<PathBuf> =
        configuration.backups.iter().flat_map(|directory| list(directory)).collect();
    let is_aside = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        ["damaged-", "replaced-"]
            .iter()
            .any(|infix| name.starts_with(&format!("{DATABASE}.{infix}")))
    };
    copies.extend(list(&configuration.data_dir).into_iter().filter(is_aside));
    copies.sort();
    copies
}

/// Returns the files in a directory. A symbolic link in the place of the directory is not followed.
fn list(directory: &Path) -> Vec<PathBuf> {
    if !fs::symlink_metadata(directory).is_ok_and(|found| found.is_dir()) {
        return Vec::new();
    }
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_file = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| !kind.is_dir());
    entries.filter(is_file).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_of_reads_the_number_in_the_name() {
        let ids = ErasedIds { messages: vec![12], turns: vec![3], ..ErasedIds::default() };
        for (name, expected) in [
            ("m12-0.png", true),
            ("m1-0.png", false),
            ("m120-0.png", false),
            ("t3.md", true),
            ("t3s0c1-0.png", true),
            ("t31.md", false),
            ("notes.md", false),
            ("m", false),
        ] {
            assert_eq!(is_of(&Path::new("inbox").join(name), &ids), expected, "{name}");
        }
    }
}
