//! Settles a turn: plans what the chat gets, and writes the end of the turn in one transaction
//! (T5). A turn that waits for people or children is paused here, in another transaction.
//!
//! ```text
//! summary   a job: records the usage so far, and adds the summary to the text
//! plan      a reply, a notice, or nothing; the channel cuts it into chunks
//! usage     is taken out of the meter
//! reserve   the next send of the chat, if it can start at once
//! settle    everything in one transaction, repeated while the log cannot be written for now
//! progress  the progress message of a background task shows its last state
//! wake      the channels, for their reactions; the reserved send or the delivery worker, without a
//!           reply too, because a preview may have to go; the lane of the parent turn; the listeners
//!           of events
//! ```
//!
//! **The plan comes first**, because the transaction writes chunks, and only the channel can cut
//! them. The plan may already work outside of the log: a long answer or long code becomes a file of
//! the workspace. After a crash, the next run makes the plan again. A file has the number of its
//! turn in its name, and the next run overwrites it.
//!
//! **People see an end only after its commit.** A crash before T5 repeats the run, and a message
//! that said "done" before would be wrong. So the last progress of a background task is shown after
//! T5. Its answer reserves no send, because the answer waits for that edit.
//!
//! **The chat gets nothing** if the message tool has sent the same text, or if a quiet schedule has
//! no news. The transaction then removes the preview.
//!
//! **The usage goes back into the meter** if the transaction fails, and `run_turn.rs` records it.
//! If the turn has ended meanwhile ([`StoreError::Stale`]), the log has recorded the usage, and
//! nothing goes back.
//!
//! **The wake-ups come last**, so that the parts that they wake find the end in the log.
//!
//! ```text
//! the process dies      the log has                  the next start
//! before T5             the turn running             queues the turn; the model is asked again, as
//!                                                    only T5 writes its last answer
//! after T5              the chunks pending           wakes their chats; a progress message keeps
//!                                                    its text
//! after T5, reserved    the first chunk sending      makes it unknown: `rules.rs` of the outbox
//! ```
//!
//! A crash before T5 also loses the usage that is only in the meter. A crash after T5 loses events
//! for display, and reactions of the channels. The next start wakes the lane of a parent turn.
//!
//! **A wait** (`begin_waits`) begins alike: a number for each wait, since its prompt names it, then
//! one transaction with the waits, the prompts and the writes of the calls, then the progress
//! message and the wake-ups. After a crash before the transaction, the next run asks under other numbers.

mod notices;
mod wait_plan;

use std::sync::Arc;

use avocet_agent::{CallWait, FailedTurn, PlainNotice, TurnEnd, UsageMeter};
use avocet_protocol::access::Trust;
use avocet_protocol::bus::Deliveries;
use avocet_protocol::chat::{Attachment, Content, LoggedInbound, Outcome, Planned, SessionId};
use avocet_protocol::store::{Answer, NewWait, SettledTurn, Settlement, StoreError, task_name};
use avocet_protocol::tool::{ChildMode, LogWrite, SignsOfLife, WaitKind};
use avocet_protocol::turn::{FailureCode, Origin, TurnEvent, TurnEvents, TurnFailure, TurnRecord};
use avocet_text::end_sentence;
use tokio::sync::Notify;

use self::notices::EndNotice;
use self::wait_plan::plan_wait;
use crate::SessionParts;
use crate::job_summary::add_job_summary;
use crate::lane_work::{LaneWork, WakeLane};
use crate::long_reply::{ReplyText, plan_turn_reply};
use crate::outcomes::note_settled;
use crate::preview::{LastProgress, TurnDisplay};
use crate::retrying_log::wake_deliveries;
use crate::silence::is_silence;
use crate::turn_facts::{asked_by, asker, chat_of};
use crate::voice::add_recording;

/// Number of turns of a scheduled task among which its last report is looked for.
const REPORTS_COMPARED: u32 = 20;

/// The end of a turn, or its pause.
pub(crate) enum SettleReason {
    /// The agent's own end.
    Agent(Box<AgentEnd>),
    /// Too many processes died during the turn.
    Poison { attempts: u32 },
    /// All people who began the turn have lost access, and were informed.
    NothingAdmitted,
    /// An internal error, with its description.
    Bug(String),
}

impl SettleReason {
    /// The agent failed, for the reason that the chat gets.
    pub(crate) fn from_failure(reason: String) -> Self {
        let end = TurnEnd::Failed(FailedTurn::new(reason, FailureCode::Internal));
        Self::Agent(Box::new(AgentEnd { end, voice: None }))
    }
}

/// The end of the agent's work on a turn.
pub(crate) struct AgentEnd {
    pub(crate) end: TurnEnd,
    /// The recording of the answer, if the chat gets one.
    pub(crate) voice: Option<Attachment>,
}

