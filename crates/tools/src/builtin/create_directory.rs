//! `create_directory`: creates a directory and its missing parents.

use avocet_protocol::tool::{Evidence, ToolClass, ToolError};
use avocet_sandbox::{EntryKind, Workspace};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::file_tool::{FileCall, FileWork};
use super::files::tool_error;

/// The state of an existing directory in an `Evidence`.
const THERE: &str = "directory";

#[derive(Debug)]
pub(super) struct CreateDirectory;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct CreateDirectoryArguments {
    path: String,
}

impl FileWork for CreateDirectory {
    type Arguments = CreateDirectoryArguments;

    const NAME: &'static str = "create_directory";
    const CLASS: ToolClass = ToolClass::Verifiable;
    const TEXT: &'static str = "Create an empty directory. write_file makes those that it needs.";
    const HAPPENED: &'static str = "is there";

    fn list_paths(arguments: &CreateDirectoryArguments) -> Vec<String> {
        vec![arguments.path.clone()]
    }

    fn collect_evidence(
        call: &FileCall<'_>,
        _: &CreateDirectoryArguments,
    ) -> Result<Option<Evidence>, ToolError> {
        let path = call.workspace.resolve_path(call.path).map_err(tool_error)?;
        call.workspace.can_change(&path).map_err(tool_error)?;
        let before = Self::read_state(call.workspace, call.path)?;
        Ok(Some(Evidence { subject: path.to_string(), before, after: THERE.to_owned() }))
    }

    fn run(call: &FileCall<'_>, _: &CreateDirectoryArguments) -> Result<Value, ToolError> {
        let path = call.workspace.resolve_path(call.path).map_err(tool_error)?;
        let is_new = call.workspace.create_directory(&path).map_err(tool_error)?;
        let report =
            if is_new { format!("made {path}") } else { format!("{path} existed already") };
        Ok(report.into())
    }

    fn read_state(workspace: &Workspace, subject: &str) -> Result<Option<String>, ToolError> {
        let path = workspace.resolve_path(subject).map_err(tool_error)?;
        let kind = workspace.kind(&path).map_err(tool_error)?;
        Ok(kind.map(|kind| match kind {
            EntryKind::Directory => THERE.to_owned(),
            other => format!("{other:?}"),
        }))
    }
}
