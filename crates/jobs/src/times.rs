//! The times of a schedule. All functions are pure: the caller gives the present time.

use std::time::Duration;

use avocet_protocol::clock::Timestamp;
use avocet_protocol::schedule::{Recurrence, ScheduleRule};
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Zoned;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use crate::cron_line::{CronFields, read_fields};
use crate::times_error::TimesError;
use crate::zones::{NamedZone, find_zone};

/// The shortest interval of a schedule.
pub(crate) const SHORTEST_SECONDS: u64 = 60;

/// A rule that has been checked: once, at an interval, or by a cron expression.
#[derive(Debug, Clone)]
pub struct ScheduleTimes {
    zone: NamedZone,
    kind: TimesKind,
}

#[derive(Debug, Clone)]
enum TimesKind {
    Once(Timestamp),
    Every { interval: Duration, from: Timestamp },
    Cron { cron: Box<Cron>, pattern: String },
}

impl ScheduleTimes {
    /// Reads a rule.
    ///
    /// # Errors
    /// [`TimesError`] names the part that cannot be used.
    pub fn new(rule: &ScheduleRule) -> Result<Self, TimesError> {
        let kind = match &rule.recurrence {
            Recurrence::Once(at) => TimesKind::Once(*at),
            Recurrence::Every { seconds, .. } if *seconds < SHORTEST_SECONDS => {
                return Err(TimesError::Interval(*seconds));
            }
            Recurrence::Every { seconds, from } => {
                TimesKind::Every { interval: Duration::from_secs(*seconds), from: *from }
            }
            Recurrence::Cron(pattern) => {
                TimesKind::Cron { cron: Box::new(parse_cron(pattern)?), pattern: pattern.clone() }
            }
        };
        Ok(Self { zone: find_zone(&rule.zone)?, kind })
    }

    /// Returns the first time after `after`; `None` if there is none.
    ///
    /// A cron expression means local time. A local time that does not exist, because the clocks go
    /// forward, counts as the next valid time. One that exists twice, because the clocks go back,
    /// counts once: the first time.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match &self.kind {
            TimesKind::Once(at) => (*at > after).then_some(*at),
            TimesKind::Every { interval, from } => Some(next_interval(*from, *interval, after)),
            TimesKind::Cron { cron, .. } => self.next_of_cron(cron, after),
        }
    }

    /// Returns the next times after `after`, `count` at most.
    #[must_use]
    pub fn next(&self, after: Timestamp, count: usize) -> Vec<Timestamp> {
        let first = self.next_after(after);
        std::iter::successors(first, |last| self.next_after(*last)).take(count).collect()
    }

    /// Returns the number of times from `first` up to `now`, if it follows without counting.
    pub(crate) fn count_times(&self, first: Timestamp, now: Timestamp) -> Option<u64> {
        let TimesKind::Every { interval, .. } = &self.kind else { return None };
        let whole = first.until(now).as_millis() / interval.as_millis().max(1);
        Some(u64::try_from(whole).unwrap_or(u64::MAX).saturating_add(1))
    }

    /// Returns the last of the times from `first` up to `now`, `count` at most, oldest first.
    pub(crate) fn last_times(
        &self,
        first: Timestamp,
        now: Timestamp,
        count: u64,
    ) -> Option<Vec<Timestamp>> {
        let TimesKind::Every { interval, .. } = &self.kind else { return None };
        let all = self.count_times(first, now)?;
        let times = (all.saturating_sub(count)..all).map(|number| {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            first.after(interval.saturating_mul(number))
        });
        Some(times.collect())
    }

    /// Returns a time in words: `Monday, 23 November 2026, 08:00 (Europe/Berlin)`.
    #[must_use]
    pub fn time_in_words(&self, at: Timestamp) -> String {
        let Some(local) = local_time(at, &self.zone.zone) else { return format!("{} ms", at.0) };
        let format = if local.second() == 0 { "%H:%M" } else { "%H:%M:%S" };
        let words = local.strftime(&format!("%A, %-d %B %Y, {format}")).to_string();
        format!("{words} ({})", self.zone.zone_label())
    }

    /// Returns the rule in words.
    #[must_use]
    pub fn describe_rule(&self) -> String {
        match &self.kind {
            TimesKind::Once(at) => format!("once, {}", self.time_in_words(*at)),
            TimesKind::Every { interval, .. } => format!("every {}", duration_words(*interval)),
            TimesKind::Cron { pattern, .. } => {
                format!("cron {pattern} ({})", self.zone.zone_label())
            }
        }
    }

    fn next_of_cron(&self, cron: &Cron, after: Timestamp) -> Option<Timestamp> {
        let mut civil = local_time(after, &self.zone.zone)?.datetime();
        loop {
            civil = cron.find_next_occurrence(&civil, false).ok()?;
            // In the second pass of a repeated hour, its times have passed already.
            match self.instant_of(civil) {
                Some(at) if at > after => return Some(at),
                Some(_) => {}
                None => return None,
            }
        }
    }

    /// Returns the moment of a local time.
    fn instant_of(&self, civil: DateTime) -> Option<Timestamp> {
        let ambiguous = self.zone.zone.to_ambiguous_timestamp(civil);
        let at = match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => {
                ambiguous.earlier().ok()?
            }
            // The moment before the gap that this local time would be without the change.
            AmbiguousOffset::Gap { after, .. } => {
                let before = after.to_timestamp(civil).ok()?;
                self.zone.zone.following(before).next()?.timestamp()
            }
        };
        Some(Timestamp(at.as_millisecond()))
    }
}

pub(crate) fn local_time(at: Timestamp, zone: &TimeZone) -> Option<Zoned> {
    let at = jiff::Timestamp::from_millisecond(at.0).ok()?;
    Some(at.to_zoned(zone.clone()))
}

/// Reads a cron expression with five fields.
fn parse_cron(pattern: &str) -> Result<Cron, TimesError> {
    let refused = |reason| TimesError::Cron { pattern: pattern.to_owned(), reason };
    let CronFields { text, needs_both_days } = read_fields(pattern).map_err(refused)?;
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed);
    let parsed = parser.dom_and_dow(needs_both_days).build().parse(&text);
    parsed.map_err(|error| refused(error.to_string().trim_end_matches('.').to_owned()))
}

fn next_interval(from: Timestamp, interval: Duration, after: Timestamp) -> Timestamp {
    if after < from {
        return from;
    }
    let length = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX).max(1);
    let passed = after.0.saturating_sub(from.0) / length;
    Timestamp(from.0.saturating_add(passed.saturating_add(1).saturating_mul(length)))
}

fn duration_words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let units = [(86_400, "days", "day"), (3600, "hours", "hour"), (60, "minutes", "minute")];
    let whole = units.into_iter().find(|(unit, ..)| seconds.is_multiple_of(*unit));
    match whole {
        Some((unit, _, one)) if seconds == unit => one.to_owned(),
        Some((unit, many, _)) => format!("{} {many}", seconds / unit),
        None => format!("{seconds} seconds"),
    }
}

#[cfg(test)]
#[path = "times_tests.rs"]
mod tests;
