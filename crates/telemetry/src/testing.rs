//! Events for the tests of this crate, and a log in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, DeliveryId, MessageId, SubscriberName, TurnId};
use avocet_protocol::model::{Money, Usage};
use avocet_protocol::store::{
    EventAnswer, EventDelivery, EventDetail, EventFailedRequest, EventFilter, EventHistory,
    EventKind, EventLog, EventMessage, EventPage, EventRange, EventSeq, EventTool, EventTurn,
    EventUsage, LogEvent, Purpose, StoreError, Subscriber,
};
use avocet_protocol::tool::WaitKind;
use avocet_protocol::turn::{FailureCode, TraceSubject, TurnFailure};
use avocet_testkit::START;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;

/// The text of each message.
pub(crate) const ASKED: &str = "where are my keys";
/// The text of each answer.
pub(crate) const ANSWERED: &str = "on the shelf";
/// An argument of each call.
pub(crate) const ARGUMENT: &str = "hallway";
/// The notice of a turn without an answer.
pub(crate) const NOTICE: &str = "the model is down";
/// The error of a delivery.
pub(crate) const FAULT: &str = "chat not found";
/// A secret in each message.
pub(crate) const SECRET: &str = "correct-horse-battery";

/// Makes the events of a turn, one for each `SECONDS KIND`.
pub(crate) fn make_history(turn: i64, lines: &str) -> EventHistory {
    let turn = TurnId(turn);
    let events = lines.split(", ").map(|line| make_event(turn, line)).collect();
    EventHistory { turn, root: turn, parent: None, call: None, events }
}

fn make_event(turn: TurnId, line: &str) -> LogEvent {
    let (seconds, word) = line.split_once(' ').unwrap();
    let kind = *EventKind::ALL.iter().find(|kind| kind.as_str() == word).unwrap();
    let at = Timestamp(START.0 + seconds.parse::<i64>().unwrap() * 1000);
    LogEvent {
        seq: EventSeq(1),
        at,
        kind,
        session: Some("telegram:bot:7".parse().unwrap()),
        turn: Some(turn),
        step: None,
        call: word.starts_with("call").then_some(CallId { turn, step: 0, ordinal: 0 }),
        detail: make_detail(kind),
    }
}

fn make_detail(kind: EventKind) -> Option<EventDetail> {
    let chat = "telegram:bot:7".parse().unwrap();
    Some(match kind.as_str().split_once('.').unwrap().0 {
        "message" => EventDetail::Message(EventMessage {
            id: MessageId(1),
            chat,
            sender: "u".parse().unwrap(),
            sender_name: Some("Ada".to_owned()),
            is_command: false,
            text: format!("{ASKED} {SECRET}"),
            outcome: None,
            reply: None,
        }),
        "turn" => EventDetail::TurnInfo(EventTurn {
            parent: None,
            label: None,
            waits_for: vec![WaitKind::Approval],
            answer: (kind == EventKind::TurnDone).then(|| ANSWERED.to_owned()),
            notice: (kind == EventKind::TurnFailed).then(|| NOTICE.to_owned()),
            failure: None,
        }),
        "model" => EventDetail::Answer(EventAnswer {
            text: ANSWERED.to_owned(),
            input_tokens: 100,
            output_tokens: 20,
            calls: Vec::new(),
        }),
        "usage" => EventDetail::Usage(EventUsage {
            model: "local/qwen3".to_owned(),
            purpose: Purpose::Answer,
            usage: Usage { cached: 64, ..Usage::new(100, 20) },
            cost: Some(Money::dollars(0.25)),
        }),
        "request" => EventDetail::FailedRequest(EventFailedRequest {
            began: Timestamp(START.0 + 1_000),
            ended: Timestamp(START.0 + 2_000),
            purpose: Purpose::Answer,
            failure: TurnFailure {
                code: FailureCode::RateLimited,
                model: Some("local/qwen3".to_owned()),
                status: Some(429),
                retry_after_seconds: None,
            },
        }),
        "call" => EventDetail::Tool(EventTool {
            name: "find".to_owned(),
            arguments: json!({ "room": ARGUMENT }).as_object().unwrap().clone(),
            ok: Some(true),
            result_bytes: Some(6),
            refusal: None,
        }),
        "delivery" => EventDetail::Delivery(EventDelivery {
            id: DeliveryId(3),
            chat,
            source: "reply".to_owned(),
            part: 0,
            text: ANSWERED.to_owned(),
            choices: Vec::new(),
            attempts: 1,
            repeat: false,
            platform_id: None,
            error: (kind == EventKind::DeliveryDead).then(|| FAULT.to_owned()),
        }),
        _ => return None,
    })
}

