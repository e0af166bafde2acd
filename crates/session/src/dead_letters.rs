//! The port behind `avocet dead`: dead letters that are listed, retried or dropped.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::bus::Deliveries;
use avocet_protocol::store::{
    DeadId, DeadLetter, DeadLetters, DeadPage, RetriedLetter, StoreError,
};

use crate::lane::Lanes;

/// The dead letters of a daemon, or of the log of a stopped one.
#[derive(Debug)]
pub struct DeadLetterDesk {
    letters: Arc<dyn DeadLetters>,
    lanes: Option<Arc<Lanes>>,
}

impl DeadLetterDesk {
    /// Acts on the log without a daemon; a retried letter waits for the next start.
    #[must_use]
    pub fn in_log(letters: Arc<dyn DeadLetters>) -> Self {
        Self { letters, lanes: None }
    }

    pub(crate) fn from_lanes(lanes: &Arc<Lanes>) -> Self {
        Self { letters: lanes.parts.dead_letters.clone(), lanes: Some(lanes.clone()) }
    }
}

#[async_trait]
impl DeadLetters for DeadLetterDesk {
    async fn dead_letters(&self, page: DeadPage) -> Result<Vec<DeadLetter>, StoreError> {
        self.letters.dead_letters(page).await
    }

    async fn dead_letter(&self, id: DeadId) -> Result<Option<DeadLetter>, StoreError> {
        self.letters.dead_letter(id).await
    }

    async fn retry_dead_letter(&self, id: DeadId) -> Result<Option<RetriedLetter>, StoreError> {
        let retried = self.letters.retry_dead_letter(id).await?;
        if let (Some(retried), Some(lanes)) = (&retried, &self.lanes) {
            match retried {
                RetriedLetter::Delivery(chat) => lanes.parts.deliverer.wake(chat),
                RetriedLetter::Message(session) => lanes.wake(session.clone()),
            }
        }
        Ok(retried)
    }

    async fn drop_dead_letter(&self, id: DeadId) -> Result<bool, StoreError> {
        self.letters.drop_dead_letter(id).await
    }
}
