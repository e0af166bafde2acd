use avocet_protocol::daemon::{ChannelStatus, DiskStatus, LastExchanges, LogCheck, ProviderStatus};
use avocet_protocol::model::{Money, Usage};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;

const NOW: Timestamp = Timestamp(1_000_000_000);

fn figures(sessions: usize) -> TopFigures {
    let session = |n: usize| SessionSummary {
        session: format!("terminal:local:chat-{n}").parse().unwrap(),
        turns: 1200 + n as u64,
        used_at: Timestamp(NOW.0 - 60_000 * n as i64),
        open: match n {
            2 => Some(TurnState::Running),
            3 => Some(TurnState::Waiting),
            _ => None,
        },
        title: None,
        is_pinned: false,
        is_archived: false,
        branch: 0,
    };
    let up = LastExchanges { success: Some(Timestamp(NOW.0 - 5000)), failure: None };
    let channel = |account: &str, fault: Option<&str>| ChannelStatus {
        account: account.to_owned(),
        fault: fault.map(str::to_owned),
        exchanges: up.clone(),
    };
    let cost = |of: &str, input, dollars: Option<f64>| {
        let usage = Usage::new(input, 100);
        let unpriced = if dollars.is_none() { usage.total() } else { 0 };
        let cost = dollars.map_or(Money::default(), Money::dollars);
        UsageRow { of: of.to_owned(), answers: 3, total: Total { usage, cost, unpriced } }
    };
    TopFigures {
        status: DaemonStatus {
            version: "0.1.0".to_owned(),
            pid: Some(77),
            uptime_seconds: 3661,
            data_dir: "/data".to_owned(),
            model: "openai/gpt".to_owned(),
            log: LogStatus {
                queued: 4,
                running: 1,
                waiting: 1,
                pending: 2,
                dead: 3,
                ..LogStatus::default()
            },
            audit_fault: None,
            log_check: LogCheck::AtStart,
            disk: DiskStatus::default(),
            providers: vec![ProviderStatus {
                provider: "openai".to_owned(),
                fault: None,
                requests: up.clone(),
            }],
            channels: vec![
                channel("telegram:main", None),
                channel("discord:main", Some("no connection\u{1b}[2J")),
            ],
            warnings: Vec::new(),
            telemetry: None,
        },
        sessions: (0..sessions).map(session).collect(),
        usage: vec![cost("openai/gpt", 123_456, Some(1.25)), cost("local/qwen", 900, None)],
    }
}

/// Draws a view on a terminal of this size.
fn drawn(view: &mut TopView, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view.draw(frame)).unwrap();
    terminal.backend().to_string()
}

fn view(sessions: usize) -> TopView {
    let mut view = TopView::new(NOW);
    view.update(Ok(figures(sessions)), NOW);
    view
}

#[test]
fn top_view_fits_terminals_of_all_sizes() {
    for (width, height) in [(80, 24), (120, 40), (40, 24), (80, 12), (30, 10)] {
        let name = format!("top_{width}x{height}");
        insta::assert_snapshot!(name, drawn(&mut view(30), width, height));
    }
    for (width, height) in [(1, 1), (10, 2), (3, 200)] {
        drawn(&mut view(30), width, height);
    }
}

#[test]
fn top_view_keeps_the_last_figures_while_the_daemon_is_gone() {
    let mut view = TopView::new(NOW);
    assert!(drawn(&mut view, 40, 5).contains("waiting for the daemon"));
    view.update(Ok(figures(3)), NOW);
    view.update(Err(ClientError::Lost), NOW);
    let shown = drawn(&mut view, 80, 24);
    assert!(shown.contains("no answer from the daemon:"), "{shown}");
    assert!(shown.contains("terminal:local:chat-1"), "{shown}");
    view.update(Ok(figures(3)), NOW);
    assert!(!drawn(&mut view, 80, 24).contains("no answer from the daemon"));
}

#[test]
fn move_by_scrolls_the_list_within_its_ends() {
    let mut view = view(30);
    // Open turns come first.
    assert!(drawn(&mut view, 80, 24).contains("chat-2 "));
    for (rows, selected) in [(-1, 0), (3, 3), (isize::MAX, 29), (-1, 28), (isize::MIN, 0)] {
        view.move_by(rows);
        assert_eq!(view.list.selected(), Some(selected), "{rows}");
    }
    view.move_by(isize::MAX);
    assert!(drawn(&mut view, 80, 24).contains("chat-29 "));
    view.update(Ok(figures(0)), NOW);
    assert_eq!(view.list.selected(), None);
}
