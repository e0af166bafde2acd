//! An embedding model whose requests count towards the budgets of the day.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::model::{EmbedError, EmbeddedTexts, Embedder, Price};
use avocet_protocol::store::{Purpose, UpkeepBudget};

/// An embedding model that asks the budget before each request and records the usage after it. A
/// request that its caller abandons is not recorded.
#[derive(Debug)]
pub struct MeteredEmbedder {
    embedder: Arc<dyn Embedder>,
    budget: Arc<dyn UpkeepBudget>,
}

impl MeteredEmbedder {
    /// Meters this model.
    #[must_use]
    pub fn new(embedder: Arc<dyn Embedder>, budget: Arc<dyn UpkeepBudget>) -> Self {
        Self { embedder, budget }
    }
}

#[async_trait]
impl Embedder for MeteredEmbedder {
    fn name(&self) -> &str {
        self.embedder.name()
    }

    fn price(&self) -> Option<Price> {
        self.embedder.price()
    }

    async fn embed(&self, texts: &[String]) -> Result<EmbeddedTexts, EmbedError> {
        let used_up = self.budget.used_up(self.price()).await;
        match used_up.map_err(|error| EmbedError::Failed(error.to_string()))? {
            None => {}
            Some(notice) => return Err(EmbedError::Refused(notice)),
        }
        let embedded = self.embedder.embed(texts).await?;
        let spent = std::slice::from_ref(&embedded.spent);
        let recorded = self.budget.record(Purpose::Embedding, spent).await;
        recorded.map_err(|error| EmbedError::Failed(error.to_string()))?;
        Ok(embedded)
    }
}
