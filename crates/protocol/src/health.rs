//! How what the daemon depends on fares: the last exchanges, and what a check of it has found.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The last exchanges with a provider, a platform or the disk, since the daemon started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastExchanges {
    /// When one succeeded.
    pub success: Option<Timestamp>,
    /// The last that failed.
    pub failure: Option<LastFailure>,
}

/// The last exchange that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastFailure {
    /// When.
    pub at: Timestamp,
    /// Why, without secrets.
    pub reason: String,
    /// Failures since the last success; 0 if one succeeded after this failure.
    pub in_a_row: u64,
}

impl LastExchanges {
    /// Notes a success.
    pub fn succeed(&mut self, at: Timestamp) {
        self.success = Some(at);
        if let Some(failure) = &mut self.failure {
            failure.in_a_row = 0;
        }
    }

    /// Notes a failure. `reason` may be shown to anybody.
    pub fn fail(&mut self, at: Timestamp, reason: &str) {
        let in_a_row = self.failures_in_a_row() + 1;
        self.failure = Some(LastFailure { at, reason: reason.to_owned(), in_a_row });
    }

    /// Failures since the last success.
    #[must_use]
    pub fn failures_in_a_row(&self) -> u64 {
        self.failure.as_ref().map_or(0, |failure| failure.in_a_row)
    }

    /// The later of both, for several that are shown as one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let at = |failure: &Option<LastFailure>| failure.as_ref().map(|failure| failure.at);
        let is_later = at(&other.failure) > at(&self.failure);
        Self {
            success: self.success.max(other.success),
            failure: if is_later { other.failure } else { self.failure },
        }
    }
}

/// Whether something is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// It is.
    Good,
    /// The daemon works without it, or it could not be found out.
    Fair,
    /// It is not.
    Bad,
}

/// What was found of one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What was looked at.
    pub name: String,
    /// Whether it is as it should be.
    pub state: CheckState,
    /// What was found, without secrets.
    pub says: String,
    /// What to do about it, as a command where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Check {
    /// It is as it should be.
    #[must_use]
    pub fn good(name: impl Into<String>, says: impl Into<String>) -> Self {
        Self { name: name.into(), state: CheckState::Good, says: says.into(), fix: None }
    }

    /// The daemon works without it.
    #[must_use]
    pub fn fair(name: impl Into<String>, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), state: CheckState::Fair, ..Self::good(name, says) }
    }

    /// It is not as it should be.
    #[must_use]
    pub fn bad(name: impl Into<String>, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: CheckState::Bad, ..Self::fair(name, says, fix) }
    }
}

/// What a daemon has found of itself, and of what it depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkup {
    /// The daemon, its data and its user.
    pub avocet: Vec<Check>,
    /// The providers, each model a line.
    pub providers: Vec<Check>,
    /// The channels, each account a line or more.
    pub channels: Vec<Check>,
    /// The sandbox layers around the programs that it runs.
    pub walls: Vec<Check>,
}

impl Checkup {
    /// All of it, in the order in which it is shown.
    pub fn sections(&self) -> impl Iterator<Item = (&'static str, &[Check])> {
        let Self { avocet, providers, channels, walls } = self;
        let sections = [
            ("avocet", avocet),
            ("providers", providers),
            ("channels", channels),
            ("walls", walls),
        ];
        sections.map(|(title, checks)| (title, checks.as_slice())).into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(success: Option<i64>, (at, in_a_row): (i64, u64)) -> LastExchanges {
        let failure = LastFailure { at: Timestamp(at), reason: format!("at {at}"), in_a_row };
        LastExchanges { success: success.map(Timestamp), failure: Some(failure) }
    }

    #[test]
    fn last_exchanges_count_failures_until_a_success_and_keep_the_last_of_both() {
        let mut last = LastExchanges::default();
        assert_eq!(last.failures_in_a_row(), 0);
        last.fail(Timestamp(1), "at 1");
        last.fail(Timestamp(2), "at 2");
        assert_eq!(last, self::last(None, (2, 2)));
        last.succeed(Timestamp(3));
        assert_eq!(last, self::last(Some(3), (2, 0)));
        last.fail(Timestamp(4), "at 4");
        assert_eq!(last.failures_in_a_row(), 1);
    }

    #[test]
    fn and_takes_the_later_success_and_the_later_failure() {
        let (one, other, both) = (last(Some(5), (1, 0)), last(None, (7, 3)), last(Some(5), (7, 3)));
        assert_eq!(one.clone().and(other.clone()), both);
        assert_eq!(other.and(one.clone()), both);
        assert_eq!(LastExchanges::default().and(one.clone()), one);
    }
}
