//! The page of `avocet top`. It takes the size of the terminal, and leaves out columns and then
//! sections that do not fit.

use avocet_gateway::ClientError;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::daemon::{DaemonStatus, LogStatus};
use avocet_protocol::model::thousands;
use avocet_protocol::store::{SessionSummary, Total, UsageRow};
use avocet_protocol::turn::TurnState;
use avocet_text::printable;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState, Wrap};

use super::TopFigures;
use crate::output::{format_age, format_span};

/// The width from which all columns are shown.
const WIDE: u16 = 60;
/// The least rows of the list of conversations, its head included.
const LEAST_LIST: u16 = 4;
/// The most rows of the other sections, without their heads.
const MOST_ROWS_BESIDE: usize = 6;

/// The state of the view.
#[derive(Debug)]
pub(super) struct TopView {
    /// The last answers; `None` before the first.
    figures: Option<TopFigures>,
    /// The reason why the last question had no answer.
    fault: Option<String>,
    now: Timestamp,
    list: TableState,
}

impl TopView {
    pub(super) fn new(now: Timestamp) -> Self {
        Self { figures: None, fault: None, now, list: TableState::default() }
    }

    /// Takes new answers. Without them, the last ones stay.
    pub(super) fn update(&mut self, figures: Result<TopFigures, ClientError>, now: Timestamp) {
        self.now = now;
        match figures {
            Ok(mut figures) => {
                // Conversations with an open turn come first; the daemon orders the rest.
                figures.sessions.sort_by_key(|session| state_rank(session.open));
                (self.figures, self.fault) = (Some(figures), None);
            }
            Err(error) => self.fault = Some(error.to_string()),
        }
        self.move_by(0);
    }

    /// Moves the selected conversation.
    pub(super) fn move_by(&mut self, rows: isize) {
        let count = self.figures.as_ref().map_or(0, |figures| figures.sessions.len());
        let last = count.checked_sub(1);
        let selected = self.list.selected().unwrap_or(0).saturating_add_signed(rows);
        self.list.select(last.map(|last| selected.min(last)));
    }

    pub(super) fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let head = self.head(area.width);
        let Some(figures) = &self.figures else {
            frame.render_widget(Paragraph::new(head).wrap(Wrap { trim: true }), area);
            return;
        };
        let services = service_lines(&figures.status, self.now);
        let spend = spending_lines(&figures.usage, area.width);
        let sections = [
            lines_of(head.len()),
            LEAST_LIST,
            lines_of(services.len()) + 1,
            lines_of(spend.len()) + 1,
        ];
        // A section that does not fit is left out, the last one first.
        let room = |count: usize| sections[..count].iter().sum::<u16>() < area.height;
        let (show_services, show_spend) = (room(3), room(4));
        let height = |is_shown: bool, section: usize| if is_shown { sections[section] } else { 0 };
        let areas = Layout::vertical([
            Constraint::Length(sections[0]),
            Constraint::Min(1),
            Constraint::Length(height(show_services, 2)),
            Constraint::Length(height(show_spend, 3)),
            Constraint::Length(1),
        ]);
        let [top, list, of_services, of_spend, foot] = areas.areas(area);
        frame.render_widget(Paragraph::new(head), top);
        let rows = conversation_rows(&figures.sessions, self.now, area.width);
        draw_list(frame, list, rows, &mut self.list);
        if show_services {
            draw_section(frame, of_services, "Providers and channels", services);
        }
        if show_spend {
            draw_section(frame, of_spend, "Spend today (UTC)", spend);
        }
        let keys = "q quit · ↑ ↓ PgUp PgDn conversations";
        frame.render_widget(Line::styled(keys, Style::new().add_modifier(Modifier::DIM)), foot);
    }

    /// Returns the lines above the list, broken to the width.
    fn head(&self, width: u16) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        let Some(TopFigures { status, .. }) = &self.figures else {
            let text = self.fault.clone().unwrap_or_else(|| "waiting for the daemon".to_owned());
            return vec![Line::raw(printable_text(&text))];
        };
        let DaemonStatus { version, pid, uptime_seconds, model, log, .. } = status;
        let pid = pid.map(|pid| format!("process {pid}")).unwrap_or_default();
        let up = format!("up {}", format_span(*uptime_seconds));
        let about = [format!("avocet {version}"), pid, up, model.clone()];
        let bold = Style::new().add_modifier(Modifier::BOLD);
        lines.extend(break_lines(&about, width).into_iter().map(|line| Line::styled(line, bold)));
        lines.extend(break_lines(&queue_words(log), width).into_iter().map(Line::raw));
        let red = Style::new().fg(Color::Red);
        if let Some(fault) = &self.fault {
            let text = format!("no answer from the daemon: {fault}");
            lines.push(Line::styled(printable_text(&text), red));
        }
        for warning in &status.warnings {
            lines.push(Line::styled(printable_text(&format!("warning: {warning}")), red));
        }
        lines
    }
}

fn queue_words(log: &LogStatus) -> Vec<String> {
    let LogStatus { queued, running, waiting, pending, unconfirmed, dead, .. } = log;
    vec![
        format!("{running} running"),
        format!("{waiting} waiting"),
        format!("{queued} queued"),
        format!("outbox {pending} pending"),
        format!("{unconfirmed} unconfirmed"),
        format!("{dead} dead"),
    ]
}

