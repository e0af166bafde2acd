//! `outline`: shows the structure of a file with line numbers: headings, functions, types, imports.

mod grammar;
mod plain;

use async_trait::async_trait;
use avocet_protocol::{Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome};
use avocet_sandbox::RootAccess;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;

use super::BuiltinParts;
use super::buffers::EditorBuffers;
use super::files::{ToolFiles, tool_error};
use super::languages::extension_of;

const MAX_ENTRIES: usize = 1000;
/// Characters of an entry that are shown.
const MAX_ENTRY: usize = 160;

#[derive(Debug)]
pub(super) struct OutlineTool {
    pub(super) files: ToolFiles,
    pub(super) buffers: EditorBuffers,
}

impl OutlineTool {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { files: ToolFiles { roots: parts.roots.clone() }, buffers: EditorBuffers::new(parts) }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
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

#[async_trait]
impl Tool for OutlineTool {
    type Arguments = OutlineToolArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "List the headings or definitions of a file with their lines, to read \
            only what matters.";
        Description::new("outline", ToolClass::Pure, TEXT)
            .in_group("files")
            .and(&self.files.describe_beside(RootAccess::Read))
            .parallel()
    }

    fn paths(&self, arguments: &OutlineToolArguments) -> Vec<String> {
        self.files.canonical_names([&arguments.path])
    }

    async fn execute(
        &self,
        arguments: OutlineToolArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        // A child token with a guard: a timeout drops this future, and the guard then stops the
        // parser.
        let stop = context.cancel.child_token();
        let _dropped = stop.clone().drop_guard();
        let editor = self.buffers.editor_for(context);
        let outline = self.files.run_in_root_of(context, arguments.path, move |workspace, path| {
            let text = editor.read_present(workspace, path)?.text;
            let path = workspace.resolve_path(path).map_err(tool_error)?;
            let entries = outline_entries(path.as_path(), &text, &|| stop.is_cancelled())
                .ok_or_else(|| ToolError::ExecutionFailed("the parser was stopped".to_owned()))?;
            Ok(format_entries(&entries, &path.to_string(), text.lines().count()))
        });
        Ok(json!(outline.await?).into())
    }
}

/// The entries of a text; `None` if parsing was cancelled.
fn outline_entries(
    path: &Path,
    text: &str,
    is_stopped: &dyn Fn() -> bool,
) -> Option<Vec<OutlineEntry>> {
    let extension = extension_of(path).to_ascii_lowercase();
    match grammar::grammar_for(&extension) {
        Some(grammar) => grammar.parse_entries(text, is_stopped),
        None => Some(plain::plain_entries(&extension, text)),
    }
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