/// The planned end of a turn, or the calls for which it waits.
enum PlannedEnd {
    Settlement(Box<Settlement>),
    Waits(Vec<CallWait>),
}

/// Writes the ends and the pauses of turns.
#[derive(Debug)]
pub(crate) struct Settler {
    parts: SessionParts,
    display: Arc<TurnDisplay>,
    /// Notifies the expiry watcher of a new wait.
    pub(crate) new_wait: Notify,
}

impl Settler {
    pub(crate) fn new(parts: SessionParts, display: Arc<TurnDisplay>) -> Self {
        Self { parts, display, new_wait: Notify::new() }
    }

    /// Writes the end and the usage in the meter into the log, and wakes the parts that must react.
    pub(crate) async fn settle_turn(
        &self,
        lanes: &dyn WakeLane,
        turn: &TurnRecord,
        meter: &UsageMeter,
        ending: SettleReason,
    ) -> Result<LaneWork, StoreError> {
        let mut settlement = match self.plan_end(turn, meter, ending).await? {
            PlannedEnd::Settlement(settlement) => *settlement,
            PlannedEnd::Waits(calls) => {
                return self.begin_waits(lanes, turn, calls).await.map(|()| LaneWork::Open);
            }
        };
        settlement.spent = meter.take();
        settlement.removes_preview |= self.needs_new_message(turn, settlement.reply.as_ref());
        let progress = match &settlement.reply {
            Some(reply) => self.display.find_progress(turn, &reply.address).await,
            None => None,
        };
        let reserved = match &settlement.reply {
            // The last progress is shown first, and a started send must not wait.
            Some(reply) if progress.is_none() => self.parts.deliverer.reserve_send(reply),
            Some(_) | None => None,
        };
        settlement.start_send = reserved.is_some();
        let settle = || {
            self.parts.running.sign(turn.id);
            self.parts.turns.settle(turn.id, &settlement)
        };
        let SettledTurn { parent, more, started, ended } = match self.parts.with_retry(settle).await
        {
            Ok(settled) => settled,
            Err(error) => {
                meter.put_back(settlement.spent, &error);
                return Err(error);
            }
        };
        tracing::debug!(turn = %turn.id, outcome = settlement.outcome.as_str(), "settled");
        note_settled(&self.parts, turn.id, &settlement, ended);
        if let Some(progress) = progress {
            let is_done = settlement.answer.is_some();
            let last = if is_done { LastProgress::Done } else { LastProgress::Failed };
            self.display.end_progress(progress, last).await;
        }
        let replied_in = settlement.reply.as_ref().map(|reply| &reply.address);
        match (reserved, started) {
            (Some(reserved), Some(head)) => reserved.send(head),
            // Dropping a reservation is a wake-up.
            (Some(_), None) => {}
            (None, _) => {
                if let Some(chat) = replied_in.or(chat_of(turn)) {
                    self.parts.deliverer.wake(chat);
                }
            }
        }
        if let Some(parent) = parent {
            lanes.wake_lane(parent);
        }
        let messages = turn.origin.messages().iter().map(|message| message.id).collect();
        let event = TurnEvent::Ended { turn: Some(turn.id), messages, outcome: settlement.outcome };
        self.parts.events.emit(&turn.session, event);
        Ok(if more { LaneWork::Open } else { LaneWork::None })
    }

    /// Returns `true` if a reply has to send a notification, since people do something else meanwhile.
    /// An edit of the preview sends none.
    fn needs_new_message(&self, turn: &TurnRecord, reply: Option<&Planned>) -> bool {
        let Some((reply, first)) = reply.and_then(|it| Some((it, it.chunks.first()?))) else {
            return false;
        };
        let channel = self.parts.channels.channel_of(&reply.address);
        turn.session.job().is_some() || channel.is_some_and(|channel| channel.notifies(first))
    }

