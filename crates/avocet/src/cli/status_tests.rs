use avocet_protocol::daemon::{Ignored, LastFailure};
use avocet_protocol::ids::{ConsolidationId, DeliveryId};
use avocet_protocol::store::MemoryScope;

use super::*;

const NOW: Timestamp = Timestamp(10_000_000);

/// A moment this many seconds ago.
fn at(seconds: i64) -> Timestamp {
    Timestamp(NOW.0 - seconds * 1000)
}

fn last(success: Option<i64>, failure: Option<(i64, u64, &str)>) -> LastExchanges {
    let failure = failure.map(|(seconds, in_a_row, reason)| LastFailure {
        at: at(seconds),
        reason: reason.to_owned(),
        in_a_row,
    });
    LastExchanges { success: success.map(at), failure }
}

fn provider(name: &str, fault: Option<&str>, requests: LastExchanges) -> ProviderStatus {
    ProviderStatus { provider: name.to_owned(), fault: fault.map(str::to_owned), requests }
}

fn channel(account: &str, fault: Option<&str>, exchanges: LastExchanges) -> ChannelStatus {
    ChannelStatus { account: account.to_owned(), fault: fault.map(str::to_owned), exchanges }
}

fn waiting(chat: i64, count: u64, attempts: u32, error: Option<&str>) -> WaitingChat {
    WaitingChat {
        chat: format!("telegram:work:{chat}").parse().unwrap(),
        count,
        next: DeliveryId(chat),
        since: at(600),
        attempts,
        error: error.map(str::to_owned),
    }
}

fn status() -> DaemonStatus {
    let expired = "claude/x refused the key (401: expired); check api_key in the configuration";
    DaemonStatus {
        version: "0.1.0".to_owned(),
        pid: Some(4711),
        uptime_seconds: 11_520,
        data_dir: "/var/lib/avocet".to_owned(),
        model: "local/qwen3".to_owned(),
        log: LogStatus {
            epoch: 7,
            sessions: 3,
            messages: 120,
            queued: 1,
            running: 2,
            waiting: 1,
            pending: 4,
            unconfirmed: 1,
            dead: 0,
            ignored: vec![Ignored {
                account: "telegram:work".to_owned(),
                reason: "not mentioned".to_owned(),
                count: 12,
            }],
            schedules: 2,
            next_due: Some(at(-600)),
            consolidation: Some(Consolidation {
                id: ConsolidationId(3),
                scope: MemoryScope::Everyone,
                began_at: Timestamp(1_767_225_600_000),
                state: ConsolidationState::Done,
                applied: 2,
                error: None,
            }),
            rolled_back: Some(RolledBack {
                at: Timestamp(1_767_225_600_000),
                why: "it was restored from copy.db".to_owned(),
            }),
            waiting_chats: vec![
                waiting(7, 121, 10, Some("not sent: no connection")),
                waiting(8, 2, 1, None),
                waiting(9, 1, 0, None),
            ],
            more_waiting_chats: 3,
            stuck_chats: 1,
        },
        audit_fault: Some("row 3 was changed".to_owned()),
        log_check: LogCheck::Running,
        disk: DiskStatus {
            free_bytes: Some(0),
            fault: Some("the disk that holds avocet.db is full".to_owned()),
            writes: last(Some(90), Some((2, 41, "the disk that holds avocet.db is full"))),
        },
        providers: vec![
            provider("claude", Some(expired), last(None, Some((7, 3, expired)))),
            provider("local", None, last(Some(12), Some((7200, 0, "no connection")))),
            provider("spare", None, LastExchanges::default()),
        ],
        channels: vec![
            channel(
                "telegram:work",
                Some("no successful exchange for 3 min: 409"),
                last(Some(180), Some((1, 9, "409"))),
            ),
            channel("discord:main", None, last(Some(3), None)),
            channel("terminal:local", None, LastExchanges::default()),
        ],
        telemetry: Some(TelemetryStatus {
            exchanges: last(Some(90), Some((5, 3, "the collector answered 503"))),
            behind: 40,
        }),
        warnings: vec!["PROGRAMS RUN WITHOUT A SANDBOX".to_owned()],
    }
}

#[test]
fn text_shows_the_status_with_and_without_a_daemon() {
    insta::assert_snapshot!(status_text(&status(), NOW));
    let down = DaemonStatus { pid: None, channels: Vec::new(), ..status() };
    assert!(
        status_text(&down, NOW).starts_with("daemon           not running\n"),
        "{}",
        status_text(&down, NOW)
    );
}

#[test]
fn status_exit_code_reports_a_failed_part() {
    let well = DaemonStatus {
        disk: DiskStatus::default(),
        providers: vec![provider("local", None, LastExchanges::default())],
        channels: vec![channel("terminal:local", None, LastExchanges::default())],
        ..status()
    };
    let bad = || Some("down");
    let table = [
        (well.clone(), Exit::Done),
        (DaemonStatus { pid: None, ..well.clone() }, Exit::NoDaemon),
        (DaemonStatus { disk: status().disk, ..well.clone() }, Exit::Down),
        (
            DaemonStatus {
                providers: vec![provider("a", bad(), LastExchanges::default())],
                ..well.clone()
            },
            Exit::Down,
        ),
        (
            DaemonStatus { channels: vec![channel("a", bad(), LastExchanges::default())], ..well },
            Exit::Down,
        ),
    ];
    for (status, expected) in table {
        assert_eq!(exit(&status), expected, "{status:?}");
    }
}

#[test]
fn text_counts_one_session_in_the_singular() {
    let mut status = status();
    status.log.sessions = 1;
    assert!(status_text(&status, NOW).contains("120 in 1 session, 1 queued"));
}

#[test]
fn fault_of_the_file_is_a_warning_unless_the_daemon_has_it() {
    let fault = "config.toml:1:1: unknown key `oops`";
    for (known, expected) in [(vec![], 1), (vec![format!("a fault: {fault}")], 1)] {
        let warnings = with_warning(known, fault);
        assert_eq!(warnings.iter().filter(|one| one.contains(fault)).count(), expected);
    }
}
