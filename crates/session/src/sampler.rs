//! Asks the model of a session for a running call of an MCP server.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_agent::UsageMeter;
use avocet_protocol::daemon::Live;
use avocet_protocol::model::{NoSample, Sample, SampleModel, SampleRequest};
use avocet_protocol::store::{Ledger, Query, StoreError};
use avocet_protocol::tool::SignsOfLife;

use crate::{Agents, RunningTurns, SessionParts};

/// Asks the cheap models of the agents.
#[derive(Debug, Clone)]
pub struct Sampler {
    agents: Live<Agents>,
    query: Arc<dyn Query>,
    ledger: Arc<dyn Ledger>,
    running: Arc<RunningTurns>,
}

impl Sampler {
    /// Makes a sampler for these sessions.
    #[must_use]
    pub fn from_parts(parts: &SessionParts) -> Self {
        let SessionParts { agents, query, ledger, running, .. } = parts;
        let (query, ledger) = (query.clone(), ledger.clone());
        Self { agents: agents.clone(), query, ledger, running: running.clone() }
    }
}

#[async_trait]
impl SampleModel for Sampler {
    async fn sample(&self, request: SampleRequest) -> Result<Sample, NoSample> {
        let failed = |error: StoreError| NoSample(error.to_string());
        let session = request.session.clone();
        let status = self.query.session_status(&session).await.map_err(failed)?;
        let agent = self.agents.now().for_session(&session, &status);
        let (turn, meter) = (request.turn, UsageMeter::new(Some(request.turn), session));
        // The turn makes no other sign of life while its call asks.
        self.running.sign(turn);
        let sampled = agent.sample(request, &meter).await;
        self.running.sign(turn);
        meter.record(self.ledger.as_ref()).await.map_err(failed)?;
        sampled
    }
}
