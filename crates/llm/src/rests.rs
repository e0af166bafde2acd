//! Which models are left alone for a while because they gave no answer: by all who ask them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use avocet_protocol::{Clock, Model, ModelError};

/// How long a model is left alone after it failed once; twice as long with every failure in a row.
/// Requests that were under way when it failed say nothing new.
const FIRST_REST: Duration = Duration::from_secs(30);
/// The most, if it does not say itself.
const LONGEST_REST: Duration = Duration::from_mins(10);
/// How long if it would refuse any request: somebody has to pay, or to change a name, and until then
/// every message would wait for the same refusal. Short enough for whoever mends it and tries.
const REST_OF_USELESS: Duration = LONGEST_REST;
/// The most, if it does.
const LONGEST_ASKED_REST: Duration = Duration::from_hours(1);

/// The models that are left alone, by name.
#[derive(Debug)]
pub struct Rests {
    rests: Mutex<BTreeMap<String, Rest>>,
    clock: Arc<dyn Clock>,
}

/// That a model is left alone.
#[derive(Debug, Clone, Copy, Default)]
struct Rest {
    failures: u32,
    until: Duration,
}

impl Rests {
    /// No model is left alone.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { rests: Mutex::default(), clock }
    }

    /// Those that are not left alone; if all are, the one that is for the shortest time.
    pub(crate) fn awake<'m>(&self, models: Vec<&'m dyn Model>) -> Vec<&'m dyn Model> {
        let now = self.clock.elapsed();
        let rests = self.rests.lock().unwrap_or_else(PoisonError::into_inner);
        let until =
            |model: &dyn Model| rests.get(model.name()).map_or(Duration::ZERO, |it| it.until);
        let awake: Vec<_> = models.iter().copied().filter(|model| until(*model) <= now).collect();
        if awake.is_empty() {
            return models.into_iter().min_by_key(|model| until(*model)).into_iter().collect();
        }
        awake
    }

    /// The time by which requests begin.
    pub(crate) fn now(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Notes what became of a request that began at this time.
    pub(crate) fn note(&self, model: &str, began: Duration, answered: Result<(), &ModelError>) {
        let mut rests = self.rests.lock().unwrap_or_else(PoisonError::into_inner);
        match answered {
            Ok(()) => {
                rests.remove(model);
            }
            // It says something about the request, not about the model.
            Err(ModelError::Refused { lasting: false, .. } | ModelError::TooLong { .. }) => {}
            Err(error) => {
                let before = rests.get(model).copied().unwrap_or_default();
                let is_same_outage = before.failures > 0 && began < before.until;
                let failures = before.failures.saturating_add(u32::from(!is_same_outage));
                let until = self.clock.elapsed() + rest_after(error, failures);
                let until = until.max(before.until);
                rests.insert(model.to_owned(), Rest { failures, until });
            }
        }
    }
}

fn rest_after(error: &ModelError, failures: u32) -> Duration {
    match error {
        ModelError::Busy { retry_after: Some(asked), .. } => (*asked).min(LONGEST_ASKED_REST),
        ModelError::Refused { .. } => REST_OF_USELESS,
        _ => {
            let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
            FIRST_REST.saturating_mul(doubled).min(LONGEST_REST)
        }
    }
}

#[cfg(test)]
#[path = "rests_tests.rs"]
mod tests;
