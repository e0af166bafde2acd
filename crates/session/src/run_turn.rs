//! Runs one claimed turn: checks who may still speak, lets the agent answer, and writes the end.

use std::sync::Arc;

use avocet_agent::{TurnContext, UsageMeter};
use avocet_bus::AdmittedMessage;
use avocet_protocol::{
    ChatAddress, Claimed, Content, Deliveries, EndedMessage, Inbound, LoggedInbound, Origin,
    Outcome, PublishError, ScheduleChange, SessionId, StartedMessage, StoreError, TurnEvent,
    TurnEvents, TurnId, TurnRecord, end_sentence,
};
use avocet_supervise::CaughtPanic;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::agents::{SessionChoice, TurnAgent, permission_mode};
use crate::job_plan::PlannedTurn;
use crate::lane::{LaneWork, Lanes};
use crate::preview::{LastProgress, ShownTurn};
use crate::settle::{AgentEnd, SettleReason};

/// A turn is dropped after so many deaths of the process, if in [`POISON_DEATHS_ALONE`] of them it
/// ran alone. A death shared with other turns proves nothing.
const POISON_DEATHS: u32 = 3;
const POISON_DEATHS_ALONE: u32 = 2;

/// Returns `true` if a turn must be dropped because it keeps killing the process.
pub(crate) fn is_poison(deaths: u32, deaths_alone: u32) -> bool {
    deaths >= POISON_DEATHS && deaths_alone >= POISON_DEATHS_ALONE
}

