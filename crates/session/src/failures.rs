//! Log lines about failed turns; repeated equal failures are counted instead of logged.

use std::sync::Arc;

use avocet_agent::{FailedTurn, TurnEnd};
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Clock;
use avocet_supervise::RepeatedLines;

/// The failures logged so far, by session.
#[derive(Debug)]
pub(crate) struct LoggedFailures {
    logged: RepeatedLines,
    clock: Arc<dyn Clock>,
}

impl LoggedFailures {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { logged: RepeatedLines::new(), clock }
    }

    /// Logs that a turn failed, or that turns of the session succeed again.
    pub(crate) fn log_turn_end(&self, session: &SessionId, model: &str, end: &TurnEnd) {
        let subject = session.to_string();
        match end {
            TurnEnd::Failed(FailedTurn { reason, .. }) => {
                let (line, now) = (format!("{model} {reason}"), self.clock.elapsed());
                if let Some(repeated) = self.logged.note_line(&subject, &line, now) {
                    tracing::warn!(%session, model, reason, repeated, "the turn failed");
                }
            }
            TurnEnd::Answered(_) => {
                if let Some(repeated) = self.logged.forget_subject(&subject) {
                    tracing::info!(%session, model, repeated, "turns succeed again");
                }
            }
            TurnEnd::Waiting(_) => {}
        }
    }
}
