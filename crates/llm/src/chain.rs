//! Several models, one behind the other: where the first gives no answer, the next is asked in the
//! same turn. A model that failed is left alone for a while, by all turns (F31).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::{
    Clock, Delta, Deltas, Model, ModelError, ModelFacts, ModelReply, ModelRequest,
};

use crate::retry::Shown;

/// How long a model is left alone after it failed once; twice as long with every failure in a row.
const FIRST_REST: Duration = Duration::from_secs(30);
/// The most, if it does not say itself.
const LONGEST_REST: Duration = Duration::from_mins(10);
/// The most, if it does.
const LONGEST_ASKED_REST: Duration = Duration::from_hours(1);

/// Models in the order in which they are asked.
#[derive(Debug)]
pub struct Chain {
    first: Arc<dyn Model>,
    others: Vec<Arc<dyn Model>>,
    rests: Mutex<BTreeMap<usize, Rest>>,
    clock: Arc<dyn Clock>,
}

/// A model, and its place.
type Link<'c> = (usize, &'c Arc<dyn Model>);

/// That a model is left alone.
#[derive(Debug, Clone, Copy)]
struct Rest {
    failures: u32,
    until: Duration,
}

impl Chain {
    /// `first`, and who is asked where it gives no answer, in this order.
    #[must_use]
    pub fn new(first: Arc<dyn Model>, others: Vec<Arc<dyn Model>>, clock: Arc<dyn Clock>) -> Self {
        Self { first, others, rests: Mutex::default(), clock }
    }

    fn models(&self) -> impl Iterator<Item = Link<'_>> {
        std::iter::once(&self.first).chain(&self.others).enumerate()
    }

    /// Who is asked, in order: those that are not left alone; if all are, the one that is for the
    /// shortest time.
    fn awake(&self) -> (Link<'_>, Vec<Link<'_>>) {
        let now = self.clock.elapsed();
        let rests = self.rests.lock().unwrap_or_else(PoisonError::into_inner);
        let until = |place: usize| rests.get(&place).map_or(Duration::ZERO, |rest| rest.until);
        let mut awake = self.models().filter(|(place, _)| until(*place) <= now);
        let soonest = || {
            let shortest = self.models().min_by_key(|(place, _)| until(*place));
            shortest.unwrap_or((0, &self.first))
        };
        (awake.next().unwrap_or_else(soonest), awake.collect())
    }

    async fn ask(
        &self,
        (place, model): Link<'_>,
        request: &ModelRequest,
        shown: &Shown<'_>,
    ) -> Result<ModelReply, ModelError> {
        let request = what_it_takes(model.facts().await, request);
        let answered = model.complete(&request, &|delta: Delta<'_>| shown.show(delta)).await;
        self.note(place, answered.as_ref().map(|_| ()));
        answered
    }

    fn note(&self, place: usize, answered: Result<(), &ModelError>) {
        let mut rests = self.rests.lock().unwrap_or_else(PoisonError::into_inner);
        match answered {
            Ok(()) => {
                rests.remove(&place);
            }
            // It says something about the request, not about the model.
            Err(ModelError::Refused { .. } | ModelError::TooLong { .. }) => {}
            Err(error) => {
                let failures = rests.get(&place).map_or(0, |rest| rest.failures).saturating_add(1);
                let until = self.clock.elapsed() + rest_after(error, failures);
                rests.insert(place, Rest { failures, until });
            }
        }
    }
}

fn rest_after(error: &ModelError, failures: u32) -> Duration {
    if let ModelError::Busy { retry_after: Some(asked), .. } = error {
        return (*asked).min(LONGEST_ASKED_REST);
    }
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
    FIRST_REST.saturating_mul(doubled).min(LONGEST_REST)
}

#[async_trait]
impl Model for Chain {
    /// That of the first.
    fn name(&self) -> &str {
        self.first.name()
    }

    /// Those of the first, but with eyes if any of them has: the others are asked without pictures.
    async fn facts(&self) -> ModelFacts {
        let mut facts = self.first.facts().await;
        for model in &self.others {
            facts.images |= model.facts().await.images;
        }
        facts
    }

    /// Asks one after the other. The error is that of the one that was asked first.
    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let shown = Shown::new(deltas);
        let (first, others) = self.awake();
        let error = match self.ask(first, request, &shown).await {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        for other in others {
            tracing::warn!(%error, instead = other.1.name(), "another model is asked");
            shown.show(Delta::Restart);
            match self.ask(other, request, &shown).await {
                Ok(reply) => return Ok(reply),
                Err(error) => tracing::warn!(%error, "nor does this one answer"),
            }
        }
        Err(error)
    }
}

/// The request, without pictures for a model that has no eyes.
fn what_it_takes(facts: ModelFacts, request: &ModelRequest) -> Cow<'_, ModelRequest> {
    if facts.images || request.images.is_empty() {
        return Cow::Borrowed(request);
    }
    Cow::Owned(ModelRequest { images: BTreeMap::new(), ..request.clone() })
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
