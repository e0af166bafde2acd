//! The timeline of one message, made from its events.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::ids::{CallId, DeliveryId, TurnId};
use crate::store::{
    EventAnswer, EventDelivery, EventDetail, EventFailedRequest, EventKind, EventMessage,
    EventTool, EventTurn, EventUsage, LogEvent,
};
use crate::tool::WaitKind;

/// A part of the timeline: one piece of work, or one wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceSpan {
    /// The start.
    pub start: Timestamp,
    /// The end; `None` if the work is open, or if the process ended during it.
    pub end: Option<Timestamp>,
    /// The turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The work.
    #[serde(flatten)]
    pub work: TraceWork,
}

/// The work of a [`TraceSpan`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TraceWork {
    /// The message was accepted. Has no length.
    Received {
        /// The message.
        message: EventMessage,
    },
    /// The message waits for its lane.
    Queued,
    /// A model is asked. Begins at the end of the work before it, so that it includes recall and
    /// the preparation of the request.
    Model {
        /// The answer; `None` if the request had none.
        answer: Option<EventAnswer>,
        /// The cost of the answer, and of failed attempts before it.
        usage: Vec<EventUsage>,
    },
    /// A request of the `model` span around it failed and was made again.
    FailedRequest {
        /// The request.
        request: EventFailedRequest,
    },
    /// A tool runs.
    Tool {
        /// The call.
        call: CallId,
        /// Its name, arguments and result.
        tool: EventTool,
    },
    /// The turn waits for a person or a sub-agent.
    Paused {
        /// The kinds of events for which it waits.
        waits_for: Vec<WaitKind>,
    },
    /// The process ended during the turn. Lasts until a lane runs the turn again.
    Interrupted,
    /// A part of a message is delivered, from its first send.
    Delivery {
        /// The part.
        delivery: EventDelivery,
        /// Its state.
        state: EventKind,
    },
    /// The turn ended. Has no length.
    Ended {
        /// Its state: `turn.done`, `turn.cancelled` or `turn.failed`.
        state: EventKind,
        /// The turn.
        turn_info: Option<EventTurn>,
    },
}

/// Makes the timeline of a message from its events, sorted by start.
#[must_use]
pub fn trace(events: Vec<LogEvent>) -> Vec<TraceSpan> {
    let mut timeline = Timeline::default();
    events.into_iter().for_each(|event| timeline.add(event));
    timeline.spans.sort_by_key(|span| span.start);
    timeline.spans
}

#[derive(Default)]
struct Timeline {
    spans: Vec<TraceSpan>,
    turns: HashMap<TurnId, TracedTurn>,
    deliveries: HashMap<DeliveryId, usize>,
    /// The spans of messages that wait for the lane. The next turn ends these spans.
    queued: Vec<usize>,
}

/// A turn of the timeline.
#[derive(Default)]
struct TracedTurn {
    /// The end of its last work.
    free_since: Option<Timestamp>,
    /// The open pause or interruption.
    open: Option<usize>,
    /// The usage of the next answer.
    usage: Vec<EventUsage>,
    /// The last request of an ended turn. The transaction that ends a turn writes the answer after
    /// the end.
    last_request: Option<usize>,
    /// The last answer, or the request that got none.
    last_model: Option<usize>,
    /// The time of the last work of an ended turn: its begin, and the end of the turn.
    last_work: Option<(Timestamp, Timestamp)>,
    /// The started calls.
    calls: HashMap<CallId, Timestamp>,
}

impl Timeline {
    fn push(
        &mut self,
        start: Timestamp,
        end: Option<Timestamp>,
        turn: Option<TurnId>,
        work: TraceWork,
    ) -> usize {
        self.spans.push(TraceSpan { start, end, turn, work });
        self.spans.len() - 1
    }

    fn end(&mut self, span: Option<usize>, at: Timestamp) {
        if let Some(span) = span.and_then(|span| self.spans.get_mut(span)) {
            span.end = Some(at);
        }
    }

    fn end_queued(&mut self, at: Timestamp) {
        for span in std::mem::take(&mut self.queued) {
            self.end(Some(span), at);
        }
    }

    fn add(&mut self, event: LogEvent) {
        let LogEvent { at, kind, turn, call, detail, .. } = event;
        match (kind, turn, detail) {
            (EventKind::MessageQueued, _, Some(EventDetail::Message(message))) => {
                self.push(at, Some(at), None, TraceWork::Received { message });
                let queued = self.push(at, None, None, TraceWork::Queued);
                self.queued.push(queued);
            }
            (EventKind::MessageDone | EventKind::MessageDead, ..) => {
                self.end_queued(at);
            }
            (EventKind::UsageRecorded, Some(turn), Some(EventDetail::Usage(usage))) => {
                self.used(turn, usage);
            }
            (EventKind::RequestFailed, Some(turn), Some(EventDetail::FailedRequest(request))) => {
                let (began, ended) = (request.began, Some(request.ended));
                self.push(began, ended, Some(turn), TraceWork::FailedRequest { request });
            }
            (EventKind::ModelAnswered, Some(turn), detail) => {
                let answer = match detail {
                    Some(EventDetail::Answer(answer)) => Some(answer),
                    _ => None,
                };
                self.answered(at, turn, answer);
            }
            (EventKind::CallStarted, Some(turn), _) => {
                if let Some(call) = call {
                    self.turn(turn).calls.insert(call, at);
                }
            }
            (EventKind::CallFinished | EventKind::CallInterrupted, Some(turn), detail) => {
                if let (Some(call), Some(EventDetail::Tool(tool))) = (call, detail) {
                    self.called(at, turn, call, tool, kind);
                }
            }
            (
                EventKind::DeliverySending
                | EventKind::DeliverySent
                | EventKind::DeliveryUnknown
                | EventKind::DeliveryUnconfirmed
                | EventKind::DeliveryDead
                | EventKind::DeliveryPending,
                turn,
                Some(EventDetail::Delivery(delivery)),
            ) => self.delivered(at, turn, delivery, kind),
            (kind, Some(turn), detail) => self.changed(at, turn, kind, detail),
            _ => {}
        }
    }