impl Lanes {
    /// Runs a claimed turn in a log span that names the turn and its messages. `ends` is
    /// [`RunningTurns::ends`](crate::RunningTurns) before the claim.
    pub(crate) async fn run_in_span(
        self: &Arc<Self>,
        claimed: Claimed,
        ends: u64,
    ) -> Result<LaneWork, StoreError> {
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
            tracing::error!(turn = %id, %error, "cannot release the turn");
        }
        ran
    }

    /// Runs a turn until it ends or waits, a command ends it, or it must be released.
    async fn run(
        self: &Arc<Self>,
        mut claimed: Claimed,
        ends: u64,
    ) -> Result<LaneWork, StoreError> {
        let (id, session) = (claimed.turn.id, claimed.turn.session.clone());
        let entered = self.parts.running.enter(id, &session);
        // A `/stop` that lands between `claim` and `enter` cannot signal this turn, so read the log
        // again.
        if self.parts.running.ends() != ends && !self.is_open(&session, id).await? {
            self.emit_stopped(&session, id);
            return Ok(LaneWork::Open);
        }
        self.emit_started(&claimed.turn);
        let meter = UsageMeter::new(Some(id), session.clone()).with_usage_at_claim(claimed.usage);
        let ran = tokio::select! {
            biased;
            // The command that ended the turn has written its end.
            () = entered.ended.cancelled() => {
                self.emit_stopped(&session, id);
                self.wake_open_deliveries().await;
                self.end_cancelled_progress(&claimed.turn).await;
                Ok(LaneWork::Open)
            }
            settled = self.answer(&mut claimed, &entered.ended, &meter) => settled,
            () = self.parts.running.release.cancelled() => {
                let released = self.parts.turns.release(id).await;
                self.wake_open_deliveries().await;
                released.map(|()| LaneWork::Open)
            }
        };
        self.record_usage(&meter).await;
        match ran {
            Err(StoreError::Stale(what)) => self.settle_stale(&claimed.turn, &meter, &what).await,
            ran => ran,
        }
    }

    /// Does the work of a turn up to its end or pause in the log.
    async fn answer(
        self: &Arc<Self>,
        claimed: &mut Claimed,
        ended: &CancellationToken,
        meter: &UsageMeter,
    ) -> Result<LaneWork, StoreError> {
        let Claimed { turn, attempts, deaths_alone, model, effort, lineage, grants, .. } = claimed;
        let (attempts, deaths_alone) = (*attempts, *deaths_alone);
        if is_poison(attempts, deaths_alone) {
            tracing::error!(
                deaths = attempts,
                deaths_alone,
                "the turn kills the process; dropping it"
            );
            return self.settle(turn, meter, SettleReason::Poison { attempts }).await;
        }
        if !self.readmit(turn).await? {
            return self.settle(turn, meter, SettleReason::NothingAdmitted).await;
        }
        let chosen = SessionChoice { model: model.as_deref(), effort: *effort };
        let TurnAgent { run: agent, within, skills_above } =
            match self.parts.agents.now().for_turn(lineage, chosen) {
                Ok(agent) => agent,
                Err(error) => {
                    let failed =
                        SettleReason::failed(end_sentence(format!("I could not answer: {error}")));
                    return self.settle(turn, meter, failed).await;
                }
            };
        let PlannedTurn { agent, job, shown } = match self.planned(agent, turn, lineage).await? {
            Ok(planned) => planned,
            Err(error) => {
                let failed = SettleReason::failed(end_sentence(error));
                return self.settle(turn, meter, failed).await;
            }
        };
        let context = TurnContext {
            chat: chat_of(turn).cloned(),
            cancel: ended.clone(),
            asked_by: self.asked_by(turn).await?,
            within,
            skills_above,
            roles: self.parts.bus.clone(),
            grants: grants.as_slice().into(),
            mode: permission_mode(lineage),
            job,
        };
        agent.fetch_attachments(turn).await?;
        // Boxed, because each function that takes a future by value stores it once more.
        let work = Box::pin(async {
            let end = agent.run_tool_loop(turn.clone(), &context, meter).await?;
            let voice = self.voice_of(turn, &agent, &end, meter).await?;
            Ok(AgentEnd { end, voice })
        });
        let shown = ShownTurn { turn, lineage, root: context.asked_by.last(), job: shown };
        match self.shown(shown, work).await {
            Ok(Ok(ended)) => {
                self.failures.log(&turn.session, agent.models.main.name(), &ended.end);
                self.settle(turn, meter, SettleReason::Agent(Box::new(ended))).await
            }
            Ok(Err(StoreError::Internal(error))) => {
                tracing::error!(error, "the log refused a step");
                self.settle_bug(turn, meter, error).await
            }
            Ok(Err(error)) => Err(error),
            Err(CaughtPanic(error)) => {
                tracing::error!(error, "the turn panicked");
                self.settle_bug(turn, meter, error).await
            }
        }
    }

    /// Lets the progress message of a cancelled task say so.
    async fn end_cancelled_progress(&self, turn: &TurnRecord) {
        let Ok(asked_by) = self.asked_by(turn).await else { return };
        if let Some(to) = asked_by.last() {
            let chat = &to.message.inbound.address;
            self.end_progress(turn, chat, LastProgress::Cancelled).await;
        }
    }

    /// Ends a turn after an internal error. The error may have dropped a parallel call between its
    /// write to the log and its wake-up. The writer works in order, so that write is in the log
    /// after `settle`.
    async fn settle_bug(
        self: &Arc<Self>,
        turn: &TurnRecord,
        meter: &UsageMeter,
        bug: String,
    ) -> Result<LaneWork, StoreError> {
        let settled = self.settle(turn, meter, SettleReason::Bug(bug)).await;
        self.wake_open_deliveries().await;
        settled
    }

    /// Ends a turn that was not in the expected state. Without an end, it would block its session
    /// forever.
    async fn settle_stale(
        self: &Arc<Self>,
        turn: &TurnRecord,
        meter: &UsageMeter,
        what: &str,
    ) -> Result<LaneWork, StoreError> {
        let bug = format!("{what} is not in the expected state");
        match self.settle_bug(turn, meter, bug).await {
            Err(StoreError::Stale(_)) => {
                tracing::debug!(what, "the turn has ended meanwhile");
                Ok(LaneWork::Open)
            }
            settled => settled,
        }
    }

    /// Records the usage that is left in the meter of a turn or a compaction.
    pub(crate) async fn record_usage(&self, meter: &UsageMeter) {
        if let Err(error) = meter.record(self.parts.ledger.as_ref()).await {
            tracing::error!(%error, "cannot record the cost of a cancelled request");
        }
    }

    /// Wakes the deliveries of all logged messages. A turn that was cancelled or failed may have
    /// logged a tool's message without waking its delivery.
    async fn wake_open_deliveries(&self) {
        if let Err(error) = self.parts.deliverer.start().await {
            tracing::error!(
                %error,
                "cannot list open deliveries; a message of the ended turn may wait for the next \
                 message in its chat"
            );
        }
    }

    async fn is_open(&self, session: &SessionId, turn: TurnId) -> Result<bool, StoreError> {
        let status = self.with_retry(|| self.parts.query.session_status(session)).await?;
        Ok(status.open.is_some_and(|open| open.turn == turn))
    }

    /// Keeps messages whose senders still have access, and drops the others with a notice. Returns
    /// `false` if none is left.
    async fn readmit(&self, turn: &mut TurnRecord) -> Result<bool, StoreError> {
        let Origin::Messages(messages) = &mut turn.origin else { return Ok(true) };
        let mut admitted: Vec<AdmittedMessage<LoggedInbound>> = Vec::new();
        for message in messages.drain(..) {
            let id = message.id;
            match self.parts.bus.readmit_message(message.clone()) {
                Ok(message) => admitted.push(message),
                Err(refusal) => {
                    tracing::warn!(message = %id, %refusal, "dropped a message: its sender may no \
                        longer speak");
                    let text = format!("I dropped a message: {refusal}.");
                    let notice = self.plan(&message, &Content::text(text));
                    self.pause_schedule(&message.message.session, &refusal).await?;
                    let drop = || self.parts.inbox.drop_message(id, notice.as_ref());
                    match self.with_retry(drop).await {
                        // An earlier run of this turn dropped the message.
                        Err(StoreError::Stale(_)) => {}
                        dropped => dropped?,
                    }
                    let Inbound { address, key, .. } = message.message.inbound;
                    self.parts.deliverer.wake(&address);
                    let outcome = Outcome::Dropped;
                    self.note_ended(&[EndedMessage { address, key, outcome }]);
                }
            }
        }
        messages.extend(admitted.into_iter().map(AdmittedMessage::into_inner));
        Ok(!messages.is_empty())
    }

    /// Pauses the schedule of a session, because the person who made it has lost access.
    async fn pause_schedule(
        &self,
        session: &SessionId,
        refusal: &PublishError,
    ) -> Result<(), StoreError> {
        let Some(schedule) = session.schedule() else { return Ok(()) };
        let pause = ScheduleChange::Pause(Some(refusal.to_string()));
        let change = || self.parts.schedules.change_schedule(schedule, &pause);
        if self.with_retry(change).await? {
            tracing::warn!(%schedule, %refusal, "paused a schedule: the person who made it may no \
                longer speak");
        }
        Ok(())
    }

    /// Returns the root turn's messages for a child, else an empty list. The list is constant while
    /// the root waits; the roles of the senders are looked up at each step.
    pub(crate) async fn asked_by(
        &self,
        turn: &TurnRecord,
    ) -> Result<Vec<LoggedInbound>, StoreError> {
        match turn.origin {
            Origin::Messages(_) => Ok(Vec::new()),
            Origin::Child { .. } => self.with_retry(|| self.parts.turns.asked_by(turn.id)).await,
        }
    }

    fn emit_started(&self, turn: &TurnRecord) {
        let messages = turn.origin.messages().iter().map(|message| StartedMessage {
            id: message.id,
            sender: message.message.inbound.sender.id.to_string(),
            text: message.model_text(),
        });
        let event = TurnEvent::Started { turn: turn.id, messages: messages.collect() };
        self.parts.events.emit(&turn.session, event);
    }

    fn emit_stopped(&self, session: &SessionId, turn: TurnId) {
        let (messages, outcome) = (Vec::new(), Outcome::Stopped);
        let event = TurnEvent::Ended { turn: Some(turn), messages, outcome };
        self.parts.events.emit(session, event);
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
