//! Recalls memories for a turn, once, before its first request.

use std::sync::Arc;

use avocet_protocol::memory::{Recall, RecalledMemory};
use avocet_protocol::store::{MemoryScope, Past, StoreError};
use avocet_protocol::turn::{Origin, TurnRecord};

use crate::TurnContext;

/// The part of a turn's text that recall reads, in characters.
const MOST_QUERY: usize = 2000;

/// The memories of an agent, and the size of the block that a turn gets.
#[derive(Debug, Clone)]
pub struct AgentRecall {
    /// Finds the memories.
    pub recall: Arc<dyn Recall>,
    /// Maximum tokens of recalled memories in a turn; 0 switches recall off.
    pub budget_tokens: u64,
}

impl AgentRecall {
    /// Returns the memories for a turn. A turn that has steps or memories keeps its own. Memories that
    /// the past turns of the request contain are left out.
    ///
    /// # Errors
    /// [`StoreError`] if the log cannot be read.
    pub(crate) async fn for_turn(
        &self,
        turn: &TurnRecord,
        turn_context: &TurnContext,
        past: &Past,
    ) -> Result<Vec<RecalledMemory>, StoreError> {
        if !turn.steps.is_empty() || !turn.recalled.is_empty() || self.budget_tokens == 0 {
            return Ok(turn.recalled.clone());
        }
        let scopes = MemoryScope::readable(turn_context.asker(turn).as_ref());
        let mut found =
            self.recall.recall(&scopes, &recall_query(turn), self.budget_tokens).await?;
        if found.is_empty() {
            return Ok(found);
        }
        let shown: Vec<&RecalledMemory> =
            past.turns.iter().flat_map(|turn| &turn.recalled).collect();
        found.retain(|one| !shown.iter().any(|shown| shown.id == one.id && shown.text == one.text));
        Ok(found)
    }
}

fn recall_query(turn: &TurnRecord) -> String {
    let text = match &turn.origin {
        Origin::Messages(messages) => {
            let texts = messages.iter().map(|one| one.message.inbound.content.text.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Origin::Child { prompt, .. } => prompt.clone(),
    };
    text.chars().take(MOST_QUERY).collect()
}

#[cfg(test)]
#[path = "recall_tests.rs"]
mod tests;
