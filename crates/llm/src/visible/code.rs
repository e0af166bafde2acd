//! Finds code spans and fenced blocks in Markdown (CommonMark, "Code spans", "Fenced code blocks"),
//! as far as possible while the text still streams.

/// Maximum bytes of a code span. A backtick without a partner within this distance is plain text.
const LONGEST_SPAN: usize = 2000;

/// The Markdown code state at a position in a text.
#[derive(Debug)]
pub(crate) struct CodeTracker {
    /// The open fence: its character, and the minimum number of these that closes it.
    fence: Option<(char, usize)>,
    /// `true` at the start of a line.
    at_line: bool,
}

impl Default for CodeTracker {
    fn default() -> Self {
        Self { fence: None, at_line: true }
    }
}

/// The kind of the next bytes, and their number.
pub(crate) enum CodeStep {
    /// Code and its delimiters.
    Code(usize),
    /// Other text.
    Text(usize),
    /// The kind depends on text that is yet to come.
    Wait,
}

impl CodeTracker {
    /// Classifies the start of a text; `is_all` means that the text is complete. Opens or closes
    /// the fence if the text begins with one.
    pub(crate) fn cross_start(&mut self, rest: &str, is_all: bool) -> CodeStep {
        if self.at_line {
            let line_bytes = line_bytes(rest);
            if line_bytes.is_none() && !is_all && can_be_fence(rest) {
                return CodeStep::Wait;
            }
            let bytes = line_bytes.unwrap_or(rest.len());
            if self.crosses_fence(&rest[..bytes]) {
                return CodeStep::Code(bytes);
            }
        }
        match self.fence {
            Some(_) => CodeStep::Code(line_bytes(rest).unwrap_or(rest.len())),
            None if rest.starts_with('`') => find_span(rest, is_all),
            None => CodeStep::Text(match rest.find(['`', '\n']) {
                Some(end) if rest[end..].starts_with('`') => end,
                Some(end) => end + 1,
                None => rest.len(),
            }),
        }
    }

    /// Moves past a text.
    pub(crate) fn pass_text(&mut self, text: &str) {
        self.at_line = text.ends_with('\n');
    }

    /// Returns `true` inside a fenced block.
    pub(crate) fn is_fenced(&self) -> bool {
        self.fence.is_some()
    }

    /// Opens or closes a fence if the line does so.
    fn crosses_fence(&mut self, line: &str) -> bool {
        let Some(fence) = CodeFence::parse_fence(line) else { return false };
        self.fence = match self.fence {
            None if fence.mark == '`' && fence.info.contains('`') => return false,
            None => Some((fence.mark, fence.length)),
            Some((mark, length)) if fence.closes_block(mark, length) => None,
            Some(_) => return false,
        };
        true
    }
}

/// The length of the first line with its end; `None` if the line is incomplete. A caller that asks
/// more than once for each line needs quadratic time.
pub(crate) fn line_bytes(text: &str) -> Option<usize> {
    let found = text.find('\n').map(|end| end + 1);
    #[cfg(test)]
    scanned::add_bytes(found.unwrap_or(text.len()));
    found
}

/// Counts the bytes in which ends of lines were searched for.
#[cfg(test)]
pub(crate) mod scanned {
    use std::cell::Cell;

    thread_local! {
        static BYTES: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn add_bytes(bytes: usize) {
        BYTES.set(BYTES.get() + bytes);
    }

    /// Returns the bytes of this thread since the last call.
    pub(crate) fn take_bytes() -> usize {
        BYTES.replace(0)
    }
}

/// Finds the span from backticks to the same number of backticks in the same paragraph.
fn find_span(rest: &str, is_all: bool) -> CodeStep {
    let opening = count_ticks(rest);
    if opening == rest.len() && !is_all {
        return CodeStep::Wait;
    }
    let near = &rest[..rest.floor_char_boundary(LONGEST_SPAN)];
    let paragraph = paragraph_end(near).map_or(near, |end| &near[..end]);
    let mut at = opening;
    while let Some(found) = paragraph.get(at..).and_then(|rest| rest.find('`')) {
        at += found;
        let closing = count_ticks(&rest[at..]);
        if at + closing == rest.len() && !is_all {
            return CodeStep::Wait;
        }
        at += closing;
        if closing == opening {
            return CodeStep::Code(at);
        }
    }
    let is_decided = is_all || paragraph.len() < near.len() || rest.len() >= LONGEST_SPAN;
    if is_decided { CodeStep::Code(opening) } else { CodeStep::Wait }
}

fn count_ticks(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

/// Removes the characters that may precede a fence: blanks, and quote and list markers.
fn strip_lead(line: &str) -> &str {
    let line = line.trim_start_matches([' ', '\t', '>']);
    let bullet = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = ["- ", "* ", "+ ", ". ", ") "].iter().find_map(|mark| bullet.strip_prefix(mark));
    item.map_or(line, str::trim_start)
}

/// Bytes before a line's text: blanks, and quote and list markers.
pub(crate) fn lead_bytes(line: &str) -> usize {
    line.len() - strip_lead(line).len()
}

/// Returns `true` if an incomplete line can become a fence.
pub(crate) fn can_be_fence(line: &str) -> bool {
    let line = strip_lead(line);
    let bullet = line.trim_start_matches(|c: char| c.is_ascii_digit());
    match line.chars().next() {
        Some(mark @ ('`' | '~')) => {
            let info = line.trim_start_matches(mark);
            info.is_empty() || line.len() - info.len() >= 3
        }
        _ => matches!(bullet, "" | "-" | "*" | "+" | "." | ")"),
    }
}

/// A line that opens or closes a fenced block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodeFence<'t> {
    pub(crate) mark: char,
    /// The number of marks.
    pub(crate) length: usize,
    /// The trimmed text after the marks.
    pub(crate) info: &'t str,
}

impl<'t> CodeFence<'t> {
    pub(crate) fn parse_fence(line: &'t str) -> Option<Self> {
        let line = strip_lead(line);
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let info = line.trim_start_matches(mark);
        let length = line.len() - info.len();
        (length >= 3).then_some(Self { mark, length, info: info.trim() })
    }

    /// Returns `true` if this fence closes a block that begins with `length` of these marks.
    pub(crate) fn closes_block(&self, mark: char, length: usize) -> bool {
        self.mark == mark && self.length >= length && self.info.is_empty()
    }

    /// The end of the body of the block that this fence opens, and the start of the text after the
    /// block.
    pub(crate) fn end_in(self, body: &str) -> Option<(usize, usize)> {
        let mut at = 0;
        for line in body.split_inclusive('\n') {
            if CodeFence::parse_fence(line)
                .is_some_and(|fence| fence.closes_block(self.mark, self.length))
            {
                return Some((at, at + line.len()));
            }
            at += line.len();
        }
        None
    }
}

/// The start of the first blank line.
fn paragraph_end(text: &str) -> Option<usize> {
    let mut at = text.find('\n')? + 1;
    loop {
        let line = text[at..].find('\n')?;
        if text[at..at + line].trim().is_empty() {
            return Some(at);
        }
        at += line + 1;
    }
}
