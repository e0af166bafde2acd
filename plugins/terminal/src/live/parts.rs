//! The parts of the live region.

use crate::line::{InputLine, Menu};
use crate::styled::{LineBreaks, Page, ScreenRow, Span, Style, width, wrap};
use unicode_segmentation::UnicodeSegmentation;

use super::{Frame, LiveScreen, RowKind, TerminalSize};

const PROMPT: &str = "> ";
/// Candidates that are visible at once.
const MENU_ROWS: usize = 6;
/// Rows of a waiting line.
const WAITING_ROWS: usize = 2;

impl LiveScreen {
    /// Composes the live region, at most as high as the terminal.
    pub(super) fn frame(&self, size: TerminalSize) -> Frame {
        let page = self.page_of(size);
        let height = size.rows.max(2);
        let (mut input, (row, column)) = input(&self.line, page.columns);
        let (row, window) = window(row, input.len(), height / 3);
        input = input[window].to_vec();
        let mut below = self.below(page.columns);
        below.truncate(height.saturating_sub(input.len() + 1));
        let mut rows = self.above(page);
        let free = height.saturating_sub(input.len() + below.len() + 1);
        rows.drain(..rows.len().saturating_sub(free));
        let cursor = (rows.len() + row, column);
        rows.extend(input);
        rows.extend(below);
        let paint = |row: &ScreenRow| (row.painted(page.look), row.width());
        Frame { rows: rows.iter().map(paint).collect(), cursor }
    }

    /// The open part of the conversation, and an empty row above the input.
    fn above(&self, page: Page) -> Vec<ScreenRow> {
        let mut rows = Vec::new();
        let is_group = !self.tools.is_empty() && self.last == Some(RowKind::Tool);
        let has_content =
            !self.tools.is_empty() || self.activity.is_some() || !self.waiting.is_empty();
        if self.is_answering {
            rows.extend(self.with_gap(self.answer.open(page)));
        } else if has_content && !is_group && self.last.is_some() {
            rows.push(ScreenRow::default());
        }
        rows.extend(self.tools.iter().map(|tool| tool.row(self.now, page.columns)));
        if let Some(activity) = &self.activity {
            if self.is_answering {
                rows.push(ScreenRow::default());
            }
            rows.push(ScreenRow::of(activity.clone(), Style::DIM).cut(page.columns));
        }
        for line in &self.waiting {
            let mut waiting = typed(&line.text, page.columns, Style::DIM);
            waiting.truncate(WAITING_ROWS);
            rows.extend(waiting);
        }
        if self.last.is_some() {
            rows.push(ScreenRow::default());
        }
        rows
    }

    /// The rows below the input: candidates, the search, or the status.
    fn below(&self, columns: usize) -> Vec<ScreenRow> {
        if let Some(menu) = self.line.menu() {
            return menu_rows(menu, columns);
        }
        let text = match self.line.search() {
            Some(search) => format!("search: {}", search.words),
            None => self.status.clone(),
        };
        let row = ScreenRow::of(format!("  {text}"), Style::DIM).cut(columns);
        if text.is_empty() { Vec::new() } else { vec![row] }
    }
}

/// Returns a typed line behind its prompt.
pub(super) fn typed(line: &str, columns: usize, style: Style) -> Vec<ScreenRow> {
    let columns = columns.saturating_sub(PROMPT.len());
    let rows = wrap(
        &[Span::new(avocet_text::printable(line).replace('\t', "    "), style)],
        columns,
        LineBreaks::Words,
    );
    let prompted = |(place, text): (usize, ScreenRow)| {
        let mut row = ScreenRow::of(prompt(place), Style::DIM);
        row.append(&text);
        row
    };
    rows.into_iter().enumerate().map(prompted).collect()
}

fn prompt(place: usize) -> &'static str {
    if place == 0 { PROMPT } else { "  " }
}

/// Lays the typed line out. Returns the row and the column of the cursor, too.
fn input(line: &InputLine, columns: usize) -> (Vec<ScreenRow>, (usize, usize)) {
    let most = columns.saturating_sub(PROMPT.len()).max(1);
    let (mut rows, mut used) = (vec![String::new()], 0);
    let mut cursor = None;
    for (at, grapheme) in line.text().grapheme_indices(true) {
        let shown = if grapheme == "\t" { "    " } else { grapheme };
        let is_break = grapheme == "\n";
        let width = if is_break { 0 } else { width(shown) };
        if used + width > most {
            rows.push(String::new());
            used = 0;
        }
        if at == line.before_cursor().len() {
            cursor = Some((rows.len() - 1, used));
        }
        if is_break {
            rows.push(String::new());
            used = 0;
        } else if let Some(row) = rows.last_mut() {
            row.push_str(shown);
            used += width;
        }
    }
    let (row, column) = cursor.unwrap_or((rows.len() - 1, used));
    let prompted = |(place, text): (usize, String)| {
        let mut row = ScreenRow::of(prompt(place), Style::DIM);
        row.push(&text, Style::PLAIN);
        row
    };
    let rows = rows.into_iter().enumerate().map(prompted).collect();
    (rows, (row, column + PROMPT.len()))
}

/// Chooses the visible rows of a long input. Returns the row of the cursor inside of them.
fn window(row: usize, rows: usize, most: usize) -> (usize, std::ops::Range<usize>) {
    let most = most.max(1);
    let start = (row + 1).saturating_sub(most);
    (row - start, start..rows.min(start + most))
}

fn menu_rows(menu: &Menu, columns: usize) -> Vec<ScreenRow> {
    let count = menu.candidates.len();
    let start = menu.chosen.map_or(0, |chosen| (chosen + 1).saturating_sub(MENU_ROWS));
    let shown = &menu.candidates[start..count.min(start + MENU_ROWS)];
    let longest = shown.iter().map(|one| width(&one.text)).max().unwrap_or_default();
    let mut rows: Vec<ScreenRow> = shown
        .iter()
        .enumerate()
        .map(|(place, candidate)| {
            let is_chosen = menu.chosen == Some(start + place);
            let mark = if is_chosen { "› " } else { "  " };
            let style = if is_chosen { Style::BOLD } else { Style::PLAIN };
            let mut row = ScreenRow::of(format!("{mark}{}", candidate.text), style);
            if !candidate.help.is_empty() {
                row.push(&" ".repeat(longest - width(&candidate.text) + 2), Style::PLAIN);
                row.push(&candidate.help, Style::DIM);
            }
            row.cut(columns)
        })
        .collect();
    if count > shown.len() {
        rows.push(ScreenRow::of(format!("  {} of {count}", shown.len()), Style::DIM));
    }
    rows
}
