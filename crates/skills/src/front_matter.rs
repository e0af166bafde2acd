//! The front matter of a `SKILL.md`: YAML between two lines of `---`.
//!
//! Skills are written by hand and for other programs, so this reader never refuses a file:
//!
//! 1. [`split_front_matter`] finds the front matter after blank lines and HTML comments. Without it,
//!    the whole file is the body.
//! 2. [`parse_front_matter`] reads the whole front matter as YAML. Nested values are skipped without
//!    recursion, whatever their depth: no key of the format needs them.
//! 3. If that is no YAML, each `key:` line with the lines below it is read on its own. A value that
//!    is no YAML even then, such as `description: use it: now`, is the text up to the next key.
//!
//! Each deviation gives a remark with its line.

use crate::SkillProblem;
use crate::front_yaml::{self, FrontEntry, FrontValue};

/// The largest front matter that is read as YAML, in bytes. A larger one is read by its lines.
const MAX_YAML_BYTES: usize = 64 * 1024;

/// The keys whose values are texts.
const TEXT_KEYS: [&str; 4] = ["name", "description", "license", "compatibility"];

/// A `SKILL.md`, cut at the end of its front matter.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SplitFile<'t> {
    pub(crate) front_matter: &'t str,
    /// The line at which the front matter begins.
    pub(crate) front_line: usize,
    pub(crate) body: &'t str,
    /// The line at which the body begins.
    pub(crate) body_line: usize,
    /// A remark about a missing or unfinished front matter.
    pub(crate) note: Option<SkillProblem>,
}

/// The entries of front matter, with remarks.
#[derive(Debug, Default)]
pub(crate) struct FrontMatter {
    pub(crate) entries: Vec<FrontEntry>,
    pub(crate) notes: Vec<SkillProblem>,
}

/// Cuts a file into its front matter and its body.
pub(crate) fn split_front_matter(text: &str) -> SplitFile<'_> {
    let start = text.len() - skip_comments(text).len();
    let rest = &text[start..];
    let first_line = 1 + count_lines(&text[..start]);
    let opening = rest.split_inclusive('\n').next().unwrap_or_default();
    if !is_fence(opening.trim()) {
        return whole_body(text, "there is no front matter between two lines of ---");
    }
    let front_start = start + opening.len();
    let (mut end, mut front_end) = (front_start, None);
    for line in text[front_start..].split_inclusive('\n') {
        let is_end = is_fence(line.trim_end()) || line.trim_end() == "...";
        if is_end {
            front_end = Some((end, end + line.len()));
            break;
        }
        end += line.len();
    }
    let note = match front_end {
        Some(_) => None,
        None => Some(SkillProblem::new(
            first_line,
            "the front matter has no end, a second line of ---; it ends at the first blank line",
        )),
    };
    let (front_end, body_start) = front_end.unwrap_or_else(|| {
        let end = front_start + length_of_keys(&text[front_start..]);
        (end, end)
    });
    let front_matter = &text[front_start..front_end];
    if !has_key(front_matter) && !front_matter.trim().is_empty() {
        return whole_body(
            text,
            "the lines between --- have no `key: value`, and are no front matter",
        );
    }
    SplitFile {
        front_matter,
        front_line: first_line + 1,
        body: &text[body_start..],
        body_line: 1 + count_lines(&text[..body_start]),
        note,
    }
}

/// Reads the entries of front matter that begins at the line `first_line` of its file.
pub(crate) fn parse_front_matter(front_matter: &str, first_line: usize) -> FrontMatter {
    if front_matter.len() > MAX_YAML_BYTES {
        return parse_lines(front_matter, first_line);
    }
    let Some(mut entries) = front_yaml::read_map(front_matter, first_line) else {
        return parse_lines(front_matter, first_line);
    };
    let mut notes = Vec::new();
    for entry in &mut entries {
        let is_text_key = TEXT_KEYS.contains(&entry.key.to_lowercase().as_str());
        if is_text_key && matches!(entry.value, FrontValue::Map(_)) {
            let lines = front_matter.split_inclusive('\n');
            let below: String = lines.skip(entry.line - first_line).collect();
            let block = split_blocks(&below, entry.line).into_iter().next();
            let text = block.map(|block| block.raw_value()).unwrap_or_default();
            notes.push(read_as_text(entry.line, &entry.key));
            entry.value = FrontValue::Text(text);
        }
    }
    FrontMatter { entries, notes }
}

