//! The budget of IDENTIFYs, which survives restarts: Discord resets the token of a bot that
//! identifies 1,000 times in a day (F9).
//!
//! The first 500 of a day (UTC) are at least 5 seconds apart, as the platform requires anyway.
//! After that, each waits for its share of the remaining day, so that 900 last until its end. The
//! other 100 are left for other users of the token. If Discord reports an exhausted limit, the next
//! one waits for the reset.

use std::fmt;
use std::time::Duration;

use avocet_protocol::channel::ChannelContext;
use avocet_protocol::chat::Cursor;
use avocet_protocol::clock::Timestamp;
use serenity::model::gateway::SessionStartLimit;

use crate::Discord;

/// The scope of the cursor with the count, as `<day> <count>`.
const SCOPE: &str = "identify";
const DAY_MILLIS: i64 = 86_400_000;
/// Minimum time between two IDENTIFYs.
const MIN_INTERVAL: Duration = Duration::from_secs(5);
/// IDENTIFYs per day at that interval.
const AT_MIN_INTERVAL: u64 = 500;
/// Maximum number of IDENTIFYs per day.
const DAILY: u64 = 900;

/// The used part of the budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IdentifyBudget {
    /// Days since 1970-01-01.
    day: i64,
    count: u64,
    /// Time of the last IDENTIFY of this process, by the clock's `elapsed`.
    last: Option<Duration>,
    /// Time at which this process read the count. Other processes made their IDENTIFYs before.
    read_at: Duration,
}

impl IdentifyBudget {
    /// Reads the budget from the log.
    pub(crate) fn read(cursors: &[Cursor], elapsed: Duration) -> Self {
        let kept = cursors.iter().find(|cursor| cursor.scope == SCOPE);
        let parse = |cursor: &Cursor| {
            let (day, count) = cursor.position.split_once(' ')?;
            Some((day.parse().ok()?, count.parse().ok()?))
        };
        let (day, count) = kept.and_then(parse).unwrap_or_default();
        Self { day, count, last: None, read_at: elapsed }
    }

    /// Returns the wait before the next IDENTIFY; `None` if it may be made now.
    pub(crate) fn wait(
        &self,
        limit: Option<&SessionStartLimit>,
        now: Timestamp,
        elapsed: Duration,
    ) -> Option<Duration> {
        if let Some(limit) = limit.filter(|limit| limit.remaining == 0) {
            return Some(Duration::from_millis(limit.reset_after).max(MIN_INTERVAL));
        }
        let (left, used) = (left_of_day(now), self.used(now));
        let interval = match u32::try_from(DAILY.saturating_sub(used)) {
            Ok(0) | Err(_) => return Some(left.max(MIN_INTERVAL)),
            Ok(_) if used < AT_MIN_INTERVAL => MIN_INTERVAL,
            Ok(others) => (left / others).max(MIN_INTERVAL),
        };
        if self.last.is_none() && used < AT_MIN_INTERVAL {
            return None;
        }
        let passed = elapsed.saturating_sub(self.last.unwrap_or(self.read_at));
        Some(interval.saturating_sub(passed)).filter(|wait| !wait.is_zero())
    }

    /// Counts an IDENTIFY that is about to be made.
    ///
    /// # Errors
    /// A text if the log refuses the count. Then the IDENTIFY has to wait.
    pub(crate) async fn count(
        &mut self,
        discord: &Discord,
        context: &ChannelContext,
    ) -> Result<(), String> {
        let next = self.next(context.clock.now(), context.clock.elapsed());
        let counted = discord.intake(context).move_cursor(next.cursor()).await;
        counted.map_err(|stopped| stopped.to_string())?;
        *self = next;
        Ok(())
    }

    fn next(&self, now: Timestamp, elapsed: Duration) -> Self {
        let day = day(now).max(self.day);
        Self { day, count: self.used(now) + 1, last: Some(elapsed), ..*self }
    }

    /// Returns the number of IDENTIFYs today. A clock that was set back keeps the count.
    fn used(&self, now: Timestamp) -> u64 {
        if day(now) > self.day { 0 } else { self.count }
    }

    fn cursor(&self) -> Cursor {
        let Self { day, count, .. } = self;
        Cursor { scope: SCOPE.to_owned(), position: format!("{day} {count}") }
    }
}

impl fmt::Display for IdentifyBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count;
        write!(
            f,
            "{count} sessions were started today; the next one waits for the session start limit"
        )
    }
}

fn day(now: Timestamp) -> i64 {
    now.0.div_euclid(DAY_MILLIS)
}

fn left_of_day(now: Timestamp) -> Duration {
    now.until(Timestamp((day(now) + 1) * DAY_MILLIS))
}

#[cfg(test)]
#[path = "identify_budget_tests.rs"]
mod tests;
