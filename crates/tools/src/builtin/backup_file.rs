//! `backup_file`: a copy beside the file, before something risky.

use avocet_protocol::tool::{Evidence, ToolClass, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::file_tool::{FileCall, FileWork};
use super::files::{evidence_of_write, read_text, write};

#[derive(Debug)]
pub(super) struct BackupFile;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct BackupFileArguments {
    /// Path relative to the workspace root.
    path: String,
}

impl FileWork for BackupFile {
    type Arguments = BackupFileArguments;

    const NAME: &'static str = "backup_file";
    const CLASS: ToolClass = ToolClass::Verifiable;
    const TEXT: &'static str = "Copy a text file to PATH.bak beside it, replacing an earlier backup. \
        Use it before a risky change.";

    fn list_paths(BackupFileArguments { path }: &BackupFileArguments) -> Vec<String> {
        vec![path.clone(), format!("{path}.bak")]
    }

    fn collect_evidence(
        call: &FileCall<'_>,
        BackupFileArguments { path }: &BackupFileArguments,
    ) -> Result<Option<Evidence>, ToolError> {
        let content = read_text(call.workspace, path)?;
        evidence_of_write(call.workspace, &format!("{path}.bak"), content.as_bytes()).map(Some)
    }

    fn run(
        call: &FileCall<'_>,
        BackupFileArguments { path }: &BackupFileArguments,
    ) -> Result<Value, ToolError> {
        let content = read_text(call.workspace, path)?;
        write(call.workspace, &format!("{path}.bak"), content.as_bytes())?;
        Ok(format!("copied {} bytes to {path}.bak", content.len()).into())
    }
}
