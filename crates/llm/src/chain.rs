//! Several models, one behind the other: where the first gives no answer, or an empty one, the next is
//! asked in the same turn. A model that failed is left alone for a while, by all turns (F31).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::{
    Delta, Deltas, Model, ModelError, ModelFacts, ModelReply, ModelRequest, Spent,
};

use crate::Rests;
use crate::retry::Shown;

/// Models in the order in which they are asked.
#[derive(Debug)]
pub struct Chain {
    first: Arc<dyn Model>,
    others: Vec<Arc<dyn Model>>,
    rests: Arc<Rests>,
}

impl Chain {
    /// `first`, and who is asked where it gives no answer, in this order.
    #[must_use]
    pub fn new(first: Arc<dyn Model>, others: Vec<Arc<dyn Model>>, rests: Arc<Rests>) -> Self {
        Self { first, others, rests }
    }

    fn models(&self) -> impl Iterator<Item = &dyn Model> {
        std::iter::once(&self.first).chain(&self.others).map(AsRef::as_ref)
    }

    /// Who is asked, in order: those that are not left alone and have room for a request of so many
    /// tokens. If all are left alone, the one that is for the shortest time; if none has room, those
    /// that would be asked otherwise: the request may be smaller than it looks.
    async fn asked(&self, tokens: u64) -> Vec<&dyn Model> {
        let mut roomy = Vec::new();
        for model in self.models() {
            if model.facts().await.context.is_none_or(|context| tokens <= context) {
                roomy.push(model);
            }
        }
        if roomy.is_empty() {
            roomy = self.models().collect();
        }
        self.rests.awake(roomy)
    }

    async fn ask(
        &self,
        model: &dyn Model,
        request: &ModelRequest,
        shown: &Shown<'_>,
    ) -> Result<ModelReply, ModelError> {
        let request = what_it_takes(model.facts().await, request);
        let answered = model.complete(&request, &|delta: Delta<'_>| shown.show(delta)).await;
        self.rests.note(model.name(), answered.as_ref().map(|_| ()));
        answered
    }
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

    /// As the first is.
    async fn as_sent(&self, request: &ModelRequest) -> ModelRequest {
        self.first.as_sent(request).await
    }

    /// Asks one after the other until one says something. Where none does, an empty answer is the
    /// reply, if there was one; else the error is that of the model that was asked first.
    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let shown = Shown::new(deltas);
        let (mut failed, mut empty, mut spent) = (None, None, Vec::<Spent>::new());
        for model in self.asked(request.estimated_tokens()).await {
            let name = model.name();
            if failed.is_some() || empty.is_some() {
                tracing::warn!(instead = name, "another model is asked");
                shown.show(Delta::Restart);
            }
            match self.ask(model, request, &shown).await {
                Ok(mut reply) => {
                    spent.append(&mut reply.spent);
                    if !is_empty(&reply) {
                        return Ok(ModelReply { spent, ..reply });
                    }
                    tracing::warn!(model = name, "the model answered with nothing");
                    empty = Some(reply);
                }
                Err(error) => {
                    tracing::warn!(%error, "the model gives no answer");
                    failed.get_or_insert(error);
                }
            }
        }
        match (empty, failed) {
            (None, Some(error)) => Err(error),
            (empty, _) => Ok(ModelReply { spent, ..empty.unwrap_or_default() }),
        }
    }
}

/// Whether it neither says nor calls anything.
fn is_empty(reply: &ModelReply) -> bool {
    reply.calls.is_empty() && reply.text.trim().is_empty()
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
