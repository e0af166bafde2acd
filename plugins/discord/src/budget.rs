//! The budget of IDENTIFYs, which lasts over restarts: Discord resets the token of a bot that identifies
//! 1,000 times in a day (F9).
//!
//! The rule: the first 500 of a day (UTC) are at least 5 seconds apart, which is what the platform wants
//! anyway. After that each waits for its share of what is left of the day, so that 900 last until its
//! end; the other 100 are for whatever else uses the token. And none is made when Discord says that none
//! remains.

use std::fmt;
use std::time::Duration;

use avocet_protocol::{ChannelContext, Cursor, Timestamp};
use serenity::model::gateway::SessionStartLimit;

use crate::Discord;
use crate::commit::committed;

/// The scope of the cursor that keeps the count, as `<day> <count>`.
const SCOPE: &str = "identify";
const DAY_MILLIS: i64 = 86_400_000;
/// The wait between two, when there is plenty.
const APART: Duration = Duration::from_secs(5);
/// How many of a day are made as fast as that.
const FREE: u64 = 500;
/// How many of a day are made at all.
const DAILY: u64 = 900;

/// What is used of the budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Days since 1970-01-01.
    day: i64,
    count: u64,
    /// When the last was made, by the clock's `elapsed`; none in this process yet.
    last: Option<Duration>,
    /// When this process read the count: whatever others made was made before that.
    read_at: Duration,
}

impl Budget {
    /// The budget as the log has it.
    pub(crate) fn read(cursors: &[Cursor], elapsed: Duration) -> Self {
        let kept = cursors.iter().find(|cursor| cursor.scope == SCOPE);
        let parse = |cursor: &Cursor| {
            let (day, count) = cursor.position.split_once(' ')?;
            Some((day.parse().ok()?, count.parse().ok()?))
        };
        let (day, count) = kept.and_then(parse).unwrap_or_default();
        Self { day, count, last: None, read_at: elapsed }
    }

    /// How long to wait before the next is made; none if it can be made now.
    pub(crate) fn wait(
        &self,
        limit: Option<&SessionStartLimit>,
        now: Timestamp,
        elapsed: Duration,
    ) -> Option<Duration> {
        if let Some(limit) = limit.filter(|limit| limit.remaining == 0) {
            return Some(Duration::from_millis(limit.reset_after).max(APART));
        }
        let (left, used) = (left_of_day(now), self.used(now));
        let apart = match u32::try_from(DAILY.saturating_sub(used)) {
            Ok(0) | Err(_) => return Some(left.max(APART)),
            Ok(_) if used < FREE => APART,
            Ok(others) => (left / others).max(APART),
        };
        if self.last.is_none() && used < FREE {
            return None;
        }
        let passed = elapsed.saturating_sub(self.last.unwrap_or(self.read_at));
        Some(apart.saturating_sub(passed)).filter(|wait| !wait.is_zero())
    }

    /// Counts one that is about to be made.
    ///
    /// # Errors
    /// Why it may not be made: the log does not know of it.
    pub(crate) async fn count(
        &mut self,
        discord: &Discord,
        context: &ChannelContext,
    ) -> Result<(), String> {
        let next = self.next(context.clock.now(), context.clock.elapsed());
        let moving = || context.publish.move_cursor(&discord.name, &discord.account, next.cursor());
        match committed(context, moving).await {
            Ok(Ok(())) => *self = next,
            Ok(Err(error)) => return Err(error.to_string()),
            Err(error) => return Err(error.to_string()),
        }
        Ok(())
    }

    fn next(&self, now: Timestamp, elapsed: Duration) -> Self {
        let day = day(now).max(self.day);
        Self { day, count: self.used(now) + 1, last: Some(elapsed), ..*self }
    }

    /// How many are made today. A clock that was set back gives no new budget.
    fn used(&self, now: Timestamp) -> u64 {
        if day(now) > self.day { 0 } else { self.count }
    }

    fn cursor(&self) -> Cursor {
        let Self { day, count, .. } = self;
        Cursor { scope: SCOPE.to_owned(), position: format!("{day} {count}") }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count;
        write!(f, "{count} sessions were begun today, and the next one has to wait for its turn")
    }
}

fn day(now: Timestamp) -> i64 {
    now.0.div_euclid(DAY_MILLIS)
}

fn left_of_day(now: Timestamp) -> Duration {
    now.until(Timestamp((day(now) + 1) * DAY_MILLIS))
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
