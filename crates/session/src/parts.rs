//! The components that sessions use.

use std::sync::Arc;

use avocet_agent::UsageMeter;
use avocet_bus::Bus;
use avocet_outbox::{ChannelRegistry, Deliverer};
use avocet_protocol::chat::{ChatKind, Content, LoggedInbound, NewInbound, Planned};
use avocet_protocol::clock::Clock;
use avocet_protocol::daemon::Live;
use avocet_protocol::store::{
    DeadLetters, Inbox, Jobs, Ledger, Memories, Outbox, Query, Schedules, StopAll, StoreError,
    Tasks, TurnLog, Turns,
};
use avocet_protocol::tool::EndPrograms;
use avocet_supervise::with_retry;

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
    pub stop: Arc<dyn StopAll>,
    pub programs: Arc<dyn EndPrograms>,
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

impl SessionParts {
    /// Plans a reply to a message; `None` if its channel is gone since the start of the daemon. The
    /// reply waits if a reload has removed the account.
    pub(crate) fn plan_message(&self, to: &LoggedInbound, content: &Content) -> Option<Planned> {
        let address = &to.message.inbound.address;
        let planned = self.channels.plan_answer(address, &self.make_reply(to, content));
        let gone = "cannot send to this chat: its channel is not configured";
        planned.inspect_err(|error| tracing::error!(%error, "{gone}")).ok()
    }

    /// Makes content a reply to a message.
    pub(crate) fn make_reply(&self, to: &LoggedInbound, content: &Content) -> Content {
        let NewInbound { inbound, session, .. } = &to.message;
        // The platform does not know the message of a schedule.
        let is_own = session.schedule().is_some();
        let reply_to = inbound.to_reply_to().filter(|_| !is_own).cloned();
        let has_no_message = is_own || session.job().is_some();
        let notifies =
            (has_no_message && inbound.chat == ChatKind::Group).then(|| inbound.sender.id.clone());
        Content { reply_to, notifies, ..content.clone() }
    }

    pub(crate) async fn with_retry<T, W>(&self, write: impl Fn() -> W) -> Result<T, StoreError>
    where
        W: Future<Output = Result<T, StoreError>>,
    {
        with_retry(self.clock.as_ref(), &self.running.release, write).await
    }

    /// Records the usage that is left in the meter of a turn or a compaction.
    pub(crate) async fn record_usage(&self, meter: &UsageMeter) {
        if let Err(error) = meter.record(self.ledger.as_ref()).await {
            tracing::error!(%error, "cannot record the cost of a cancelled request");
        }
    }
}
