//! `delete_file`: deletes a file, a link or a directory.

use async_trait::async_trait;
use avocet_protocol::{
    Caution, Description, Evidence, Tool, ToolClass, ToolContext, ToolError, ToolOutcome, Verdict,
};
use avocet_sandbox::{EntryKind, RemoveMode, RemovedKind, RootAccess, Workspace, WorkspacePath};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::BuiltinParts;
use super::files::{ToolFiles, digest_of_file, read_text, tool_error, verdict_from_state};

/// The state of a missing path in an `Evidence`.
const GONE: &str = "gone";

#[derive(Debug)]
pub(super) struct DeleteFile {
    pub(super) files: ToolFiles,
}

impl DeleteFile {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { files: ToolFiles { roots: parts.roots.clone() } }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct DeleteFileArguments {
    path: String,
    /// Needed for a directory that is not empty.
    #[schemars(extend("x-aliases" = ["r"]))]
    recursive: Option<bool>,
}

#[async_trait]
impl Tool for DeleteFile {
    type Arguments = DeleteFileArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Delete a file, a link or a directory, for good.";
        Description::new("delete_file", ToolClass::Verifiable, TEXT)
            .in_group("files")
            .and(&self.files.describe_beside(RootAccess::Change))
    }

    async fn caution(&self, arguments: &DeleteFileArguments, _: &ToolContext) -> Caution {
        let is_recursive = arguments.recursive.unwrap_or(false);
        let find = move |workspace: &Workspace, path: &WorkspacePath| match workspace.kind(path) {
            _ if workspace.is_protected(path) => Some(path.clone()),
            Ok(Some(EntryKind::Directory)) if is_recursive => {
                workspace.protected_below(path).ok()?
            }
            _ => None,
        };
        self.files.caution_by(vec![arguments.path.clone()], find).await
    }

    fn paths(&self, arguments: &DeleteFileArguments) -> Vec<String> {
        self.files.canonical_names([&arguments.path])
    }

    async fn prepare(
        &self,
        arguments: &DeleteFileArguments,
        context: &ToolContext,
    ) -> Result<Option<Evidence>, ToolError> {
        let noted =
            self.files.run_in_root_of(context, arguments.path.clone(), |workspace, given| {
                let path = workspace.resolve_path(given).map_err(tool_error)?;
                workspace.can_change(&path).map_err(tool_error)?;
                let before = state_of_path(workspace, given)?;
                if before == GONE {
                    // Reading it returns the error that says why the file is absent.
                    read_text(workspace, given)?;
                }
                Ok(Evidence {
                    subject: path.to_string(),
                    before: Some(before),
                    after: GONE.to_owned(),
                })
            });
        noted.await.map(Some)
    }

    async fn execute(
        &self,
        arguments: DeleteFileArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let DeleteFileArguments { path, recursive } = arguments;
        let deleted = self.files.run_in_root_of(context, path, move |workspace, path| {
            let path = workspace.resolve_path(path).map_err(tool_error)?;
            let is_recursive = recursive.unwrap_or(false);
            let mode = if is_recursive { RemoveMode::Recursive } else { RemoveMode::Single };
            let removed = workspace.remove_entry(&path, mode);
            Ok(match removed.map_err(tool_error)? {
                RemovedKind::File => format!("deleted {path}"),
                RemovedKind::Link => format!("deleted the link {path}"),
                RemovedKind::Directory(0) => format!("deleted the empty directory {path}"),
                RemovedKind::Directory(1) => format!("deleted the directory {path} with 1 entry"),
                RemovedKind::Directory(all) => {
                    format!("deleted the directory {path} with {all} entries")
                }
            })
        });
        Ok(json!(deleted.await?).into())
    }

    async fn verify(&self, evidence: &Evidence) -> Verdict {
        let now = self.files.look_at(evidence.subject.clone(), state_of_path).await;
        verdict_from_state(evidence, now.map(Some), "was deleted before a restart and is gone")
    }
}

/// The state of a path, to compare with a later state.
fn state_of_path(workspace: &Workspace, given: &str) -> Result<String, ToolError> {
    let path = workspace.resolve_path(given).map_err(tool_error)?;
    Ok(match workspace.kind(&path).map_err(tool_error)? {
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
    })
}
