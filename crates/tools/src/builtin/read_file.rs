//! `read_file`: reads a text file, or a range of its lines, with line numbers.

use async_trait::async_trait;
use avocet_protocol::{Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome};
use avocet_sandbox::RootAccess;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::BuiltinParts;
use super::buffers::EditorBuffers;
use super::files::{ToolFiles, shown_path};

#[derive(Debug)]
pub(super) struct ReadFile {
    pub(super) files: ToolFiles,
    pub(super) buffers: EditorBuffers,
}

impl ReadFile {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { files: ToolFiles { roots: parts.roots.clone() }, buffers: EditorBuffers::new(parts) }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReadFileArguments {
    path: String,
    #[schemars(range(min = 1))]
    start_line: Option<usize>,
    #[schemars(range(min = 1))]
    end_line: Option<usize>,
}

#[async_trait]
impl Tool for ReadFile {
    type Arguments = ReadFileArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Read a text file, with line numbers.";
        Description::new("read_file", ToolClass::Pure, TEXT)
            .in_group("files")
            .and(&self.files.describe_beside(RootAccess::Read))
            .parallel()
    }

    fn paths(&self, arguments: &ReadFileArguments) -> Vec<String> {
        self.files.canonical_names([&arguments.path])
    }

    async fn execute(
        &self,
        arguments: ReadFileArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let ReadFileArguments { path, start_line, end_line } = arguments;
        let editor = self.buffers.editor_for(context);
        let read = self.files.run_in_root_of(context, path, move |workspace, path| {
            let text = editor.read_present(workspace, path)?.text;
            number_lines(&text, start_line, end_line).map_err(|(first, last, count)| {
                let path = shown_path(workspace, path);
                ToolError::InvalidArgs(format!(
                    "lines {first} to {last} are not in {path}, which has {count} lines"
                ))
            })
        });
        Ok(json!(read.await?).into())
    }
}

/// Numbers the lines of a range. The error holds the first and last line asked for, and the number
/// of lines that exist.
fn number_lines(
    text: &str,
    start: Option<usize>,
    end: Option<usize>,
) -> Result<String, (usize, usize, usize)> {
    let count = text.lines().count();
    let (first, last) = (start.unwrap_or(1), end.unwrap_or(count).min(count));
    if count == 0 {
        return Ok("(the file is empty)".to_owned());
    }
    if first > last {
        return Err((first, end.unwrap_or(count), count));
    }
    let lines = text.lines().enumerate().skip(first - 1).take(last + 1 - first);
    let numbered = lines.map(|(number, line)| format!("{:>6}\t{line}", number + 1));
    Ok(numbered.collect::<Vec<_>>().join("\n"))
}
