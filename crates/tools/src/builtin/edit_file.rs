//! `edit_file`: exact find and replace.

use async_trait::async_trait;
use avocet_protocol::{
    Description, Evidence, Tool, ToolClass, ToolContext, ToolError, ToolOutcome, Verdict,
};
use avocet_sandbox::Workspace;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::Parts;
use super::files::{Files, evidence, read_text, shown, write};

/// Places of an ambiguous text that are shown.
const SHOWN: usize = 10;

#[derive(Debug)]
pub(super) struct EditFile {
    files: Files,
}

impl EditFile {
    pub(super) fn new(parts: &Parts) -> Self {
        Self { files: Files { workspace: parts.workspace.clone() } }
    }
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// Path relative to the workspace root.
    path: String,
    /// The exact text to replace, with its whitespace and line breaks, without line numbers.
    find: String,
    /// The text to put in its place.
    replace: String,
    /// Replace every occurrence. Default: false; the text must then occur exactly once.
    replace_all: Option<bool>,
}

/// A file after the edit.
struct Edited {
    text: String,
    count: usize,
}

#[async_trait]
impl Tool for EditFile {
    type Arguments = Arguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Replace a text in a file of the workspace by another. The text to find \
            must match exactly and occur once, unless replace_all is true.";
        Description::new("edit_file", ToolClass::Verifiable, TEXT)
    }

    async fn prepare(
        &self,
        arguments: &Arguments,
        _context: &ToolContext,
    ) -> Result<Option<Evidence>, ToolError> {
        let arguments = arguments.clone();
        let noted = self.files.with(move |workspace| {
            let edited = edit(workspace, &arguments)?;
            evidence(workspace, &arguments.path, edited.text.as_bytes())
        });
        noted.await.map(Some)
    }

    async fn execute(
        &self,
        arguments: Arguments,
        _context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let replaced = self.files.with(move |workspace| {
            let Edited { text, count } = edit(workspace, &arguments)?;
            write(workspace, &arguments.path, text.as_bytes())?;
            let occurrences = if count == 1 { "occurrence" } else { "occurrences" };
            Ok(format!("replaced {count} {occurrences} in {}", arguments.path))
        });
        Ok(json!(replaced.await?).into())
    }

    async fn verify(&self, evidence: &Evidence) -> Verdict {
        self.files.verify(evidence).await
    }
}

fn edit(workspace: &Workspace, arguments: &Arguments) -> Result<Edited, ToolError> {
    let Arguments { path, find, replace, replace_all } = arguments;
    if find.is_empty() {
        return Err(ToolError::InvalidArgs(
            "find is empty; to make a file, use write_file".to_owned(),
        ));
    }
    if find == replace {
        return Err(ToolError::InvalidArgs(
            "find and replace are the same; nothing would change".to_owned(),
        ));
    }
    let text = read_text(workspace, path)?;
    let shown = || shown(workspace, path);
    let count = text.matches(find.as_str()).count();
    match (count, replace_all.unwrap_or(false)) {
        (0, _) => Err(ToolError::ExecutionFailed(format!(
            "the text to find is not in {}; it must match exactly, with whitespace and line \
             breaks. Read the file again with read_file",
            shown()
        ))),
        (1, _) | (_, true) => Ok(Edited { text: text.replace(find.as_str(), replace), count }),
        (_, false) => Err(ToolError::ExecutionFailed(format!(
            "the text to find occurs {count} times in {}; give more of the text around it, or \
             set replace_all. Places:\n{}",
            shown(),
            places(&text, find)
        ))),
    }
}

/// The lines in which an ambiguous text begins.
fn places(text: &str, find: &str) -> String {
    let mut lines: Vec<String> = text
        .match_indices(find)
        .take(SHOWN + 1)
        .map(|(at, _)| {
            let number = text[..at].matches('\n').count() + 1;
            let start = text[..at].rfind('\n').map_or(0, |before| before + 1);
            let line = text[start..].lines().next().unwrap_or_default();
            format!("line {number}: {}", line.trim().chars().take(120).collect::<String>())
        })
        .collect();
    if lines.len() > SHOWN {
        lines.truncate(SHOWN);
        lines.push("…".to_owned());
    }
    lines.join("\n")
}
