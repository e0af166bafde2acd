//! Distributes turn events to the listeners of each session, without waiting for them.

use avocet_protocol::{SessionId, TurnEvent, TurnEvents};
use avocet_supervise::Listeners;

/// Events in a listener's queue; further ones are dropped.
const BEHIND: usize = 1024;

/// The listeners of each session.
#[derive(Debug, Default)]
pub struct Events {
    listeners: Listeners<SessionId, TurnEvent>,
}

impl TurnEvents for Events {
    fn emit(&self, session: &SessionId, event: TurnEvent) {
        for listener in self.listeners.of(session) {
            // A listener that is too far behind misses the event.
            drop(listener.try_send(event.clone()));
        }
    }

    fn subscribe(&self, session: &SessionId) -> flume::Receiver<TurnEvent> {
        self.listeners.add(session.clone(), BEHIND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thinking(step: u32) -> TurnEvent {
        TurnEvent::Thinking { step }
    }

    #[test]
    fn emit_reaches_subscribers_of_the_session_without_waiting_for_them() {
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
        assert!(events.listeners.is_empty(), "a session without listeners is dropped");
    }
}
