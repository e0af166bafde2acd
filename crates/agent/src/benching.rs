//! Opens a private function to benchmarks: building the messages of a turn's first request from the
//! log.

use avocet_protocol::model::Messages;
use avocet_protocol::store::Purpose;
use avocet_protocol::turn::TurnRecord;

use crate::budgets::UsageContext;
use crate::{AgentLoop, TurnContext, UsageMeter};

/// Returns the messages of the first request of a turn, shortened to fit; `None` if nothing fits.
pub async fn messages(
    agent: &AgentLoop,
    turn: &TurnRecord,
    turn_context: &TurnContext,
) -> Option<Messages> {
    let until = agent.clock.elapsed() + agent.limits.turn.max_duration;
    let meter = UsageMeter::new(Some(turn.id), turn.session.clone());
    let usage = UsageContext { meter: &meter, purpose: Purpose::Answer, until };
    let mut context = agent.open_context(turn, turn_context).await.ok()?;
    let room = context.compute_room(agent.models.main.facts().await, agent.limits.turn, 0);
    agent.fit(&mut context, turn, room, usage).await.ok()
}
