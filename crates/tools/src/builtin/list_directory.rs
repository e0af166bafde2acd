//! `list_directory`: lists names, types and sizes.

use async_trait::async_trait;
use avocet_protocol::{Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome};
use avocet_sandbox::{DirectoryEntry, EntryKind, RootAccess};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::BuiltinParts;
use super::files::{ToolFiles, tool_error};

#[derive(Debug)]
pub(super) struct ListDirectory {
    pub(super) files: ToolFiles,
}

impl ListDirectory {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { files: ToolFiles { roots: parts.roots.clone() } }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ListDirectoryArguments {
    path: Option<String>,
}

#[async_trait]
impl Tool for ListDirectory {
    type Arguments = ListDirectoryArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "List a directory.";
        Description::new("list_directory", ToolClass::Pure, TEXT)
            .in_group("files")
            .and(&self.files.describe_beside(RootAccess::Read))
            .parallel()
            .at_most(32 * 1024)
    }

    fn paths(&self, arguments: &ListDirectoryArguments) -> Vec<String> {
        self.files.canonical_names([arguments.path.as_deref().unwrap_or_default()])
    }

    async fn execute(
        &self,
        arguments: ListDirectoryArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let path = arguments.path.unwrap_or_default();
        let entries = self.files.run_in_root_of(context, path, |workspace, path| {
            let path = workspace.resolve_path(path).map_err(tool_error)?;
            workspace.list_entries(&path).map_err(tool_error)
        });
        let entries: Vec<Value> = entries.await?.iter().map(entry_json).collect();
        Ok(json!(entries).into())
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
