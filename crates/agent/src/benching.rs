//! What benchmarks run of what is private: the messages of a turn's first request, from the log.

use std::sync::Arc;

use avocet_protocol::{Message, Purpose, Roles, TurnRecord};

use crate::AgentLoop;
use crate::budgets::Bill;

/// The messages of the first request of a turn, made to fit; none if nothing does.
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
