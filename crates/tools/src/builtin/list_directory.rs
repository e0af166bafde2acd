//! `list_directory`: lists names, types and sizes.

use avocet_protocol::tool::{ToolClass, ToolError};
use avocet_sandbox::{DirectoryEntry, EntryKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::file_tool::{FileCall, FileWork};
use super::files::tool_error;

#[derive(Debug)]
pub(super) struct ListDirectory;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct ListDirectoryArguments {
    path: Option<String>,
}

impl FileWork for ListDirectory {
    type Arguments = ListDirectoryArguments;

    const NAME: &'static str = "list_directory";
    const CLASS: ToolClass = ToolClass::Pure;
    const TEXT: &'static str = "List a directory.";
    const OUTPUT: usize = 32 * 1024;

    fn list_paths(arguments: &ListDirectoryArguments) -> Vec<String> {
        vec![arguments.path.clone().unwrap_or_default()]
    }

    fn run(call: &FileCall<'_>, _: &ListDirectoryArguments) -> Result<Value, ToolError> {
        let path = call.workspace.resolve_path(call.path).map_err(tool_error)?;
        let entries = call.workspace.list_entries(&path).map_err(tool_error)?;
        Ok(entries.iter().map(entry_json).collect())
    }
}

fn entry_json(entry: &DirectoryEntry) -> Value {
    let name = &entry.name;
    match entry.kind {
        EntryKind::Directory => json!({ "name": name, "type": "directory" }),
        EntryKind::File(bytes) => json!({ "name": name, "type": "file", "size": bytes }),
        EntryKind::Link => json!({ "name": name, "type": "link" }),
        EntryKind::Secret => json!({ "name": name, "type": "secret" }),
        EntryKind::Other => json!({ "name": name, "type": "other" }),
    }
}
