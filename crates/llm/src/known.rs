//! Around every provider's model: what is known of it decides how it is shown tools and pictures, and
//! says what its answers cost.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::{
    Delta, Deltas, Model, ModelError, ModelFacts, ModelReply, ModelRequest, Spent,
};

use crate::asking::Probe;
use crate::facts::{BuiltIn, Facts, Known, Learned, Source};
use crate::{Dialected, ToolStyle};

/// A model as its provider has it: calls that it writes as text stay in the text.
#[async_trait]
pub trait Served: Model {
    /// What its server says of it; asked once, and nothing where it cannot be asked.
    async fn learned(&self) -> Learned {
        let facts = self.facts().await;
        Learned { facts, images: facts.images.then_some(true), native_tools: None }
    }

    /// Finds out whether it can be asked, without having it answer if its API allows that.
    ///
    /// # Errors
    /// [`ModelError`] as for a request.
    async fn probe(&self) -> Result<Probe, ModelError>;
}

/// A model of which something may be known.
#[derive(Debug)]
pub struct KnownModel {
    model: Arc<dyn Served>,
    /// As the trait object that asking it takes.
    asked: Arc<dyn Model>,
    said: Said,
}

/// What is said of a model without asking its server.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Said {
    pub(crate) models: Facts,
    pub(crate) provider: Facts,
    pub(crate) built_in: BuiltIn,
}

impl Said {
    fn with(&self, learned: Learned) -> Known {
        let Learned { facts, images, native_tools } = learned;
        let as_text = self.built_in.dialect.unwrap_or(ToolStyle::Json);
        let tools = native_tools.map(|native| if native { ToolStyle::Native } else { as_text });
        let ModelFacts { context, max_output, price, .. } = facts;
        let server = Facts { context, max_output, images, tools, text_calls: None, price };
        Known::from_all(&[
            (Source::Models, self.models),
            (Source::Provider, self.provider),
            (Source::Server, server),
            (Source::BuiltIn, self.built_in.facts),
        ])
    }
}

impl KnownModel {
    /// `model`, of which this is said.
    #[must_use]
    pub(crate) fn new<M: Served + 'static>(model: M, said: Said) -> Self {
        let model = Arc::new(model);
        Self { asked: model.clone(), model, said }
    }

    /// All that is known of it, and from whom. Its server may be asked for that, once.
    pub async fn known(&self) -> Known {
        self.said.with(self.model.learned().await)
    }

    fn dialected(&self, known: Known) -> Dialected {
        Dialected::new(self.asked.clone(), known.tool_style()).with_text_calls(known.text_calls())
    }

    /// Finds out whether it can be asked: see [`Served::probe`].
    ///
    /// # Errors
    /// [`ModelError`] as for a request.
    pub async fn probe(&self) -> Result<Probe, ModelError> {
        self.model.probe().await
    }
}

#[async_trait]
impl Model for KnownModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn facts(&self) -> ModelFacts {
        self.known().await.into()
    }

    async fn as_sent(&self, request: &ModelRequest) -> ModelRequest {
        self.dialected(self.known().await).as_sent(request).await
    }

    /// Says what the answer has cost, and what came to nothing, where the price is known.
    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let known = self.known().await;
        let model = self.dialected(known);
        let priced = |spent: &Spent| {
            let cost = spent.cost.or_else(|| known.price.map(|(price, _)| price.of(spent.usage)));
            Spent { cost, ..spent.clone() }
        };
        let with_price = |delta: Delta<'_>| match delta {
            Delta::Lost(spent) => deltas(Delta::Lost(&priced(spent))),
            Delta::Text(_) | Delta::Restart => deltas(delta),
        };
        let mut reply = model.complete(request, &with_price).await?;
        reply.spent.iter_mut().for_each(|spent| *spent = priced(spent));
        Ok(reply)
    }
}

#[cfg(test)]
#[path = "known_tests.rs"]
mod tests;
