//! Reads the words for the times of a schedule.

use avocet_protocol::clock::Timestamp;
use avocet_protocol::schedule::{Calendar, Recurrence, ScheduleRule, TimesRequest};
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo};

use crate::cron_line::{check_steps, split_every, split_zone};
use crate::times::{ScheduleTimes, local_time};
use crate::times_error::TimesError;
use crate::zones::{NamedZone, find_zone};

/// The calendar of one default zone.
#[derive(Debug, Clone)]
pub struct ZoneCalendar {
    default_zone: String,
}

impl ZoneCalendar {
    /// Makes the calendar of a zone. A zone without a name counts as UTC.
    #[must_use]
    pub fn new(zone: &TimeZone) -> Self {
        Self { default_zone: zone.iana_name().unwrap_or("UTC").to_owned() }
    }
}

impl Calendar for ZoneCalendar {
    fn read(&self, times: &TimesRequest, now: Timestamp) -> Result<ScheduleRule, String> {
        let TimesRequest { after, at, every, cron, zone: named } = &split_cron_line(times)?;
        let named = named.as_deref().unwrap_or(&self.default_zone);
        let NamedZone { name, zone } = find_zone(named).map_err(|error| error.to_string())?;
        let recurrence = match (after, at, every, cron) {
            (Some(after), None, None, None) => Recurrence::Once(now.after(parse_duration(after)?)),
            (None, Some(at), None, None) => Recurrence::Once(parse_moment(at, &zone, now)?),
            (None, None, Some(every), None) => {
                Recurrence::Every { seconds: parse_duration(every)?.as_secs(), from: now }
            }
            (None, None, None, Some(cron)) => {
                let pattern = cron.trim().to_owned();
                let refused = |reason| TimesError::Cron { pattern: pattern.clone(), reason };
                check_steps(&pattern).map_err(|reason| refused(reason).to_string())?;
                Recurrence::Cron(pattern)
            }
            _ => return Err("give exactly one of in, at, every and cron".to_owned()),
        };
        let rule = ScheduleRule { recurrence, zone: name };
        let first = self.next(&rule, now, 1)?;
        match first.first() {
            Some(first) if let Recurrence::Every { seconds, .. } = rule.recurrence => {
                let recurrence = Recurrence::Every { seconds, from: *first };
                Ok(ScheduleRule { recurrence, ..rule })
            }
            Some(_) => Ok(rule),
            None if let Recurrence::Once(at) = rule.recurrence => {
                let (at, now) = (self.words(&rule, at), self.words(&rule, now));
                Err(format!("{at} is in the past; now it is {now}"))
            }
            None => Err(format!("{} never comes", self.describe(&rule))),
        }
    }

    fn next(
        &self,
        rule: &ScheduleRule,
        after: Timestamp,
        count: usize,
    ) -> Result<Vec<Timestamp>, String> {
        let times = ScheduleTimes::new(rule).map_err(|error: TimesError| error.to_string())?;
        Ok(times.next(after, count))
    }

    fn words(&self, rule: &ScheduleRule, at: Timestamp) -> String {
        ScheduleTimes::new(rule)
            .map_or_else(|error| error.to_string(), |times| times.time_in_words(at))
    }

    fn describe(&self, rule: &ScheduleRule) -> String {
        ScheduleTimes::new(rule)
            .map_or_else(|error| error.to_string(), |times| times.describe_rule())
    }
}

/// Moves the zone and the interval of a cron line, `TZ=Asia/Tokyo 0 9 * * *` or `@every 2h`, to their
/// own fields.
fn split_cron_line(times: &TimesRequest) -> Result<TimesRequest, String> {
    let TimesRequest { every, cron: Some(line), zone, .. } = times else {
        return Ok(times.clone());
    };
    let (zone_of_line, line) = split_zone(line);
    if let (Some(one), Some(other)) = (zone_of_line, zone)
        && one != other
    {
        return Err(format!("two time zones are given, {one:?} and {other:?}; write one of them"));
    }
    let zone = zone_of_line.map(str::to_owned).or_else(|| zone.clone());
    let times = TimesRequest { zone, ..times.clone() };
    Ok(match split_every(line) {
        Some(interval) if every.is_none() => {
            TimesRequest { every: Some(interval.to_owned()), cron: None, ..times }
        }
        _ => TimesRequest { cron: Some(line.to_owned()), ..times },
    })
}

/// Reads a duration like `2m`, `1h 30m` or `2 days`. A day has 24 hours.
fn parse_duration(text: &str) -> Result<std::time::Duration, String> {
    let refused = || format!("{text:?} is no duration; write for example 2m, 1h 30m or 2 days");
    let span: Span = text.trim().parse().map_err(|_| refused())?;
    let span: SignedDuration =
        span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| refused())?;
    std::time::Duration::try_from(span).ok().filter(|span| !span.is_zero()).ok_or_else(refused)
}

/// Reads `2026-11-24 08:00`, the same with an offset, or `08:00` for the next such time.
fn parse_moment(text: &str, zone: &TimeZone, now: Timestamp) -> Result<Timestamp, String> {
    let text = text.trim();
    let refused = || {
        format!(
            "{text:?} is no time; write for example 2026-11-24 08:00, 2026-11-24T08:00+01:00 or \
             08:00"
        )
    };
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Ok(Timestamp(at.as_millisecond()));
    }
    let of = |civil: DateTime| {
        let at = zone.to_timestamp(civil).map_err(|_| refused())?;
        Ok::<Timestamp, String>(Timestamp(at.as_millisecond()))
    };
    if let Ok(civil) = text.parse::<DateTime>()
        && text.contains(':')
    {
        return of(civil);
    }
    let time: Time = text.parse().map_err(|_| refused())?;
    let today = local_time(now, zone).ok_or_else(refused)?.date();
    match of(today.to_datetime(time))? {
        at if at > now => Ok(at),
        _ => of(today.tomorrow().map_err(|_| refused())?.to_datetime(time)),
    }
}

#[cfg(test)]
#[path = "calendar_tests.rs"]
mod tests;
