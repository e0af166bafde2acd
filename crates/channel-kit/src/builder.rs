//! Builds styled text block by block: blank lines between blocks, indentation, bullets, open
//! styles.

use crate::styled::Styled;
use avocet_protocol::chat::{Style, StyleRange};

/// The number of levels at which lists and inner quotes are indented. Deeper levels look like the
/// last.
const MAX_DEPTH: usize = 8;

/// Styled text under construction. Line breaks are written when more text follows.
#[derive(Debug, Default)]
pub(crate) struct StyledBuilder {
    text: String,
    styles: Vec<StyleRange>,
    open: Vec<OpenStyle>,
    /// Line breaks to write before the next text.
    gap: usize,
    /// The beginnings of lines in the open blocks, the outermost first.
    margins: Vec<BlockMargin>,
    /// The number of open blocks beyond [`MAX_DEPTH`].
    deeper: usize,
}

/// An open style. Its start is known as soon as there is text.
#[derive(Debug)]
struct OpenStyle {
    style: Style,
    start: Option<usize>,
}

/// The beginnings of a block's lines.
#[derive(Debug)]
struct BlockMargin {
    /// The beginning of the first line: a bullet.
    first: Option<String>,
    /// The beginning of all other lines.
    others: String,
}

impl StyledBuilder {
    pub(crate) fn finish(mut self) -> Styled {
        while let Some(OpenStyle { style, .. }) = self.open.last() {
            let style = style.clone();
            self.close(&style);
        }
        Styled { text: self.text, styles: self.styles }.tidy()
    }

    /// Begins a block. A blank line precedes the block unless it is the first in its list item.
    pub(crate) fn begin_block(&mut self) {
        if !self.is_marker_due() {
            self.break_lines(2);
        }
    }

    /// Demands at least `lines` line breaks before the next text.
    pub(crate) fn break_lines(&mut self, lines: usize) {
        self.gap = self.gap.max(lines);
    }

    /// Returns `true` if lines have a margin now.
    pub(crate) fn is_indented(&self) -> bool {
        !self.margins.is_empty()
    }

    /// Indents the following lines by the width of `marker`, which stands before the first of them.
    pub(crate) fn begin_item(&mut self, marker: String) {
        self.break_lines(usize::from(!self.is_marker_due()));
        let others = " ".repeat(marker.chars().count());
        self.push_margin(BlockMargin { first: Some(marker), others });
    }

    /// Begins the following lines with `> `: a quote within another block.
    pub(crate) fn begin_inner_quote(&mut self) {
        self.begin_block();
        self.push_margin(BlockMargin { first: None, others: "> ".to_owned() });
    }

    /// Ends the margin of [`Self::begin_item`] or [`Self::begin_inner_quote`]. An empty item still
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

    /// Opens the style. Returns `false` if the same style is open already.
    pub(crate) fn open(&mut self, style: Style) -> bool {
        let is_new = !self.is_open(&style);
        if is_new {
            self.open.push(OpenStyle { style, start: None });
        }
        is_new
    }

    pub(crate) fn is_open(&self, style: &Style) -> bool {
        self.open.iter().any(|open| open.style == *style)
    }

    /// Ends the style. Returns `true` if any text has the style.
    pub(crate) fn close(&mut self, style: &Style) -> bool {
        let Some(index) = self.open.iter().rposition(|open| open.style == *style) else {
            return false;
        };
        let OpenStyle { style, start } = self.open.remove(index);
        let Some(start) = start else { return false };
        self.styles.push(StyleRange::new(start..self.text.len(), style));
        true
    }

    /// Adds text that may have several lines. Control characters are dropped.
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

    /// Adds text in its own style. Margins stay outside of the style.
    pub(crate) fn push_styled(&mut self, text: &str, style: &Style) {
        let is_new = self.open(style.clone());
        self.push(text);
        if is_new {
            self.close(style);
        }
    }

    /// Adds lines verbatim, without margin, in a style that excludes all open styles.
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
        self.open.extend(covering.into_iter().map(|style| OpenStyle { style, start: None }));
    }

    /// Returns the length of the text so far, at which the next text begins.
    pub(crate) fn position(&self) -> usize {
        self.text.len()
    }

    /// Returns the text since a position, without white space around it.
    pub(crate) fn text_since(&self, position: usize) -> &str {
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

    /// Starts open quotes here, before the margins: a quote covers whole lines.
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

    /// Returns `true` if the next text is the first of a list item.
    pub(crate) fn is_marker_due(&self) -> bool {
        self.margins.iter().any(|margin| margin.first.is_some())
    }

    fn push_margin(&mut self, margin: BlockMargin) {
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
