//! `outline`: shows the structure of a file with line numbers: headings, functions, types, imports.

mod grammar;
mod plain;

use async_trait::async_trait;
use avocet_protocol::{Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome};
use avocet_sandbox::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;

use super::BuiltinParts;
use super::buffers::Buffers;
use super::files::{ToolFiles, tool_error};
use super::languages::extension;

const MAX_ENTRIES: usize = 1000;
/// Characters of an entry that are shown.
const MAX_ENTRY: usize = 160;

#[derive(Debug)]
pub(super) struct Outline {
    pub(super) files: ToolFiles,
    pub(super) buffers: Buffers,
}

impl Outline {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { files: ToolFiles { roots: parts.roots.clone() }, buffers: Buffers::new(parts) }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
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
impl Tool for Outline {
    type Arguments = Arguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "List the headings or definitions of a file with their lines, to read \
            only what matters.";
        Description::new("outline", ToolClass::Pure, TEXT)
            .in_group("files")
            .and(&self.files.also(Access::Read))
            .parallel()
    }

    fn paths(&self, arguments: &Arguments) -> Vec<String> {
        self.files.places([&arguments.path])
    }

    async fn execute(
        &self,
        arguments: Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        // A child token with a guard: a timeout drops this future, and the guard then stops the
        // parser.
        let stop = context.cancel.child_token();
        let _dropped = stop.clone().drop_guard();
        let editor = self.buffers.editor_for(context);
        let outline = self.files.at(context, arguments.path, move |workspace, path| {
            let text = editor.read_present(workspace, path)?.text;
            let path = workspace.resolve(path).map_err(tool_error)?;
            let entries = entries(path.as_path(), &text, &|| stop.is_cancelled())
                .ok_or_else(|| ToolError::ExecutionFailed("the parser was stopped".to_owned()))?;
            Ok(shown(&entries, &path.to_string(), text.lines().count()))
        });
        Ok(json!(outline.await?).into())
    }
}

/// The entries of a text; `None` if parsing was cancelled.
fn entries(path: &Path, text: &str, is_stopped: &dyn Fn() -> bool) -> Option<Vec<OutlineEntry>> {
    let extension = extension(path).to_ascii_lowercase();
    match grammar::of(&extension) {
        Some(grammar) => grammar.entries(text, is_stopped),
        None => Some(plain::entries(&extension, text)),
    }
}

fn shown(entries: &[OutlineEntry], path: &str, lines: usize) -> String {
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
