//! The health of the daemon's dependencies: the last exchanges with each, and the results of
//! checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// The last exchanges with a provider, a platform or the disk, since the daemon started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastExchanges {
    /// The time of the last success.
    pub success: Option<Timestamp>,
    /// The last failure.
    pub failure: Option<LastFailure>,
}

/// The last failed exchange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastFailure {
    /// The time of the failure.
    pub at: Timestamp,
    /// The reason, without secrets.
    pub reason: String,
    /// Failures since the last success; 0 if an exchange succeeded after this failure.
    pub in_a_row: u64,
}

impl LastExchanges {
    /// Records a success.
    pub fn succeed(&mut self, at: Timestamp) {
        self.success = Some(at);
        if let Some(failure) = &mut self.failure {
            failure.in_a_row = 0;
        }
    }

    /// Records a failure. `reason` may be shown to anybody.
    pub fn fail(&mut self, at: Timestamp, reason: &str) {
        let in_a_row = self.failures_in_a_row() + 1;
        self.failure = Some(LastFailure { at, reason: reason.to_owned(), in_a_row });
    }

    /// Returns the number of failures since the last success.
    #[must_use]
    pub fn failures_in_a_row(&self) -> u64 {
        self.failure.as_ref().map_or(0, |failure| failure.in_a_row)
    }

    /// Combines two records that are shown as one: the later success and the later failure.
    #[must_use]
    pub fn and_health(self, other: Self) -> Self {
        let at = |failure: &Option<LastFailure>| failure.as_ref().map(|failure| failure.at);
        let is_later = at(&other.failure) > at(&self.failure);
        Self {
            success: self.success.max(other.success),
            failure: if is_later { other.failure } else { self.failure },
        }
    }
}

/// The result of a check.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// No problem was found.
    Good,
    /// The daemon works without it, or the check was not possible.
    Fair,
    /// There is a problem.
    Bad,
}

/// One checked item and the finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The checked item.
    pub name: String,
    /// The result.
    pub state: CheckState,
    /// The finding, without secrets.
    pub says: String,
    /// The remedy, as a command if possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Check {
    /// Makes a check that found no problem.
    #[must_use]
    pub fn good(name: impl Into<String>, says: impl Into<String>) -> Self {
        Self { name: name.into(), state: CheckState::Good, says: says.into(), fix: None }
    }

    /// Makes a check of something that the daemon works without.
    #[must_use]
    pub fn fair(name: impl Into<String>, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), state: CheckState::Fair, ..Self::good(name, says) }
    }

    /// Makes a check that found a problem.
    #[must_use]
    pub fn bad(name: impl Into<String>, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: CheckState::Bad, ..Self::fair(name, says, fix) }
    }
}

/// The results of a daemon's checks of itself and of its dependencies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checkup {
    /// The daemon, its data and its user.
    pub avocet: Vec<Check>,
    /// The providers, one line per model.
    pub providers: Vec<Check>,
    /// The channels, one or more lines per account.
    pub channels: Vec<Check>,
    /// The layers of the sandbox around programs.
    pub walls: Vec<Check>,
}

impl Checkup {
    /// Returns all sections, in the order of display.
    pub fn sections(&self) -> impl Iterator<Item = (&'static str, &[Check])> {
        let Self { avocet, providers, channels, walls } = self;
        let sections = [
            ("avocet", avocet),
            ("providers", providers),
            ("channels", channels),
            ("sandbox", walls),
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
    fn last_exchanges_and_takes_the_later_success_and_the_later_failure() {
        let (one, other, both) = (last(Some(5), (1, 0)), last(None, (7, 3)), last(Some(5), (7, 3)));
        assert_eq!(one.clone().and_health(other.clone()), both);
        assert_eq!(other.and_health(one.clone()), both);
        assert_eq!(LastExchanges::default().and_health(one.clone()), one);
    }
}
