//! `write_file`: creates a file or replaces its whole content.

use async_trait::async_trait;
use avocet_protocol::{
    Caution, Description, Evidence, Question, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
    Verdict,
};
use avocet_sandbox::RootAccess;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::BuiltinParts;
use super::buffers::{EditorBuffers, TextSource};
use super::files::ToolFiles;

#[derive(Debug)]
pub(super) struct WriteFile {
    pub(super) files: ToolFiles,
    pub(super) buffers: EditorBuffers,
}

impl WriteFile {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { files: ToolFiles { roots: parts.roots.clone() }, buffers: EditorBuffers::new(parts) }
    }
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct WriteFileArguments {
    path: String,
    content: String,
}

#[async_trait]
impl Tool for WriteFile {
    type Arguments = WriteFileArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Write a whole text file.";
        Description::new("write_file", ToolClass::Verifiable, TEXT)
            .in_group("files")
            .and(&self.files.describe_beside(RootAccess::Change))
    }

    async fn caution(&self, arguments: &WriteFileArguments, _: &ToolContext) -> Caution {
        self.files.caution_for_change(vec![arguments.path.clone()]).await
    }

    fn paths(&self, arguments: &WriteFileArguments) -> Vec<String> {
        self.files.canonical_names([&arguments.path])
    }

    async fn prepare(
        &self,
        arguments: &WriteFileArguments,
        context: &ToolContext,
    ) -> Result<Option<Evidence>, ToolError> {
        let (path, content) = (arguments.path.clone(), arguments.content.clone());
        let editor = self.buffers.editor_for(context);
        let noted = self.files.run_in_root_of(context, path, move |workspace, path| {
            editor.evidence_of_write(workspace, path, content.as_bytes(), TextSource::Model)
        });
        noted.await.map(Some)
    }

    async fn execute(
        &self,
        arguments: WriteFileArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let WriteFileArguments { path, content } = arguments;
        let report = format!("wrote {} bytes to {path}", content.len());
        let editor = self.buffers.editor_for(context);
        let saved = self.files.run_in_root_of(context, path, move |workspace, path| {
            editor.write_text(workspace, path, &content, TextSource::Model, None)
        });
        Ok(json!(format!("{report}{}", saved.await?.report_note())).into())
    }

    async fn question(
        &self,
        arguments: &WriteFileArguments,
        context: &ToolContext,
    ) -> Option<Question> {
        let WriteFileArguments { path, content } = arguments.clone();
        self.files
            .question_for_change(path, self.buffers.editor_for(context), move |_, _| Ok(content))
            .await
    }

    async fn verify(&self, evidence: &Evidence) -> Verdict {
        self.files.verify_write(evidence).await
    }
}
