//! The lane: the worker that runs one session's turns in order, as long as there are any.

use std::sync::Arc;
use std::time::Duration;

use avocet_agent::{AgentLoop, Scene};
use avocet_bus::{Admitted, Bus};
use avocet_outbox::{Channels, Deliverer};
use avocet_protocol::{
    ChatAddress, Claim, Claimed, Clock, Content, Deliveries, Destinations, Inbox, LoggedInbound,
    Origin, Outbox, Outcome, Planned, Query, SessionId, StartedMessage, StoreError, TurnEvent,
    TurnEvents, TurnId, TurnRecord, Turns,
};
use avocet_supervise::{Group, Keyed, Panicked, patiently};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::failures::Failures;
use crate::fetch::{Fetcher, LONGEST_FETCH};
use crate::running::RunningTurns;
use crate::settle::SettleReason;
use crate::{Agents, Attachments, Events};

/// The components that sessions use.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each field is the part of its type")]
pub struct SessionParts {
    pub turns: Arc<dyn Turns>,
    pub inbox: Arc<dyn Inbox>,
    pub outbox: Arc<dyn Outbox>,
    pub query: Arc<dyn Query>,
    pub bus: Arc<Bus>,
    pub agents: Agents,
    pub channels: Arc<Channels>,
    pub deliverer: Deliverer,
    pub events: Arc<Events>,
    pub attachments: Attachments,
    pub clock: Arc<dyn Clock>,
}

/// Limits of parallel work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneLimits {
    /// Maximum number of turns that run at the same time, over all sessions; at least 1. Each turn
    /// queues for its slot anew, so that sessions share the slots fairly.
    pub max_running: usize,
    /// Pause after a message that ends a burst of messages to be answered together (queue mode
    /// collect).
    pub burst: Duration,
}

impl Default for LaneLimits {
    fn default() -> Self {
        Self { max_running: 64, burst: Duration::from_millis(500) }
    }
}

/// Upper bound for the configured `max_running`.
const MOST_RUNNING: u32 = 100_000;

/// A turn is dropped after so many deaths of the process, if in [`POISON_DEATHS_ALONE`] of them it
/// ran alone. A death shared with other turns proves nothing.
const POISON_DEATHS: u32 = 3;
const POISON_DEATHS_ALONE: u32 = 2;
/// From this number of deaths on, a turn runs alone, so that the next death is certainly its own.
const ALONE_FROM_DEATHS: u32 = 2;

/// Returns `true` if a turn must be dropped because it keeps killing the process.
pub(crate) fn is_poison(deaths: u32, deaths_alone: u32) -> bool {
    deaths >= POISON_DEATHS && deaths_alone >= POISON_DEATHS_ALONE
}

/// State shared by all lanes.
#[derive(Debug)]
pub(crate) struct Lanes {
    pub(crate) parts: SessionParts,
    keyed: Arc<Keyed<SessionId>>,
    slots: Semaphore,
    max_running: u32,
    burst: Duration,
    /// Lets turns that ran during a crash run one at a time, to find the one that kills.
    quarantine: Semaphore,
    pub(crate) running: Arc<RunningTurns>,
    failures: Failures,
    /// Tells the expiry watcher about a new wait.
    pub(crate) new_wait: Notify,
    /// Cancelled when lanes must stop taking turns.
    pub(crate) stopping: CancellationToken,
    /// Cancelled when running turns must be given back to the log.
    pub(crate) cut: CancellationToken,
}

impl Lanes {
    pub(crate) fn new(
        parts: SessionParts,
        limits: LaneLimits,
        running: Arc<RunningTurns>,
        cut: CancellationToken,
        group: Group,
    ) -> Self {
        let failures = Failures::new(parts.clock.clone());
        let max_running = u32::try_from(limits.max_running).unwrap_or(MOST_RUNNING);
        let max_running = max_running.clamp(1, MOST_RUNNING);
        Self {
            parts,
            cut,
            stopping: group.token().child_token(),
            keyed: Arc::new(Keyed::new(group)),
            slots: Semaphore::new(max_running as usize),
            max_running,
            burst: limits.burst,
            quarantine: Semaphore::new(1),
            running,
            failures,
            new_wait: Notify::new(),
        }
    }

