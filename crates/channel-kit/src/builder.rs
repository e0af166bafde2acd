//! Builds styled text block by block: blank lines between blocks, indentation, bullets, open styles.

use crate::styled::Styled;
use avocet_protocol::{Style, StyleRange};

/// How deep lists and inner quotes are shown. What is nested deeper looks like the deepest shown.
const MAX_DEPTH: usize = 8;

/// Styled text while it is built. Line breaks are written when something follows them.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    text: String,
    styles: Vec<StyleRange>,
    open: Vec<Open>,
    /// Line breaks before the next text.
    gap: usize,
    /// What the lines of the blocks that are open begin with, the outermost first.
    margins: Vec<Margin>,
    /// Blocks beyond [`MAX_DEPTH`].
    deeper: usize,
}

/// A style that has begun; where, is known as soon as there is text.
#[derive(Debug)]
struct Open {
    style: Style,
    start: Option<usize>,
}

/// What the lines of a block begin with.
#[derive(Debug)]
struct Margin {
    /// The first line's: a bullet.
    first: Option<String>,
    /// All others'.
    others: String,
}

impl Builder {
    pub(crate) fn finish(mut self) -> Styled {
        while let Some(Open { style, .. }) = self.open.last() {
            let style = style.clone();
            self.close(&style);
        }
        Styled { text: self.text, styles: self.styles }.tidy()
    }

    /// A block begins: a blank line before it, unless it is the first in its list item.
    pub(crate) fn begin_block(&mut self) {
        if !self.is_marker_due() {
            self.break_lines(2);
        }
    }

    /// At least so many line breaks before the next text.
    pub(crate) fn break_lines(&mut self, lines: usize) {
        self.gap = self.gap.max(lines);
    }

    /// Whether lines have a margin now.
    pub(crate) fn is_indented(&self) -> bool {
        !self.margins.is_empty()
    }

    /// Lines from here on are indented by the width of `marker`, which stands before the first.
    pub(crate) fn begin_item(&mut self, marker: String) {
        self.break_lines(usize::from(!self.is_marker_due()));
        let others = " ".repeat(marker.chars().count());
        self.push_margin(Margin { first: Some(marker), others });
    }

    /// Lines from here on begin with `> `: a quote within something.
    pub(crate) fn begin_inner_quote(&mut self) {
        self.begin_block();
        self.push_margin(Margin { first: None, others: "> ".to_owned() });
    }

    /// Ends what [`Self::begin_item`] or [`Self::begin_inner_quote`] began; an empty item still
    /// shows its marker.
    pub(crate) fn end_margin(&mut self) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        if self.margins.last().is_some_and(|margin| margin.first.is_some()) {
            self.begin_text();
        }
        self.margins.pop();
    }

    /// Says whether the style begins: inside of itself it does not.
    pub(crate) fn open(&mut self, style: Style) -> bool {
        let is_new = !self.is_open(&style);
        if is_new {
            self.open.push(Open { style, start: None });
        }
        is_new
    }

    pub(crate) fn is_open(&self, style: &Style) -> bool {
        self.open.iter().any(|open| open.style == *style)
    }

    /// Ends the style, and says whether anything has got it.
    pub(crate) fn close(&mut self, style: &Style) -> bool {
        let Some(index) = self.open.iter().rposition(|open| open.style == *style) else {
            return false;
        };
        let Open { style, start } = self.open.remove(index);
        let Some(start) = start else { return false };
        self.styles.push(StyleRange::new(start..self.text.len(), style));
        true
    }

    /// Text that may have lines; control characters in it go.
    pub(crate) fn push(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\n' => self.gap = (self.gap + 1).min(2),
                '\t' => self.push_char(c),
                c if c.is_control() => {}
                c => self.push_char(c),
            }
        }
    }

    /// A part in a style of its own, with nothing of it in a margin.
    pub(crate) fn push_styled(&mut self, text: &str, style: &Style) {
        let is_new = self.open(style.clone());
        self.push(text);
        if is_new {
            self.close(style);
        }
    }

    /// Lines as they are, without margin, in a style that nothing covers.
    pub(crate) fn push_lines(&mut self, text: &str, style: Style) {
        if self.is_marker_due() {
            self.begin_text();
        }
        self.break_lines(2);
        let covering: Vec<Style> = self.open.iter().map(|open| open.style.clone()).collect();
        for style in covering.iter().rev() {
            self.close(style);
        }
        self.break_now();
        let start = self.text.len();
        self.text.extend(text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()));
        self.styles.push(StyleRange::new(start..self.text.len(), style));
        self.gap = 2;
        self.open.extend(covering.into_iter().map(|style| Open { style, start: None }));
    }

    /// How much text there is: what is pushed next comes after it.
    pub(crate) fn position(&self) -> usize {
        self.text.len()
    }

    /// What was pushed since a position, without white space around it.
    pub(crate) fn since(&self, position: usize) -> &str {
        self.text[position..].trim()
    }

    fn push_char(&mut self, c: char) {
        if self.gap > 0 || self.text.is_empty() || self.is_marker_due() {
            self.begin_text();
        }
        let here = self.text.len();
        for open in &mut self.open {
            open.start.get_or_insert(here);
        }
        self.text.push(c);
    }

    fn begin_text(&mut self) {
        let is_new_line = self.gap > 0 || self.text.is_empty();
        self.break_now();
        if is_new_line {
            self.begin_quote();
        }
        for margin in &mut self.margins {
            match margin.first.take() {
                Some(marker) => self.text.push_str(&marker),
                None if is_new_line => self.text.push_str(&margin.others),
                None => {}
            }
        }
    }

    /// A quote is whole lines, with their margins.
    fn begin_quote(&mut self) {
        let here = self.text.len();
        for open in self.open.iter_mut().filter(|open| open.style == Style::Quote) {
            open.start.get_or_insert(here);
        }
    }

    fn break_now(&mut self) {
        let breaks = if self.text.is_empty() { 0 } else { self.gap };
        self.text.extend(std::iter::repeat_n('\n', breaks));
        self.gap = 0;
    }

    /// Whether the next text is the first of a list item.
    pub(crate) fn is_marker_due(&self) -> bool {
        self.margins.iter().any(|margin| margin.first.is_some())
    }

    fn push_margin(&mut self, margin: Margin) {
        if self.margins.len() < MAX_DEPTH && self.deeper == 0 {
            self.margins.push(margin);
        } else {
            self.deeper += 1;
        }
    }
}

#[cfg(test)]
#[path = "builder_tests.rs"]
mod tests;
