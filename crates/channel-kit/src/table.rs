//! Formats a table as lines of text whose columns are aligned.

use pulldown_cmark::Alignment;
use unicode_width::UnicodeWidthStr;

/// The largest width, in terminal columns, to which cells are padded, so that one long cell does
/// not widen all rows.
const MAX_WIDTH: usize = 40;
/// Columns of a table that fits on the screen of a telephone.
const NARROW: usize = 44;

/// A table under construction.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(crate) fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new() }
    }

    pub(crate) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(crate) fn begin_cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    /// Adds text to the last cell. Line breaks become spaces.
    pub(crate) fn push(&mut self, text: &str) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.extend(text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }));
        }
    }

    /// Returns the text of the last cell.
    pub(crate) fn cell(&self) -> &str {
        self.rows.last().and_then(|row| row.last()).map_or("", |cell| cell)
    }

    /// Returns `true` if a telephone breaks the lines of the table.
    pub(crate) fn is_wide(&self) -> bool {
        let longest = |row: &Vec<String>| {
            let cells: usize = row.iter().map(|cell| cell.trim().width()).sum();
            cells + " | ".len() * row.len().saturating_sub(1)
        };
        self.rows.len() > 1
            && self.alignments.len() > 1
            && self.rows.iter().map(longest).max().is_some_and(|width| width > NARROW)
    }

    /// Returns the rows behind the head: each cell with the head of its column.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Vec<(&str, &str)>> {
        let (head, rows) = self
            .rows
            .split_first()
            .map_or((&[][..], &[][..]), |(head, rows)| (head.as_slice(), rows));
        rows.iter().map(move |row| {
            let heads = head.iter().map(|head| head.trim());
            heads.zip(row.iter().map(|cell| cell.trim())).collect()
        })
    }

    /// Returns the rows as lines; the first one is the head.
    pub(crate) fn text(&self) -> String {
        let widths = self.widths();
        let mut lines: Vec<String> = self.rows.iter().map(|row| self.line(row, &widths)).collect();
        let rule: Vec<_> = widths.iter().map(|&width| "-".repeat(width)).collect();
        lines.insert(1.min(lines.len()), rule.join("-+-"));
        lines.join("\n")
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![1; self.alignments.len()];
        for (column, cell) in self.rows.iter().flat_map(|row| row.iter().enumerate()) {
            if let Some(width) = widths.get_mut(column) {
                *width = (*width).max(cell.trim().width().min(MAX_WIDTH));
            }
        }
        widths
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let columns = widths.iter().zip(&self.alignments);
        let cells = row.iter().zip(columns).map(|(cell, (width, alignment))| {
            let cell = cell.trim();
            let free = width.saturating_sub(cell.width());
            let left = match alignment {
                Alignment::Right => free,
                Alignment::Center => free / 2,
                Alignment::None | Alignment::Left => 0,
            };
            format!("{}{cell}{}", " ".repeat(left), " ".repeat(free - left))
        });
        let line = cells.collect::<Vec<_>>().join(" | ");
        line.trim_end().to_owned()
    }
}
