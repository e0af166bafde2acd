//! The port of the calendar of schedules.

use std::fmt;

use crate::clock::Timestamp;
use crate::schedule::{ScheduleRule, TimesRequest};

/// Turns the words for the times of a schedule into a rule, and back into words.
pub trait Calendar: fmt::Debug + Send + Sync {
    /// Reads the words for the times of a schedule.
    ///
    /// # Errors
    /// The text names the value and its correction.
    fn read(&self, times: &TimesRequest, now: Timestamp) -> Result<ScheduleRule, String>;

    /// Returns the next times after `after`, `count` at most.
    ///
    /// # Errors
    /// The text names the part of the rule that cannot be used.
    fn next(
        &self,
        rule: &ScheduleRule,
        after: Timestamp,
        count: usize,
    ) -> Result<Vec<Timestamp>, String>;

    /// Returns a time in words, with the zone of the rule.
    fn words(&self, rule: &ScheduleRule, at: Timestamp) -> String;

    /// Returns the rule in words.
    fn describe(&self, rule: &ScheduleRule) -> String;
}
