//! Edits of a text by its lines, which keep how the file ends its lines and whether its last line ends.

use std::ops::RangeInclusive;

/// A text and how its lines end.
#[derive(Debug)]
pub(super) struct Lines<'t> {
    text: &'t str,
    /// Each with its end.
    lines: Vec<&'t str>,
    end: &'static str,
}

impl<'t> Lines<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { text, lines: text.split_inclusive('\n').collect(), end: line_end(text) }
    }

    pub(super) fn count(&self) -> usize {
        self.lines.len()
    }

    /// What stands in these lines, counted from 1, which have to be there; without the last line end.
    pub(super) fn stands(&self, range: RangeInclusive<usize>) -> String {
        let lines = &self.lines[range.start() - 1..*range.end()];
        plain(&lines.concat())
    }

    /// The text with `new` in the place of these lines, which have to be there; without them where it
    /// is empty.
    pub(super) fn replaced(&self, range: RangeInclusive<usize>, new: &str) -> String {
        self.spliced(range.start() - 1, *range.end(), new)
    }

    /// The text with `new` before a line, or behind the last one.
    pub(super) fn inserted(&self, before: usize, new: &str) -> String {
        self.spliced(before - 1, before - 1, new)
    }

    fn spliced(&self, start: usize, end: usize, new: &str) -> String {
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

/// How the lines of a text end: as its first does.
pub(super) fn line_end(text: &str) -> &'static str {
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if first.ends_with("\r\n") { "\r\n" } else { "\n" }
}

/// A text whose lines end in a line feed alone.
pub(super) fn plain_ends(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// A text as it is compared: its lines end plainly, and the last does not.
pub(super) fn plain(text: &str) -> String {
    let plain = plain_ends(text);
    plain.strip_suffix('\n').unwrap_or(&plain).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_stay_as_they_are() {
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
            assert_eq!(Lines::of(text).replaced(first..=last, new), expected, "{text:?} {new:?}");
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
            assert_eq!(Lines::of(text).inserted(before, new), expected, "{text:?} {new:?}");
        }
        assert_eq!(Lines::of("a\r\nb\r\nc").stands(1..=2), "a\nb");
    }
}