/// Skips blank lines and HTML comments at the start of a text.
fn skip_comments(text: &str) -> &str {
    let mut rest = text;
    loop {
        let content = rest.trim_start();
        match content.strip_prefix("<!--").and_then(|comment| comment.split_once("-->")) {
            Some((_, after)) => rest = after,
            // The indentation of the first line is a part of it.
            None => {
                let blank = &rest[..rest.len() - content.len()];
                return &rest[blank.rfind('\n').map_or(0, |end| end + 1)..];
            }
        }
    }
}

fn whole_body<'t>(text: &'t str, note: &str) -> SplitFile<'t> {
    let note = Some(SkillProblem::new(1, note));
    SplitFile { front_matter: "", front_line: 1, body: text, body_line: 1, note }
}

/// Returns `true` for a line of three or more dashes.
fn is_fence(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|byte| byte == b'-')
}

/// The length of the lines up to the first blank line or heading.
fn length_of_keys(text: &str) -> usize {
    let lines = text.split_inclusive('\n');
    lines.take_while(|line| !line.trim().is_empty() && !line.starts_with("# ")).map(str::len).sum()
}

fn has_key(front_matter: &str) -> bool {
    front_matter.lines().any(|line| line.contains(':'))
}

fn count_lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// A line with a key, and the lines below it up to the next key.
struct FrontBlock<'t> {
    line: usize,
    key: &'t str,
    /// The text after the colon.
    rest: &'t str,
    lines: Vec<&'t str>,
}

/// Reads each key with the lines below it on its own.
fn parse_lines(front_matter: &str, first_line: usize) -> FrontMatter {
    let mut read = FrontMatter::default();
    for block in split_blocks(front_matter, first_line) {
        let FrontBlock { line, key, .. } = &block;
        let is_small = block.lines.iter().map(|line| line.len()).sum::<usize>() <= MAX_YAML_BYTES;
        let yaml = is_small.then(|| front_yaml::read_map(&block.lines.concat(), *line)).flatten();
        match yaml.map(<[FrontEntry; 1]>::try_from) {
            Some(Ok([entry])) if entry.key == *key => read.entries.push(entry),
            _ => {
                read.notes.push(read_as_text(*line, key));
                let value = FrontValue::Text(block.raw_value());
                read.entries.push(FrontEntry { line: *line, key: (*key).to_owned(), value });
            }
        }
    }
    read
}

fn read_as_text(line: usize, key: &str) -> SkillProblem {
    let text = format!(
        "the value of `{key}` is not YAML, and is read as text; a text with `: ` or a sign at its \
            start needs quotes"
    );
    SkillProblem::new(line, text)
}

fn split_blocks(front_matter: &str, first_line: usize) -> Vec<FrontBlock<'_>> {
    let is_content = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let first = front_matter.lines().find(is_content).unwrap_or_default();
    let indent = &first[..first.len() - first.trim_start().len()];
    let mut blocks: Vec<FrontBlock<'_>> = Vec::new();
    for (number, line) in front_matter.split_inclusive('\n').enumerate() {
        let line = line.strip_prefix(indent).unwrap_or(line);
        match (split_key(line), blocks.last_mut()) {
            (Some((key, rest)), _) => {
                blocks.push(FrontBlock { line: first_line + number, key, rest, lines: vec![line] });
            }
            (None, Some(block)) => block.lines.push(line),
            (None, None) => {}
        }
    }
    blocks
}

/// Splits a line at the colon after its key; `None` if it begins with something else.
fn split_key(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let is_of_key = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let is_key = !key.is_empty() && key.trim_end().chars().all(is_of_key);
    let is_known = TEXT_KEYS.contains(&key.to_lowercase().as_str());
    let is_apart = rest.is_empty() || rest.starts_with(char::is_whitespace);
    (is_key && (is_apart || is_known)).then(|| (key.trim_end(), rest.trim()))
}

impl FrontBlock<'_> {
    /// The value as it is written, in one line.
    fn raw_value(&self) -> String {
        let is_marker = self.rest.len() <= 3 && self.rest.starts_with(['|', '>']);
        let first = if is_marker { "" } else { self.rest };
        let below = self.lines.iter().skip(1).map(|line| line.trim());
        let words: Vec<&str> =
            std::iter::once(first).chain(below).filter(|line| !line.is_empty()).collect();
        let text = words.join(" ");
        let unquoted = ['"', '\'']
            .into_iter()
            .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote).map(str::to_owned));
        unquoted.unwrap_or(text)
    }
}

#[cfg(test)]
#[path = "front_matter_tests.rs"]
mod tests;
