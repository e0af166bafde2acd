//! Rows of styled text, their width, and the breaking of text into rows.

use avocet_text::printable;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The use of colours and other attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Colours and attributes of the terminal's own palette.
    Styled,
    /// Characters only. Marks of Markdown stay, because nothing else would show them.
    Plain,
}

/// The width and the look of the rows of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageLayout {
    /// The most columns of a row.
    pub(crate) columns: usize,
    pub(crate) look: Look,
}

/// A colour of the terminal's palette, by its number in the escape sequence (ECMA-48, SGR).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PaletteColour {
    Red = 31,
    Green = 32,
    Yellow = 33,
    Magenta = 35,
    Cyan = 36,
    Grey = 90,
}

/// The attributes of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TextStyle {
    pub(crate) bold: bool,
    pub(crate) dim: bool,
    pub(crate) italic: bool,
    pub(crate) underline: bool,
    pub(crate) strike: bool,
    pub(crate) colour: Option<PaletteColour>,
}

impl TextStyle {
    pub(crate) const PLAIN: Self = Self {
        bold: false,
        dim: false,
        italic: false,
        underline: false,
        strike: false,
        colour: None,
    };
    pub(crate) const BOLD: Self = Self { bold: true, ..Self::PLAIN };
    pub(crate) const DIM: Self = Self { dim: true, ..Self::PLAIN };

    pub(crate) const fn with_colour(colour: PaletteColour) -> Self {
        Self { colour: Some(colour), ..Self::PLAIN }
    }

    /// Returns the escape sequence that switches these attributes on; empty for plain text.
    fn start(self) -> String {
        let flags = [
            (self.bold, 1),
            (self.dim, 2),
            (self.italic, 3),
            (self.underline, 4),
            (self.strike, 9),
        ];
        let mut codes: Vec<String> =
            flags.iter().filter(|(on, _)| *on).map(|(_, code)| code.to_string()).collect();
        codes.extend(self.colour.map(|colour| (colour as u8).to_string()));
        if codes.is_empty() { String::new() } else { format!("\u{1b}[{}m", codes.join(";")) }
    }
}

/// A text with one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StyledSpan {
    pub(crate) text: String,
    pub(crate) style: TextStyle,
}

impl StyledSpan {
    pub(crate) fn new(text: impl Into<String>, style: TextStyle) -> Self {
        Self { text: text.into(), style }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ScreenRow(Vec<StyledSpan>);

impl ScreenRow {
    pub(crate) fn with_text(text: impl Into<String>, style: TextStyle) -> Self {
        Self(vec![StyledSpan::new(text, style)])
    }

    pub(crate) fn push(&mut self, text: &str, style: TextStyle) {
        match self.0.last_mut() {
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.0.push(StyledSpan::new(text, style)),
        }
    }

    pub(crate) fn append(&mut self, other: &Self) {
        other.0.iter().for_each(|span| self.push(&span.text, span.style));
    }

    pub(crate) fn spans(&self) -> &[StyledSpan] {
        &self.0
    }

    /// Returns `true` if the row shows nothing.
    pub(crate) fn is_blank(&self) -> bool {
        self.0.iter().all(|span| span.text.trim().is_empty())
    }

    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|span| width(&span.text)).sum()
    }

    /// Returns the row as the terminal gets it. All escape sequences in it come from the styles.
    pub(crate) fn paint_row(&self, look: Look) -> String {
        let mut painted = String::new();
        for StyledSpan { text, style } in &self.0 {
            let start = style.start();
            let text = printable(text).replace(['\n', '\t'], "");
            if look == Look::Plain || start.is_empty() {
                painted.push_str(&text);
            } else {
                painted.push_str(&start);
                painted.push_str(&text);
                painted.push_str("\u{1b}[0m");
            }
        }
        painted
    }

    /// Cuts the row to a width, with an ellipsis.
    pub(crate) fn cut(self, columns: usize) -> Self {
        if self.width() <= columns {
            return self;
        }
        let (mut cut, mut used) = (Self::default(), 0);
        for span in &self.0 {
            for grapheme in span.text.graphemes(true) {
                used += width(grapheme);
                if used + 1 > columns {
                    cut.push("…", span.style);
                    return cut;
                }
                cut.push(grapheme, span.style);
            }
        }
        cut
    }
}

/// The number of terminal columns of a text. Terminals disagree about joined emoji, so this is the
/// larger one of the two usual answers.
pub(crate) fn width(text: &str) -> usize {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.len();
    }
    let of = |grapheme: &str| {
        let parts = grapheme.chars().map(|one| one.width().unwrap_or_default()).sum::<usize>();
        parts.max(grapheme.width())
    };
    text.graphemes(true).map(of).sum()
}

/// The places at which a text may be broken into rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineBreaks {
    /// Between words, and inside a word only if it is longer than a row.
    Words,
    /// Anywhere, as for code.
    Anywhere,
}

struct StyledCell<'t> {
    text: &'t str,
    style: TextStyle,
    width: usize,
}

/// Signs that belong to the word before them.
const CLOSING: &str = ".,;:!?)]}…”’、。，．！？」』）";

/// Returns `true` if a row may end between two cells. Texts of wide characters have no spaces.
fn may_break(before: &StyledCell<'_>, after: &StyledCell<'_>) -> bool {
    before.text == " " || (before.width > 1 && !CLOSING.contains(after.text))
}

/// Breaks a text into rows of at most `columns`. A line break in the text begins a row. A character
/// that is wider than the row fills one row.
pub(crate) fn wrap_spans(
    spans: &[StyledSpan],
    columns: usize,
    breaks: LineBreaks,
) -> Vec<ScreenRow> {
    let columns = columns.max(1);
    let mut rows = Vec::new();
    let (mut cells, mut used): (Vec<StyledCell<'_>>, usize) = (Vec::new(), 0);
    let graphemes = spans
        .iter()
        .flat_map(|span| span.text.graphemes(true).map(move |grapheme| (grapheme, span.style)));
    for (text, style) in graphemes {
        if matches!(text, "\n" | "\r\n") {
            rows.push(row_of(&cells));
            cells.clear();
            used = 0;
            continue;
        }
        let cell = StyledCell { text, style, width: width(text) };
        used += cell.width;
        cells.push(cell);
        if used <= columns || cells.len() == 1 {
            continue;
        }
        if breaks == LineBreaks::Words && text == " " {
            // A space at the end of a row is invisible.
            cells.pop();
            rows.push(row_of(&cells));
            cells.clear();
            used = 0;
            continue;
        }
        let last = cells.len() - 1;
        let word = (1..=last).rev().find(|at| may_break(&cells[at - 1], &cells[*at]));
        let end = word.filter(|_| breaks == LineBreaks::Words).unwrap_or(last);
        let rest = cells.split_off(end);
        rows.push(row_of(&cells));
        cells = rest;
        used = cells.iter().map(|cell| cell.width).sum();
    }
    rows.push(row_of(&cells));
    rows
}

fn row_of(cells: &[StyledCell<'_>]) -> ScreenRow {
    let mut row = ScreenRow::default();
    cells.iter().for_each(|cell| row.push(cell.text, cell.style));
    row
}

#[cfg(test)]
#[path = "styled_tests.rs"]
mod tests;
