//! `read_file`: reads a text file, or a range of its lines, with line numbers.

use avocet_protocol::tool::{ToolClass, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::file_tool::{FileCall, FileWork};
use super::files::shown_path;

#[derive(Debug)]
pub(super) struct ReadFile;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct ReadFileArguments {
    path: String,
    #[schemars(range(min = 1))]
    start_line: Option<usize>,
    #[schemars(range(min = 1))]
    end_line: Option<usize>,
}

impl FileWork for ReadFile {
    type Arguments = ReadFileArguments;

    const NAME: &'static str = "read_file";
    const CLASS: ToolClass = ToolClass::Pure;
    const TEXT: &'static str = "Read a text file, with line numbers.";

    fn list_paths(arguments: &ReadFileArguments) -> Vec<String> {
        vec![arguments.path.clone()]
    }

    fn run(call: &FileCall<'_>, arguments: &ReadFileArguments) -> Result<Value, ToolError> {
        let text = call.editor.read_present(call.workspace, call.path)?.text;
        let numbered = number_lines(&text, arguments.start_line, arguments.end_line);
        numbered.map(Value::from).map_err(|(first, last, count)| {
            let path = shown_path(call.workspace, call.path);
            ToolError::InvalidArgs(format!(
                "lines {first} to {last} are not in {path}, which has {count} lines"
            ))
        })
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
