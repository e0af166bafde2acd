use avocet_protocol::schedule::{Recurrence, ScheduleRule};

use super::*;

const HOUR: i64 = 3_600_000;

fn hourly() -> ScheduleTimes {
    let recurrence = Recurrence::Every { seconds: 3600, from: Timestamp(0) };
    ScheduleTimes::new(&ScheduleRule { recurrence, zone: "UTC".to_owned() }).unwrap()
}

fn hourly_cron() -> ScheduleTimes {
    let recurrence = Recurrence::Cron("0 * * * *".to_owned());
    ScheduleTimes::new(&ScheduleRule { recurrence, zone: "UTC".to_owned() }).unwrap()
}

/// Hours count from the first due time.
struct Case {
    policy: CatchUp,
    /// Milliseconds since the first due time.
    late: i64,
    runs: Vec<i64>,
    skipped: u64,
    missed: Option<i64>,
    next: i64,
}

#[test]
fn due_follows_the_policy_for_missed_times() {
    use CatchUp::{All, Once, Skip};
    let minute = 60_000;
    let case = |policy, late, runs: &[i64], skipped, missed, next| {
        let runs = runs.to_vec();
        Case { policy, late, runs, skipped, missed, next }
    };
    let table = [
        case(Once, -1, &[], 0, None, 0),
        case(Once, 0, &[0], 0, None, 1),
        case(Skip, 5 * minute, &[0], 0, None, 1),
        case(Skip, 6 * minute, &[], 1, Some(0), 1),
        case(Skip, 3 * HOUR + minute, &[3], 3, None, 4),
        case(Skip, 3 * HOUR + 30 * minute, &[], 4, Some(3), 4),
        case(Once, 3 * HOUR + 30 * minute, &[3], 3, None, 4),
        case(All, 3 * HOUR + 30 * minute, &[0, 1, 2, 3], 0, None, 4),
    ];
    for times in [hourly(), hourly_cron()] {
        for Case { policy, late, runs, skipped, missed, next } in &table {
            let first = Timestamp(100 * HOUR);
            let hour = |hour: i64| Timestamp((100 + hour) * HOUR);
            let expected = DueTimes {
                runs: runs.iter().map(|at| hour(*at)).collect(),
                skipped: *skipped,
                missed: missed.map(hour),
                next: Some(hour(*next)),
            };
            let found = due_times(&times, first, Timestamp(first.0 + late), *policy);
            assert_eq!(found, expected, "{policy:?} {late}");
        }
    }
}

#[test]
fn due_limits_the_times_that_are_caught_up() {
    for times in [hourly(), hourly_cron()] {
        let (first, now) = (Timestamp(HOUR), Timestamp(500 * HOUR));
        let found = due_times(&times, first, now, CatchUp::All);
        assert_eq!((found.runs.len(), found.skipped), (MOST_CAUGHT_UP, 400));
        assert_eq!(found.runs.last(), Some(&Timestamp(500 * HOUR)));
        assert_eq!(found.next, Some(Timestamp(501 * HOUR)));
    }
}

/// A daemon that was stopped for years starts at once, and runs the last times.
#[test]
fn due_counts_a_bounded_number_of_cron_times_and_runs_the_last_ones() {
    let recurrence = Recurrence::Cron("* * * * *".to_owned());
    let times = ScheduleTimes::new(&ScheduleRule { recurrence, zone: "UTC".to_owned() }).unwrap();
    let now = Timestamp(5 * 365 * 24 * HOUR);
    let counted = MOST_COUNTED as u64 + 1;
    for (policy, runs) in [(CatchUp::Skip, 1), (CatchUp::Once, 1), (CatchUp::All, MOST_CAUGHT_UP)] {
        let found = due_times(&times, Timestamp(0), now, policy);
        let first = now.before(Duration::from_mins(runs as u64 - 1));
        assert_eq!((found.runs.len(), found.runs.first()), (runs, Some(&first)), "{policy:?}");
        assert_eq!(found.runs.last(), Some(&now), "{policy:?}");
        assert_eq!((found.skipped, found.missed), (counted - runs as u64, None), "{policy:?}");
        assert_eq!(found.next, Some(now.after(Duration::from_mins(1))));
    }
}