    fn turn(&mut self, turn: TurnId) -> &mut TracedTurn {
        self.turns.entry(turn).or_default()
    }

    /// Adds usage to the answer that follows. A request that was cut off by the end of its turn is
    /// counted after the end, because the end comes first.
    fn used(&mut self, turn: TurnId, usage: EventUsage) {
        let traced = self.turn(turn);
        let Some((start, end)) = traced.last_work else {
            traced.usage.push(usage);
            return;
        };
        let last = traced.last_model;
        let last =
            last.and_then(|span| self.spans.get_mut(span)).filter(|span| span.end == Some(end));
        if let Some(TraceSpan { work: TraceWork::Model { usage: counted, .. }, .. }) = last {
            counted.push(usage);
            return;
        }
        let work = TraceWork::Model { answer: None, usage: vec![usage] };
        let span = self.push(start, Some(end), Some(turn), work);
        self.turn(turn).last_model = Some(span);
    }

    fn answered(&mut self, at: Timestamp, turn: TurnId, answer: Option<EventAnswer>) {
        let traced = self.turn(turn);
        if let Some(request) = traced.last_request.take() {
            if let Some(TraceSpan { work: TraceWork::Model { answer: missing, .. }, .. }) =
                self.spans.get_mut(request)
            {
                *missing = answer;
            }
            return;
        }
        let start = traced.free_since.replace(at).unwrap_or(at);
        let usage = std::mem::take(&mut traced.usage);
        let span = self.push(start, Some(at), Some(turn), TraceWork::Model { answer, usage });
        self.turn(turn).last_model = Some(span);
    }

    fn called(
        &mut self,
        at: Timestamp,
        turn: TurnId,
        call: CallId,
        tool: EventTool,
        kind: EventKind,
    ) {
        let traced = self.turn(turn);
        let began = traced.calls.remove(&call).or(traced.free_since).unwrap_or(at);
        traced.free_since = Some(at);
        let end = (kind == EventKind::CallFinished).then_some(at);
        self.push(began, end, Some(turn), TraceWork::Tool { call, tool });
    }

    fn delivered(
        &mut self,
        at: Timestamp,
        turn: Option<TurnId>,
        delivery: EventDelivery,
        state: EventKind,
    ) {
        let end = (!matches!(state, EventKind::DeliverySending | EventKind::DeliveryPending))
            .then_some(at);
        match self.deliveries.get(&delivery.id).and_then(|span| self.spans.get_mut(*span)) {
            Some(span) => {
                span.end = end;
                span.work = TraceWork::Delivery { delivery, state };
            }
            None => {
                let id = delivery.id;
                let span = self.push(at, end, turn, TraceWork::Delivery { delivery, state });
                self.deliveries.insert(id, span);
            }
        }
    }

    /// Adds a change of a turn's state.
    fn changed(
        &mut self,
        at: Timestamp,
        turn: TurnId,
        kind: EventKind,
        detail: Option<EventDetail>,
    ) {
        let turn_info = match detail {
            Some(EventDetail::TurnInfo(info)) => Some(info),
            _ => None,
        };
        let open = self.turn(turn).open.take();
        match kind {
            EventKind::TurnRunning => {
                self.end_queued(at);
                self.end(open, at);
                let traced = self.turn(turn);
                (traced.free_since, traced.last_work) = (Some(at), None);
            }
            EventKind::TurnWaiting => {
                let waits_for = turn_info.map(|info| info.waits_for).unwrap_or_default();
                let paused = self.push(at, None, Some(turn), TraceWork::Paused { waits_for });
                self.turn(turn).open = Some(paused);
            }
            // After a wait, the turn is queued until a lane takes it.
            EventKind::TurnQueued if open.is_some() => self.turn(turn).open = open,
            EventKind::TurnQueued if self.turn(turn).free_since.is_some() => {
                let span = self.push(at, None, Some(turn), TraceWork::Interrupted);
                self.turn(turn).open = Some(span);
            }
            EventKind::TurnDone | EventKind::TurnCancelled | EventKind::TurnFailed => {
                self.end(open, at);
                let traced = self.turn(turn);
                let usage = std::mem::take(&mut traced.usage);
                let is_at_work =
                    open.is_none() && traced.free_since.is_some_and(|since| since < at);
                let start = traced.free_since.unwrap_or(at);
                // A request that failed or was cancelled, unless its answer follows. A request that
                // failed before its first token has no usage.
                let has_failed = kind == EventKind::TurnFailed && is_at_work;
                if !usage.is_empty() || has_failed {
                    let work = TraceWork::Model { answer: None, usage };
                    let request = self.push(start, Some(at), Some(turn), work);
                    let traced = self.turn(turn);
                    (traced.last_request, traced.last_model) = (Some(request), Some(request));
                }
                self.turn(turn).last_work = Some((start, at));
                self.push(at, Some(at), Some(turn), TraceWork::Ended { state: kind, turn_info });
            }
            _ => self.turn(turn).open = open,
        }
    }
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
