//! Who listens to which session, and what they are told. Nobody is waited for.

use std::sync::Mutex;
use std::sync::PoisonError;

use avocet_protocol::{SessionId, TurnEvent, TurnEvents};
use dashmap::{DashMap, Entry};

/// Events that a listener may be behind; after that it misses some.
const BEHIND: usize = 1024;

/// The listeners of every session that has any.
#[derive(Debug, Default)]
pub struct Events {
    listeners: DashMap<SessionId, Mutex<Vec<flume::Sender<TurnEvent>>>>,
}

impl TurnEvents for Events {
    fn emit(&self, session: &SessionId, event: TurnEvent) {
        let Entry::Occupied(entry) = self.listeners.entry(session.clone()) else { return };
        let left = {
            let mut listeners = entry.get().lock().unwrap_or_else(PoisonError::into_inner);
            listeners.retain(|listener| {
                !matches!(
                    listener.try_send(event.clone()),
                    Err(flume::TrySendError::Disconnected(_))
                )
            });
            listeners.len()
        };
        if left == 0 {
            entry.remove();
        }
    }

    fn subscribe(&self, session: &SessionId) -> flume::Receiver<TurnEvent> {
        let (listener, events) = flume::bounded(BEHIND);
        let entry = self.listeners.entry(session.clone()).or_default();
        entry.lock().unwrap_or_else(PoisonError::into_inner).push(listener);
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thinking(step: u32) -> TurnEvent {
        TurnEvent::Thinking { step }
    }

    #[test]
    fn a_listener_hears_its_session_and_is_never_waited_for() {
        let (a, b) = ["a", "b"]
            .map(|name| SessionId::parse(&format!("terminal:local:{name}")).unwrap())
            .into();
        let events = Events::default();
        events.emit(&a, thinking(0));
        let (first, second) = (events.subscribe(&a), events.subscribe(&a));
        events.emit(&a, thinking(1));
        events.emit(&b, thinking(2));
        drop(second);
        for _ in 0..2 * BEHIND {
            events.emit(&a, thinking(3));
        }
        let heard: Vec<TurnEvent> = first.try_iter().collect();
        assert_eq!((heard.len(), &heard[0], &heard[1]), (BEHIND, &thinking(1), &thinking(3)));
        drop(first);
        events.emit(&a, thinking(4));
        assert!(events.listeners.is_empty(), "nobody listens: nothing is kept");
    }
}
