//! Cuts styled text into messages, where a reader would cut it if possible.

use unicode_segmentation::UnicodeSegmentation;

use crate::breaks::BreakFinder;
use crate::styled::{Styled, from_first_line};

/// The size limit of one message.
///
/// The measure includes markup where the platform counts it
/// ([`discord::size`](crate::discord::size)).
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    most: usize,
    measure: fn(&Styled) -> usize,
}

impl Limit {
    /// At most `most` by the platform's own measure, which counts at least one for each character
    /// of the text.
    #[must_use]
    pub fn new(most: usize, measure: fn(&Styled) -> usize) -> Self {
        Self { most, measure }
    }

    /// At most `units` UTF-16 code units of text; markup is free.
    #[must_use]
    pub fn utf16(units: usize) -> Self {
        Self::new(units, |styled| styled.text.encode_utf16().count())
    }

    /// At most `chars` characters (Unicode scalar values) of text; markup is free.
    #[must_use]
    pub fn chars(chars: usize) -> Self {
        Self::new(chars, |styled| styled.text.chars().count())
    }

    /// Leaves room for a text that is added to every message.
    #[must_use]
    pub fn reserving(self, reserve: usize) -> Self {
        Self { most: self.most.saturating_sub(reserve), ..self }
    }

    fn fits_limit(&self, styled: &Styled) -> bool {
        (self.measure)(styled) <= self.most
    }
}

/// Cuts at the end of a paragraph, else of a line, a sentence, a word, or a character as people see
/// it (grapheme). Styles continue behind a cut, and code keeps its language. Only white space at
/// the cuts is lost.
///
/// Returns at least one chunk; a chunk is empty only if the text is. A style whose markup leaves no
/// room for text is dropped. If one character exceeds the limit, its chunk exceeds it too.
#[must_use]
pub fn split(styled: &Styled, limit: Limit) -> Vec<Styled> {
    let mut rest = RemainingText { styled: styled.clone(), at: 0, limit };
    let mut chunks = Vec::new();
    while rest.skip_white_space() {
        let end = rest.next_end();
        chunks.push(rest.styled.slice(rest.at..end));
        rest.at = end;
        rest.styled.styles.retain(|style| style.end > end);
    }
    if chunks.is_empty() {
        chunks.push(Styled::default());
    }
    chunks
}

/// The text that is still to be cut.
struct RemainingText {
    styled: Styled,
    at: usize,
    limit: Limit,
}

impl RemainingText {
    /// Skips white space. Returns `false` at the end of the text. Lines of code keep their
    /// indentation if it fits.
    fn skip_white_space(&mut self) -> bool {
        let breaks = BreakFinder::in_styled(&self.styled);
        let visible = breaks.next_visible(self.at);
        let line = self.styled.text.len() - from_first_line(&self.styled.text[self.at..]).len();
        let is_indented_code = line < visible && breaks.is_code(line);
        let keeps = is_indented_code && self.furthest_end(line) > visible;
        self.at = if keeps { line } else { visible };
        self.at < self.styled.text.len()
    }

    /// Returns the end of the next chunk, which is behind `at`.
    fn next_end(&mut self) -> usize {
        let mut most = self.furthest_end(self.at);
        if most == self.at || self.breaks_what_plain_text_keeps(most) {
            self.drop_styles();
            self.at = BreakFinder::in_styled(&self.styled).next_visible(self.at);
            most = self.furthest_end(self.at);
        }
        if most == self.styled.text.len() {
            return most;
        }
        self.at_break(most).unwrap_or_else(|| self.between_graphemes(most))
    }

    /// Returns the best place up to `most` at which the chunk fits. The measure may jump: half a
    /// link can be longer than the whole, so a chunk shorter than `most` may be too long. Then the
    /// next place is tried.
    fn at_break(&self, most: usize) -> Option<usize> {
        const TRIES: usize = 4;
        let breaks = BreakFinder::in_styled(&self.styled);
        let ends = std::iter::successors(breaks.best_break(self.at, most), |&end| {
            breaks.best_break(self.at, self.styled.text.floor_char_boundary(end - 1))
        });
        ends.take(TRIES).find(|&end| self.can_end_at(self.at, end))
    }

    fn can_end_at(&self, start: usize, end: usize) -> bool {
        self.limit.fits_limit(&self.styled.slice(start..end))
    }

    /// Returns `true` if a cut at `most` is inside the first grapheme, which would fit without its
    /// styles.
    fn breaks_what_plain_text_keeps(&self, most: usize) -> bool {
        let first = self.styled.text[self.at..].graphemes(true).next().unwrap_or_default();
        let plain = Styled { text: first.to_owned(), styles: Vec::new() };
        most < self.at + first.len() && self.limit.fits_limit(&plain)
    }

    /// Returns the largest possible end of a chunk from `start`.
    fn furthest_end(&self, start: usize) -> usize {
        let text = &self.styled.text[start..];
        let ends = text.char_indices().map(|(at, c)| start + at + c.len_utf8());
        let ends: Vec<usize> = ends.take(self.limit.most).collect();
        let last = ends.last().copied().unwrap_or(start);
        if self.can_end_at(start, last) {
            return last;
        }
        let fitting = ends.partition_point(|&end| self.can_end_at(start, end));
        fitting.checked_sub(1).map_or(start, |index| ends[index])
    }

    /// Returns the last place up to `most` between two graphemes. Returns `most` if all of the text
    /// is one grapheme, so that the chunk has text.
    fn between_graphemes(&self, most: usize) -> usize {
        let text = &self.styled.text[self.at..];
        let ends = text.grapheme_indices(true).map(|(at, part)| self.at + at + part.len());
        let visible = BreakFinder::in_styled(&self.styled).next_visible(self.at);
        let ends: Vec<usize> =
            ends.take_while(|&end| end <= most).filter(|&end| end > visible).collect();
        let fitting =
            ends.into_iter().rev().find(|&end| end == most || self.can_end_at(self.at, end));
        let first = text.chars().next().map_or(0, char::len_utf8);
        fitting.unwrap_or(most).max(self.at + first)
    }

    fn drop_styles(&mut self) {
        let at = self.at;
        self.styled.styles.retain(|style| !style.range().contains(&at));
    }
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
