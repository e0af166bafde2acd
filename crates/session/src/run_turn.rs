//! Runs one claimed turn: checks who may still speak, lets the agent answer, and writes the end.
//!
//! ```text
//! enter       list the turn as running, so that `/stop` can signal it
//! look back   if a turn was stopped since before the claim: is this one still open?
//! poison      too many deaths of the process                          -> settle: dropped
//! readmit     leave out messages whose sender has lost access; none?  -> settle: dropped
//! agent       the profile, model and effort of the session; a job's plan
//! attachments into the workspace
//! tool loop   the agent's work, shown in the chat meanwhile (`preview.rs`)
//! recording   of the answer, if the chat wants one
//! settle      the end, or the wait, in one transaction (`settle.rs`)
//! ```
//!
//! **Four futures race**, and the first in this order wins:
//!
//! - **A command ends the turn.** The command has written the end already. So the work is dropped,
//!   and nothing is settled.
//! - **Another part of its message arrives.** The log has bound it to the turn and queued the turn
//!   again. So the work, which has recorded nothing yet, is dropped, and the lane claims the turn anew.
//! - **The answer settles.**
//! - **The daemon stops.** At the deadline the turn goes back into the queue of the log. The next
//!   start runs it on from its last step.
//!
//! In each case the usage that no step has recorded is written at last, because it was paid for.
//! Dropping the work may also lose the wake-up of a delivery that is in the log. So all open
//! deliveries are woken, except after an ordinary end.
//!
//! **The order of enter and look back** closes a gap. A `/stop` between the claim and `enter_turn`
//! finds no running turn to signal. The number of stops, read before the claim, shows that one
//! came.
//!
//! **Access is checked again**, because a message may wait for hours or days, and people lose
//! access.
//!
//! **A turn always ends.** A panic and an internal error settle it with a notice. A turn in an
//! unexpected state would block its session for ever, so it is settled like an internal error. If
//! that fails for the same reason, another writer has ended the turn.
//!
//! **Poison.** A crash leaves the turn running. The start counts a death for it, and one *alone* if
//! no other turn ran. After three deaths, two of them alone, the turn is dropped: it kills the
//! process.

use std::sync::Arc;

use avocet_agent::{TurnContext, UsageMeter};
use avocet_bus::AdmittedMessage;
use avocet_protocol::bus::{Deliveries, PublishError};
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{Inbound, LoggedInbound, Outcome, SessionId};
use avocet_protocol::ids::TurnId;
use avocet_protocol::schedule::ScheduleChange;
use avocet_protocol::store::{Claimed, EndedMessage, StoreError};
use avocet_protocol::turn::{Origin, StartedMessage, TurnEvent, TurnEvents, TurnRecord, TurnState};
use avocet_supervise::CaughtPanic;
use avocet_text::end_sentence;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::SessionParts;
use crate::agents::{SessionChoice, TurnAgent, permission_mode};
use crate::choice_bits::bits_of_child;
use crate::failures::LoggedFailures;
use crate::job_plan::{PlannedTurn, plan_job_turn};
use crate::lane_work::{LaneWork, WakeLane};
use crate::outcomes::note_ended;
use crate::preview::{LastProgress, ShownTurn, TurnDisplay};
use crate::running::EnteredTurn;
use crate::settle::{AgentEnd, SettleReason, Settler};
use crate::turn_facts::{asked_by, chat_of};
use crate::voice::{SpeechPause, record_answer};

/// A turn is dropped after so many deaths of the process, if in [`POISON_DEATHS_ALONE`] of them it
/// ran alone. A death shared with other turns proves nothing.
const POISON_DEATHS: u32 = 3;
const POISON_DEATHS_ALONE: u32 = 2;
/// The notice to a person who has lost access.
const LOST_ACCESS: &str = "You may no longer speak with me here, so I did not read your message.";

