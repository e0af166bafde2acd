//! `edit_file`: changes a part of a file, chosen by its text or by its lines.

use avocet_protocol::tool::{Evidence, Question, ToolClass, ToolError};
use avocet_sandbox::{MAX_FILE_BYTES, Workspace};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::buffers::{CallEditor, PresentText};
use super::file_tool::{FileCall, FileWork};
use super::files::{question_for_change, shown_path};
use super::lines::{TextLines, line_end, plain_ends, plain_lines};

/// Places of an ambiguous text that the error lists.
const SHOWN: usize = 10;

#[derive(Debug)]
pub(super) struct EditFile;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct EditFileArguments {
    #[schemars(extend("x-aliases" = ["f"]))]
    path: String,
    find: Option<String>,
    #[schemars(extend("x-aliases" = ["r"]))]
    replace: String,
    /// Replace every occurrence of find.
    #[schemars(extend("x-rare" = true))]
    replace_all: Option<bool>,
    /// Instead of find: the first line to replace.
    #[schemars(range(min = 1), extend("x-rare" = true, "x-aliases" = ["l"], "x-range" = "end_line"))]
    start_line: Option<usize>,
    /// The last line to replace. Default: start_line.
    #[schemars(range(min = 1), extend("x-rare" = true))]
    end_line: Option<usize>,
    /// Instead of find: insert before this line. The last plus one appends.
    #[schemars(range(min = 1), extend("x-rare" = true))]
    insert_line: Option<usize>,
    /// The present text of these lines. If it differs, nothing is changed.
    #[schemars(extend("x-rare" = true))]
    expect: Option<String>,
}

/// The part of the file to edit.
enum EditTarget<'a> {
    Text { find: &'a str, all: bool },
    Lines { first: usize, last: usize },
    Before(usize),
}

/// A file after the edit.
struct EditedText {
    text: String,
    /// A phrase such as "deleted line 3 of 9 in"; the path follows it.
    done: String,
}

impl FileWork for EditFile {
    type Arguments = EditFileArguments;

    const NAME: &'static str = "edit_file";
    const CLASS: ToolClass = ToolClass::Verifiable;
    const TEXT: &'static str = "In a file, replace find (exact, occurs once).";

    fn list_paths(arguments: &EditFileArguments) -> Vec<String> {
        vec![arguments.path.clone()]
    }

    fn collect_evidence(
        call: &FileCall<'_>,
        arguments: &EditFileArguments,
    ) -> Result<Option<Evidence>, ToolError> {
        let FileCall { workspace, path, editor, .. } = call;
        let PresentText { text, source } = read_to_edit(workspace, arguments, editor)?;
        let edited = edit_text(workspace, &text, arguments)?;
        editor.evidence_of_write(workspace, path, edited.text.as_bytes(), source).map(Some)
    }

    fn run(call: &FileCall<'_>, arguments: &EditFileArguments) -> Result<Value, ToolError> {
        let FileCall { workspace, path, editor, .. } = call;
        let PresentText { text, source } = read_to_edit(workspace, arguments, editor)?;
        let EditedText { text, done } = edit_text(workspace, &text, arguments)?;
        let saved = editor.write_text(workspace, path, &text, source, None)?;
        Ok(format!("{done} {path}{}", saved.report_note()).into())
    }

    fn make_question(
        call: &FileCall<'_>,
        arguments: &EditFileArguments,
    ) -> Result<Option<Question>, ToolError> {
        let before = call.read_text_if_any()?;
        let after = edit_text(call.workspace, &before, arguments)?.text;
        Ok(Some(question_for_change(call.workspace, call.path, &before, &after)))
    }
}

/// Reads the file of a call whose arguments are complete.
fn read_to_edit(
    workspace: &Workspace,
    arguments: &EditFileArguments,
    editor: &CallEditor,
) -> Result<PresentText, ToolError> {
    read_target(arguments)?;
    editor.read_present(workspace, &arguments.path)
}

fn edit_text(
    workspace: &Workspace,
    text: &str,
    arguments: &EditFileArguments,
) -> Result<EditedText, ToolError> {
    let place = read_target(arguments)?;
    let path = shown_path(workspace, &arguments.path);
    let edited = match place {
        EditTarget::Text { find, all } => by_text(text, find, &arguments.replace, all, &path),
        EditTarget::Lines { first, last } => by_lines(text, first, last, arguments, &path),
        EditTarget::Before(line) => insert_lines(text, line, arguments, &path),
    };
    edited.and_then(|edited| {
        if edited.text == text {
            invalid_arguments(format!("{path} would not change: it has the new text already"))
        } else {
            Ok(edited)
        }
    })
}

