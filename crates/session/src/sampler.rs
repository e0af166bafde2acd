//! Asks the model of a session for a running call of an MCP server.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_agent::UsageMeter;
use avocet_protocol::{Ledger, NoSample, Query, Sample, SampleModel, SampleRequest, StoreError};

use crate::{Agents, SessionParts};

/// Asks the cheap models of the agents.
#[derive(Debug, Clone)]
pub struct Sampler {
    agents: Agents,
    query: Arc<dyn Query>,
    ledger: Arc<dyn Ledger>,
}

impl Sampler {
    /// Makes a sampler for these sessions.
    #[must_use]
    pub fn of(parts: &SessionParts) -> Self {
        let SessionParts { agents, query, ledger, .. } = parts;
        Self { agents: agents.clone(), query: query.clone(), ledger: ledger.clone() }
    }
}

#[async_trait]
impl SampleModel for Sampler {
    async fn sample(&self, request: SampleRequest) -> Result<Sample, NoSample> {
        let failed = |error: StoreError| NoSample(error.to_string());
        let session = request.session.clone();
        let status = self.query.session_status(&session).await.map_err(failed)?;
        let agent = self.agents.for_session(&session, &status);
        let meter = UsageMeter::new(Some(request.turn), session);
        let sampled = agent.sample(request, &meter).await;
        meter.record(self.ledger.as_ref()).await.map_err(failed)?;
        sampled
    }
}