/// Returns `true` if a turn must be dropped because it keeps killing the process.
pub(crate) fn is_poison(deaths: u32, deaths_alone: u32) -> bool {
    deaths >= POISON_DEATHS && deaths_alone >= POISON_DEATHS_ALONE
}

/// Runs claimed turns.
#[derive(Debug)]
pub(crate) struct TurnRunner {
    parts: SessionParts,
    display: Arc<TurnDisplay>,
    pub(crate) settler: Settler,
    failures: LoggedFailures,
    speech_pause: SpeechPause,
}

impl TurnRunner {
    pub(crate) fn new(parts: SessionParts) -> Self {
        let display = Arc::new(TurnDisplay::new(parts.clone()));
        Self {
            settler: Settler::new(parts.clone(), display.clone()),
            failures: LoggedFailures::new(parts.clock.clone()),
            speech_pause: SpeechPause::default(),
            display,
            parts,
        }
    }

    /// Runs a claimed turn in a log span that names the turn and its messages. `ends` is
    /// [`RunningTurns::count_ends`](crate::RunningTurns) before the claim.
    pub(crate) async fn run_in_span(
        &self,
        lanes: &dyn WakeLane,
        claimed: Claimed,
        ends: u64,
    ) -> Result<LaneWork, StoreError> {
        let TurnRecord { id, session, origin, .. } = &claimed.turn;
        let messages: Vec<String> =
            origin.messages().iter().map(|message| message.id.to_string()).collect();
        let span = tracing::info_span!("turn", %id, %session, messages = messages.join(","));
        let id = *id;
        // Boxed, so that a lane waiting for its slot stays small, and the future is moved once.
        let ran = Box::pin(self.run(lanes, claimed, ends)).instrument(span).await;
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
        &self,
        lanes: &dyn WakeLane,
        mut claimed: Claimed,
        ends: u64,
    ) -> Result<LaneWork, StoreError> {
        let (id, session) = (claimed.turn.id, claimed.turn.session.clone());
        let entered = self.parts.running.enter_turn(id, &session);
        // A `/stop` or another part that lands between `claim` and `enter_turn` cannot signal this
        // turn, so read the log again.
        if self.parts.running.count_ends() != ends {
            match self.open_state(&session, id).await? {
                Some(TurnState::Queued) => return Ok(LaneWork::Open),
                Some(_) => {}
                None => {
                    self.emit_stopped(&session, id);
                    return Ok(LaneWork::Open);
                }
            }
        }
        self.emit_started(&claimed.turn);
        let meter = UsageMeter::new(Some(id), session.clone()).with_usage_at_claim(claimed.usage);
        // Boxed, because each function that takes a future by value stores it once more.
        let answering = Box::pin(self.answer_turn(lanes, &mut claimed, &entered.ended, &meter));
        let ran = tokio::select! {
            biased;
            // The command that ended the turn has written its end.
            () = entered.ended.cancelled() => {
                self.emit_stopped(&session, id);
                self.wake_open_deliveries().await;
                self.end_cancelled_progress(&claimed.turn).await;
                Ok(LaneWork::Open)
            }
            restarted = self.wait_for_restart(&entered, &session) => restarted,
            settled = answering => settled,
            () = self.parts.running.release.cancelled() => {
                let released = self.parts.turns.release(id).await;
                self.wake_open_deliveries().await;
                released.map(|()| LaneWork::Open)
            }
        };
        self.parts.record_usage(&meter).await;
        match ran {
            Err(StoreError::Stale(what)) => {
                self.settle_stale(lanes, &claimed.turn, &meter, &what).await
            }
            ran => ran,
        }
    }

