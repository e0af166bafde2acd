//! The list of all ended calls with their whole output, on the alternate screen of the terminal.

use std::collections::VecDeque;

use avocet_protocol::ids::CallId;

use super::call_report::CallReport;
use super::{LiveScreen, TerminalSize};
use crate::key::Key;
use crate::styled::{ScreenRow, TextStyle};

/// Bytes of output that are kept. The oldest calls are forgotten first.
const MOST_BYTES: usize = 4 * 1024 * 1024;
const NOTHING: &str = "No tool has run in this chat yet.";

/// The ended calls of the chat.
#[derive(Debug, Default)]
pub(super) struct CallHistory {
    reports: VecDeque<CallReport>,
    bytes: usize,
    /// The number of all calls, which tells an open list about a new one.
    added: usize,
}

impl CallHistory {
    pub(super) fn add_report(&mut self, report: CallReport) {
        self.bytes += report.count_bytes();
        self.added += 1;
        self.reports.push_back(report);
        while self.bytes > MOST_BYTES
            && let Some(oldest) = self.reports.pop_front()
        {
            self.bytes -= oldest.count_bytes();
        }
    }

    /// Returns the report of a call that ended lately.
    pub(super) fn find_report(&self, call: CallId) -> Option<&CallReport> {
        self.reports.iter().rev().find(|report| report.call == call)
    }

    fn lay_out(&self, columns: usize) -> Vec<ScreenRow> {
        let mut rows = Vec::new();
        for report in &self.reports {
            if !rows.is_empty() {
                rows.push(ScreenRow::default());
            }
            rows.extend(report.unfolded_rows(columns));
        }
        rows
    }
}

/// The open list.
#[derive(Debug)]
pub(super) struct CallPager {
    rows: Vec<ScreenRow>,
    /// The columns and the number of calls that `rows` was made for.
    made_for: (usize, usize),
    /// The first visible row; `None` for the end of the list.
    top: Option<usize>,
}

impl LiveScreen {
    /// Keeps the output of a call for the list.
    pub(crate) fn keep_report(&mut self, report: CallReport) {
        self.history.add_report(report);
    }

    pub(super) fn open_pager(&mut self) {
        if self.history.reports.is_empty() {
            return self.show_remark(NOTHING);
        }
        self.painter.open_page();
        self.pager = Some(CallPager { rows: Vec::new(), made_for: (0, 0), top: None });
    }

    pub(super) fn close_pager(&mut self) {
        if self.pager.take().is_some() {
            self.painter.close_page();
        }
    }

    /// Scrolls or closes the list.
    pub(super) fn press_in_pager(&mut self, key: &Key) {
        let visible = visible_rows((self.size)());
        let Some(pager) = &mut self.pager else { return };
        let last = pager.rows.len().saturating_sub(visible);
        let top = pager.top.unwrap_or(last);
        let page = visible.saturating_sub(1).max(1);
        let top = match key {
            Key::Up => top.saturating_sub(1),
            Key::Down => top + 1,
            Key::PageUp => top.saturating_sub(page),
            Key::PageDown => top + page,
            Key::Home => 0,
            Key::End => last,
            Key::Text(text) if text == " " => top + page,
            Key::Text(text) if text == "q" => return self.close_pager(),
            Key::Escape | Key::Interrupt | Key::Unfold | Key::EndOfInput => {
                return self.close_pager();
            }
            _ => top,
        };
        pager.top = Some(top).filter(|top| *top < last);
    }

    /// Paints the list, if it is open. Returns `false` if it is closed.
    pub(super) fn paint_pager(&mut self) -> bool {
        let size = (self.size)();
        let page = self.page_of(size);
        let Some(pager) = &mut self.pager else { return false };
        let wanted = (page.columns, self.history.added);
        if pager.made_for != wanted {
            (pager.rows, pager.made_for) = (self.history.lay_out(page.columns), wanted);
        }
        let visible = visible_rows(size);
        let last = pager.rows.len().saturating_sub(visible);
        let top = pager.top.unwrap_or(last).min(last);
        let end = pager.rows.len().min(top + visible);
        let status = format!(
            "  {}-{end} of {}   ↑ ↓ PgUp PgDn Home End move, q or Ctrl-O closes",
            top + 1,
            pager.rows.len()
        );
        let status = ScreenRow::with_text(status, TextStyle::DIM).cut(page.columns);
        let shown = pager.rows[top..end].iter().chain([&status]);
        let shown: Vec<String> = shown.map(|row| row.paint_row(page.look)).collect();
        self.painter.paint_page(&shown);
        true
    }
}

/// The rows of the list; the status is below them.
fn visible_rows(size: TerminalSize) -> usize {
    size.rows.saturating_sub(1).max(1)
}
