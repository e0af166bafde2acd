//! Lays a table out. A table that is too wide for the screen becomes a list of rows.

use pulldown_cmark::Alignment;

use crate::styled::{LineBreaks, ScreenRow, StyledSpan, TextStyle, width, wrap_spans};

/// The least columns of a cell. If they do not fit, the table becomes a list.
const MIN_CELL: usize = 8;
/// Columns between two cells.
const GAP: &str = " │ ";
const CROSSING: &str = "─┼─";

/// A table under construction. The first row is the head.
#[derive(Debug, Default)]
pub(super) struct TableBuilder {
    pub(super) alignments: Vec<Alignment>,
    pub(super) rows: Vec<Vec<Vec<StyledSpan>>>,
}

impl TableBuilder {
    /// Returns the rows of the table, each of at most `columns`.
    pub(super) fn laid_out(self, columns: usize) -> Vec<ScreenRow> {
        match self.fit_widths(columns) {
            Some(widths) => self.grid_rows(&widths),
            None => self.list_rows(columns),
        }
    }

    /// Returns the widths of the cells; `None` if they are too narrow to be read.
    fn fit_widths(&self, columns: usize) -> Option<Vec<usize>> {
        let mut widths = vec![1; self.alignments.len()];
        for (cell, width) in self.rows.iter().flat_map(|row| row.iter().zip(0..)) {
            if let Some(most) = widths.get_mut::<usize>(width) {
                *most = (*most).max(cell_width(cell));
            }
        }
        let gaps = width(GAP) * widths.len().saturating_sub(1);
        let free = columns.checked_sub(gaps)?;
        if widths.iter().sum::<usize>() <= free {
            return Some(widths);
        }
        let limit = widest_cell(&widths, free)?;
        Some(widths.into_iter().map(|width| width.min(limit)).collect())
    }

    fn grid_rows(&self, widths: &[usize]) -> Vec<ScreenRow> {
        let is_broken = self.rows.iter().flatten().zip(widths.iter().cycle());
        let is_broken = is_broken.into_iter().any(|(cell, width)| cell_width(cell) > *width);
        let mut rows = Vec::new();
        for (number, cells) in self.rows.iter().enumerate() {
            if number == 1 || (number > 1 && is_broken) {
                rows.push(rule_row(widths));
            }
            rows.extend(self.grid_row(cells, widths));
        }
        if self.rows.len() == 1 {
            rows.push(rule_row(widths));
        }
        rows
    }

    /// Lays one row out. A long cell takes several rows of the screen.
    fn grid_row(&self, cells: &[Vec<StyledSpan>], widths: &[usize]) -> Vec<ScreenRow> {
        let empty: &[StyledSpan] = &[];
        let cells = cells.iter().map(Vec::as_slice).chain(std::iter::repeat(empty));
        let wrapped: Vec<Vec<ScreenRow>> = cells
            .zip(widths)
            .map(|(cell, width)| wrap_spans(cell, *width, LineBreaks::Words))
            .collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or_default();
        let row = |line: usize| {
            let mut row = ScreenRow::default();
            let columns = wrapped.iter().zip(widths).zip(&self.alignments).enumerate();
            for (number, ((cell, width), alignment)) in columns {
                if number > 0 {
                    row.push(GAP, TextStyle::DIM);
                }
                let text = cell.get(line).cloned().unwrap_or_default();
                let free = width.saturating_sub(text.width());
                let left = match alignment {
                    Alignment::Right => free,
                    Alignment::Center => free / 2,
                    Alignment::None | Alignment::Left => 0,
                };
                row.push(&" ".repeat(left), TextStyle::PLAIN);
                row.append(&text);
                if number + 1 < widths.len() {
                    row.push(&" ".repeat(free - left), TextStyle::PLAIN);
                }
            }
            row
        };
        (0..height).map(row).collect()
    }

    /// Lays each row out as lines of the form `head: cell`.
    fn list_rows(&self, columns: usize) -> Vec<ScreenRow> {
        let (head, body) =
            self.rows.split_first().map_or((&[][..], &[][..]), |(head, body)| (head, body));
        let mut rows = Vec::new();
        for (number, cells) in body.iter().enumerate() {
            if number > 0 {
                rows.push(ScreenRow::with_text("─".repeat(columns.min(MIN_CELL)), TextStyle::DIM));
            }
            for (place, cell) in cells.iter().enumerate() {
                let mut line = head.get(place).cloned().unwrap_or_default();
                if !line.is_empty() {
                    line.push(StyledSpan::new(": ", TextStyle::BOLD));
                }
                line.extend(cell.iter().cloned());
                rows.extend(wrap_spans(&line, columns, LineBreaks::Words));
            }
        }
        if body.is_empty() {
            let cells = head.iter().flat_map(|cell| wrap_spans(cell, columns, LineBreaks::Words));
            rows.extend(cells);
        }
        rows
    }
}

fn cell_width(cell: &[StyledSpan]) -> usize {
    cell.iter().map(|span| width(&span.text)).sum()
}

/// Returns the width of the widest cells, so that all cells fill `free` columns; `None` if they
/// would be narrower than [`MIN_CELL`].
fn widest_cell(widths: &[usize], free: usize) -> Option<usize> {
    let fits = |limit: &usize| widths.iter().map(|width| width.min(limit)).sum::<usize>() <= free;
    let limit = (MIN_CELL..=free).rev().find(fits)?;
    Some(limit)
}

fn rule_row(widths: &[usize]) -> ScreenRow {
    let parts: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
    ScreenRow::with_text(parts.join(CROSSING), TextStyle::DIM)
}
