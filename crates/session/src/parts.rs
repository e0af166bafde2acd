//! The components that sessions use.

use std::sync::Arc;

use avocet_bus::Bus;
use avocet_outbox::{ChannelRegistry, Deliverer};
use avocet_protocol::{
    Clock, DeadLetters, Inbox, Jobs, Ledger, Live, Memories, Outbox, Query, Schedules, Tasks,
    TurnLog, Turns,
};

use crate::{Agents, Events, Questions, RunningTurns, SpokenAnswers};

/// The components that sessions use. `log` and `ledger` retry as long as `running` allows; the
/// agents use the same ones. `spoken` is `None` if answers are text only.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each field is the part of its type")]
pub struct SessionParts {
    pub turns: Arc<dyn Turns>,
    pub inbox: Arc<dyn Inbox>,
    pub outbox: Arc<dyn Outbox>,
    pub memories: Arc<dyn Memories>,
    pub query: Arc<dyn Query>,
    pub jobs: Arc<dyn Jobs>,
    pub schedules: Arc<dyn Schedules>,
    pub log: Arc<dyn TurnLog>,
    pub ledger: Arc<dyn Ledger>,
    pub tasks: Arc<dyn Tasks>,
    pub dead_letters: Arc<dyn DeadLetters>,
    pub bus: Arc<Bus>,
    /// A turn keeps the agents with which it began.
    pub agents: Live<Agents>,
    pub channels: Arc<ChannelRegistry>,
    pub deliverer: Deliverer,
    pub events: Arc<Events>,
    pub running: Arc<RunningTurns>,
    pub questions: Arc<Questions>,
    pub spoken: Option<SpokenAnswers>,
    pub clock: Arc<dyn Clock>,
}
