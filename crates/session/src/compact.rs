//! `/compact`: compacts a session's past on demand, in its lane, between turns.

use avocet_agent::{Compaction, UsageMeter};
use avocet_protocol::{CompactedPast, Content, Deliveries, LoggedInbound, StoreError};
use avocet_supervise::{CaughtPanic, catch_panic};

use crate::lane::Lanes;

/// Notice for a compaction that a crash interrupted.
const INTERRUPTED: &str = "I was interrupted while summarising; send /compact again.";

impl Lanes {
    /// Ends a compaction that began before a crash, because it may have killed the process.
    pub(crate) async fn end_interrupted_compaction(
        &self,
        command: &LoggedInbound,
    ) -> Result<(), StoreError> {
        self.end_compaction(command, None, INTERRUPTED).await
    }

    /// Compacts the past of the command's session and reports the result in its chat.
    pub(crate) async fn compact(&self, command: &LoggedInbound) -> Result<(), StoreError> {
        let session = &command.message.session;
        let status = self.with_retry(|| self.parts.query.session_status(session)).await?;
        let agent = self.parts.agents.now().for_session(session, &status);
        // Entered first, so that a later `/stop` finds the compaction here.
        let entered = self.parts.running.enter_compaction(session);
        let begin = || self.parts.turns.begin_compaction(command.id);
        match self.with_retry(begin).await {
            // It was stopped between the claim and this point.
            Err(StoreError::Stale(_)) => return Ok(()),
            begun => begun?,
        }
        let meter = UsageMeter::new(None, session.clone());
        let result = tokio::select! {
            biased;
            // The command that stopped it has replied already.
            () = entered.stopped.cancelled() => None,
            () = self.parts.running.release.cancelled() => None,
            result = catch_panic(agent.compact(session, self.parts.bus.as_ref(), &meter)) => Some(result),
        };
        self.record_usage(&meter).await;
        let Some(result) = result else { return Ok(()) };
        let result = match result {
            Ok(Err(StoreError::Internal(bug))) | Err(CaughtPanic(bug)) => {
                tracing::error!(%session, error = bug, "cannot summarise the conversation");
                Compaction::Failed(format!("There was an internal error: {bug}."))
            }
            Ok(result) => result?,
        };
        tracing::info!(%session, ?result, "compaction");
        self.end_compaction(command, compacted_past(&result), &words(&result)).await
    }

    async fn end_compaction(
        &self,
        command: &LoggedInbound,
        compacted: Option<&CompactedPast>,
        text: &str,
    ) -> Result<(), StoreError> {
        let notice = self.plan(command, &Content::text(text));
        let end = || self.parts.turns.compacted(command.id, compacted, notice.as_ref());
        match self.with_retry(end).await {
            // It was stopped just before its end.
            Err(StoreError::Stale(_)) => return Ok(()),
            ended => ended?,
        }
        self.parts.deliverer.wake(&command.message.inbound.address);
        Ok(())
    }
}

fn compacted_past(result: &Compaction) -> Option<&CompactedPast> {
    match result {
        Compaction::Done { compacted, .. } => Some(compacted),
        Compaction::Nothing | Compaction::Failed(_) => None,
    }
}

fn words(result: &Compaction) -> String {
    match result {
        Compaction::Done { before, after, .. } => format!(
            "The earlier conversation is summarised: about {before} tokens became {after}. The log \
                keeps all of it."
        ),
        Compaction::Nothing => "There is nothing to summarise.".to_owned(),
        Compaction::Failed(reason) => {
            format!("I could not summarise the earlier conversation; it stays unchanged. {reason}")
        }
    }
}