    /// Makes the session's lane look for work. A lane exists only while it has work.
    pub(crate) fn wake(self: &Arc<Self>, session: SessionId) {
        let lanes = self.clone();
        self.keyed.wake(session, move |session| {
            let lanes = lanes.clone();
            async move { lanes.work(&session).await }
        });
    }

    /// Returns a turn that has been silent for longer than allowed; `None` if all is well.
    pub(crate) fn stuck(&self) -> Option<TurnId> {
        const GRACE: Duration = Duration::from_mins(2);
        let agents = self.parts.agents.agents.iter();
        let longest = agents.map(|agent| agent.run.limits.max_duration).max();
        let longest = longest.unwrap_or_default().max(LONGEST_FETCH);
        self.running.silent_for(longest + GRACE)
    }

    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        self.keyed.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn busy(&self) -> usize {
        self.keyed.len()
    }

    #[cfg(test)]
    pub(crate) fn group(&self) -> &Group {
        self.keyed.group()
    }

    /// Stops taking turns, waits for running ones, and at the deadline gives the rest back to the
    /// log for the next start.
    pub(crate) async fn stop(&self, deadline: Duration) {
        const GIVING_BACK: Duration = Duration::from_secs(5);
        self.stopping.cancel();
        let (group, clock) = (self.keyed.group(), self.parts.clock.as_ref());
        let Err(unfinished) = group.finish(clock, deadline).await else { return };
        tracing::info!(%unfinished, "the rest goes on at the next start");
        self.cut.cancel();
        if let Err(unfinished) = group.finish(clock, GIVING_BACK).await {
            tracing::warn!(
                %unfinished,
                "cannot stop these turns in time; the next start resumes them as after a crash"
            );
            group.abort();
        }
    }