    /// Does the work of a turn up to its end or pause in the log.
    async fn answer_turn(
        &self,
        lanes: &dyn WakeLane,
        claimed: &mut Claimed,
        ended: &CancellationToken,
        meter: &UsageMeter,
    ) -> Result<LaneWork, StoreError> {
        let settler = &self.settler;
        let Claimed { turn, attempts, deaths_alone, model, effort, lineage, grants, .. } = claimed;
        let (attempts, deaths_alone) = (*attempts, *deaths_alone);
        if is_poison(attempts, deaths_alone) {
            tracing::error!(
                deaths = attempts,
                deaths_alone,
                "the turn kills the process; dropping it"
            );
            return settler
                .settle_turn(lanes, turn, meter, SettleReason::Poison { attempts })
                .await;
        }
        if !self.readmit_messages(turn).await? {
            return settler.settle_turn(lanes, turn, meter, SettleReason::NothingAdmitted).await;
        }
        let chosen = SessionChoice { model: model.as_deref(), effort: *effort };
        let TurnAgent { run: agent, name, within, skills_above } =
            match self.parts.agents.now().for_turn(lineage, chosen) {
                Ok(agent) => agent,
                Err(error) => {
                    let failed = SettleReason::from_failure(end_sentence(format!(
                        "I could not answer: {error}"
                    )));
                    return settler.settle_turn(lanes, turn, meter, failed).await;
                }
            };
        let PlannedTurn { agent, job, shown } =
            match plan_job_turn(&self.parts, agent, turn, lineage).await? {
                Ok(planned) => planned,
                Err(error) => {
                    let failed = SettleReason::from_failure(end_sentence(error));
                    return settler.settle_turn(lanes, turn, meter, failed).await;
                }
            };
        let bits = bits_of_child(&self.parts, lineage, grants).await?;
        let context = TurnContext {
            chat: chat_of(turn).cloned(),
            cancel: ended.clone(),
            asked_by: asked_by(&self.parts, turn).await?,
            agent: name,
            within,
            skills_above,
            roles: self.parts.bus.clone(),
            grants: grants.as_slice().into(),
            bits,
            mode: permission_mode(lineage),
            job,
        };
        agent.fetch_attachments(turn).await?;
        // Boxed, because each function that takes a future by value stores it once more.
        let work = Box::pin(async {
            let end = agent.run_tool_loop(turn.clone(), &context, meter).await?;
            let voice =
                record_answer(&self.parts, &self.speech_pause, turn, &agent, &end, meter).await?;
            Ok(AgentEnd { end, voice })
        });
        let shown = ShownTurn { turn, lineage, root: context.asked_by.last(), job: shown };
        match Box::pin(self.display.show_turn(shown, work)).await {
            Ok(Ok(ended)) => {
                self.failures.log_turn_end(&turn.session, agent.models.main.name(), &ended.end);
                settler.settle_turn(lanes, turn, meter, SettleReason::Agent(Box::new(ended))).await
            }
            Ok(Err(StoreError::Internal(error))) => {
                tracing::error!(error, "the log refused a step");
                self.settle_bug(lanes, turn, meter, error).await
            }
            Ok(Err(error)) => Err(error),
            Err(CaughtPanic(error)) => {
                tracing::error!(error, "the turn panicked");
                self.settle_bug(lanes, turn, meter, error).await
            }
        }
    }

    /// Lets the progress message of a cancelled task say so.
    async fn end_cancelled_progress(&self, turn: &TurnRecord) {
        let Ok(asked_by) = asked_by(&self.parts, turn).await else { return };
        if let Some(to) = asked_by.last() {
            let chat = &to.message.inbound.address;
            if let Some(progress) = self.display.find_progress(turn, chat).await {
                self.display.end_progress(progress, LastProgress::Cancelled).await;
            }
        }
    }

    /// Ends a turn after an internal error. The error may have dropped a parallel call between its
    /// write to the log and its wake-up. The writer works in order, so that write is in the log
    /// after `settle_turn`.
    async fn settle_bug(
        &self,
        lanes: &dyn WakeLane,
        turn: &TurnRecord,
        meter: &UsageMeter,
        bug: String,
    ) -> Result<LaneWork, StoreError> {
        let settled = self.settler.settle_turn(lanes, turn, meter, SettleReason::Bug(bug)).await;
        self.wake_open_deliveries().await;
        settled
    }