/// Joins words into lines of this width.
fn break_lines(words: &[String], width: u16) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.iter().filter(|word| !word.is_empty()) {
        let word = printable_text(word);
        match lines.last_mut() {
            Some(line) if line.chars().count() + 3 + word.chars().count() <= width.into() => {
                line.push_str(" · ");
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// Returns a text of the daemon that is safe for a terminal.
fn printable_text(text: &str) -> String {
    printable(&text.replace('\n', " ")).into_owned()
}

fn state_rank(open: Option<TurnState>) -> u8 {
    match open {
        Some(TurnState::Running) => 0,
        Some(TurnState::Queued) => 1,
        Some(TurnState::Waiting) => 2,
        Some(TurnState::Done | TurnState::Cancelled | TurnState::Failed) | None => 3,
    }
}

/// The rows of a table with its head, and the widths of its columns.
struct ListRows {
    head: Row<'static>,
    rows: Vec<Row<'static>>,
    widths: Vec<Constraint>,
}

fn conversation_rows(sessions: &[SessionSummary], now: Timestamp, width: u16) -> ListRows {
    let is_wide = width >= WIDE;
    let row = |session: &SessionSummary| {
        let SessionSummary { session, turns, used_at, open, .. } = session;
        let state = open.map_or("", TurnState::as_str);
        let mut cells = vec![Cell::from(printable_text(session.as_str())), Cell::from(state)];
        if is_wide {
            cells.extend([Cell::from(thousands(*turns)), Cell::from(format_age(*used_at, now))]);
        }
        let style = match open {
            Some(TurnState::Running) => Style::new().fg(Color::Green),
            Some(TurnState::Waiting) => Style::new().fg(Color::Yellow),
            _ => Style::new(),
        };
        Row::new(cells).style(style)
    };
    let mut head = vec!["Conversation", "now"];
    let mut widths = vec![Constraint::Min(12), Constraint::Length(8)];
    if is_wide {
        head.extend(["turns", "last used"]);
        widths.extend([Constraint::Length(7), Constraint::Length(14)]);
    }
    ListRows {
        head: Row::new(head).style(head_style()),
        rows: sessions.iter().map(row).collect(),
        widths,
    }
}

fn draw_list(frame: &mut Frame<'_>, area: Rect, list: ListRows, state: &mut TableState) {
    let ListRows { head, rows, widths } = list;
    let selected = Style::new().add_modifier(Modifier::REVERSED);
    let table = Table::new(rows, widths).header(head).row_highlight_style(selected);
    frame.render_stateful_widget(table, area, state);
}

fn draw_section(frame: &mut Frame<'_>, area: Rect, title: &'static str, rows: Vec<Line<'static>>) {
    let head = Line::styled(title, head_style());
    let lines: Vec<Line<'static>> = [head].into_iter().chain(rows).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

fn head_style() -> Style {
    Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD)
}

/// Returns a line for each provider and channel, the faulty ones first.
fn service_lines(status: &DaemonStatus, now: Timestamp) -> Vec<Line<'static>> {
    let disk = [("disk".to_owned(), &status.disk.fault, status.disk.writes.success)].into_iter();
    let providers = status.providers.iter();
    let providers = providers
        .map(|one| (format!("provider {}", one.provider), &one.fault, one.requests.success));
    let channels = status.channels.iter();
    let channels = channels.map(|one| (one.account.clone(), &one.fault, one.exchanges.success));
    let mut all: Vec<_> = disk.chain(providers).chain(channels).collect();
    all.sort_by_key(|(_, fault, _)| fault.is_none());
    let line = |(name, fault, success): (String, &Option<String>, Option<Timestamp>)| match (
        fault, success,
    ) {
        (Some(fault), _) => {
            let text = printable_text(&format!("✗ {name}: {fault}"));
            Line::styled(text, Style::new().fg(Color::Red))
        }
        (None, Some(at)) => {
            Line::raw(printable_text(&format!("✓ {name}, {}", format_age(at, now))))
        }
        (None, None) => Line::raw(printable_text(&format!("✓ {name}"))),
    };
    limit_lines(all.into_iter().map(line).collect())
}

/// Returns a line for each model that cost something, and their sum.
fn spending_lines(usage: &[UsageRow], width: u16) -> Vec<Line<'static>> {
    if usage.is_empty() {
        return vec![Line::raw("nothing yet")];
    }
    let sum = usage.iter().fold(Total::default(), |sum, row| sum + row.total);
    let rows = usage.iter().map(|row| (row.of.as_str(), &row.total));
    let rows: Vec<(&str, &Total)> = [("all models", &sum)].into_iter().chain(rows).collect();
    let longest = rows.iter().map(|(_, total)| total.price().len()).max().unwrap_or(0);
    let line = |(of, total): (&str, &Total)| {
        let (price, tokens) = (total.price(), thousands(total.usage.total()));
        let text = if width >= WIDE {
            format!("{price:<longest$} {tokens:>12} tokens  {of}")
        } else {
            format!("{price} {of}")
        };
        Line::raw(printable_text(&text))
    };
    limit_lines(rows.into_iter().map(line).collect())
}

/// Keeps the first lines, and counts the others.
fn limit_lines(mut lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
    let more = lines.len().saturating_sub(MOST_ROWS_BESIDE);
    if more > 0 {
        lines.truncate(MOST_ROWS_BESIDE - 1);
        lines.push(Line::raw(format!("… {} more", more + 1)));
    }
    lines
}

fn lines_of(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
