//! Where code begins and ends in Markdown (CommonMark, "Code spans", "Fenced code blocks"), as far as
//! it can be told while the text is still coming.

/// Bytes in which a code span has to end; a backtick whose partner is further away is only a
/// backtick.
const LONGEST_SPAN: usize = 2000;

/// Where a text stands between code and other text.
#[derive(Debug)]
pub(crate) struct Code {
    /// The fence that the text is in: its character, and how many of it at least close it.
    fence: Option<(char, usize)>,
    /// At the start of a line.
    at_line: bool,
}

impl Default for Code {
    fn default() -> Self {
        Self { fence: None, at_line: true }
    }
}

/// What the next bytes are.
pub(crate) enum Next {
    /// Code, and what marks it.
    Code(usize),
    /// Other text.
    Text(usize),
    /// That depends on what comes.
    Wait,
}

impl Code {
    /// What a text begins with. With `is_all`, nothing follows. A fence that it begins with is
    /// crossed.
    pub(crate) fn cross(&mut self, rest: &str, is_all: bool) -> Next {
        let line_bytes = rest.find('\n').map(|end| end + 1);
        if self.at_line {
            if line_bytes.is_none() && !is_all && can_be_fence(rest) {
                return Next::Wait;
            }
            let bytes = line_bytes.unwrap_or(rest.len());
            if self.crosses_fence(&rest[..bytes]) {
                return Next::Code(bytes);
            }
        }
        match self.fence {
            Some(_) => Next::Code(line_bytes.unwrap_or(rest.len())),
            None if rest.starts_with('`') => span(rest, is_all),
            None => Next::Text(match rest.find(['`', '\n']) {
                Some(end) if rest[end..].starts_with('`') => end,
                Some(end) => end + 1,
                None => rest.len(),
            }),
        }
    }

    /// So much of it has been passed.
    pub(crate) fn pass(&mut self, text: &str) {
        self.at_line = text.ends_with('\n');
    }

    /// Whether the text is in a fenced block.
    pub(crate) fn is_fenced(&self) -> bool {
        self.fence.is_some()
    }

    /// Opens or closes a fence where a line does.
    fn crosses_fence(&mut self, line: &str) -> bool {
        let Some((mark, length, info)) = fence(line) else { return false };
        self.fence = match self.fence {
            None if mark == '`' && info.contains('`') => return false,
            None => Some((mark, length)),
            Some((open, least)) if open == mark && length >= least && info.trim().is_empty() => {
                None
            }
            Some(_) => return false,
        };
        true
    }
}

/// From backticks to as many of them in the same paragraph.
fn span(rest: &str, is_all: bool) -> Next {
    let opening = ticks(rest);
    if opening == rest.len() && !is_all {
        return Next::Wait;
    }
    let near = &rest[..rest.floor_char_boundary(LONGEST_SPAN)];
    let paragraph = paragraph_end(near).map_or(near, |end| &near[..end]);
    let mut at = opening;
    while let Some(found) = paragraph.get(at..).and_then(|rest| rest.find('`')) {
        at += found;
        let closing = ticks(&rest[at..]);
        if at + closing == rest.len() && !is_all {
            return Next::Wait;
        }
        at += closing;
        if closing == opening {
            return Next::Code(at);
        }
    }
    let is_decided = is_all || paragraph.len() < near.len() || rest.len() >= LONGEST_SPAN;
    if is_decided { Next::Code(opening) } else { Next::Wait }
}

fn ticks(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

/// A line without what may stand before a fence: blanks, and the marks of quotes and lists.
fn unindented(line: &str) -> &str {
    let line = line.trim_start_matches([' ', '\t', '>']);
    let bullet = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = ["- ", "* ", "+ ", ". ", ") "].iter().find_map(|mark| bullet.strip_prefix(mark));
    item.map_or(line, str::trim_start)
}

/// The bytes of what may stand before a line's text: blanks, and the marks of quotes and lists.
pub(crate) fn lead(line: &str) -> usize {
    line.len() - unindented(line).len()
}

/// Whether a line that is not whole can become a fence.
pub(crate) fn can_be_fence(line: &str) -> bool {
    let line = unindented(line);
    let bullet = line.trim_start_matches(|c: char| c.is_ascii_digit());
    match line.chars().next() {
        Some(mark @ ('`' | '~')) => {
            let info = line.trim_start_matches(mark);
            info.is_empty() || line.len() - info.len() >= 3
        }
        _ => matches!(bullet, "" | "-" | "*" | "+" | "." | ")"),
    }
}

/// The character of a line's fence, how many there are, and what is behind them.
pub(crate) fn fence(line: &str) -> Option<(char, usize, &str)> {
    let line = unindented(line);
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let info = line.trim_start_matches(mark);
    let length = line.len() - info.len();
    (length >= 3).then_some((mark, length, info))
}

/// Where the first line without text begins.
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
