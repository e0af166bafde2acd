//! Ids that grow with the platform's time (Snowflakes, API reference), and the platform's format of
//! times.

use avocet_protocol::clock::Timestamp;

/// 2015-01-01T00:00:00Z, the start of the milliseconds in ids.
const EPOCH: i64 = 1_420_070_400_000;
/// Position of the time in an id, in bits.
const TIME_SHIFT: u32 = 22;

/// The generator of ids.
#[derive(Debug, Default)]
pub(super) struct Snowflakes {
    last: u64,
}

impl Snowflakes {
    /// Returns an id that is larger than all earlier ones.
    pub(super) fn next(&mut self, now: Timestamp) -> u64 {
        let first_of_now = u64::try_from(now.0 - EPOCH).unwrap() << TIME_SHIFT;
        self.last = first_of_now.max(self.last + 1);
        self.last
    }
}

/// Formats a time, for example `2026-01-01T00:00:00.000000+00:00`.
pub(super) fn iso(time: Timestamp) -> String {
    let (days, millis) = (time.0.div_euclid(86_400_000), time.0.rem_euclid(86_400_000));
    let (year, month, day) = date(days);
    let (seconds, millis) = (millis / 1000, millis % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}000+00:00")
}

/// Returns year, month and day of a day counted from 1970-01-01.
fn date(mut days: i64) -> (i64, i64, i64) {
    let is_leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let mut year = 1970;
    while days >= 365 + i64::from(is_leap(year)) {
        days -= 365 + i64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + i64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
#[path = "snowflake_tests.rs"]
mod tests;
