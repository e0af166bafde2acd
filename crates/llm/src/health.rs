//! The health of providers, from the requests since the start of the daemon.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::clock::Clock;
use avocet_protocol::daemon::{LastExchanges, ProviderStatus};
use avocet_protocol::model::{
    Delta, Deltas, Model, ModelError, ModelFacts, ModelReply, ModelRequest,
};
use parking_lot::Mutex;

/// Refusals in a row after which a model counts as down. A single refusal may be about its request.
const REFUSALS: u64 = 3;

/// The last requests to each model.
pub struct ModelHealth {
    clock: Arc<dyn Clock>,
    models: Mutex<BTreeMap<String, LastRequests>>,
}

impl fmt::Debug for ModelHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health").field("models", &self.models).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Default)]
struct LastRequests {
    last: LastExchanges,
    /// `true` if the last failure was a refusal of one request, for example by a content filter.
    is_refusal: bool,
}

impl LastRequests {
    fn is_down(&self) -> bool {
        let least = if self.is_refusal { REFUSALS } else { 1 };
        self.last.failures_in_a_row() >= least
    }
}

impl ModelHealth {
    /// Starts without any requests.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, models: Mutex::default() }
    }

    /// Wraps a model so that its requests are recorded here.
    #[must_use]
    pub fn watch_model(self: &Arc<Self>, model: Arc<dyn Model>) -> Arc<dyn Model> {
        Arc::new(WatchedModel { model, health: self.clone() })
    }

    /// Returns the state of a provider. Its models are those with the prefix `provider/`.
    #[must_use]
    pub fn provider_status(&self, provider: &str) -> ProviderStatus {
        let mut status = ProviderStatus {
            provider: provider.to_owned(),
            fault: None,
            requests: LastExchanges::default(),
        };
        for (model, requests) in self.models.lock().iter() {
            if model.split_once('/').is_none_or(|(name, _)| name != provider) {
                continue;
            }
            if requests.is_down() && status.fault.is_none() {
                status.fault = requests.last.failure.as_ref().map(|last| last.reason.clone());
            }
            status.requests =
                std::mem::take(&mut status.requests).and_health(requests.last.clone());
        }
        status
    }

    /// The reason why a model is down, from its last requests; `None` if it works or is unused.
    #[must_use]
    pub fn fault_of(&self, model: &str) -> Option<String> {
        let models = self.models.lock();
        let requests = models.get(model).filter(|requests| requests.is_down())?;
        requests.last.failure.as_ref().map(|last| last.reason.clone())
    }

    fn note_outcome(&self, model: &str, answered: Result<(), &ModelError>) {
        let now = self.clock.now();
        let mut models = self.models.lock();
        let requests = models.entry(model.to_owned()).or_default();
        match answered {
            Ok(()) => requests.last.succeed(now),
            // An error of this request alone; a shorter request follows at once.
            Err(ModelError::TooLong { .. }) => {}
            Err(error) => {
                requests.is_refusal = matches!(error, ModelError::Refused { lasting: false, .. });
                requests.last.fail(now, &error.to_string());
            }
        }
    }
}

/// A model whose requests are recorded, except dropped ones, which tell nothing about the model.
#[derive(Debug)]
struct WatchedModel {
    model: Arc<dyn Model>,
    health: Arc<ModelHealth>,
}

#[async_trait]
impl Model for WatchedModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn facts(&self) -> ModelFacts {
        self.model.facts().await
    }

    async fn as_sent(&self, request: &ModelRequest) -> ModelRequest {
        self.model.as_sent(request).await
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let watched = |delta: Delta<'_>| {
            if let Delta::Retry(attempt) = delta {
                self.health.note_outcome(self.name(), Err(attempt.error));
            }
            deltas(delta);
        };
        let answered = self.model.complete(request, &watched).await;
        self.health.note_outcome(self.name(), answered.as_ref().map(|_| ()));
        answered
    }
}

#[cfg(test)]
#[path = "health_tests.rs"]
mod tests;
