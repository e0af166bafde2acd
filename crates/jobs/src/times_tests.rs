use std::collections::BTreeSet;
use std::str::FromStr;

use chrono::{DateTime as ChronoTime, Duration as ChronoDuration, LocalResult, TimeZone as _, Utc};
use chrono_tz::Tz;
use jiff::tz::TimeZoneDatabase;

use super::*;

fn at(text: &str) -> Timestamp {
    Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
}

fn rule(recurrence: Recurrence, zone: &str) -> ScheduleRule {
    ScheduleRule { recurrence, zone: zone.to_owned() }
}

fn of_cron(pattern: &str, zone: &str) -> ScheduleTimes {
    ScheduleTimes::new(&rule(Recurrence::Cron(pattern.to_owned()), zone)).unwrap()
}

fn shown(times: &ScheduleTimes, after: &str, count: usize) -> Vec<String> {
    let next = times.next(at(after), count);
    next.iter().map(|at| jiff::Timestamp::from_millisecond(at.0).unwrap().to_string()).collect()
}

/// Computes the times of a pattern with other libraries (`cron`, `chrono`, `chrono-tz`). A repeated
/// local time counts at its first moment; a missing one moves to the next valid minute.
fn independent(pattern: &str, zone: Tz, from: i64, to: i64) -> BTreeSet<i64> {
    let schedule = cron::Schedule::from_str(&format!("0 {pattern}")).unwrap();
    // The pattern is read as UTC, so that this library's own rules for clock changes do not apply.
    let civil = |seconds: i64| {
        let utc = ChronoTime::<Utc>::from_timestamp(seconds, 0).unwrap();
        Utc.from_utc_datetime(&utc.with_timezone(&zone).naive_local())
    };
    let start = civil(from) - ChronoDuration::hours(3);
    let locals = schedule.after(&start).take_while(|local| *local <= civil(to));
    let moment = |local: ChronoTime<Utc>| {
        let mut naive = local.naive_utc();
        loop {
            match zone.from_local_datetime(&naive) {
                LocalResult::Single(at) => return at.timestamp(),
                LocalResult::Ambiguous(first, _) => return first.timestamp(),
                LocalResult::None => naive += ChronoDuration::minutes(1),
            }
        }
    };
    locals.map(moment).filter(|at| (from + 1..=to).contains(at)).collect()
}

const ZONES: [&str; 12] = [
    "America/New_York",
    "America/Santiago",
    "America/Sao_Paulo",
    "Asia/Kathmandu",
    "Asia/Tokyo",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/London",
    "Pacific/Apia",
    "Pacific/Auckland",
    "UTC",
];

#[test]
fn f17_cron_equals_an_independent_calendar_over_ten_years_in_12_zones() {
    // No pattern restricts both day of month and weekday: the libraries differ there on purpose.
    let patterns = [
        "30 2 * * *",
        "0 0 * * *",
        "15 3 * * Sun",
        "0 8 * * Mon-Fri",
        "45 23 31 * *",
        "0 12 29 2 *",
        "0,30 1-3 * 3,4,9,10,11 *",
    ];
    let (from, to) = (at("2026-01-01T00:00:00Z"), at("2036-01-01T00:00:00Z"));
    for zone in ZONES {
        for pattern in patterns {
            let times = of_cron(pattern, zone);
            let found: BTreeSet<i64> =
                std::iter::successors(times.next_after(from), |last| times.next_after(*last))
                    .take_while(|next| *next <= to)
                    .map(|next| next.0 / 1000)
                    .collect();
            let expected = independent(pattern, zone.parse().unwrap(), from.0 / 1000, to.0 / 1000);
            let differ: Vec<_> = found.symmetric_difference(&expected).take(5).collect();
            assert!(differ.is_empty(), "{pattern} in {zone}: {differ:?}");
            assert!(found.len() >= 2, "{pattern} in {zone}");
        }
    }
}

#[test]
fn f17_cron_runs_a_missing_local_time_at_the_next_valid_one_and_a_repeated_one_once() {
    let table = [
        // Clocks go from 02:00 to 03:00 on 29 March 2026.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-28T12:00:00Z",
            ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"],
        ),
        // Clocks go from 03:00 back to 02:00 on 25 October 2026.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T12:00:00Z",
            ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
        ),
        // In the second pass of the hour, the next time is after it.
        (
            "*/30 * * * *",
            "Europe/Berlin",
            "2026-10-25T01:10:00Z",
            ["2026-10-25T02:00:00Z", "2026-10-25T02:30:00Z"],
        ),
        // The clocks go forward at midnight.
        (
            "0 0 * * *",
            "America/Santiago",
            "2026-09-05T12:00:00Z",
            ["2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"],
        ),
        // The change is half an hour.
        (
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2026-10-03T00:00:00Z",
            ["2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"],
        ),
    ];
    for (pattern, zone, after, expected) in table {
        assert_eq!(shown(&of_cron(pattern, zone), after, 2), expected, "{pattern} in {zone}");
    }
}

