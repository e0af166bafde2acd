use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn pulse() -> Pulse {
    let mut pulse = Pulse::new(40 * SECOND, 100 * SECOND, 500);
    pulse.begun();
    pulse
}

#[test]
fn the_first_heartbeat_is_due_after_a_part_of_the_interval_and_the_others_after_all_of_it() {
    let mut pulse = pulse();
    assert_eq!(pulse.quiet(100 * SECOND), 20 * SECOND);
    assert!(!pulse.is_due(119 * SECOND) && pulse.is_due(120 * SECOND));
    pulse.beat(120 * SECOND);
    pulse.acknowledged();
    assert_eq!(pulse.quiet(120 * SECOND), 40 * SECOND);
}

#[test]
fn f9_a_heartbeat_that_is_not_answered_in_time_is_a_dead_connection() {
    let mut pulse = pulse();
    pulse.beat(120 * SECOND);
    assert_eq!(pulse.dead(134 * SECOND), None);
    assert_eq!(pulse.dead(135 * SECOND), Some("heartbeats are not answered"));
    pulse.excuse(135 * SECOND);
    assert_eq!(pulse.dead(135 * SECOND), None, "nobody listened");
    pulse.acknowledged();
    assert_eq!(pulse.dead(159 * SECOND), None);
}

#[test]
fn an_interval_that_is_shorter_than_our_patience_ends_it() {
    let mut pulse = Pulse::new(2 * SECOND, Duration::ZERO, 1000);
    pulse.begun();
    pulse.beat(2 * SECOND);
    assert_eq!(pulse.quiet(2 * SECOND), 2 * SECOND);
    // A second heartbeat, which the server requests, keeps the first deadline.
    pulse.beat(3 * SECOND);
    assert!(pulse.dead(4 * SECOND).is_some());
}

#[test]
fn f9_a_session_that_does_not_begin_is_a_dead_connection_unless_something_is_heard() {
    let mut pulse = Pulse::new(40 * SECOND, Duration::ZERO, 1000);
    pulse.heard(10 * SECOND);
    assert_eq!(pulse.dead(24 * SECOND), None);
    assert_eq!(pulse.dead(25 * SECOND), Some("no session begins"));
}