    /// Ends a turn that was not in the expected state, unless another part of its message has queued it
    /// again. Without an end, it would block its session forever.
    async fn settle_stale(
        &self,
        lanes: &dyn WakeLane,
        turn: &TurnRecord,
        meter: &UsageMeter,
        what: &str,
    ) -> Result<LaneWork, StoreError> {
        if self.open_state(&turn.session, turn.id).await? == Some(TurnState::Queued) {
            return Ok(self.begin_anew(&turn.session, turn.id));
        }
        let bug = format!("{what} is not in the expected state");
        match self.settle_bug(lanes, turn, meter, bug).await {
            Err(StoreError::Stale(_)) => {
                tracing::debug!(what, "the turn has ended meanwhile");
                Ok(LaneWork::Open)
            }
            settled => settled,
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

    /// Returns the state of a turn in the log; `None` if it has ended.
    async fn open_state(
        &self,
        session: &SessionId,
        turn: TurnId,
    ) -> Result<Option<TurnState>, StoreError> {
        let status = self.parts.with_retry(|| self.parts.query.session_status(session)).await?;
        Ok(status.open.filter(|open| open.turn == turn).map(|open| open.state))
    }

    /// Waits until the log has queued the turn again, because another part of its message has come.
    /// A signal may be late: then the lane has claimed the turn with that part meanwhile.
    async fn wait_for_restart(
        &self,
        entered: &EnteredTurn<'_>,
        session: &SessionId,
    ) -> Result<LaneWork, StoreError> {
        let turn = entered.turn;
        loop {
            entered.restarted.notified().await;
            if self.open_state(session, turn).await? == Some(TurnState::Queued) {
                // The log must learn of a message that is being sent or edited.
                let _unchanged = self.parts.running.lock_screen(turn).await;
                return Ok(self.begin_anew(session, turn));
            }
        }
    }

    /// Leaves a turn that the log has queued again to the lane.
    fn begin_anew(&self, session: &SessionId, turn: TurnId) -> LaneWork {
        tracing::debug!(%turn, "another part of the message has come; beginning anew");
        self.parts.events.emit(session, TurnEvent::Restarted);
        LaneWork::Open
    }

    /// Keeps messages whose senders still have access, and drops the others with a notice. Returns
    /// `false` if none is left.
    async fn readmit_messages(&self, turn: &mut TurnRecord) -> Result<bool, StoreError> {
        let Origin::Messages(messages) = &mut turn.origin else { return Ok(true) };
        let mut admitted: Vec<AdmittedMessage<LoggedInbound>> = Vec::new();
        for message in messages.drain(..) {
            let id = message.id;
            match self.parts.bus.readmit_message(message.clone()) {
                Ok(message) => admitted.push(message),
                Err(refusal) => {
                    tracing::warn!(message = %id, %refusal, "dropped a message: its sender may no \
                        longer speak");
                    let notice = notices::Dropped.for_reader(readers::EVERYBODY, LOST_ACCESS);
                    let notice = self.parts.plan_message(&message, &notice);
                    self.pause_schedule(&message.message.session, &refusal).await?;
                    let drop = || self.parts.inbox.drop_message(id, notice.as_ref());
                    match self.parts.with_retry(drop).await {
                        // An earlier run of this turn dropped the message.
                        Err(StoreError::Stale(_)) => {}
                        dropped => dropped?,
                    }
                    let Inbound { address, key, .. } = message.message.inbound;
                    self.parts.deliverer.wake(&address);
                    let outcome = Outcome::Dropped;
                    note_ended(&self.parts, &[EndedMessage { address, key, outcome }]);
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
        if self.parts.with_retry(change).await? {
            tracing::warn!(%schedule, %refusal, "paused a schedule: the person who made it may no \
                longer speak");
        }
        Ok(())
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
