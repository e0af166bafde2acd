//! Ends waits that time out: approvals expire as denied, questions as unanswered. The turn
//! continues with that result.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::access::EXPIRED;
use avocet_protocol::clock::or_pending;
use avocet_protocol::store::{OpenWait, Resolution, StoreError};
use avocet_protocol::tool::WaitKind;

use crate::approvals::deliver_all;
use crate::lane::Lanes;

const AFTER_ERROR: Duration = Duration::from_mins(1);

/// Resolves waits as they expire, until the daemon stops. Sleeps while all waits are resolved.
pub(crate) async fn watch_expiry(lanes: Arc<Lanes>) {
    let stopping = lanes.stopping.clone();
    loop {
        let next = match resolve_expired(&lanes).await {
            Ok(next) => next.map(|wait| lanes.parts.clock.now().until(wait.expires_at)),
            Err(error) => {
                tracing::error!(%error, "cannot read the open waits; retrying in 60 s");
                Some(AFTER_ERROR)
            }
        };
        let until_next = or_pending(next.map(|wait| lanes.parts.clock.sleep(wait)));
        tokio::select! {
            () = stopping.cancelled() => return,
            () = lanes.runner.settler.new_wait.notified() => {}
            () = until_next => {}
        }
    }
}

/// Resolves expired waits. Returns the wait that expires next.
async fn resolve_expired(lanes: &Arc<Lanes>) -> Result<Option<OpenWait>, StoreError> {
    let waits = lanes.parts.with_retry(|| lanes.parts.turns.open_waits()).await?;
    let now = lanes.parts.clock.now();
    for wait in waits {
        if wait.expires_at > now {
            return Ok(Some(wait));
        }
        tracing::info!(wait = %wait.id, kind = wait.kind.as_str(), "a wait has expired");
        let resolution = resolution_of_expiry(wait.kind);
        let resolve = || lanes.parts.turns.resolve(wait.id, &resolution);
        if let Some(session) = lanes.parts.with_retry(resolve).await? {
            lanes.wake(session);
            deliver_all(&lanes.parts).await;
        }
    }
    Ok(None)
}

/// Returns the result of a wait that has expired, with a text for the model.
fn resolution_of_expiry(kind: WaitKind) -> Resolution {
    match kind {
        WaitKind::Approval => Resolution::denied(EXPIRED),
        WaitKind::Answer => Resolution::error("unanswered: no answer came in time"),
        WaitKind::Child => Resolution::error("the sub-agent did not finish in time"),
        WaitKind::Choice => Resolution::outcome_unknown(
            "interrupted, outcome unknown, and no decision came in time; check before repeating it",
        ),
    }
}
