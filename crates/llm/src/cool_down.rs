//! Cool-downs (circuit breaker): after a failure, all turns skip the model for a while.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::{Clock, Timestamp};
use avocet_protocol::model::{Model, ModelError};
use parking_lot::Mutex;

/// Cool-down after the first failure. It doubles with every further failure in a row. Failures of
/// requests that began before the end of the last cool-down do not count again.
const FIRST: Duration = Duration::from_secs(30);
/// Maximum cool-down, unless the model states one.
const LONGEST: Duration = Duration::from_mins(10);
/// Cool-down of a model that would refuse any request. The operator has to pay or to change a name,
/// and until then every message would wait for the same refusal. Short enough for an operator who
/// fixes it and tries again.
const OF_UNUSABLE: Duration = LONGEST;
/// Maximum cool-down if the model states one.
const LONGEST_ASKED: Duration = Duration::from_hours(1);

/// The models in cool-down, by name.
#[derive(Debug)]
pub struct CoolDowns {
    by_model: Mutex<BTreeMap<String, CoolDown>>,
    clock: Arc<dyn Clock>,
}

/// The cool-down of a model.
#[derive(Debug, Clone, Copy, Default)]
struct CoolDown {
    failures: u32,
    until: Duration,
}

impl CoolDowns {
    /// Starts without any cool-down.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { by_model: Mutex::default(), clock }
    }

    /// Returns the models outside of a cool-down. If all are in one, returns the model with the
    /// earliest end.
    pub(crate) fn available_models<'m>(&self, models: Vec<&'m dyn Model>) -> Vec<&'m dyn Model> {
        let now = self.clock.elapsed();
        let cool_downs = self.by_model.lock();
        let until =
            |model: &dyn Model| cool_downs.get(model.name()).map_or(Duration::ZERO, |it| it.until);
        let available: Vec<_> =
            models.iter().copied().filter(|model| until(*model) <= now).collect();
        if available.is_empty() {
            return models.into_iter().min_by_key(|model| until(*model)).into_iter().collect();
        }
        available
    }

    /// The current time on the clock of cool-downs.
    pub(crate) fn elapsed_now(&self) -> Duration {
        self.clock.elapsed()
    }

    /// The current time for the log.
    pub(crate) fn read_timestamp(&self) -> Timestamp {
        self.clock.now()
    }

    /// Records the outcome of a request that began at `began`.
    pub(crate) fn record_outcome(
        &self,
        model: &str,
        began: Duration,
        answered: Result<(), &ModelError>,
    ) {
        let mut cool_downs = self.by_model.lock();
        match answered {
            Ok(()) => {
                cool_downs.remove(model);
            }
            // An error of the request alone.
            Err(ModelError::Refused { lasting: false, .. } | ModelError::TooLong { .. }) => {}
            Err(error) => {
                let before = cool_downs.get(model).copied().unwrap_or_default();
                let is_same_outage = before.failures > 0 && began < before.until;
                let failures = before.failures.saturating_add(u32::from(!is_same_outage));
                let until = self.clock.elapsed() + cool_down_after(error, failures);
                let until = until.max(before.until);
                cool_downs.insert(model.to_owned(), CoolDown { failures, until });
            }
        }
    }
}

fn cool_down_after(error: &ModelError, failures: u32) -> Duration {
    match error {
        ModelError::Busy { retry_after: Some(asked), .. } => (*asked).min(LONGEST_ASKED),
        ModelError::Refused { .. } => OF_UNUSABLE,
        _ => {
            let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
            FIRST.saturating_mul(doubled).min(LONGEST)
        }
    }
}

#[cfg(test)]
#[path = "cool_down_tests.rs"]
mod tests;
