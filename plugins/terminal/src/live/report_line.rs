//! A line below a tool call: a line of its output, or of a change of a file.

use avocet_text::printable;

use crate::styled::{LineBreaks, PaletteColour, ScreenRow, StyledSpan, TextStyle, wrap_spans};

const INDENT: &str = "  ";

/// The kind of a line, which decides about its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Output,
    Error,
    Added,
    Removed,
    Unchanged,
    /// A file, or a gap between changes.
    Heading,
}

impl LineKind {
    pub(super) fn style(self) -> TextStyle {
        match self {
            Self::Output | Self::Unchanged => TextStyle::DIM,
            Self::Error | Self::Removed => TextStyle::with_colour(PaletteColour::Red),
            Self::Added => TextStyle::with_colour(PaletteColour::Green),
            Self::Heading => TextStyle::with_colour(PaletteColour::Cyan),
        }
    }
}

/// A line below a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReportLine {
    pub(super) kind: LineKind,
    pub(super) text: String,
}

impl ReportLine {
    pub(super) fn new(kind: LineKind, text: &str) -> Self {
        Self { kind, text: printable(text).replace('\t', "    ") }
    }

    /// Splits a text into lines.
    pub(super) fn split_text(kind: LineKind, text: &str) -> Vec<Self> {
        let text = text.trim_end();
        if text.is_empty() {
            return Vec::new();
        }
        // A program that reports its progress paints over its line.
        let last_state = |line: &str| {
            let line = line.trim_end_matches('\r');
            Self::new(kind, line.rsplit('\r').next().unwrap_or(line))
        };
        text.split('\n').map(last_state).collect()
    }

    /// Returns the line as one row.
    pub(super) fn to_row(&self, columns: usize) -> ScreenRow {
        let mut row = ScreenRow::with_text(INDENT, TextStyle::PLAIN);
        row.push(&self.text, self.kind.style());
        row.cut(columns)
    }

    /// Returns the whole line in as many rows as it needs.
    pub(super) fn wrapped_rows(&self, columns: usize) -> impl Iterator<Item = ScreenRow> {
        let span = StyledSpan::new(self.text.as_str(), self.kind.style());
        let width = columns.saturating_sub(INDENT.len());
        let breaks =
            if self.kind == LineKind::Error { LineBreaks::Words } else { LineBreaks::Anywhere };
        wrap_spans(&[span], width, breaks).into_iter().map(|part| {
            let mut row = ScreenRow::with_text(INDENT, TextStyle::PLAIN);
            row.append(&part);
            row
        })
    }
}
