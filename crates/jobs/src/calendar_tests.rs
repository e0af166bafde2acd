use super::*;

fn now() -> Timestamp {
    Timestamp("2026-11-23T11:00:00Z".parse::<jiff::Timestamp>().unwrap().as_millisecond())
}

fn calendar() -> ZoneCalendar {
    ZoneCalendar { default_zone: "Europe/Berlin".to_owned() }
}

fn times(kind: &str, text: &str) -> TimesRequest {
    let given = |name| (kind == name).then(|| text.to_owned());
    TimesRequest {
        after: given("in"),
        at: given("at"),
        every: given("every"),
        cron: given("cron"),
        zone: None,
    }
}

#[test]
fn read_understands_every_way_to_write_times() {
    let table = [
        ("in", "2m", "Monday, 23 November 2026, 12:02 (Europe/Berlin)"),
        ("in", "1h 30m", "Monday, 23 November 2026, 13:30 (Europe/Berlin)"),
        ("in", "2 days", "Wednesday, 25 November 2026, 12:00 (Europe/Berlin)"),
        ("at", "2026-11-24 08:00", "Tuesday, 24 November 2026, 08:00 (Europe/Berlin)"),
        ("at", "2026-11-24T08:00", "Tuesday, 24 November 2026, 08:00 (Europe/Berlin)"),
        ("at", "2026-11-24T08:00+00:00", "Tuesday, 24 November 2026, 09:00 (Europe/Berlin)"),
        ("at", "18:30", "Monday, 23 November 2026, 18:30 (Europe/Berlin)"),
        ("at", "08:00", "Tuesday, 24 November 2026, 08:00 (Europe/Berlin)"),
        ("every", "30m", "Monday, 23 November 2026, 12:30 (Europe/Berlin)"),
        ("cron", "0 8 * * mon-fri", "Tuesday, 24 November 2026, 08:00 (Europe/Berlin)"),
    ];
    for (kind, text, expected) in table {
        let rule = calendar().read(&times(kind, text), now()).unwrap();
        let next = calendar().next(&rule, now(), 1).unwrap();
        assert_eq!(calendar().words(&rule, next[0]), expected, "{kind} {text}");
    }
}

#[test]
fn read_uses_the_named_zone() {
    let named = TimesRequest { zone: Some("Asia/Tokyo".to_owned()), ..times("at", "21:00") };
    let rule = calendar().read(&named, now()).unwrap();
    let next = calendar().next(&rule, now(), 3).unwrap();
    assert_eq!(next.len(), 1);
    assert_eq!(calendar().words(&rule, next[0]), "Monday, 23 November 2026, 21:00 (Asia/Tokyo)");
}

#[test]
fn read_names_a_wrong_value_and_its_correction() {
    let table = [
        ("in", "soon", "no duration"),
        ("in", "-2m", "no duration"),
        ("in", "0s", "no duration"),
        ("at", "tomorrow", "no time"),
        ("at", "2026-11-24", "no time"),
        ("at", "2020-01-01 08:00", "08:00 (Europe/Berlin) is in the past; now it is Monday, 23"),
        ("every", "30s", "at least 60 s"),
        ("cron", "8", "five fields"),
        ("cron", "0 0 30 2 *", "never comes"),
        ("nothing", "", "exactly one"),
    ];
    for (kind, text, expected) in table {
        let error = calendar().read(&times(kind, text), now()).unwrap_err();
        assert!(error.contains(expected), "{kind} {text}: {error}");
    }
    let both = TimesRequest { cron: Some("* * * * *".to_owned()), ..times("in", "2m") };
    assert!(calendar().read(&both, now()).unwrap_err().contains("exactly one"));
}
