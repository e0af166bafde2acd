//! Tables in plain text, for terminals and reports.

use std::fmt;
use std::ops::Range;

use crate::printable;

/// Rows of cells in aligned columns. A cell becomes one line without control characters, so that
/// untrusted text cannot imitate another row.
#[derive(Debug, Default)]
pub struct PlainTable {
    aligned_right: Range<usize>,
    rows: Vec<Vec<String>>,
}

impl PlainTable {
    /// Starts a table with the names of its columns.
    #[must_use]
    pub fn with_head(head: &[&str]) -> Self {
        let mut table = Self::default();
        table.row(head.iter().copied());
        table
    }

    /// Aligns these columns to the right, as figures are.
    #[must_use]
    pub fn align_right(self, columns: Range<usize>) -> Self {
        Self { aligned_right: columns, ..self }
    }

    /// Adds a row, which may have fewer cells than the other rows.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        self.rows.push(cells.into_iter().map(|cell| one_line(cell.as_ref())).collect());
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = Vec::new();
        for row in &self.rows {
            widths.resize(widths.len().max(row.len()), 0);
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }
}

impl<R: IntoIterator<Item = C>, C: AsRef<str>> FromIterator<R> for PlainTable {
    fn from_iter<I: IntoIterator<Item = R>>(rows: I) -> Self {
        let mut table = Self::default();
        rows.into_iter().for_each(|row| table.row(row));
        table
    }
}

impl fmt::Display for PlainTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                line += &if self.aligned_right.contains(&column) {
                    format!("{cell:>width$}  ")
                } else {
                    format!("{cell:width$}  ")
                };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Puts untrusted text on one line of a terminal.
fn one_line(text: &str) -> String {
    printable(text).replace(['\n', '\t'], " ")
}

/// Draws a horizontal bar whose length is given in eighths of a character.
#[must_use]
pub fn bar(eighths: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_columns_are_as_wide_as_their_longest_cell() {
        let table = PlainTable::from_iter([["a", "bb", "c"], ["ééé", "b", ""]]);
        assert_eq!(table.to_string(), "a    bb  c\nééé  b\n");
    }

    #[test]
    fn table_aligns_the_chosen_columns_to_the_right() {
        let mut table = PlainTable::with_head(&["", "each", "of"]).align_right(1..3);
        table.row(["one", "1", "20", "more"]);
        table.row(["three", "10000"]);
        assert_eq!(table.to_string(), "        each  of\none        1  20  more\nthree  10000\n");
    }

    #[test]
    fn table_keeps_a_cell_on_one_line_and_counts_visible_characters() {
        let table = PlainTable::from_iter([["a\u{1b}[2J", "x"], ["one\ntwo", "y"]]);
        assert_eq!(table.to_string(), "a[2J     x\none two  y\n");
    }

    #[test]
    fn bar_is_drawn_in_eighths_of_a_character() {
        for (eighths, expected) in [(0, ""), (1, "▏"), (8, "█"), (20, "██▌")] {
            assert_eq!(bar(eighths), expected);
        }
    }
}
