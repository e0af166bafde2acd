//! Counts the bits that the choices of a turn have told, from its log.

use std::sync::Arc;

use avocet_protocol::access::Trust;
use avocet_protocol::ids::CallId;
use avocet_protocol::store::StoreError;
use avocet_protocol::tool::UsedBits;
use avocet_protocol::turn::TurnRecord;

use crate::calls::StepContext;
use crate::trust::collect_seen;
use crate::{AgentLoop, TurnContext};

impl AgentLoop {
    /// Returns the bits that the calls of a turn before `before` have told, and the budget of the turn.
    /// `None` if its tools have no such budget.
    ///
    /// # Errors
    /// [`StoreError`] if the past of the conversation cannot be read.
    pub async fn used_bits(
        &self,
        turn: &TurnRecord,
        turn_context: &TurnContext,
        before: CallId,
    ) -> Result<Option<UsedBits>, StoreError> {
        let past = self.logs.turns.history(&turn.session, turn.id, self.history_budget()).await?;
        let seen = Arc::new(collect_seen(&past, turn, &turn_context.asked_by));
        let step_context = StepContext { turn_context, trust: Trust::Low, seen };
        Ok(self.toolbox.used_bits(&self.context(turn, before, &step_context)))
    }
}
