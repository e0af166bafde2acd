//! `/compact`: what was said before is condensed when somebody wants it, in the lane, between turns.

use avocet_agent::Compaction;
use avocet_protocol::{Content, Deliveries, LoggedInbound, StoreError};

use crate::lane::Lanes;

impl Lanes {
    /// Condenses the past of the command's session and says in its chat what came of it. What is not
    /// finished when the daemon stops is begun anew at the next start.
    pub(crate) async fn compact(&self, command: &LoggedInbound) -> Result<(), StoreError> {
        let session = &command.message.session;
        let status = self.patiently(|| self.parts.query.session_status(session)).await?;
        let agent = self.parts.agents.for_session(session, status.model.as_deref());
        let came_to = tokio::select! {
            biased;
            () = self.cut.cancelled() => return Ok(()),
            came_to = agent.compact(session) => came_to?,
        };
        tracing::info!(%session, ?came_to, "compaction");
        let notice = self.plan(command, &Content::text(words(&came_to)));
        let compacted = || self.parts.turns.compacted(command.id, notice.as_ref());
        match self.patiently(compacted).await {
            // Another command has taken its place.
            Err(StoreError::Stale(_)) => {}
            compacted => compacted?,
        }
        self.parts.deliverer.wake(&command.message.inbound.address);
        Ok(())
    }
}

fn words(came_to: &Compaction) -> String {
    match came_to {
        Compaction::Done { before, after } => format!(
            "What was said before is condensed: about {before} tokens have become {after}. The log \
             keeps all of it."
        ),
        Compaction::Nothing => "There is nothing to condense.".to_owned(),
        Compaction::Failed(reason) => {
            format!("I could not condense what was said before; it stays as it is. {reason}")
        }
    }
}
