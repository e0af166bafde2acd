//! Opens a private function to benchmarks: building the messages of a turn's first request from the
//! log.

use std::sync::Arc;

use avocet_protocol::{Message, Purpose, Roles, TurnRecord};

use crate::AgentLoop;
use crate::budgets::Bill;

/// Returns the messages of the first request of a turn, shortened to fit; `None` if nothing fits.
pub async fn messages(
    agent: &AgentLoop,
    turn: &TurnRecord,
    roles: &Arc<dyn Roles>,
) -> Option<Vec<Message>> {
    let until = agent.clock.elapsed() + agent.limits.max_duration;
    let bill =
        Bill { turn: Some(turn.id), session: &turn.session, purpose: Purpose::Answer, until };
    let mut context = agent.open_context(turn, roles).await.ok()?;
    let room = context.room(agent.model.facts().await, agent.limits, &[]);
    agent.fit(&mut context, turn, room, bill).await.ok()
}
