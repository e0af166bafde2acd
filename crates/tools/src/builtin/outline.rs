//! `outline`: shows the structure of a file with line numbers: headings, functions, types, imports.

#[cfg(feature = "outlines")]
mod grammar;
mod plain;

use std::path::Path;

use avocet_protocol::tool::{ToolClass, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::file_tool::{FileCall, FileWork};
use super::files::tool_error;
use super::languages::extension_of;

const MAX_ENTRIES: usize = 1000;
/// Characters of an entry that are shown.
const MAX_ENTRY: usize = 160;

#[derive(Debug)]
pub(super) struct OutlineTool;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct OutlineToolArguments {
    path: String,
}

/// A heading, definition or import.
#[derive(Debug, PartialEq, Eq)]
struct OutlineEntry {
    /// Counted from 1.
    line: usize,
    /// The number of entries that enclose it.
    depth: usize,
    text: String,
}

impl FileWork for OutlineTool {
    type Arguments = OutlineToolArguments;

    const NAME: &'static str = "outline";
    const CLASS: ToolClass = ToolClass::Pure;
    const TEXT: &'static str = "List the headings or definitions of a file with their lines, to read \
        only what matters.";

    fn list_paths(arguments: &OutlineToolArguments) -> Vec<String> {
        vec![arguments.path.clone()]
    }

    fn run(call: &FileCall<'_>, _: &OutlineToolArguments) -> Result<Value, ToolError> {
        let text = call.editor.read_present(call.workspace, call.path)?.text;
        let path = call.workspace.resolve_path(call.path).map_err(tool_error)?;
        let entries = outline_entries(path.as_path(), &text, &|| call.is_stopped())
            .ok_or_else(|| ToolError::ExecutionFailed("the parser was stopped".to_owned()))?;
        Ok(format_entries(&entries, &path.to_string(), text.lines().count()).into())
    }
}

/// The entries of a text; `None` if parsing was cancelled.
#[cfg_attr(
    not(feature = "outlines"),
    expect(unused_variables, reason = "only a parser takes long")
)]
fn outline_entries(
    path: &Path,
    text: &str,
    is_stopped: &dyn Fn() -> bool,
) -> Option<Vec<OutlineEntry>> {
    let extension = extension_of(path).to_ascii_lowercase();
    #[cfg(feature = "outlines")]
    if let Some(grammar) = grammar::grammar_for(&extension) {
        return grammar.parse_entries(&extension, text, is_stopped);
    }
    Some(plain::plain_entries(&extension, text))
}

fn format_entries(entries: &[OutlineEntry], path: &str, lines: usize) -> String {
    if entries.is_empty() {
        return format!("{path} has {lines} lines and no outline; use read_file");
    }
    let mut shown: Vec<String> = vec![format!("{path}, {lines} lines")];
    shown.extend(entries.iter().take(MAX_ENTRIES).map(|OutlineEntry { line, depth, text }| {
        let cut = text.char_indices().nth(MAX_ENTRY).map_or(text.as_str(), |(at, _)| &text[..at]);
        format!("{line:>6}\t{}{cut}", "  ".repeat(*depth))
    }));
    if entries.len() > MAX_ENTRIES {
        shown.push(format!("[{} more are not shown]", entries.len() - MAX_ENTRIES));
    }
    shown.join("\n")
}

#[cfg(test)]
#[path = "outline_tests.rs"]
mod tests;
