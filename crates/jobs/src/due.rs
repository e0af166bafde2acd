//! Computes the due times of a schedule that run, by its policy for missed times.

use std::time::Duration;

use avocet_protocol::clock::Timestamp;
use avocet_protocol::schedule::CatchUp;

use crate::times::ScheduleTimes;

/// The most missed times that run after a stop of the daemon.
pub const MOST_CAUGHT_UP: usize = 100;

/// A due time that is older than this counts as missed.
const ON_TIME: Duration = Duration::from_mins(5);

/// The most times of a cron expression that are counted one by one.
const MOST_COUNTED: usize = 10_000;

/// The first time before now in which the last times of a cron expression are looked for. It is
/// doubled until enough are found.
const FIRST_WINDOW: Duration = Duration::from_hours(1);

/// The due times of a schedule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DueTimes {
    /// The times to run, oldest first.
    pub runs: Vec<Timestamp>,
    /// The number of due times that do not run. At most 10,000 times of a cron expression are
    /// counted.
    pub skipped: u64,
    /// The last due time; `None` if it runs.
    pub missed: Option<Timestamp>,
    /// The next time; `None` if no time follows.
    pub next: Option<Timestamp>,
}

/// Returns the times from `first` up to `now` that have to run, and the next time.
#[must_use]
pub fn due_times(
    times: &ScheduleTimes,
    first: Timestamp,
    now: Timestamp,
    catch_up: CatchUp,
) -> DueTimes {
    if first > now {
        return DueTimes { next: Some(first), ..DueTimes::default() };
    }
    let PassedTimes { last, all } = passed_times(times, first, now);
    let newest = last.last().copied().unwrap_or(first);
    let runs = match catch_up {
        CatchUp::All => last,
        CatchUp::Once => vec![newest],
        CatchUp::Skip if newest.until(now) <= ON_TIME => vec![newest],
        CatchUp::Skip => Vec::new(),
    };
    let skipped = all.saturating_sub(runs.len() as u64);
    let missed = runs.is_empty().then_some(newest);
    DueTimes { runs, skipped, missed, next: times.next_after(now) }
}

/// The due times.
struct PassedTimes {
    /// The last [`MOST_CAUGHT_UP`] times at most, oldest first.
    last: Vec<Timestamp>,
    /// The number of all due times.
    all: u64,
}

fn passed_times(times: &ScheduleTimes, first: Timestamp, now: Timestamp) -> PassedTimes {
    if let (Some(all), Some(last)) =
        (times.count_times(first, now), times.last_times(first, now, MOST_CAUGHT_UP as u64))
    {
        return PassedTimes { last, all };
    }
    let all = times_between(times, first, now).take(MOST_COUNTED).count() as u64 + 1;
    let mut window = FIRST_WINDOW;
    loop {
        let start = now.before(window).max(first);
        let mut last: Vec<_> = times_between(times, start, now).collect();
        if start == first {
            last.insert(0, first);
        }
        if start == first || last.len() >= MOST_CAUGHT_UP {
            let surplus = last.len().saturating_sub(MOST_CAUGHT_UP);
            return PassedTimes { last: last.split_off(surplus), all };
        }
        window = window.saturating_mul(2);
    }
}

/// Returns the times after `start` up to `now`.
fn times_between(
    times: &ScheduleTimes,
    start: Timestamp,
    now: Timestamp,
) -> impl Iterator<Item = Timestamp> {
    std::iter::successors(times.next_after(start), |at| times.next_after(*at))
        .take_while(move |at| *at <= now)
}

#[cfg(test)]
#[path = "due_tests.rs"]
mod tests;
