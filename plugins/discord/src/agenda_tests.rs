use super::*;

const SECOND: Duration = Duration::from_secs(1);
const NOW: Duration = Duration::from_secs(100);

fn channel(id: u64) -> Subject {
    Subject::Channel(ChannelId::new(id))
}

fn all_due(agenda: &mut Agenda, now: Duration) -> Vec<Subject> {
    std::iter::from_fn(|| agenda.next(now)).collect()
}

#[test]
fn agenda_failed_retries_with_growing_waits_and_delays_no_other_subject() {
    let mut agenda = Agenda::default();
    let mut now = NOW;
    agenda.add(channel(1), When::At(now));
    for round in 0..20_u64 {
        assert_eq!(all_due(&mut agenda, now), [channel(1)]);
        let wait = agenda.failed(channel(1), "HTTP 500".to_owned(), now);
        assert!(wait >= SECOND && wait <= 2 * LONGEST_WAIT, "{wait:?}");
        agenda.add(channel(2 + round), When::At(now));
        assert_eq!(all_due(&mut agenda, now), [channel(2 + round)]);
        agenda.remove(channel(2 + round));
        now += wait;
        assert_eq!(agenda.due(), Some(now));
    }
}

#[test]
fn agenda_holds_listed_subjects_until_servers_list_them_or_a_timeout() {
    let listed = |change: fn(&mut Agenda)| {
        let mut agenda = Agenda::default();
        agenda.begin(NOW);
        agenda.add(channel(1), When::Listed);
        agenda.add(Subject::Commands, When::Last);
        change(&mut agenda);
        agenda
    };
    let mut agenda = listed(|_| {});
    assert_eq!(all_due(&mut agenda, NOW), []);
    assert_eq!(agenda.due(), Some(NOW + LISTING));
    assert_eq!(all_due(&mut agenda, NOW + LISTING), [channel(1)]);
    let mut agenda = listed(|agenda| agenda.all_listed(NOW));
    assert_eq!(all_due(&mut agenda, NOW), [channel(1)]);
}

#[test]
fn agenda_next_returns_last_subjects_after_all_others_were_tried() {
    let mut agenda = Agenda::default();
    agenda.add(Subject::Commands, When::Last);
    agenda.add(channel(1), When::At(NOW));
    agenda.add(channel(2), When::At(NOW));
    assert_eq!(all_due(&mut agenda, NOW), [channel(1), channel(2)]);
    agenda.remove(channel(1));
    assert_eq!(all_due(&mut agenda, NOW), []);
    agenda.waits(channel(2), NOW + SECOND);
    assert_eq!(all_due(&mut agenda, NOW), [Subject::Commands]);
}

#[test]
fn agenda_next_limits_requests_in_flight() {
    let mut agenda = Agenda::default();
    for id in 1..=20 {
        agenda.add(channel(id), When::At(NOW));
    }
    assert_eq!(all_due(&mut agenda, NOW).len(), AT_ONCE);
    assert_eq!(agenda.due(), None);
    agenda.remove(channel(1));
    assert_eq!(all_due(&mut agenda, NOW), [channel(9)]);
    agenda.begin(NOW);
    assert_eq!(all_due(&mut agenda, NOW).len(), AT_ONCE, "what was under way is forgotten");
}

#[test]
fn agenda_complaint_counts_failed_channels_until_they_succeed() {
    let mut agenda = Agenda::default();
    for id in 1..=2 {
        agenda.add(channel(id), When::At(NOW));
        agenda.failed(channel(id), "HTTP 500".to_owned(), NOW);
    }
    let said = agenda.complaint().unwrap();
    assert!(said.contains("2 channels") && said.contains("HTTP 500"), "{said}");
    agenda.goes_on(channel(1), NOW);
    assert!(agenda.complaint().unwrap().contains("a channel"));
    agenda.remove(channel(2));
    assert_eq!(agenda.complaint(), None);
}

#[test]
fn agenda_urge_moves_a_subject_to_the_front_until_it_is_removed() {
    let mut agenda = Agenda::default();
    for id in 1..=20 {
        agenda.add(channel(id), When::At(NOW - SECOND));
    }
    agenda.add(channel(99), When::At(NOW));
    agenda.urge(channel(99));
    agenda.urge(channel(404));
    assert_eq!(agenda.next(NOW), Some(channel(99)));
    agenda.goes_on(channel(99), NOW);
    assert_eq!(agenda.next(NOW), Some(channel(99)), "there is more to ask of it");
    agenda.failed(channel(99), "HTTP 500".to_owned(), NOW);
    assert_eq!(agenda.next(NOW), Some(channel(1)), "it is not due");
    agenda.begin(NOW);
    assert_eq!(agenda.next(NOW), Some(channel(99)));
    agenda.remove(channel(99));
    agenda.add(channel(99), When::At(NOW));
    assert_eq!(agenda.next(NOW), Some(channel(1)));
}

#[test]
fn agenda_next_uses_half_of_the_platform_rate_per_second() {
    let mut agenda = Agenda::default();
    let ask = |agenda: &mut Agenda, now| {
        let mut count = 0;
        for id in 1..=100 {
            agenda.add(channel(id), When::At(NOW));
            count += usize::from(agenda.next(now).is_some());
            agenda.remove(channel(id));
        }
        agenda.add(channel(1), When::At(NOW));
        count
    };
    assert_eq!(ask(&mut agenda, NOW), 25);
    assert_eq!(agenda.due(), Some(NOW + SECOND));
    assert_eq!(ask(&mut agenda, NOW + SECOND / 2), 0);
    assert_eq!(ask(&mut agenda, NOW + SECOND), 25);
    assert_eq!(agenda.due(), Some(NOW + 2 * SECOND));
}
