use super::*;

const SECOND: Duration = Duration::from_secs(1);
const NOW: Duration = Duration::from_secs(100);

fn channel(id: u64) -> Subject {
    Subject::Channel(ChannelId::new(id))
}

fn all_due(schedule: &mut Schedule, now: Duration) -> Vec<Subject> {
    std::iter::from_fn(|| schedule.next(now)).collect()
}

#[test]
fn schedule_note_failure_retries_with_growing_waits_and_delays_no_other_subject() {
    let mut schedule = Schedule::default();
    let mut now = NOW;
    schedule.add(channel(1), When::At(now));
    for round in 0..20_u64 {
        assert_eq!(all_due(&mut schedule, now), [channel(1)]);
        let wait = schedule.note_failure(channel(1), "HTTP 500".to_owned(), now);
        assert!(wait >= SECOND && wait <= 2 * LONGEST_WAIT, "{wait:?}");
        schedule.add(channel(2 + round), When::At(now));
        assert_eq!(all_due(&mut schedule, now), [channel(2 + round)]);
        schedule.remove(channel(2 + round));
        now += wait;
        assert_eq!(schedule.due(), Some(now));
    }
}

#[test]
fn schedule_holds_listed_subjects_until_servers_list_them_or_a_timeout() {
    let listed = |change: fn(&mut Schedule)| {
        let mut schedule = Schedule::default();
        schedule.restart(NOW);
        schedule.add(channel(1), When::Listed);
        schedule.add(Subject::Commands, When::Last);
        change(&mut schedule);
        schedule
    };
    let mut schedule = listed(|_| {});
    assert_eq!(all_due(&mut schedule, NOW), []);
    assert_eq!(schedule.due(), Some(NOW + LISTING_TIMEOUT));
    assert_eq!(all_due(&mut schedule, NOW + LISTING_TIMEOUT), [channel(1)]);
    let mut schedule = listed(|schedule| schedule.all_listed(NOW));
    assert_eq!(all_due(&mut schedule, NOW), [channel(1)]);
}

#[test]
fn schedule_next_returns_last_subjects_after_all_others_were_tried() {
    let mut schedule = Schedule::default();
    schedule.add(Subject::Commands, When::Last);
    schedule.add(channel(1), When::At(NOW));
    schedule.add(channel(2), When::At(NOW));
    assert_eq!(all_due(&mut schedule, NOW), [channel(1), channel(2)]);
    schedule.remove(channel(1));
    assert_eq!(all_due(&mut schedule, NOW), []);
    schedule.delay(channel(2), NOW + SECOND);
    assert_eq!(all_due(&mut schedule, NOW), [Subject::Commands]);
}

#[test]
fn schedule_next_limits_requests_in_flight() {
    let mut schedule = Schedule::default();
    for id in 1..=20 {
        schedule.add(channel(id), When::At(NOW));
    }
    assert_eq!(all_due(&mut schedule, NOW).len(), MAX_IN_FLIGHT);
    assert_eq!(schedule.due(), None);
    schedule.remove(channel(1));
    assert_eq!(all_due(&mut schedule, NOW), [channel(9)]);
    schedule.restart(NOW);
    assert_eq!(all_due(&mut schedule, NOW).len(), MAX_IN_FLIGHT, "what was under way is forgotten");
}

#[test]
fn schedule_unread_channels_counts_failed_channels_until_they_succeed() {
    let mut schedule = Schedule::default();
    for id in 1..=2 {
        schedule.add(channel(id), When::At(NOW));
        schedule.note_failure(channel(id), "HTTP 500".to_owned(), NOW);
    }
    let said = schedule.unread_channels().unwrap();
    assert!(said.contains("2 channels") && said.contains("HTTP 500"), "{said}");
    schedule.add_next(channel(1), NOW);
    assert!(schedule.unread_channels().unwrap().contains("a channel"));
    schedule.remove(channel(2));
    assert_eq!(schedule.unread_channels(), None);
}

#[test]
fn schedule_mark_urgent_moves_a_subject_to_the_front_until_it_is_removed() {
    let mut schedule = Schedule::default();
    for id in 1..=20 {
        schedule.add(channel(id), When::At(NOW - SECOND));
    }
    schedule.add(channel(99), When::At(NOW));
    schedule.mark_urgent(channel(99));
    schedule.mark_urgent(channel(404));
    assert_eq!(schedule.next(NOW), Some(channel(99)));
    schedule.add_next(channel(99), NOW);
    assert_eq!(schedule.next(NOW), Some(channel(99)), "there is more to ask of it");
    schedule.note_failure(channel(99), "HTTP 500".to_owned(), NOW);
    assert_eq!(schedule.next(NOW), Some(channel(1)), "it is not due");
    schedule.restart(NOW);
    assert_eq!(schedule.next(NOW), Some(channel(99)));
    schedule.remove(channel(99));
    schedule.add(channel(99), When::At(NOW));
    assert_eq!(schedule.next(NOW), Some(channel(1)));
}

#[test]
fn schedule_next_uses_half_of_the_platform_rate_per_second() {
    let mut schedule = Schedule::default();
    let ask = |schedule: &mut Schedule, now| {
        let mut count = 0;
        for id in 1..=100 {
            schedule.add(channel(id), When::At(NOW));
            count += usize::from(schedule.next(now).is_some());
            schedule.remove(channel(id));
        }
        schedule.add(channel(1), When::At(NOW));
        count
    };
    assert_eq!(ask(&mut schedule, NOW), 25);
    assert_eq!(schedule.due(), Some(NOW + SECOND));
    assert_eq!(ask(&mut schedule, NOW + SECOND / 2), 0);
    assert_eq!(ask(&mut schedule, NOW + SECOND), 25);
    assert_eq!(schedule.due(), Some(NOW + 2 * SECOND));
}