/// Reads the place from the arguments. They must name it in exactly one of the three ways.
fn read_target(arguments: &EditFileArguments) -> Result<EditTarget<'_>, ToolError> {
    let EditFileArguments { find, replace, replace_all, start_line, end_line, insert_line, .. } =
        arguments;
    let wrong = |what: &str| {
        invalid_arguments(format!(
            "{what}; give the place in one way: find, or start_line with end_line, or insert_line"
        ))
    };
    match (find, start_line, insert_line) {
        (Some(find), None, None) => match () {
            () if find.is_empty() => {
                invalid_arguments("find is empty; to create a file, use write_file")
            }
            () if find == replace => {
                invalid_arguments("find and replace are the same; nothing would change")
            }
            () if end_line.is_some() => wrong("end_line needs start_line and no find"),
            () if arguments.expect.is_some() => {
                wrong("expect goes with lines; find already says what is there")
            }
            () => Ok(EditTarget::Text { find, all: replace_all.unwrap_or(false) }),
        },
        (None, _, _) if replace_all.is_some() => wrong("replace_all needs find"),
        (None, Some(first), None) => {
            Ok(EditTarget::Lines { first: *first, last: end_line.unwrap_or(*first) })
        }
        (None, None, Some(_)) if end_line.is_some() => wrong("end_line needs start_line"),
        (None, None, Some(_)) if replace.is_empty() => {
            invalid_arguments("replace is empty; nothing would be inserted")
        }
        (None, None, Some(line)) => Ok(EditTarget::Before(*line)),
        (None, None, None) if end_line.is_some() => wrong("end_line needs start_line"),
        (None, None, None) => wrong("the place to edit is missing"),
        _ => wrong("find, start_line and insert_line exclude each other"),
    }
}

fn invalid_arguments<T>(what: impl Into<String>) -> Result<T, ToolError> {
    Err(ToolError::InvalidArgs(what.into()))
}

fn by_text(
    text: &str,
    find: &str,
    replace: &str,
    all: bool,
    path: &str,
) -> Result<EditedText, ToolError> {
    // `read_file` strips line ends, so the model writes `\n` even where the file has `\r\n`.
    let end = line_end(text);
    let adapted = |part: &str| match end {
        "\n" => part.to_owned(),
        end => plain_ends(part).replace('\n', end),
    };
    let (own_find, own_replace) = (adapted(find), adapted(replace));
    let (find, replace) =
        if text.contains(&own_find) { (&own_find[..], &own_replace[..]) } else { (find, replace) };
    let count = text.matches(find).count();
    let bytes = text.len() - count * find.len() + count.saturating_mul(replace.len());
    if all && bytes as u64 > MAX_FILE_BYTES {
        return Err(ToolError::ExecutionFailed(format!(
            "{path} would have {bytes} bytes, and a file may have {MAX_FILE_BYTES}; nothing is \
                changed"
        )));
    }
    match (count, all) {
        (0, _) => Err(ToolError::ExecutionFailed(format!(
            "the text to find is not in {path}; it must match exactly, with whitespace and line \
             breaks. Read the file again with read_file"
        ))),
        (count, _) if count == 1 || all => {
            let occurrences = if count == 1 { "occurrence" } else { "occurrences" };
            let done = format!("replaced {count} {occurrences} in");
            Ok(EditedText { text: text.replace(find, replace), done })
        }
        (count, _) => Err(ToolError::ExecutionFailed(format!(
            "the text to find occurs {count} times in {path}; give more of the text around it, or \
             set replace_all. Places:\n{}",
            describe_matches(text, find)
        ))),
    }
}

fn by_lines(
    text: &str,
    first: usize,
    last: usize,
    arguments: &EditFileArguments,
    path: &str,
) -> Result<EditedText, ToolError> {
    let lines = TextLines::split_text(text);
    let count = lines.count_lines();
    if first > last || last > count {
        return invalid_arguments(format!(
            "lines {first} to {last} are not in {path}, which has {count} lines"
        ));
    }
    check_expected(
        arguments,
        &lines.text_in_range(first..=last),
        &describe_span(first, last),
        path,
    )?;
    let text = lines.replace_range(first..=last, &arguments.replace);
    let did = if arguments.replace.is_empty() { "deleted" } else { "replaced" };
    let done = format!("{did} {} of {count} in", describe_span(first, last));
    Ok(EditedText { text, done })
}

fn insert_lines(
    text: &str,
    line: usize,
    arguments: &EditFileArguments,
    path: &str,
) -> Result<EditedText, ToolError> {
    let lines = TextLines::split_text(text);
    let count = lines.count_lines();
    if line > count + 1 {
        return invalid_arguments(format!(
            "insert_line {line} is not in {path}, which has {count} lines; to append, give {}",
            count + 1
        ));
    }
    let stands = if line > count { String::new() } else { lines.text_in_range(line..=line) };
    check_expected(arguments, &stands, &describe_span(line, line), path)?;
    let text = lines.insert_before(line, &arguments.replace);
    let new = arguments.replace.lines().count();
    let done = format!(
        "inserted {} as line {line} of",
        if new == 1 { "1 line".to_owned() } else { format!("{new} lines") }
    );
    Ok(EditedText { text, done })
}

/// Fails if the current lines differ from the `expect` argument.
fn check_expected(
    arguments: &EditFileArguments,
    stands: &str,
    span: &str,
    path: &str,
) -> Result<(), ToolError> {
    match &arguments.expect {
        Some(expect) if plain_lines(expect) != stands => Err(ToolError::ExecutionFailed(format!(
            "{path} is not as expected; there now ({span}):\n{stands}\nRead the file again with \
             read_file; nothing was changed"
        ))),
        _ => Ok(()),
    }
}

fn describe_span(first: usize, last: usize) -> String {
    if first == last { format!("line {first}") } else { format!("lines {first} to {last}") }
}

/// The lines in which the matches of an ambiguous text begin.
fn describe_matches(text: &str, find: &str) -> String {
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
