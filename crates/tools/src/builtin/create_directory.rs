//! `create_directory`: creates a directory and its missing parents.

use async_trait::async_trait;
use avocet_protocol::{
    Caution, Description, Evidence, Tool, ToolClass, ToolContext, ToolError, ToolOutcome, Verdict,
};
use avocet_sandbox::{EntryKind, RootAccess, Workspace};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::BuiltinParts;
use super::files::{ToolFiles, tool_error, verdict_from_state};

/// The state of an existing directory in an `Evidence`.
const THERE: &str = "directory";

#[derive(Debug)]
pub(super) struct CreateDirectory {
    pub(super) files: ToolFiles,
}

impl CreateDirectory {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { files: ToolFiles { roots: parts.roots.clone() } }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct CreateDirectoryArguments {
    path: String,
}

#[async_trait]
impl Tool for CreateDirectory {
    type Arguments = CreateDirectoryArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Create an empty directory. write_file makes those that it needs.";
        Description::new("create_directory", ToolClass::Verifiable, TEXT)
            .in_group("files")
            .and(&self.files.describe_beside(RootAccess::Change))
    }

    async fn caution(&self, arguments: &CreateDirectoryArguments, _: &ToolContext) -> Caution {
        self.files.caution_for_change(vec![arguments.path.clone()]).await
    }

    fn paths(&self, arguments: &CreateDirectoryArguments) -> Vec<String> {
        self.files.canonical_names([&arguments.path])
    }

    async fn prepare(
        &self,
        arguments: &CreateDirectoryArguments,
        context: &ToolContext,
    ) -> Result<Option<Evidence>, ToolError> {
        let noted =
            self.files.run_in_root_of(context, arguments.path.clone(), |workspace, given| {
                let path = workspace.resolve_path(given).map_err(tool_error)?;
                workspace.can_change(&path).map_err(tool_error)?;
                let (subject, before) = (path.to_string(), state_of_path(workspace, given)?);
                Ok(Evidence { subject, before, after: THERE.to_owned() })
            });
        noted.await.map(Some)
    }

    async fn execute(
        &self,
        arguments: CreateDirectoryArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let made = self.files.run_in_root_of(context, arguments.path, |workspace, path| {
            let path = workspace.resolve_path(path).map_err(tool_error)?;
            let is_new = workspace.create_directory(&path).map_err(tool_error)?;
            Ok(if is_new { format!("made {path}") } else { format!("{path} existed already") })
        });
        Ok(json!(made.await?).into())
    }

    async fn verify(&self, evidence: &Evidence) -> Verdict {
        let now = self.files.look_at(evidence.subject.clone(), state_of_path).await;
        verdict_from_state(evidence, now, "is there")
    }
}

fn state_of_path(workspace: &Workspace, given: &str) -> Result<Option<String>, ToolError> {
    let path = workspace.resolve_path(given).map_err(tool_error)?;
    let kind = workspace.kind(&path).map_err(tool_error)?;
    Ok(kind.map(|kind| match kind {
        EntryKind::Directory => THERE.to_owned(),
        other => format!("{other:?}"),
    }))
}