    async fn work(self: &Arc<Self>, session: &SessionId) {
        loop {
            match self.run_next(session).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::error!(%session, %error, "the lane cannot go on; it waits for the next message");
                    return;
                }
            }
        }
    }

    /// Runs the session's next turn. Returns `false` if there is none, or the daemon stops.
    async fn run_next(self: &Arc<Self>, session: &SessionId) -> Result<bool, StoreError> {
        // Each turn queues for its slot behind earlier waiters. The semaphores always stay open.
        let Some(place) = self.unless_stopping(self.slots.acquire()).await else {
            return Ok(false);
        };
        let ends = self.running.ends();
        let claimed = match self.claim(session, false).await? {
            Claim::Nothing => return Ok(false),
            Claim::Turn(claimed) => claimed,
            Claim::Later(whole) => {
                drop(place);
                let wait = self.parts.clock.now().until(whole);
                return Ok(self.unless_stopping(self.parts.clock.sleep(wait)).await.is_some());
            }
            Claim::Compact { command, begun } => {
                // Boxed, so that a waiting lane stays small.
                Box::pin(self.compact(&command, begun)).await?;
                return Ok(!self.cut.is_cancelled());
            }
            Claim::Suspect { deaths } => {
                drop(place);
                return self.run_suspect(session, deaths).await;
            }
        };
        self.run_in_span(*claimed, ends).await?;
        Ok(true)
    }

    /// Runs a suspect turn after other suspects have ended; after several deaths, it waits for all
    /// other turns.
    async fn run_suspect(
        self: &Arc<Self>,
        session: &SessionId,
        deaths: u32,
    ) -> Result<bool, StoreError> {
        let places = if deaths >= ALONE_FROM_DEATHS { self.max_running } else { 1 };
        let Some(_quarantine) = self.unless_stopping(self.quarantine.acquire()).await else {
            return Ok(false);
        };
        let Some(_places) = self.unless_stopping(self.slots.acquire_many(places)).await else {
            return Ok(false);
        };
        let ends = self.running.ends();
        if let Claim::Turn(claimed) = self.claim(session, true).await? {
            self.run_in_span(*claimed, ends).await?;
        }
        Ok(true)
    }

    async fn claim(&self, session: &SessionId, suspects: bool) -> Result<Claim, StoreError> {
        self.patiently(|| self.parts.turns.claim(session, suspects, self.burst)).await
    }

    /// Runs a claimed turn in a log span that names the turn and its messages.
    async fn run_in_span(self: &Arc<Self>, claimed: Claimed, ends: u64) -> Result<(), StoreError> {
        let TurnRecord { id, session, origin, .. } = &claimed.turn;
        let messages: Vec<String> =
            origin.messages().iter().map(|message| message.id.to_string()).collect();
        let span = tracing::info_span!("turn", %id, %session, messages = messages.join(","));
        let id = *id;
        // Boxed, so that a lane waiting for its slot stays small.
        let ran = Box::pin(self.run(claimed, ends).instrument(span)).await;
        if ran.is_err()
            && let Err(error) = self.parts.turns.release(id).await
        {
            // The log is closed or belongs to another daemon; the next start counts an attempt.
            tracing::error!(turn = %id, %error, "the turn could not be given back");
        }
        ran
    }

    /// Runs a claimed turn. `ends` is [`RunningTurns::ends`] before the claim.
    async fn run(self: &Arc<Self>, claimed: Claimed, ends: u64) -> Result<(), StoreError> {
        let Claimed { mut turn, attempts, deaths_alone, model, grants } = claimed;
        let id = turn.id;
        let session = turn.session.clone();
        let entered = self.running.enter(id, &session);
        let ended = entered.ended.clone();
        // A `/stop` that lands between `claim` and `enter` cannot signal this turn, so read the log
        // again.
        if self.running.ends() != ends && !self.is_open(&session, id).await? {
            self.tell_ended(&session, id);
            return Ok(());
        }
        self.tell_started(&turn);
        let ending = async {
            if is_poison(attempts, deaths_alone) {
                tracing::error!(
                    deaths = attempts,
                    deaths_alone,
                    "the turn kills the process; dropping it"
                );
                return self.settle(&turn, SettleReason::Poison { attempts }).await;
            }
            if !self.readmit(&mut turn).await? {
                return self.settle(&turn, SettleReason::NothingAdmitted).await;
            }
            let scene = Scene {
                chat: chat_of(&turn).cloned(),
                cancel: ended.clone(),
                asked_by: self.asked_by(&turn).await?,
                roles: self.parts.bus.clone(),
                grants: grants.into(),
            };
            let agent = self.parts.agents.for_turn(&turn, &scene.asked_by, model.as_deref());
            self.fetcher(&agent).fetch_for(&mut turn, agent.log.as_ref()).await?;
            let work = agent.run_tool_loop(turn.clone(), &scene);
            match self.shown(&turn, work).await {
                Ok(Ok(end)) => {
                    self.failures.log(&session, agent.model.name(), &end);
                    self.settle(&turn, SettleReason::Agent(Box::new(end))).await
                }
                Ok(Err(StoreError::Internal(error))) => {
                    tracing::error!(error, "the log refused a step");
                    self.settle(&turn, SettleReason::Bug(error)).await
                }
                Ok(Err(error)) => Err(error),
                Err(Panicked(error)) => {
                    tracing::error!(error, "the turn panicked");
                    self.settle(&turn, SettleReason::Bug(error)).await
                }
            }
        };
        let left = tokio::select! {
            biased;
            // The command that ended the turn has written its end.
            () = ended.cancelled() => {
                self.tell_ended(&session, id);
                Ok(())
            }
            settled = ending => settled,
            () = self.cut.cancelled() => self.parts.turns.release(id).await,
        };
        self.parts.agents.book_costs().await;
        let Err(StoreError::Stale(what)) = left else { return left };
        // A turn without an end would block its session forever.
        let bug = format!("{what} is not in the state that was expected");
        match self.settle(&turn, SettleReason::Bug(bug)).await {
            Err(StoreError::Stale(_)) => {
                tracing::debug!(what, "the turn was ended meanwhile");
                Ok(())
            }
            settled => settled,
        }
    }

    fn fetcher(&self, agent: &AgentLoop) -> Fetcher {
        Fetcher {
            attachments: self.parts.attachments.clone(),
            files: agent.files.clone(),
            channels: self.parts.channels.clone(),
            clock: self.parts.clock.clone(),
        }
    }

    async fn is_open(&self, session: &SessionId, turn: TurnId) -> Result<bool, StoreError> {
        let status = self.patiently(|| self.parts.query.session_status(session)).await?;
        Ok(status.open.is_some_and(|open| open.turn == turn))
    }

    /// Keeps messages whose senders still have access, and drops the others with a notice. Returns
    /// `false` if none is left.
    async fn readmit(&self, turn: &mut TurnRecord) -> Result<bool, StoreError> {
        let Origin::Messages(messages) = &mut turn.origin else { return Ok(true) };
        let mut admitted: Vec<Admitted<LoggedInbound>> = Vec::new();
        for message in messages.drain(..) {
            let id = message.id;
            match self.parts.bus.readmit(message.clone()) {
                Ok(message) => admitted.push(message),
                Err(refusal) => {
                    tracing::warn!(message = %id, %refusal, "dropped");
                    let text = format!("I dropped a message: {refusal}.");
                    let notice = self.plan(&message, &Content::text(text));
                    let drop = || self.parts.inbox.drop_message(id, notice.as_ref());
                    match self.patiently(drop).await {
                        // It was dropped before the turn was given back or waited.
                        Err(StoreError::Stale(_)) => {}
                        dropped => dropped?,
                    }
                    self.parts.deliverer.wake(&message.message.inbound.address);
                }
            }
        }
        messages.extend(admitted.into_iter().map(Admitted::into_inner));
        Ok(!messages.is_empty())
    }

    /// Returns the root turn's messages for a child, else an empty list. The list is constant while
    /// the root waits; the roles of the senders are looked up at each step.
    pub(crate) async fn asked_by(
        &self,
        turn: &TurnRecord,
    ) -> Result<Vec<LoggedInbound>, StoreError> {
        match turn.origin {
            Origin::Messages(_) => Ok(Vec::new()),
            Origin::Child { .. } => self.patiently(|| self.parts.turns.asked_by(turn.id)).await,
        }
    }

    fn tell_started(&self, turn: &TurnRecord) {
        let messages = turn.origin.messages().iter().map(|message| StartedMessage {
            id: message.id,
            sender: message.message.inbound.sender.id.to_string(),
            text: message.model_text(),
        });
        let event = TurnEvent::Started { turn: turn.id, messages: messages.collect() };
        self.parts.events.emit(&turn.session, event);
    }

    fn tell_ended(&self, session: &SessionId, turn: TurnId) {
        let (messages, outcome) = (Vec::new(), Outcome::Stopped);
        let event = TurnEvent::Ended { turn: Some(turn), messages, outcome };
        self.parts.events.emit(session, event);
    }

    /// Plans a reply to a message; `None` if its channel is gone.
    pub(crate) fn plan(&self, to: &LoggedInbound, content: &Content) -> Option<Planned> {
        let inbound = &to.message.inbound;
        let reply_to = inbound.to_reply_to().cloned();
        let content = Content { reply_to, ..content.clone() };
        let planned = self.parts.channels.plan(&inbound.address, &content);
        let gone = "cannot send to this chat: its channel is not configured";
        planned.inspect_err(|error| tracing::error!(%error, "{gone}")).ok()
    }

    pub(crate) async fn patiently<T, W>(&self, write: impl Fn() -> W) -> Result<T, StoreError>
    where
        W: Future<Output = Result<T, StoreError>>,
    {
        patiently(self.parts.clock.as_ref(), &self.cut, write).await
    }

    async fn unless_stopping<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.stopping.cancelled() => None,
            done = work => Some(done),
        }
    }
}

/// Returns the turn's last message, to which it replies. `None` for a child.
pub(crate) fn asker(turn: &TurnRecord) -> Option<&LoggedInbound> {
    turn.origin.messages().last()
}

/// Returns the chat for the reply.
pub(crate) fn chat_of(turn: &TurnRecord) -> Option<&ChatAddress> {
    asker(turn).map(|message| &message.message.inbound.address)
}
