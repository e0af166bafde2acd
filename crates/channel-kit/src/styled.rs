//! The intermediate form between Markdown and a platform: plain text with styles for its parts.

use std::ops::Range;

use avocet_protocol::chat::{Style, StyleRange};
use serde::{Deserialize, Serialize};

use crate::ranges::nest_styles;

/// Plain text and the styles of its parts.
///
/// The results of [`render`](crate::render) and [`split`](crate::split) have non-empty ranges on
/// character boundaries. The ranges are sorted (by start, the longer one first), properly nested,
/// and outside of ranges of their own kind. `Pre` and `Quote` are whole lines; a `Pre` overlaps no
/// other style.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Styled {
    /// The text as a person reads it.
    pub text: String,
    /// The styles and their places in the text.
    pub styles: Vec<StyleRange>,
}

/// Moves the ends of a range off white space. Whole lines keep the indentation of the first.
pub(crate) fn trimmed_range(mut range: StyleRange, text: &str) -> StyleRange {
    range.end = range.end.min(text.len());
    range.start = range.start.min(range.end);
    let part = text[range.range()].trim_end();
    range.end = range.start + part.len();
    let kept = match range.style {
        Style::Pre { .. } | Style::Quote => from_first_line(part),
        _ => part.trim_start(),
    };
    range.start = range.end - kept.len();
    range
}

fn is_verbatim(range: &StyleRange) -> bool {
    matches!(range.style, Style::Pre { .. } | Style::Code)
}

impl Styled {
    /// Creates text without any style.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), styles: Vec::new() }
    }

    /// Returns the part in `range`, which lies on character boundaries, with its styles.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        let near = self.styles.iter().take_while(|style| style.start < range.end);
        let styles = near.filter(|style| style.end > range.start).map(|style| {
            let start = style.start.max(range.start) - range.start;
            let end = style.end.min(range.end) - range.start;
            StyleRange::new(start..end, style.style.clone())
        });
        let styles = styles.collect();
        trim_ranges(Self { text: self.text[range].to_owned(), styles })
    }

    /// Brings a built text into the promised form. Removes white space at the ends of the text and
    /// of lines, and repeated blank lines. Sorts and nests ranges.
    pub(crate) fn tidy(mut self) -> Self {
        let ranges = self.styles.into_iter().map(|range| trimmed_range(range, &self.text));
        self.styles = ranges.filter(|range| !range.is_empty()).collect();
        self.styles.sort_by_key(|style| style.start);
        let deletions = idle_white_space(&self);
        trim_ranges(delete_ranges(self, &deletions))
    }
}

/// Moves the ends of all ranges off white space and nests the result.
fn trim_ranges(mut styled: Styled) -> Styled {
    styled.text.truncate(styled.text.trim_end().len());
    let ranges = styled.styles.into_iter().map(|range| trimmed_range(range, &styled.text));
    styled.styles = nest_styles(ranges.collect());
    styled
}

/// Removes the blank lines at the start, but keeps the indentation of the first line.
pub(crate) fn from_first_line(text: &str) -> &str {
    let blank = text.len() - text.trim_start().len();
    let line = text[..blank].rfind('\n').map_or(0, |at| at + 1);
    &text[line..]
}

/// Finds superfluous white space outside of code. The ranges are in order and apart from each
/// other.
fn idle_white_space(styled: &Styled) -> Vec<Range<usize>> {
    let mut verbatim = styled.styles.iter().filter(|style| is_verbatim(style)).peekable();
    let (mut found, mut at) = (Vec::new(), 0);
    let text = styled.text.as_str();
    while at < text.len() {
        while verbatim.next_if(|code| code.end <= at).is_some() {}
        let until = match verbatim.peek() {
            Some(code) if code.start <= at => {
                at = code.end;
                continue;
            }
            Some(code) => code.start,
            None => text.len(),
        };
        found.extend(idle_in(text, at..until));
        at = until;
    }
    found
}

fn idle_in(text: &str, part: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = part.start;
    while let Some(more) = text[at..part.end].find(char::is_whitespace) {
        let start = at + more;
        let run = &text[start..part.end];
        let run = &run[..run.len() - run.trim_start().len()];
        at = start + run.len();
        found.extend(idle_in_run(text, start, run));
    }
    found
}

/// Returns the superfluous parts of a run of white space. At the ends of the text that is all of
/// it. Elsewhere the first line break, the last one, and the indentation after that stay.
fn idle_in_run(text: &str, start: usize, run: &str) -> impl Iterator<Item = Range<usize>> {
    let end = start + run.len();
    let idle = match (run.find('\n'), run.rfind('\n')) {
        // Code may begin behind the run, with its own indentation.
        _ if start == 0 || end == text.len() => [start..end, 0..0],
        (Some(first), Some(last)) => [start..start + first, start + first + 1..start + last],
        _ => [0..0, 0..0],
    };
    idle.into_iter().filter(|range| !range.is_empty())
}

/// Deletes parts of a text; its ranges shrink with it.
fn delete_ranges(styled: Styled, deletions: &[Range<usize>]) -> Styled {
    let mut text = String::with_capacity(styled.text.len());
    let mut from = 0;
    for gone in deletions {
        text.push_str(&styled.text[from..gone.start]);
        from = gone.end;
    }
    text.push_str(&styled.text[from..]);
    let moved = PositionMap::new(deletions);
    let move_range = |range: StyleRange| StyleRange {
        start: moved.position(range.start),
        end: moved.position(range.end),
        style: range.style,
    };
    Styled { text, styles: styled.styles.into_iter().map(move_range).collect() }
}

/// Translates positions from before the deletions to positions after them.
struct PositionMap<'a> {
    deletions: &'a [Range<usize>],
    gone_before: Vec<usize>,
}

impl<'a> PositionMap<'a> {
    fn new(deletions: &'a [Range<usize>]) -> Self {
        let mut gone = 0;
        let count = |deletion: &Range<usize>| {
            let before = gone;
            gone += deletion.len();
            before
        };
        Self { deletions, gone_before: deletions.iter().map(count).collect() }
    }

    fn position(&self, position: usize) -> usize {
        let after = self.deletions.partition_point(|deletion| deletion.start < position);
        let Some(index) = after.checked_sub(1) else { return position };
        let deletion = &self.deletions[index];
        position - self.gone_before[index] - (position.min(deletion.end) - deletion.start)
    }
}

#[cfg(test)]
#[path = "styled_tests.rs"]
mod tests;
