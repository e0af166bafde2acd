//! The format of a memory file: a heading with the scope, a mark of the last change that it shows, and
//! a list. Each entry begins with a mark of its memory; an entry without one is new.

use avocet_protocol::access::Trust;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{
    FileEntry, MAX_MEMORY_BYTES, Memory, MemoryScope, ScopeMemories, ShownChange, ShownMemory,
    visible_text,
};
use avocet_text::append_text;

const HEADING: &str = "# Memory: ";
/// Begins the line with the last change that a file shows.
const SHOWN_TO: &str = "<!-- avocet ";
const COMMENT_END: &str = "-->";
/// The lines that explain the file to a person.
const HELP: [&str; 4] = [
    "<!-- Change a text, remove an entry, or add one. An entry begins with \"- \"; its further lines are",
    "     indented by two spaces. Leave the comment at the beginning of an entry as it is, and begin a",
    "     new entry without one. Avocet reads this file before its next answer.",
    "-->",
];
/// The heading above lines that are not entries.
const REST: &str = "## Not taken in";
const REST_HELP: &str = "<!-- These lines are not part of the memory: begin an entry with \"- \", with at most 2048 \
    bytes. -->";

/// The content of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ParsedFile {
    /// The scope in the heading; `None` without a heading.
    pub(super) scope: Option<MemoryScope>,
    pub(super) shown_to: Option<ShownChange>,
    pub(super) entries: Vec<FileEntry>,
    /// Lines that are not entries.
    pub(super) rest: Vec<String>,
}

impl ParsedFile {
    /// Reads a file. `memories` are the present ones of the scope.
    pub(super) fn read(text: &str, memories: &[Memory]) -> Self {
        let mut reader = LineReader { file: Self::default(), open: None, memories };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines();
        for line in lines.by_ref() {
            let line = line.trim_end();
            if line == REST {
                break;
            }
            reader.read_line(line);
        }
        reader.end_entry();
        let mut file = reader.file;
        file.rest.extend(lines.map(str::to_owned).filter(|line| line != REST_HELP));
        trim_blank(&mut file.rest);
        file
    }
}

fn trim_blank(lines: &mut Vec<String>) {
    let is_blank = |line: &String| line.trim().is_empty();
    while lines.last().is_some_and(is_blank) {
        lines.pop();
    }
    let blank = lines.iter().take_while(|line| is_blank(line)).count();
    lines.drain(..blank);
}

struct LineReader<'m> {
    file: ParsedFile,
    open: Option<OpenEntry>,
    memories: &'m [Memory],
}

/// The entry whose lines are being read.
struct OpenEntry {
    shown: Option<ShownMemory>,
    text: Vec<String>,
    /// The lines as they are in the file.
    raw: Vec<String>,
}

impl LineReader<'_> {
    fn read_line(&mut self, line: &str) {
        if let Some(begun) = strip_bullet(line) {
            self.end_entry();
            let (shown, text) = match parse_mark(begun) {
                Some((shown, text)) => (Some(shown), text),
                None => (None, begun.trim_start()),
            };
            let (text, raw) = (vec![text.to_owned()], vec![line.to_owned()]);
            self.open = Some(OpenEntry { shown, text, raw });
            return;
        }
        if let Some(open) = &mut self.open
            && let Some(text) = strip_continuation(line, open.raw.last())
        {
            open.text.push(text.to_owned());
            open.raw.push(line.to_owned());
            return;
        }
        self.end_entry();
        self.read_outside(line);
    }

    /// Reads a line that belongs to no entry.
    fn read_outside(&mut self, line: &str) {
        if line.is_empty() || HELP.contains(&line) {
            return;
        }
        if let Some(scope) = line.strip_prefix(HEADING)
            && self.file.scope.is_none()
            && let Ok(scope) = scope.trim().parse()
        {
            self.file.scope = Some(scope);
        } else if self.file.shown_to.is_none()
            && let Some(shown_to) = shown_to(line)
        {
            self.file.shown_to = Some(shown_to);
        } else {
            self.file.rest.push(line.to_owned());
        }
    }

    fn end_entry(&mut self) {
        let Some(OpenEntry { shown, text, raw }) = self.open.take() else { return };
        let text = visible_text(&text.join("\n"));
        // An entry without a text counts as removed.
        if text.trim().is_empty() {
            return;
        }
        let known = shown.and_then(|shown| self.memories.iter().find(|one| one.id == shown.id));
        let known = known.map(|memory| visible_text(&memory.text));
        if text.len() <= MAX_MEMORY_BYTES || known.as_ref() == Some(&text) {
            self.file.entries.push(FileEntry { shown, text });
            return;
        }
        self.file.rest.extend(raw);
        // The memory keeps its text.
        self.file.entries.extend(known.map(|text| FileEntry { shown, text }));
    }
}