/// A log in memory: the ends of turns, each with its history.
#[derive(Debug, Default)]
pub(crate) struct LogInMemory {
    ends: Mutex<Vec<(LogEvent, EventHistory)>>,
    positions: Mutex<BTreeMap<SubscriberName, EventSeq>>,
    newest: watch::Sender<EventSeq>,
    confirmed: watch::Sender<EventSeq>,
}

impl LogInMemory {
    /// Adds the last event of a history. Its number is the one behind the newest.
    pub(crate) fn add_history(&self, history: EventHistory) {
        let mut ends = self.ends.lock();
        let seq = EventSeq(ends.len() as i64 + 1);
        ends.push((LogEvent { seq, ..history.events.last().unwrap().clone() }, history));
        drop(ends);
        self.newest.send_replace(seq);
    }

    /// Sets the position of the exporter, as an earlier start does.
    pub(crate) fn start_from(&self, seq: i64) {
        self.positions.lock().insert(SubscriberName::telemetry(), EventSeq(seq));
    }

    /// Waits until the exporter has confirmed this event.
    pub(crate) async fn wait_until_confirmed(&self, seq: i64) {
        let mut confirmed = self.confirmed.subscribe();
        confirmed.wait_for(|upto| upto.0 >= seq).await.unwrap();
    }

    /// Returns the confirmed position; 0 before the first confirmation.
    pub(crate) fn confirmed_position(&self) -> i64 {
        self.confirmed.borrow().0
    }
}

#[async_trait]
impl EventLog for LogInMemory {
    async fn event_range(&self) -> Result<EventRange, StoreError> {
        let newest = *self.newest.borrow();
        Ok(EventRange { log: "log1".to_owned(), oldest: Some(EventSeq(1)), newest })
    }

    async fn events(
        &self,
        after: EventSeq,
        filter: &EventFilter,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        let ends = self.ends.lock();
        let events = ends.iter().map(|(event, _)| event.clone());
        let is_meant = |event: &LogEvent| event.seq > after && filter.kinds.contains(&event.kind);
        let events: Vec<_> = events.filter(is_meant).take(limit as usize).collect();
        let next = match events.last() {
            Some(last) if events.len() == limit as usize => last.seq,
            _ => *self.newest.borrow(),
        };
        Ok(EventPage { events, next })
    }

    async fn traced_events(&self, _subject: TraceSubject) -> Result<Vec<LogEvent>, StoreError> {
        Ok(Vec::new())
    }

    async fn event_history(&self, event: &LogEvent) -> Result<Option<EventHistory>, StoreError> {
        let ends = self.ends.lock();
        let found = ends.iter().find(|(end, _)| end.seq == event.seq);
        Ok(found.map(|(_, history)| history.clone()))
    }

    fn newest_event(&self) -> watch::Receiver<EventSeq> {
        self.newest.subscribe()
    }

    async fn subscribe(
        &self,
        name: &SubscriberName,
        from: Option<EventSeq>,
    ) -> Result<EventSeq, StoreError> {
        assert_eq!((name.as_str(), from), ("telemetry", None));
        let newest = *self.newest.borrow();
        Ok(*self.positions.lock().entry(name.clone()).or_insert(newest))
    }

    async fn confirm_events(
        &self,
        name: &SubscriberName,
        upto: EventSeq,
    ) -> Result<(), StoreError> {
        assert_eq!(name.as_str(), "telemetry");
        self.confirmed.send_replace(upto);
        Ok(())
    }

    async fn subscribers(&self) -> Result<Vec<Subscriber>, StoreError> {
        Ok(Vec::new())
    }

    async fn remove_subscriber(&self, _name: &SubscriberName) -> Result<bool, StoreError> {
        Ok(false)
    }
}
