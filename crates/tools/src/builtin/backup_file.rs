//! `backup_file`: a copy beside the file, before something risky.

use async_trait::async_trait;
use avocet_protocol::{
    Description, Evidence, Tool, ToolClass, ToolContext, ToolError, ToolOutcome, Verdict,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::BuiltinParts;
use super::files::{ToolFiles, evidence_of_write, read_text, write};

#[derive(Debug)]
pub(super) struct BackupFile {
    files: ToolFiles,
}

impl BackupFile {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { files: ToolFiles { roots: parts.roots.clone() } }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct BackupFileArguments {
    /// Path relative to the workspace root.
    path: String,
}

#[async_trait]
impl Tool for BackupFile {
    type Arguments = BackupFileArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Copy a text file of the workspace to PATH.bak beside it, replacing an \
            earlier backup. Use it before a risky change.";
        Description::new("backup_file", ToolClass::Verifiable, TEXT)
    }

    fn paths(&self, BackupFileArguments { path }: &BackupFileArguments) -> Vec<String> {
        self.files.canonical_names([path, &format!("{path}.bak")])
    }

    async fn prepare(
        &self,
        arguments: &BackupFileArguments,
        context: &ToolContext,
    ) -> Result<Option<Evidence>, ToolError> {
        let noted =
            self.files.run_in_root_of(context, arguments.path.clone(), |workspace, path| {
                let content = read_text(workspace, path)?;
                evidence_of_write(workspace, &format!("{path}.bak"), content.as_bytes())
            });
        noted.await.map(Some)
    }

    async fn execute(
        &self,
        arguments: BackupFileArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let report = self.files.run_in_root_of(context, arguments.path, |workspace, path| {
            let content = read_text(workspace, path)?;
            write(workspace, &format!("{path}.bak"), content.as_bytes())?;
            Ok(format!("copied {} bytes to {path}.bak", content.len()))
        });
        Ok(json!(report.await?).into())
    }

    async fn verify(&self, evidence: &Evidence) -> Verdict {
        self.files.verify_write(evidence).await
    }
}
