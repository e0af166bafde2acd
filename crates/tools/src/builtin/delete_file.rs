//! `delete_file`: deletes a file, a link or a directory.

use avocet_protocol::tool::{Evidence, ToolClass, ToolError};
use avocet_sandbox::{EntryKind, RemoveMode, RemovedKind, Workspace};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::file_tool::{FileCall, FileWork};
use super::files::{digest_of_file, read_text, tool_error};

/// The state of a missing path in an `Evidence`.
const GONE: &str = "gone";

#[derive(Debug)]
pub(super) struct DeleteFile;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct DeleteFileArguments {
    path: String,
    /// Needed for a directory that is not empty.
    #[schemars(extend("x-aliases" = ["r"]))]
    recursive: Option<bool>,
}

impl FileWork for DeleteFile {
    type Arguments = DeleteFileArguments;

    const NAME: &'static str = "delete_file";
    const CLASS: ToolClass = ToolClass::Verifiable;
    const TEXT: &'static str = "Delete a file, a link or a directory, for good.";
    const HAPPENED: &'static str = "was deleted before a restart and is gone";

    fn list_paths(arguments: &DeleteFileArguments) -> Vec<String> {
        vec![arguments.path.clone()]
    }

    fn is_recursive(arguments: &DeleteFileArguments) -> bool {
        arguments.recursive.unwrap_or(false)
    }

    fn collect_evidence(
        call: &FileCall<'_>,
        _: &DeleteFileArguments,
    ) -> Result<Option<Evidence>, ToolError> {
        let path = call.workspace.resolve_path(call.path).map_err(tool_error)?;
        call.workspace.can_change(&path).map_err(tool_error)?;
        let before = Self::read_state(call.workspace, call.path)?;
        if before.as_deref() == Some(GONE) {
            // Reading it returns the error that says why the file is absent.
            read_text(call.workspace, call.path)?;
        }
        Ok(Some(Evidence { subject: path.to_string(), before, after: GONE.to_owned() }))
    }

    fn run(call: &FileCall<'_>, arguments: &DeleteFileArguments) -> Result<Value, ToolError> {
        let path = call.workspace.resolve_path(call.path).map_err(tool_error)?;
        let is_recursive = Self::is_recursive(arguments);
        let mode = if is_recursive { RemoveMode::Recursive } else { RemoveMode::Single };
        let removed = call.workspace.remove_entry(&path, mode).map_err(tool_error)?;
        let report = match removed {
            RemovedKind::File => format!("deleted {path}"),
            RemovedKind::Link => format!("deleted the link {path}"),
            RemovedKind::Directory(0) => format!("deleted the empty directory {path}"),
            RemovedKind::Directory(1) => format!("deleted the directory {path} with 1 entry"),
            RemovedKind::Directory(all) => {
                format!("deleted the directory {path} with {all} entries")
            }
        };
        Ok(report.into())
    }

    fn read_state(workspace: &Workspace, subject: &str) -> Result<Option<String>, ToolError> {
        let path = workspace.resolve_path(subject).map_err(tool_error)?;
        Ok(Some(match workspace.kind(&path).map_err(tool_error)? {
            None => GONE.to_owned(),
            Some(EntryKind::Directory) => {
                let entries = workspace.entries_below(&path).map_err(tool_error)?;
                format!("a directory of {entries}")
            }
            // A file too large to read is compared by its size.
            Some(EntryKind::File(bytes)) => match digest_of_file(workspace, &path) {
                Ok(Some(digest)) => digest,
                _ => format!("{bytes} bytes"),
            },
            Some(other) => format!("{other:?}"),
        }))
    }
}
