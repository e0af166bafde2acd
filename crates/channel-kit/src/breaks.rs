//! Finds the places where a text may be cut, from the best to the worst.

use std::ops::Range;

use avocet_protocol::chat::{Style, StyleRange};

use crate::ranges::touches_any;
use crate::styled::Styled;

/// A text with the ranges of its code blocks.
#[derive(Debug)]
pub(crate) struct BreakFinder<'a> {
    text: &'a str,
    code: Vec<Range<usize>>,
}

/// Kinds of places, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BreakKind {
    Paragraph,
    Line,
    CodeParagraph,
    CodeLine,
    Sentence,
    Word,
}

const KINDS: [BreakKind; 6] = [
    BreakKind::Paragraph,
    BreakKind::Line,
    BreakKind::CodeParagraph,
    BreakKind::CodeLine,
    BreakKind::Sentence,
    BreakKind::Word,
];

impl<'a> BreakFinder<'a> {
    pub(crate) fn in_styled(styled: &'a Styled) -> Self {
        let is_code = |style: &Style| matches!(style, Style::Pre { .. });
        let code = styled.styles.iter().filter(|range| is_code(&range.style));
        Self { text: &styled.text, code: code.map(StyleRange::range).collect() }
    }

    /// Returns `true` if the character at `at` is in a code block.
    pub(crate) fn is_code(&self, at: usize) -> bool {
        touches_any(&self.code, &(at..at + 1))
    }

    /// Returns the best place behind `start` and up to `most`. `None` if every place would leave
    /// the message less than a third full: a cut inside a word is better than that.
    pub(crate) fn best_break(&self, start: usize, most: usize) -> Option<usize> {
        let third = start.max(self.next_visible(start).min(most)) + 1;
        let third = third.max(start + most.saturating_sub(start) / 3);
        KINDS.iter().find_map(|&kind| self.last_break(kind, third, most))
    }

    /// Returns the position of the first visible character from `start` on.
    pub(crate) fn next_visible(&self, start: usize) -> usize {
        self.text.len() - self.text[start..].trim_start().len()
    }

    /// Returns the last place of the kind from `from` up to `most`.
    fn last_break(&self, kind: BreakKind, from: usize, most: usize) -> Option<usize> {
        let from = self.text.ceil_char_boundary(from);
        // The character behind the last one that fits may be the white space at which to cut.
        let beyond = self.text[most..].chars().next().map_or(0, char::len_utf8);
        let window = self.text.get(from..most + beyond)?;
        window.char_indices().rev().map(|(at, _)| from + at).find(|&at| self.is_break(kind, at))
    }

    /// Returns `true` if a cut before the character at `at` is of that kind. The character is
    /// usually white space.
    fn is_break(&self, kind: BreakKind, at: usize) -> bool {
        let (before, after) = self.text.split_at(at);
        match kind {
            BreakKind::Paragraph => after.starts_with("\n\n") && !self.is_code(at),
            BreakKind::Line => after.starts_with('\n') && !self.is_code(at),
            BreakKind::CodeParagraph => after.starts_with("\n\n"),
            BreakKind::CodeLine => after.starts_with('\n'),
            BreakKind::Sentence => is_between_sentences(before, after) && !self.is_code(at),
            BreakKind::Word => after.starts_with(char::is_whitespace),
        }
    }
}

/// Returns `true` behind a full stop or a similar mark that white space follows. A bracket or a
/// quotation mark may stand between them. Chinese and Japanese have no white space there.
fn is_between_sentences(before: &str, after: &str) -> bool {
    const WIDE: [char; 3] = ['。', '！', '？'];
    const CLOSERS: [char; 7] = ['"', '\'', ')', ']', '”', '’', '»'];
    let ends_wide = before.ends_with(WIDE) && !after.starts_with(['」', '』', '）', '”']);
    let ends = before.trim_end_matches(CLOSERS).ends_with(['.', '!', '?', '…']);
    ends_wide || (ends && after.starts_with(char::is_whitespace))
}
