//! A chain of models: if the first fails or gives an empty answer, the next is asked in the same
//! turn. A model that failed gets a cool-down that applies to all turns (F31).
//!
//! ```text
//! first --fails--> second --empty answer--> third --answers--> reply
//!   |                |                        |
//!   30 s ... 10 min  the cost is kept         its window is large enough
//!   of cool-down
//! ```
//!
//! - **Order.** Models in cool-down are skipped. If all are, the one whose cool-down ends first is
//!   asked, because some answer is better than none.
//! - **Retries.** Each model retries by itself. All but the last make few retries: the next model
//!   answers sooner than a busy server recovers.
//! - **Window.** A model whose window is too small for the request is skipped. If no other model
//!   answers, the caller gets [`ModelError::TooLong`] with the largest window, and compacts.
//! - **Shown text.** Text that a failed model has streamed is taken back before the next is asked.
//!   Without a next model it stays: the caller reports the error beside it.
//! - **Cost.** An empty answer is paid for. Its cost is reported at once, since the turn may be
//!   dropped while the next model is asked.
//! - **Pictures** are left out for a model that cannot see them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::model::{
    Delta, Deltas, FailedAttempt, Model, ModelError, ModelFacts, ModelReply, ModelRequest, Retries,
};

use crate::CoolDowns;
use crate::retry::ShownDeltas;

/// Models in the order in which they are asked.
#[derive(Debug)]
pub struct ModelChain {
    first: Arc<dyn Model>,
    others: Vec<Arc<dyn Model>>,
    cool_downs: Arc<CoolDowns>,
}

impl ModelChain {
    /// Creates a chain of `first` and its fallbacks, in this order.
    #[must_use]
    pub fn new(
        first: Arc<dyn Model>,
        others: Vec<Arc<dyn Model>>,
        cool_downs: Arc<CoolDowns>,
    ) -> Self {
        Self { first, others, cool_downs }
    }

    /// Returns the models to ask, in order, without those in cool-down. If all are, the one with
    /// the earliest end.
    fn models_to_ask(&self) -> Vec<&dyn Model> {
        let models = std::iter::once(&self.first).chain(&self.others);
        self.cool_downs.available_models(models.map(AsRef::as_ref).collect())
    }

    async fn ask_model(
        &self,
        model: &dyn Model,
        request: &ModelRequest,
        shown: &ShownDeltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let began = self.cool_downs.elapsed_now();
        let answered = model.complete(request, &|delta: Delta<'_>| shown.show_delta(delta)).await;
        self.cool_downs.record_outcome(model.name(), began, answered.as_ref().map(|_| ()));
        answered
    }
}

#[async_trait]
impl Model for ModelChain {
    /// The name of the first model.
    fn name(&self) -> &str {
        self.first.name()
    }

    /// The facts of the first model. While it is in cool-down, `images` is also `true` if its
    /// substitute sees pictures. The other servers are not asked, because the turn would wait for
    /// models that it may never need.
    async fn facts(&self) -> ModelFacts {
        let mut facts = self.first.facts().await;
        let next = self.models_to_ask().into_iter().next();
        if let Some(next) = next.filter(|next| !facts.images && next.name() != self.name()) {
            facts.images = next.facts().await.images;
        }
        facts
    }

    /// The request in the form of the first model.
    async fn as_sent(&self, request: &ModelRequest) -> ModelRequest {
        self.first.as_sent(request).await
    }

