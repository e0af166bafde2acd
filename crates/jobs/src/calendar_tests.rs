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

fn in_zone(zone: &str) -> TimesRequest {
    TimesRequest { zone: Some(zone.to_owned()), ..times("cron", "0 9 * * *") }
}

/// Offsets as people mean them: `GMT+2` is two hours ahead of UTC.
#[test]
fn read_takes_an_offset_as_people_mean_it() {
    for (zone, first) in [
        ("GMT+2", "Tuesday, 24 November 2026, 09:00 (UTC+02:00)|07:00:00"),
        ("UTC+2", "Tuesday, 24 November 2026, 09:00 (UTC+02:00)|07:00:00"),
        ("+02:00", "Tuesday, 24 November 2026, 09:00 (UTC+02:00)|07:00:00"),
        ("gmt-5", "Monday, 23 November 2026, 09:00 (UTC-05:00)|14:00:00"),
        ("UTC +05:30", "Tuesday, 24 November 2026, 09:00 (UTC+05:30)|03:30:00"),
        ("GMT0", "Tuesday, 24 November 2026, 09:00 (GMT0)|09:00:00"),
        ("UTC+0", "Tuesday, 24 November 2026, 09:00 (UTC)|09:00:00"),
        (" Europe/Berlin ", "Tuesday, 24 November 2026, 09:00 (Europe/Berlin)|08:00:00"),
        ("Etc/GMT+2", "Monday, 23 November 2026, 09:00 (Etc/GMT+2, which is UTC-02:00)|11:00:00"),
    ] {
        let rule = calendar().read(&in_zone(zone), Timestamp(now().0 - 60_000)).unwrap();
        let next = calendar().next(&rule, Timestamp(now().0 - 60_000), 1).unwrap()[0];
        let utc = jiff::Timestamp::from_millisecond(next.0).unwrap().strftime("%H:%M:%S");
        assert_eq!(format!("{}|{utc}", calendar().words(&rule, next)), first, "{zone}");
        assert_eq!(calendar().read(&in_zone(&rule.zone), now()).unwrap().zone, rule.zone, "{zone}");
    }
}

#[test]
fn read_never_hints_at_a_zone_with_the_opposite_sign() {
    for zone in ["GMT+25", "UTC+2:90", "UTC+", "GMT+-2", "UTC+15", "GMT-13", "+99:00"] {
        let error = calendar().read(&in_zone(zone), now()).unwrap_err();
        let expected = "write a name like Europe/Berlin, or an offset like UTC+2";
        assert!(error.ends_with(expected), "{zone}: {error}");
    }
    for zone in ["Etc/GTM+2", "etc/gmt+22", "Port-au-Prince"] {
        let error = calendar().read(&in_zone(zone), now()).unwrap_err();
        assert!(!error.contains("mean Etc/GMT+"), "{zone}: {error}");
    }
}

#[test]
fn read_understands_the_lines_of_a_crontab() {
    for (line, rule, zone) in [
        ("TZ=Asia/Tokyo 0 9 * * *", "cron 0 9 * * * (Asia/Tokyo)", "Asia/Tokyo"),
        ("CRON_TZ=\"UTC+9\"  0 9 * * *", "cron 0 9 * * * (UTC+09:00)", "UTC+09:00"),
        ("@every 2h", "every 2 hours", "Europe/Berlin"),
        ("@Every 1h30m", "every 90 minutes", "Europe/Berlin"),
        ("TZ=UTC @daily", "cron @daily (UTC)", "UTC"),
        (" @hourly ", "cron @hourly (Europe/Berlin)", "Europe/Berlin"),
    ] {
        let read = calendar().read(&times("cron", line), now()).unwrap();
        assert_eq!((calendar().describe(&read), &*read.zone), (rule.to_owned(), zone), "{line}");
    }
    let same = TimesRequest { zone: Some("UTC".to_owned()), ..times("cron", "TZ=UTC 0 9 * * *") };
    assert!(calendar().read(&same, now()).is_ok());
    let two = TimesRequest { zone: Some("UTC".to_owned()), ..times("cron", "TZ=CET 0 9 * * *") };
    let error = calendar().read(&two, now()).unwrap_err();
    assert_eq!(error, "two time zones are given, \"CET\" and \"UTC\"; write one of them");
}

#[test]
fn read_refuses_other_cron_lines_in_plain_words() {
    for (line, says) in [
        (
            "*/90 * * * *",
            "(`*/90`: a step of the minute is at most 60; for a longer interval use \
                          `every`, such as --every 90m)",
        ),
        ("0 */48 * * *", "a step of the hour is at most 24"),
        ("0 0/30 * * *", "a step of the hour is at most 24"),
        ("@reboot", "(@reboot has no time, and a schedule runs at times only)"),
        ("@every", "such as --every 2h"),
        ("@every 10s", "at least 60 s"),
        ("@fortnightly", "the nicknames are @hourly"),
        ("TZ=Asia/Tokyo", "write it as `zone`, such as --zone Asia/Tokyo"),
        ("TZ=Nowhere 0 9 * * *", "unknown time zone \"Nowhere\""),
        ("0 0 9 * * *", "(it has 6 fields: leave out seconds at its start, and a year at its end;"),
        ("0 0 9 ? * 2 2026", "as in Quartz, write them as names"),
        ("0 9 * * * America/New_York", "6 fields; a command or a zone is no part of it"),
        ("0 9 * * * /usr/bin/backup.sh", "a command or a zone is no part of it"),
        ("every 5 minutes", "write the interval as `every`"),
        ("cron(0 9 * * ? *)", "the form of AWS"),
        ("rate(5 minutes)", "the form of AWS"),
        ("daily", "(write @daily)"),
        ("9:30", "9:30 is a time of the day"),
        ("0 9 L-3 * *", "`L-3`: days before the last one"),
        ("0 9 * * lundi", "`lundi` is no weekday"),
        ("0 24 * * *", "`24` is no hour"),
        ("0 9 * * * /bin/sh -c x", "a command is no part of it"),
        ("0 9 * * mox", "(`mox` is no weekday: 0 to 7, or a name such as mon)"),
        ("0 9 * jax *", "(`jax` is no month: 1 to 12, or a name such as feb)"),
        ("61 9 * * *", "(`61` is no minute: 0 to 59)"),
        ("0 9 * * 8", "`8` is no weekday"),
        ("0 9 * * L", "friL"),
        ("0 9 * * fri#6", "write 1 to 5 or L after the #"),
        ("0 9,, * * *", "remove the comma"),
        ("*/0 * * * *", "`*/0`: the step must be a number from 1 on"),
        ("*/x * * * *", "the step must be a number"),
        ("H 9 * * *", "`H` is no minute"),
    ] {
        let error = calendar().read(&times("cron", line), now()).unwrap_err();
        assert!(error.contains(says), "{line}: {error}");
        assert!(!error.contains("CronPattern") && !error.contains("Component"), "{line}: {error}");
    }
}