    /// Plans the end of a turn, or its pause.
    async fn plan_end(
        &self,
        turn: &TurnRecord,
        meter: &UsageMeter,
        ending: SettleReason,
    ) -> Result<PlannedEnd, StoreError> {
        let settlement = match ending {
            SettleReason::Agent(ended) => {
                let AgentEnd { end, voice } = *ended;
                match add_job_summary(&self.parts, turn, meter, end).await? {
                    TurnEnd::Waiting(calls) => return Ok(PlannedEnd::Waits(calls)),
                    TurnEnd::Answered(answer) => self.plan_reply(turn, answer, voice).await?,
                    TurnEnd::Failed(FailedTurn { notice, plain, failure, .. }) => {
                        let end = |bound: &[_]| EndNotice::of_error(notice, plain, bound);
                        self.without_answer(turn, Outcome::Error, failure, end).await?
                    }
                }
            }
            SettleReason::Bug(error) => {
                let reason = format!("I could not answer because of an internal error: {error}");
                let reason = end_sentence(reason);
                let plain = PlainNotice::not_now();
                let end = |bound: &[_]| EndNotice::of_error(reason, plain, bound);
                let failure = Some(FailureCode::Internal.into());
                self.without_answer(turn, Outcome::Error, failure, end).await?
            }
            SettleReason::Poison { attempts } => {
                let end = |bound: &[_]| EndNotice::of_poison(attempts, bound);
                self.without_answer(turn, Outcome::Dropped, None, end).await?
            }
            SettleReason::NothingAdmitted => {
                let why = "the person who began it may no longer speak here";
                let end = |bound: &[_]| EndNotice::of_drop(why, bound);
                self.without_answer(turn, Outcome::Dropped, None, end).await?
            }
        };
        Ok(PlannedEnd::Settlement(Box::new(settlement)))
    }

    async fn plan_reply(
        &self,
        turn: &TurnRecord,
        answer: Answer,
        voice: Option<Attachment>,
    ) -> Result<Settlement, StoreError> {
        let mut settlement = Settlement::new(Outcome::Replied);
        if let Some(task) = background_task(turn) {
            let text = format!("Task “{task}” is done:\n\n{}", answer.text);
            settlement.reply = self.plan_report(turn, reply_text(&text, &answer)).await?;
        } else if let Some(to) = asker(turn) {
            let chat = &to.message.inbound.address;
            // Only calls send messages, and step 0 has none before it.
            let sent = match answer.step {
                0 => Vec::new(),
                _ => self.parts.log.sent_texts(turn.id, chat).await?,
            };
            if self.is_sent(&sent, to, &answer.text) {
                tracing::debug!(turn = %turn.id, "the message tool has already sent this text");
                settlement.removes_preview = true;
            } else if self.has_no_news(turn, &answer.text).await? {
                tracing::debug!(turn = %turn.id, "the scheduled task has nothing new to report");
                settlement.removes_preview = true;
            } else {
                settlement.reply =
                    plan_turn_reply(&self.parts, turn, to, reply_text(&answer.text, &answer)).await;
            }
            if let Some(voice) = voice {
                settlement.reply = add_recording(&self.parts, settlement.reply, to, voice);
            }
        }
        settlement.answer = Some(answer);
        Ok(settlement)
    }

    /// Returns `true` if one of the sent texts is the answer. They were planned by the same
    /// channel, so the planned answer is compared, before its long code becomes files.
    fn is_sent(&self, sent: &[String], to: &LoggedInbound, answer: &str) -> bool {
        if sent.is_empty() {
            return false;
        }
        let planned = self.parts.plan_message(to, &Content::text(answer));
        let shown = planned.as_ref().map(shown_text).unwrap_or_default();
        sent.iter().any(|sent| same_words(sent, &shown))
    }

    /// Returns `true` if a scheduled task says that it has nothing new to report, or repeats the
    /// last report of its session.
    async fn has_no_news(&self, turn: &TurnRecord, text: &str) -> Result<bool, StoreError> {
        let Some(id) = turn.session.schedule() else { return Ok(false) };
        let schedule = self.parts.with_retry(|| self.parts.schedules.schedule(id)).await?;
        if schedule.is_none_or(|schedule| !schedule.quiet) {
            return Ok(false);
        }
        if is_silence(text) {
            return Ok(true);
        }
        let query = &self.parts.query;
        let past =
            self.parts.with_retry(|| query.transcript(&turn.session, REPORTS_COMPARED)).await?;
        let reports = past.iter().rev().filter(|one| one.id != turn.id);
        let last = reports.filter_map(TurnRecord::final_text).find(|text| !is_silence(text));
        Ok(last.is_some_and(|last| same_words(last, text)))
    }

    /// Plans the end of a turn without an answer. The notice names every message bound to the turn,
    /// including steering messages and answers to its questions.
    async fn without_answer(
        &self,
        turn: &TurnRecord,
        outcome: Outcome,
        failure: Option<TurnFailure>,
        notice: impl FnOnce(&[LoggedInbound]) -> EndNotice,
    ) -> Result<Settlement, StoreError> {
        let bound = self.unanswered(turn).await?;
        let mut notice = notice(&bound);
        if !bound.is_empty() {
            notice = notice.with_way_to_retry();
        }
        let code = failure.as_ref().map_or(FailureCode::Internal, |failure| failure.code);
        let reply = match (bound.last(), background_task(turn)) {
            (Some(to), _) => {
                let text = notice.text_for(&self.parts, to, code).await;
                plan_turn_reply(&self.parts, turn, to, ReplyText::new(&text, Trust::Low)).await
            }
            (None, Some(task)) => match asked_by(&self.parts, turn).await?.last() {
                Some(to) => {
                    let text = notice.text_for(&self.parts, to, code).await;
                    let text = format!("Task “{task}” failed: {text}");
                    plan_turn_reply(&self.parts, turn, to, ReplyText::new(&text, Trust::Low)).await
                }
                None => None,
            },
            (None, None) => None,
        };
        let settlement =
            Settlement { notice: Some(notice.full), reply, ..Settlement::new(outcome) };
        Ok(Settlement { failure, ..settlement })
    }

