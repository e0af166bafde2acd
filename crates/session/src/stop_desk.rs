//! The port behind `avocet stop --all` and `avocet resume --all`.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::store::{Actor, StopAll, StopControl, StoreError};

use crate::lane::Lanes;
use crate::stop_all::end_open_work;

/// Stops a daemon's work, or writes the stop into the log of a stopped daemon.
#[derive(Debug)]
pub struct StopDesk {
    stop: Arc<dyn StopAll>,
    lanes: Option<Arc<Lanes>>,
}

impl StopDesk {
    /// Acts on the log without a daemon. The next start ends the open turns, or takes them up again.
    #[must_use]
    pub fn in_log(stop: Arc<dyn StopAll>) -> Self {
        Self { stop, lanes: None }
    }

    pub(crate) fn from_lanes(lanes: &Arc<Lanes>) -> Self {
        Self { stop: lanes.parts.stop.clone(), lanes: Some(lanes.clone()) }
    }
}

#[async_trait]
impl StopControl for StopDesk {
    async fn stop_everything(&self) -> Result<bool, StoreError> {
        let begun = self.stop.stop_all(&Actor::Host, None).await?;
        if let Some(lanes) = &self.lanes {
            end_open_work(&lanes.parts, lanes.group()).await?;
        }
        Ok(begun)
    }

    async fn resume_everything(&self) -> Result<bool, StoreError> {
        let ended = self.stop.resume_all(&Actor::Host).await?;
        if let Some(lanes) = self.lanes.as_ref().filter(|_| ended) {
            lanes.wake_open_sessions().await?;
        }
        Ok(ended)
    }
}
