use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn pulse() -> Pulse {
    let mut pulse = Pulse::new(40 * SECOND, 100 * SECOND, 500);
    pulse.begun();
    pulse
}

#[test]
fn pulse_is_due_after_a_jittered_first_interval_then_a_full_one() {
    let mut pulse = pulse();
    assert_eq!(pulse.quiet(100 * SECOND), 20 * SECOND);
    assert!(!pulse.is_due(119 * SECOND) && pulse.is_due(120 * SECOND));
    pulse.beat(120 * SECOND);
    pulse.acknowledged();
    assert_eq!(pulse.quiet(120 * SECOND), 40 * SECOND);
}

#[test]
fn f9_pulse_dead_after_a_heartbeat_without_an_answer_in_time() {
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
fn pulse_dead_uses_a_heartbeat_interval_shorter_than_the_timeout() {
    let mut pulse = Pulse::new(2 * SECOND, Duration::ZERO, 1000);
    pulse.begun();
    pulse.beat(2 * SECOND);
    assert_eq!(pulse.quiet(2 * SECOND), 2 * SECOND);
    // A second heartbeat, which the server requests, keeps the first deadline.
    pulse.beat(3 * SECOND);
    assert!(pulse.dead(4 * SECOND).is_some());
}

#[test]
fn f9_pulse_dead_if_no_session_begins_and_no_event_arrives_in_time() {
    let mut pulse = Pulse::new(40 * SECOND, Duration::ZERO, 1000);
    pulse.heard(10 * SECOND);
    assert_eq!(pulse.dead(24 * SECOND), None);
    assert_eq!(pulse.dead(25 * SECOND), Some("no session begins"));
}