    /// Plans the message about the end of a background task, for the chat of the root turn.
    async fn plan_report(
        &self,
        turn: &TurnRecord,
        text: ReplyText<'_>,
    ) -> Result<Option<Planned>, StoreError> {
        let asked_by = asked_by(&self.parts, turn).await?;
        let Some(to) = asked_by.last() else { return Ok(None) };
        Ok(plan_turn_reply(&self.parts, turn, to, text).await)
    }

    /// Returns the messages bound to the turn whose outcome is open; empty for a child.
    async fn unanswered(&self, turn: &TurnRecord) -> Result<Vec<LoggedInbound>, StoreError> {
        if matches!(turn.origin, Origin::Child { .. }) {
            return Ok(Vec::new());
        }
        let mut unanswered = Vec::new();
        for message in self.parts.with_retry(|| self.parts.turns.asked_by(turn.id)).await? {
            let status = self.parts.with_retry(|| self.parts.query.message(message.id)).await?;
            if status.is_none_or(|status| status.outcome.is_none()) {
                unanswered.push(message);
            }
        }
        Ok(unanswered)
    }

    /// Makes the turn wait for the events of these calls, in one transaction.
    async fn begin_waits(
        &self,
        lanes: &dyn WakeLane,
        turn: &TurnRecord,
        calls: Vec<CallWait>,
    ) -> Result<(), StoreError> {
        // A child asks in the chat of the root turn.
        let root = asked_by(&self.parts, turn).await?;
        let to = asker(turn).or(root.last());
        let progress = match to {
            Some(to) => self.display.find_progress(turn, &to.message.inbound.address).await,
            None => None,
        };
        let mut waits = Vec::new();
        for CallWait { call, request } in calls {
            waits.push(plan_wait(&self.parts, turn, to, call, request).await?);
        }
        let begin = || {
            self.parts.running.sign(turn.id);
            self.parts.turns.wait(&waits)
        };
        self.parts.with_retry(begin).await?;
        self.new_wait.notify_one();
        if let (Some(progress), Some(first)) = (progress, waits.first()) {
            self.display.end_progress(progress, LastProgress::Waiting(first.kind)).await;
        }
        let mut emitted: Option<WaitKind> = None;
        for NewWait { id, call, kind, prompt, notices, writes, .. } in &waits {
            tracing::debug!(turn = %turn.id, wait = %id, kind = kind.as_str(), "the turn waits");
            if emitted.replace(*kind) != Some(*kind) {
                self.parts.events.emit(&turn.session, TurnEvent::Waiting { kind: *kind });
            }
            wake_deliveries(&self.parts.deliverer, writes);
            let planned = prompt.iter().chain(notices);
            planned.for_each(|message| self.parts.deliverer.wake(&message.address));
            if writes.iter().any(|write| matches!(write, LogWrite::Spawn(_))) {
                lanes.wake_lane(SessionId::of_child(*call));
            }
        }
        if let (Some(to), Some(kind)) = (asker(turn), emitted) {
            self.display.show_job_wait(turn, to, kind).await;
        }
        Ok(())
    }
}

/// Returns the text of a reply that ends with an answer.
fn reply_text<'t>(text: &'t str, answer: &Answer) -> ReplyText<'t> {
    ReplyText { text, ending: answer.ending, trust: answer.trust }
}

/// Returns the name of a task in the background; `None` for other turns.
fn background_task(turn: &TurnRecord) -> Option<String> {
    match &turn.origin {
        Origin::Child { label, prompt, mode: ChildMode::Background, .. } => {
            Some(task_name(label.as_deref(), prompt))
        }
        Origin::Child { .. } | Origin::Messages(_) => None,
    }
}

/// Joins the texts of all chunks, like `TurnLog::sent_texts`.
fn shown_text(planned: &Planned) -> String {
    planned.chunks.iter().map(|chunk| chunk.text.as_str()).collect()
}

/// Compares texts without regard to line breaks and spaces.
fn same_words(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}
