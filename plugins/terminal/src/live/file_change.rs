//! The lines of a change of files, from the arguments of the call that made it.

use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

use super::report_line::{LineKind, ReportLine};

/// Unchanged lines around a change.
const CONTEXT: usize = 2;

/// A change of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShownChange {
    pub(super) lines: Vec<ReportLine>,
    pub(super) added: usize,
    pub(super) removed: usize,
}

impl ShownChange {
    fn from_lines(lines: Vec<ReportLine>) -> Self {
        let count = |kind| lines.iter().filter(|line| line.kind == kind).count();
        let (added, removed) = (count(LineKind::Added), count(LineKind::Removed));
        Self { lines, added, removed }
    }
}

/// Returns the change that a call has made; `None` for tools that change no files.
pub(super) fn read_change(name: &str, arguments: &Map<String, Value>) -> Option<ShownChange> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| arguments.get(*key)?.as_str());
    let lines = match name {
        // The text before is unknown.
        "write_file" => difference("", text(&["content"])?),
        "edit_file" => {
            difference(text(&["find", "expect"]).unwrap_or_default(), text(&["replace", "r"])?)
        }
        "apply_patch" => patch_lines(text(&["patch", "diff", "input"])?),
        _ => return None,
    };
    Some(ShownChange::from_lines(lines))
}

fn difference(old: &str, new: &str) -> Vec<ReportLine> {
    let difference = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for group in difference.grouped_ops(CONTEXT) {
        if !lines.is_empty() {
            lines.push(ReportLine::new(LineKind::Heading, "…"));
        }
        for change in group.iter().flat_map(|operation| difference.iter_changes(operation)) {
            let (sign, kind) = match change.tag() {
                ChangeTag::Delete => ("-", LineKind::Removed),
                ChangeTag::Insert => ("+", LineKind::Added),
                ChangeTag::Equal => (" ", LineKind::Unchanged),
            };
            let text = change.value().trim_end_matches(['\n', '\r']);
            lines.push(ReportLine::new(kind, &format!("{sign} {text}")));
        }
    }
    lines
}

/// Reads a unified diff. A file is one heading.
fn patch_lines(patch: &str) -> Vec<ReportLine> {
    let all: Vec<&str> = patch.lines().collect();
    let starts = |at: usize, sign: &str| all.get(at).is_some_and(|line| line.starts_with(sign));
    let mut lines = Vec::new();
    let mut at = 0;
    while let Some(line) = all.get(at) {
        // A removed line `-- x` looks like the header of a file.
        if line.starts_with("--- ") && starts(at + 1, "+++ ") && starts(at + 2, "@@") {
            let file = |at: usize| all[at][4..].trim();
            let path = if file(at + 1) == "/dev/null" { file(at) } else { file(at + 1) };
            let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
            lines.push(ReportLine::new(LineKind::Heading, path));
            at += 2;
            continue;
        }
        let (kind, text) = match line.split_at_checked(1) {
            Some(("+", text)) => (LineKind::Added, format!("+ {text}")),
            Some(("-", text)) => (LineKind::Removed, format!("- {text}")),
            Some((" ", text)) => (LineKind::Unchanged, format!("  {text}")),
            _ => (LineKind::Heading, (*line).to_owned()),
        };
        lines.push(ReportLine::new(kind, &text));
        at += 1;
    }
    lines
}