#[test]
fn cron_with_both_kinds_of_day_runs_on_each_day_that_fits_one() {
    let times = of_cron("0 9 13 * Fri", "UTC");
    let days = shown(&times, "2026-11-01T00:00:00Z", 4);
    let days: Vec<&str> = days.iter().map(|at| &at[5..10]).collect();
    assert_eq!(days, ["11-06", "11-13", "11-20", "11-27"]);
    let days = shown(&times, "2026-12-01T00:00:00Z", 3);
    let days: Vec<&str> = days.iter().map(|at| &at[5..10]).collect();
    assert_eq!(days, ["12-04", "12-11", "12-13"]);
}

/// crontab(5) of Debian: a field that begins with `*` is not restricted.
#[test]
fn cron_with_a_starred_day_needs_both_kinds_of_day() {
    // November 2026 begins with a Sunday.
    for (pattern, expected) in [
        ("0 9 */2 * 1", ["11-09", "11-23", "12-07"]),
        ("0 9 */2 * mon", ["11-09", "11-23", "12-07"]),
        ("0 9 1 * */2", ["11-01", "12-01", "04-01"]),
        ("0 9 ?/2 * 1", ["11-09", "11-23", "12-07"]),
        ("0 9 1-31/2 * 1", ["11-01", "11-02", "11-03"]),
        ("0 9 15 * *", ["11-15", "12-15", "01-15"]),
        ("0 9 ? * 1", ["11-02", "11-09", "11-16"]),
        ("0 9 * * 7", ["11-01", "11-08", "11-15"]),
    ] {
        let days = shown(&of_cron(pattern, "UTC"), "2026-10-31T12:00:00Z", 3);
        let days: Vec<&str> = days.iter().map(|at| &at[5..10]).collect();
        assert_eq!(days, expected, "{pattern}");
    }
}

#[test]
fn next_after_returns_times_of_every_kind() {
    let from = at("2026-01-01T00:00:00Z");
    let hour = ScheduleTimes::new(&rule(Recurrence::Every { seconds: 3600, from }, "UTC")).unwrap();
    assert_eq!(hour.next_after(Timestamp(from.0 - 1)), Some(from));
    assert_eq!(hour.next_after(from), Some(at("2026-01-01T01:00:00Z")));
    assert_eq!(hour.next_after(at("2026-03-01T00:30:00Z")), Some(at("2026-03-01T01:00:00Z")));
    let once = ScheduleTimes::new(&rule(Recurrence::Once(from), "UTC")).unwrap();
    assert_eq!(once.next_after(Timestamp(from.0 - 1)), Some(from));
    assert_eq!(once.next_after(from), None);
    assert_eq!(of_cron("0 0 30 2 *", "UTC").next_after(from), None);
}

#[test]
fn words_name_weekday_date_time_and_zone() {
    let times = of_cron("0 8 * * *", "Europe/Berlin");
    assert_eq!(
        times.time_in_words(at("2026-11-23T07:00:00Z")),
        "Monday, 23 November 2026, 08:00 (Europe/Berlin)"
    );
    assert_eq!(
        times.time_in_words(at("2026-07-01T06:00:05Z")),
        "Wednesday, 1 July 2026, 08:00:05 (Europe/Berlin)"
    );
    assert_eq!(times.describe_rule(), "cron 0 8 * * * (Europe/Berlin)");
    let every = |seconds| {
        let every = Recurrence::Every { seconds, from: Timestamp(0) };
        ScheduleTimes::new(&rule(every, "UTC")).unwrap().describe_rule()
    };
    let words = [60, 5400, 7200, 86_400, 61].map(every);
    assert_eq!(
        words,
        ["every minute", "every 90 minutes", "every 2 hours", "every day", "every 61 seconds"]
    );
}

#[test]
fn new_names_the_part_of_a_rule_that_cannot_be_used() {
    let error = |recurrence, zone: &str| {
        ScheduleTimes::new(&rule(recurrence, zone)).unwrap_err().to_string()
    };
    let cron = |pattern: &str| Recurrence::Cron(pattern.to_owned());
    let zones = [
        ("Berlin", "did you mean Europe/Berlin?"),
        ("berln", "did you mean Europe/Berlin?"),
        ("New York", "did you mean America/New_York?"),
        ("Europe/Berlin2", "did you mean Europe/Berlin?"),
        ("Asia/Kolkatta", "did you mean Asia/Kolkata?"),
        ("xxxxxxxx", "write a name like Europe/Berlin, or an offset like UTC+2"),
    ];
    for (zone, hint) in zones {
        let expected = format!("unknown time zone {zone:?}; {hint}");
        assert_eq!(error(cron("0 8 * * *"), zone), expected);
    }
    for pattern in ["", "8", "61 * * * *", "0 0 8 * * *", "x * * * *"] {
        let error = error(cron(pattern), "UTC");
        assert!(error.contains("five fields"), "{pattern}: {error}");
    }
    let every = Recurrence::Every { seconds: 59, from: Timestamp(0) };
    assert_eq!(error(every, "UTC"), "an interval of 59 s is too short; it must be at least 60 s");
}

/// A machine without /usr/share/zoneinfo uses the database in the program.
#[test]
fn zones_are_part_of_the_program() {
    let bundled = TimeZoneDatabase::bundled();
    for zone in ZONES {
        assert!(bundled.get(zone).is_ok(), "{zone}");
    }
}