/// Returns the rest of a line that begins an entry.
fn strip_bullet(line: &str) -> Option<&str> {
    if ["-", "*", "+"].contains(&line) {
        return Some("");
    }
    ["- ", "* ", "+ "].iter().find_map(|bullet| line.strip_prefix(bullet))
}

/// Returns the text of a line that continues an entry: a blank or indented one, or one directly below
/// other text, as in Markdown.
fn strip_continuation<'l>(line: &'l str, above: Option<&String>) -> Option<&'l str> {
    if line.is_empty() {
        return Some(line);
    }
    let indented = ["  ", " ", "\t"].iter().find_map(|indent| line.strip_prefix(indent));
    let is_below_text = above.is_some_and(|above| !above.is_empty());
    let is_text = !line.starts_with('#') && !line.starts_with("<!--");
    indented.or_else(|| (is_below_text && is_text).then_some(line))
}

/// Parses the mark of an entry, such as `<!-- m12 r3 full 2026-01-31 -->`, and returns the text after
/// it.
fn parse_mark(begun: &str) -> Option<(ShownMemory, &str)> {
    let (words, text) = begun.trim_start().strip_prefix("<!--")?.split_once(COMMENT_END)?;
    let mut words = words.split_whitespace();
    let id = words.next()?.parse().ok()?;
    let revision = words.next()?.strip_prefix('r')?.parse().ok()?;
    let trust = words.next()?;
    let trust = Trust::ALL.into_iter().find(|one| one.as_str() == trust)?;
    Some((ShownMemory { id, revision, trust }, text.strip_prefix(' ').unwrap_or(text)))
}

fn shown_to(line: &str) -> Option<ShownChange> {
    let (id, at) =
        line.strip_prefix(SHOWN_TO)?.strip_suffix(COMMENT_END)?.trim().split_once(' ')?;
    Some(ShownChange { id: id.parse().ok()?, at: Timestamp(at.parse().ok()?) })
}

/// Returns the file of a scope, with these lines that are not entries.
pub(super) fn render_scope(scope: &MemoryScope, state: &ScopeMemories, rest: &[String]) -> String {
    let ScopeMemories { memories, last: ShownChange { id, at } } = state;
    let mut file = format!("{HEADING}{scope}\n\n{SHOWN_TO}{id} {} {COMMENT_END}\n", at.0);
    for line in HELP {
        push_line(&mut file, line);
    }
    file.push('\n');
    for memory in memories {
        push_entry(&mut file, memory);
    }
    if !rest.is_empty() {
        file.push_str(&format!("\n{REST}\n\n{REST_HELP}\n\n"));
        for line in rest {
            push_line(&mut file, line);
        }
    }
    file
}

fn push_entry(file: &mut String, memory: &Memory) {
    let Memory { id, text, trust, source, revision, .. } = memory;
    let written = jiff::Timestamp::from_millisecond(source.written_at.0).unwrap_or_default();
    let (trust, date) = (trust.as_str(), written.strftime("%F"));
    append_text(file, format_args!("- <!-- {id} r{revision} {trust} {date} "));
    if let Some(person) = &source.said_by {
        // The name must not end the comment.
        append_text(file, format_args!("{} ", person.to_string().replace('>', "_")));
    }
    file.push_str(COMMENT_END);
    for (number, line) in visible_text(text).lines().enumerate() {
        match (number, line) {
            (0, line) => push_line(file, &format!(" {line}")),
            (_, "") => file.push('\n'),
            (_, line) => push_line(file, &format!("  {line}")),
        }
    }
}

fn push_line(file: &mut String, line: &str) {
    file.push_str(line);
    file.push('\n');
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
