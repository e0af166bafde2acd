//! `write_file`: creates a file or replaces its whole content.

use avocet_protocol::tool::{Evidence, Question, ToolClass, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::buffers::TextSource;
use super::file_tool::{FileCall, FileWork};
use super::files::question_for_change;

#[derive(Debug)]
pub(super) struct WriteFile;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct WriteFileArguments {
    path: String,
    content: String,
}

impl FileWork for WriteFile {
    type Arguments = WriteFileArguments;

    const NAME: &'static str = "write_file";
    const CLASS: ToolClass = ToolClass::Verifiable;
    const TEXT: &'static str = "Write a whole text file.";

    fn list_paths(arguments: &WriteFileArguments) -> Vec<String> {
        vec![arguments.path.clone()]
    }

    fn collect_evidence(
        call: &FileCall<'_>,
        arguments: &WriteFileArguments,
    ) -> Result<Option<Evidence>, ToolError> {
        let FileCall { workspace, path, editor, .. } = call;
        let content = arguments.content.as_bytes();
        editor.evidence_of_write(workspace, path, content, TextSource::Model).map(Some)
    }

    fn run(call: &FileCall<'_>, arguments: &WriteFileArguments) -> Result<Value, ToolError> {
        let FileCall { workspace, path, editor, .. } = call;
        let content = &arguments.content;
        let saved = editor.write_text(workspace, path, content, TextSource::Model, None)?;
        Ok(format!("wrote {} bytes to {path}{}", content.len(), saved.report_note()).into())
    }

    fn make_question(
        call: &FileCall<'_>,
        arguments: &WriteFileArguments,
    ) -> Result<Option<Question>, ToolError> {
        let before = call.read_text_if_any()?;
        Ok(Some(question_for_change(call.workspace, call.path, &before, &arguments.content)))
    }
}