    /// Asks the models in order until one gives a non-empty answer. Skips models with a context
    /// window that is too small. If none succeeds, returns the first of these that exists:
    ///
    /// 1. an empty answer;
    /// 2. [`ModelError::TooLong`], if some model would take a shorter request;
    /// 3. the error of the model that was asked first.
    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let shown = ShownDeltas::new(deltas);
        let mut asked = ChainOutcomes::default();
        let models = self.models_to_ask();
        for (place, model) in models.iter().copied().enumerate() {
            let facts = model.facts().await;
            let mut request = without_unseen_images(facts, request);
            if place + 1 < models.len() {
                request.to_mut().options.retries = Retries::Few;
            }
            let tokens = request.estimated_tokens();
            if let Some(window) = facts.context.filter(|window| tokens > *window) {
                asked.add_skipped(model.name(), tokens, window);
                continue;
            }
            // If the last model fails too, the caller reports it.
            if let Some(passed) = asked.last.take() {
                tracing::warn!(why = %passed.why, instead = model.name(), "asking another model");
                if let Some((error, began)) = &passed.failed {
                    shown.show_delta(Delta::Retry(FailedAttempt { error, began: *began }));
                }
                shown.show_delta(Delta::Restart);
            }
            let began = self.cool_downs.read_timestamp();
            match self.ask_model(model, &request, &shown).await {
                Ok(reply) if is_empty(&reply) => {
                    let why = format!("{} sent an empty answer", model.name());
                    asked.last = Some(Passed { why, failed: None });
                    // Report the cost now. It would be lost if the next attempt were dropped.
                    reply.spent.iter().for_each(|spent| shown.show_delta(Delta::Lost(spent)));
                    asked.empty = Some(ModelReply { spent: Vec::new(), ..reply });
                }
                Ok(reply) => return Ok(reply),
                Err(error) => asked.add_failure(error, began),
            }
        }
        asked.without_answer()
    }
}

/// The outcomes of the models that were asked.
#[derive(Debug, Default)]
struct ChainOutcomes {
    /// The last model, until the next model is asked.
    last: Option<Passed>,
    failed: Option<ModelError>,
    empty: Option<ModelReply>,
    /// The largest window of the skipped models, and the error for that model.
    small: Option<(u64, ModelError)>,
}

/// A model that was asked in vain.
#[derive(Debug)]
struct Passed {
    why: String,
    /// The error and the start of the request; `None` for an empty answer.
    failed: Option<(ModelError, Timestamp)>,
}

impl ChainOutcomes {
    /// Keeps the error to return. `TooLong` has priority, because the caller can fix it at once.
    fn add_failure(&mut self, error: ModelError, began: Timestamp) {
        let failed = Some((error.clone(), began));
        self.last = Some(Passed { why: error.to_string(), failed });
        let is_too_long = |error: &ModelError| matches!(error, ModelError::TooLong { .. });
        if self.failed.as_ref().is_none_or(|first| is_too_long(&error) && !is_too_long(first)) {
            self.failed = Some(error);
        }
    }

    fn add_skipped(&mut self, model: &str, tokens: u64, window: u64) {
        tracing::info!(model, tokens, window, "the model's window is too small for the request");
        if self.small.as_ref().is_none_or(|(largest, _)| *largest < window) {
            let detail = format!("about {tokens} tokens, and its window is {window}").into();
            let (model, window) = (model.to_owned(), Some(window));
            let error = ModelError::TooLong { model, detail, window };
            self.small = window.map(|window| (window, error));
        }
    }

    fn without_answer(self) -> Result<ModelReply, ModelError> {
        let Self { failed, empty, small, .. } = self;
        let small = small.map(|(_, error)| error);
        match (empty, failed, small) {
            (None, Some(error @ ModelError::TooLong { .. }), _)
            | (None, _, Some(error))
            | (None, Some(error), None) => Err(error),
            (empty, _, _) => Ok(empty.unwrap_or_default()),
        }
    }
}

/// Returns `true` if the text and the calls are empty.
fn is_empty(reply: &ModelReply) -> bool {
    reply.calls.is_empty() && reply.text.trim().is_empty()
}

/// Removes the pictures from a request to a model that cannot see them.
fn without_unseen_images(facts: ModelFacts, request: &ModelRequest) -> Cow<'_, ModelRequest> {
    if facts.images || request.images.is_empty() {
        return Cow::Borrowed(request);
    }
    Cow::Owned(ModelRequest { images: BTreeMap::new(), ..request.clone() })
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
