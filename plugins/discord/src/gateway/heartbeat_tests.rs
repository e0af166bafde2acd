use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn heartbeat() -> Heartbeat {
    let mut heartbeat = Heartbeat::new(40 * SECOND, 100 * SECOND, 500);
    heartbeat.session_started();
    heartbeat
}

#[test]
fn heartbeat_is_due_after_a_jittered_first_interval_then_a_full_one() {
    let mut heartbeat = heartbeat();
    assert_eq!(heartbeat.until_deadline(100 * SECOND), 20 * SECOND);
    assert!(!heartbeat.is_due(119 * SECOND) && heartbeat.is_due(120 * SECOND));
    heartbeat.sent(120 * SECOND);
    heartbeat.acknowledged();
    assert_eq!(heartbeat.until_deadline(120 * SECOND), 40 * SECOND);
}

#[test]
fn f9_missed_deadline_after_a_heartbeat_without_an_answer_in_time() {
    let mut heartbeat = heartbeat();
    heartbeat.sent(120 * SECOND);
    assert_eq!(heartbeat.missed_deadline(134 * SECOND), None);
    assert_eq!(heartbeat.missed_deadline(135 * SECOND), Some("no answer to heartbeats"));
    heartbeat.extend(135 * SECOND);
    assert_eq!(heartbeat.missed_deadline(135 * SECOND), None, "reading had paused");
    heartbeat.acknowledged();
    assert_eq!(heartbeat.missed_deadline(159 * SECOND), None);
}

#[test]
fn missed_deadline_uses_a_heartbeat_interval_shorter_than_the_timeout() {
    let mut heartbeat = Heartbeat::new(2 * SECOND, Duration::ZERO, 1000);
    heartbeat.session_started();
    heartbeat.sent(2 * SECOND);
    assert_eq!(heartbeat.until_deadline(2 * SECOND), 2 * SECOND);
    // A second heartbeat, which the server requests, keeps the first deadline.
    heartbeat.sent(3 * SECOND);
    assert!(heartbeat.missed_deadline(4 * SECOND).is_some());
}

#[test]
fn f9_missed_deadline_if_no_session_starts_and_no_event_arrives_in_time() {
    let mut heartbeat = Heartbeat::new(40 * SECOND, Duration::ZERO, 1000);
    heartbeat.received(10 * SECOND);
    assert_eq!(heartbeat.missed_deadline(24 * SECOND), None);
    assert_eq!(heartbeat.missed_deadline(25 * SECOND), Some("no session begins"));
}
