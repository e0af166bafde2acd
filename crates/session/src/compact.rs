//! `/compact`: compacts a session's past on demand, in its lane, between turns.

use avocet_agent::{Compaction, UsageMeter};
use avocet_protocol::access::Roles;
use avocet_protocol::bus::Deliveries;
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{Content, LoggedInbound};
use avocet_protocol::store::{CompactedPast, StoreError};
use avocet_supervise::{CaughtPanic, catch_panic};

use crate::SessionParts;

/// Notice for a compaction that a crash interrupted.
const INTERRUPTED: &str = "I was interrupted while summarising; send /compact again.";

/// Ends a compaction that began before a crash, because it may have killed the process.
pub(crate) async fn end_interrupted_compaction(
    parts: &SessionParts,
    command: &LoggedInbound,
) -> Result<(), StoreError> {
    let notice = notices::Summarised.for_reader(readers::EVERYBODY, INTERRUPTED);
    end_compaction(parts, command, None, &notice).await
}

/// Compacts the past of the command's session and reports the result in its chat.
pub(crate) async fn compact_session(
    parts: &SessionParts,
    command: &LoggedInbound,
) -> Result<(), StoreError> {
    let session = &command.message.session;
    let status = parts.with_retry(|| parts.query.session_status(session)).await?;
    let agent = parts.agents.now().for_session(session, &status);
    // Entered first, so that a later `/stop` finds the compaction here.
    let entered = parts.running.enter_compaction(session);
    let begin = || parts.turns.begin_compaction(command.id);
    match parts.with_retry(begin).await {
        // It was stopped between the claim and this point.
        Err(StoreError::Stale(_)) => return Ok(()),
        begun => begun?,
    }
    let meter = UsageMeter::new(None, session.clone());
    let result = tokio::select! {
        biased;
        // The command that stopped it has replied already.
        () = entered.stopped.cancelled() => None,
        () = parts.running.release.cancelled() => None,
        result = catch_panic(agent.compact(session, parts.bus.as_ref(), &meter)) => Some(result),
    };
    parts.record_usage(&meter).await;
    let Some(result) = result else { return Ok(()) };
    let result = match result {
        Ok(Err(StoreError::Internal(bug))) | Err(CaughtPanic(bug)) => {
            tracing::error!(%session, error = bug, "cannot summarise the conversation");
            Compaction::Failed(format!("There was an internal error: {bug}."))
        }
        Ok(result) => result?,
    };
    tracing::info!(%session, ?result, "compaction");
    let is_for_owner = parts.bus.is_owners_chat(&command.message.inbound.address);
    let notice = compaction_notice(&result, is_for_owner);
    end_compaction(parts, command, compacted_past(&result), &notice).await
}

/// Leaves the reason of a failure out for people who are no owners.
fn compaction_notice(result: &Compaction, is_for_owner: bool) -> Content {
    match result {
        Compaction::Failed(_) if !is_for_owner => {
            let result = Compaction::Failed("Please try it again later.".to_owned());
            notices::Summarised.for_reader(readers::OTHERS, describe_compaction(&result))
        }
        Compaction::Failed(_) => {
            notices::Summarised.for_reader(readers::Owner, describe_compaction(result))
        }
        Compaction::Done { .. } | Compaction::Nothing => {
            notices::Summarised.for_reader(readers::EVERYBODY, describe_compaction(result))
        }
    }
}

async fn end_compaction(
    parts: &SessionParts,
    command: &LoggedInbound,
    compacted: Option<&CompactedPast>,
    notice: &Content,
) -> Result<(), StoreError> {
    let notice = parts.plan_message(command, notice);
    let end = || parts.turns.compacted(command.id, compacted, notice.as_ref());
    match parts.with_retry(end).await {
        // It was stopped just before its end.
        Err(StoreError::Stale(_)) => return Ok(()),
        ended => ended?,
    }
    parts.deliverer.wake(&command.message.inbound.address);
    Ok(())
}

fn compacted_past(result: &Compaction) -> Option<&CompactedPast> {
    match result {
        Compaction::Done { compacted, .. } => Some(compacted),
        Compaction::Nothing | Compaction::Failed(_) => None,
    }
}

fn describe_compaction(result: &Compaction) -> String {
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
