//! Edits a text by lines. The file's line ends and its last, possibly unterminated line are
//! preserved.

use std::ops::RangeInclusive;

/// A text and its kind of line end.
#[derive(Debug)]
pub(super) struct TextLines<'t> {
    text: &'t str,
    /// Each with its line end.
    lines: Vec<&'t str>,
    end: &'static str,
}

impl<'t> TextLines<'t> {
    pub(super) fn split_text(text: &'t str) -> Self {
        Self { text, lines: text.split_inclusive('\n').collect(), end: line_end(text) }
    }

    pub(super) fn count_lines(&self) -> usize {
        self.lines.len()
    }

    /// The lines of this range, counted from 1, without the last line end. Panics if out of range.
    pub(super) fn text_in_range(&self, range: RangeInclusive<usize>) -> String {
        let lines = &self.lines[range.start() - 1..*range.end()];
        plain_lines(&lines.concat())
    }

    /// The text with this range of lines replaced by `new`; an empty `new` deletes them. Panics if
    /// out of range.
    pub(super) fn replace_range(&self, range: RangeInclusive<usize>, new: &str) -> String {
        self.splice_lines(range.start() - 1, *range.end(), new)
    }

    /// The text with `new` inserted before a line, or after the last one.
    pub(super) fn insert_before(&self, before: usize, new: &str) -> String {
        self.splice_lines(before - 1, before - 1, new)
    }

    fn splice_lines(&self, start: usize, end: usize, new: &str) -> String {
        let mut text = self.lines[..start].concat();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push_str(self.end);
        }
        if !new.is_empty() {
            let new = plain_ends(new);
            for line in new.strip_suffix('\n').unwrap_or(&new).split('\n') {
                text.push_str(line);
                text.push_str(self.end);
            }
        }
        text.push_str(&self.lines[end..].concat());
        let is_open = !self.text.is_empty() && !self.text.ends_with('\n');
        if is_open && let Some(open) = text.strip_suffix(self.end) {
            text.truncate(open.len());
        }
        text
    }
}

/// The line end of a text: that of its first line.
pub(super) fn line_end(text: &str) -> &'static str {
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if first.ends_with("\r\n") { "\r\n" } else { "\n" }
}

/// A text with `\r\n` replaced by `\n`.
pub(super) fn plain_ends(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// A text normalised for comparison: `\n` line ends, and none at the end.
pub(super) fn plain_lines(text: &str) -> String {
    let plain = plain_ends(text);
    plain.strip_suffix('\n').unwrap_or(&plain).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_replaced_and_inserted_keep_the_line_ends() {
        let table = [
            ("a\nb\nc\n", 2, 2, "x", "a\nx\nc\n"),
            ("a\nb\nc\n", 2, 3, "x\ny\n", "a\nx\ny\n"),
            ("a\nb\nc", 3, 3, "x\n", "a\nb\nx"),
            ("a\nb\nc", 3, 3, "", "a\nb"),
            ("a\nb\nc\n", 3, 3, "", "a\nb\n"),
            ("a\nb", 1, 2, "", ""),
            ("a\n", 1, 1, "\n", "\n"),
            ("a\r\nb\r\nc\r\n", 2, 2, "x\ny", "a\r\nx\r\ny\r\nc\r\n"),
            ("a\r\nb", 2, 2, "x\r\ny\r\n", "a\r\nx\r\ny"),
        ];
        for (text, first, last, new, expected) in table {
            assert_eq!(
                TextLines::split_text(text).replace_range(first..=last, new),
                expected,
                "{text:?} {new:?}"
            );
        }
        let table = [
            ("a\nb\n", 1, "x", "x\na\nb\n"),
            ("a\nb\n", 3, "x\n", "a\nb\nx\n"),
            ("a\nb", 3, "x\n", "a\nb\nx"),
            ("a\r\nb", 3, "x", "a\r\nb\r\nx"),
            ("", 1, "x", "x\n"),
            ("a\n", 2, "\n", "a\n\n"),
        ];
        for (text, before, new, expected) in table {
            assert_eq!(
                TextLines::split_text(text).insert_before(before, new),
                expected,
                "{text:?} {new:?}"
            );
        }
        assert_eq!(TextLines::split_text("a\r\nb\r\nc").text_in_range(1..=2), "a\nb");
    }
}
