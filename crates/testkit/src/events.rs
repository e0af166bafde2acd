//! A listener that records all events.

use avocet_protocol::chat::SessionId;
use avocet_protocol::turn::{TurnEvent, TurnEvents};
use parking_lot::Mutex;

/// Records every event of every session, in order.
#[derive(Debug, Default)]
pub struct RecordedEvents {
    events: Mutex<Vec<TurnEvent>>,
}

impl RecordedEvents {
    /// Returns the events so far.
    #[must_use]
    pub fn all(&self) -> Vec<TurnEvent> {
        self.events.lock().clone()
    }
}

impl TurnEvents for RecordedEvents {
    fn emit(&self, _session: &SessionId, event: TurnEvent) {
        self.events.lock().push(event);
    }

    fn subscribe(&self, _session: &SessionId) -> flume::Receiver<TurnEvent> {
        flume::bounded(0).1
    }

    fn subscribe_with_thoughts(&self, session: &SessionId) -> flume::Receiver<TurnEvent> {
        self.subscribe(session)
    }
}
