//! The event log of the fake daemon, in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{MessageId, SubscriberName};
use avocet_protocol::store::{
    EventDetail, EventFilter, EventHistory, EventKind, EventLog, EventMessage, EventPage,
    EventRange, EventSeq, LogEvent, StoreError, Subscriber,
};
use avocet_protocol::turn::TraceSubject;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::FakeDaemon;

/// Events in memory, and positions of subscribers.
#[derive(Debug, Default)]
pub struct EventMemory {
    events: Mutex<Vec<LogEvent>>,
    positions: Mutex<BTreeMap<SubscriberName, EventSeq>>,
    newest: watch::Sender<EventSeq>,
}

impl EventMemory {
    /// Adds the receipt of a message.
    pub fn add(&self, session: &str, text: &str) {
        let session: SessionId = session.parse().unwrap();
        let mut events = self.events.lock();
        let seq = EventSeq(events.len() as i64 + 1);
        let message = EventMessage {
            id: MessageId(seq.0),
            chat: session.address(),
            sender: "u".parse().unwrap(),
            sender_name: None,
            is_command: false,
            text: text.to_owned(),
            outcome: None,
            reply: None,
        };
        events.push(LogEvent {
            seq,
            at: Timestamp(seq.0),
            kind: EventKind::MessageQueued,
            session: Some(session),
            turn: None,
            step: None,
            call: None,
            detail: Some(EventDetail::Message(message)),
        });
        drop(events);
        self.newest.send_replace(seq);
    }

    /// Returns the position of a subscriber.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<i64> {
        self.positions.lock().get(name).map(|seq| seq.0)
    }

    /// Waits until a subscriber has confirmed this event.
    pub async fn confirmed(&self, name: &str, seq: i64) {
        while self.position(name) != Some(seq) {
            tokio::task::yield_now().await;
        }
    }
}

#[async_trait]
impl EventLog for FakeDaemon {
    async fn event_range(&self) -> Result<EventRange, StoreError> {
        let newest = *self.log.newest.borrow();
        Ok(EventRange { log: "log1".to_owned(), oldest: Some(EventSeq(1)), newest })
    }

    async fn events(
        &self,
        after: EventSeq,
        filter: &EventFilter,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        let events = self.log.events.lock();
        let is_selected = |event: &&LogEvent| {
            event.seq > after
                && (filter.session.is_none() || filter.session == event.session)
                && (filter.kinds.is_empty() || filter.kinds.contains(&event.kind))
        };
        let found: Vec<_> =
            events.iter().filter(is_selected).take(limit as usize).cloned().collect();
        let next = match found.last() {
            Some(last) if found.len() == limit as usize => last.seq,
            _ => after.max(EventSeq(events.len() as i64)),
        };
        Ok(EventPage { events: found, next })
    }

    async fn traced_events(&self, subject: TraceSubject) -> Result<Vec<LogEvent>, StoreError> {
        let events = self.log.events.lock();
        let is_traced = |event: &&LogEvent| match (subject, &event.detail) {
            (TraceSubject::Message(id), _) => event.seq.0 == id.0,
            (TraceSubject::Turn(id), _) => event.turn == Some(id),
            (TraceSubject::Delivery(id), Some(EventDetail::Delivery(delivery))) => {
                delivery.id == id
            }
            (TraceSubject::Delivery(_), _) => false,
        };
        Ok(events.iter().filter(is_traced).cloned().collect())
    }

    async fn event_history(&self, _event: &LogEvent) -> Result<Option<EventHistory>, StoreError> {
        Ok(None)
    }

    fn newest_event(&self) -> watch::Receiver<EventSeq> {
        self.log.newest.subscribe()
    }

    async fn subscribe(
        &self,
        name: &SubscriberName,
        from: Option<EventSeq>,
    ) -> Result<EventSeq, StoreError> {
        let newest = *self.log.newest.borrow();
        let mut positions = self.log.positions.lock();
        Ok(*positions.entry(name.clone()).or_insert(from.unwrap_or(newest)))
    }

    async fn confirm_events(
        &self,
        name: &SubscriberName,
        upto: EventSeq,
    ) -> Result<(), StoreError> {
        self.log.positions.lock().insert(name.clone(), upto);
        Ok(())
    }

    async fn subscribers(&self) -> Result<Vec<Subscriber>, StoreError> {
        let positions = self.log.positions.lock();
        let subscriber = |(name, seq): (&SubscriberName, &EventSeq)| Subscriber {
            name: name.clone(),
            seq: *seq,
            at: Timestamp(1),
        };
        Ok(positions.iter().map(subscriber).collect())
    }

    async fn remove_subscriber(&self, name: &SubscriberName) -> Result<bool, StoreError> {
        Ok(self.log.positions.lock().remove(name).is_some())
    }
}
