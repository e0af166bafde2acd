//! The parts of the live region.

use crate::line::{CompletionMenu, InputLine};
use crate::styled::{LineBreaks, PageLayout, ScreenRow, StyledSpan, TextStyle, width, wrap_spans};
use unicode_segmentation::UnicodeSegmentation;

use super::{LiveFrame, LiveScreen, RowKind, TerminalSize};

const PROMPT: &str = "> ";
/// Candidates that are visible at once.
const MENU_ROWS: usize = 6;
/// Rows of a waiting line.
const WAITING_ROWS: usize = 2;

impl LiveScreen {
    /// Composes the live region, at most as high as the terminal.
    pub(super) fn compose_frame(&self, size: TerminalSize) -> LiveFrame {
        let page = self.page_of(size);
        let height = size.rows.max(2);
        let (mut input, (row, column)) = lay_out_input(&self.line, page.columns);
        let (row, window) = visible_rows(row, input.len(), height / 3);
        input = input[window].to_vec();
        let mut below = self.rows_below(page.columns);
        below.truncate(height.saturating_sub(input.len() + 1));
        let mut rows = self.rows_above(page);
        let free = height.saturating_sub(input.len() + below.len() + 1);
        rows.drain(..rows.len().saturating_sub(free));
        let cursor = (rows.len() + row, column);
        rows.extend(input);
        rows.extend(below);
        let paint = |row: &ScreenRow| (row.paint_row(page.look), row.width());
        LiveFrame { rows: rows.iter().map(paint).collect(), cursor }
    }

    /// The open part of the conversation, and an empty row above the input.
    fn rows_above(&self, page: PageLayout) -> Vec<ScreenRow> {
        let mut rows = Vec::new();
        let is_group = !self.tools.is_empty() && self.last == Some(RowKind::Tool);
        let has_content =
            !self.tools.is_empty() || self.activity.is_some() || !self.waiting.is_empty();
        if self.is_answering {
            rows.extend(self.with_gap(self.answer.open(page)));
        } else if has_content && !is_group && self.last.is_some() {
            rows.push(ScreenRow::default());
        }
        rows.extend(self.tools.iter().flat_map(|tool| tool.tool_rows(self.now, page.columns)));
        if let Some(activity) = &self.activity {
            if self.is_answering {
                rows.push(ScreenRow::default());
            }
            rows.push(ScreenRow::with_text(activity.clone(), TextStyle::DIM).cut(page.columns));
        }
        for line in &self.waiting {
            let text = self.line.folded_texts().shorten_message(&line.text);
            let mut waiting = typed_rows(&text, page.columns, TextStyle::DIM);
            waiting.truncate(WAITING_ROWS);
            rows.extend(waiting);
        }
        if self.last.is_some() {
            rows.push(ScreenRow::default());
        }
        rows
    }

    /// The rows below the input: candidates, the search, or the status.
    fn rows_below(&self, columns: usize) -> Vec<ScreenRow> {
        if let Some(menu) = self.line.menu() {
            return menu_rows(menu, columns);
        }
        let text = match self.line.search() {
            Some(search) => format!("search: {}", search.words),
            None => self.hint.map_or_else(|| self.status.clone(), str::to_owned),
        };
        let row = ScreenRow::with_text(format!("  {text}"), TextStyle::DIM).cut(columns);
        if text.is_empty() { Vec::new() } else { vec![row] }
    }
}

/// Returns a typed line behind its prompt.
pub(super) fn typed_rows(line: &str, columns: usize, style: TextStyle) -> Vec<ScreenRow> {
    let columns = columns.saturating_sub(PROMPT.len());
    let rows = wrap_spans(
        &[StyledSpan::new(avocet_text::printable(line).replace('\t', "    "), style)],
        columns,
        LineBreaks::Words,
    );
    let prompted = |(place, text): (usize, ScreenRow)| {
        let mut row = ScreenRow::with_text(prompt_of_row(place), TextStyle::DIM);
        row.append(&text);
        row
    };
    rows.into_iter().enumerate().map(prompted).collect()
}

fn prompt_of_row(place: usize) -> &'static str {
    if place == 0 { PROMPT } else { "  " }
}

/// Lays the typed line out. Returns the row and the column of the cursor, too.
fn lay_out_input(line: &InputLine, columns: usize) -> (Vec<ScreenRow>, (usize, usize)) {
    let most = columns.saturating_sub(PROMPT.len()).max(1);
    let (mut rows, mut used) = (vec![String::new()], 0);
    let mut cursor = None;
    for (at, grapheme) in line.text().grapheme_indices(true) {
        let folded = line.folded_texts().summary_of(grapheme);
        let shown = if grapheme == "\t" { "    " } else { grapheme };
        let shown = folded.as_deref().unwrap_or(shown);
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
        let mut row = ScreenRow::with_text(prompt_of_row(place), TextStyle::DIM);
        row.push(&text, TextStyle::PLAIN);
        row
    };
    let rows = rows.into_iter().enumerate().map(prompted).collect();
    (rows, (row, column + PROMPT.len()))
}

/// Chooses the visible rows of a long input. Returns the row of the cursor inside of them.
fn visible_rows(row: usize, rows: usize, most: usize) -> (usize, std::ops::Range<usize>) {
    let most = most.max(1);
    let start = (row + 1).saturating_sub(most);
    (row - start, start..rows.min(start + most))
}

fn menu_rows(menu: &CompletionMenu, columns: usize) -> Vec<ScreenRow> {
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
            let style = if is_chosen { TextStyle::BOLD } else { TextStyle::PLAIN };
            let mut row = ScreenRow::with_text(format!("{mark}{}", candidate.text), style);
            if !candidate.help.is_empty() {
                row.push(&" ".repeat(longest - width(&candidate.text) + 2), TextStyle::PLAIN);
                row.push(&candidate.help, TextStyle::DIM);
            }
            row.cut(columns)
        })
        .collect();
    if count > shown.len() {
        rows.push(ScreenRow::with_text(format!("  {} of {count}", shown.len()), TextStyle::DIM));
    }
    rows
}
