//! Decides if an answer is withheld.

use avocet_protocol::TurnRecord;

use crate::AgentLoop;
use crate::calls::StepContext;

impl AgentLoop {
    /// Returns `true` if an answer is withheld until a person approves it.
    pub(crate) fn is_withheld(
        &self,
        turn: &TurnRecord,
        text: &str,
        step_context: &StepContext<'_>,
    ) -> bool {
        let id = avocet_protocol::CallId { turn: turn.id, step: 0, ordinal: 0 };
        self.toolbox.hold(text, &self.context(turn, id, step_context)).is_some()
    }
}
