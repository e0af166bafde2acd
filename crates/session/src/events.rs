//! Distributes turn events to the listeners of each session, without waiting for them. A new listener
//! gets the turn so far first.

use std::collections::HashMap;

use avocet_protocol::chat::{Outcome, SessionId};
use avocet_protocol::ignore_result;
use avocet_protocol::turn::{AnswerRequest, TurnEvent, TurnEvents};
use avocet_supervise::KeyedListeners;
use parking_lot::Mutex;

/// Events in a listener's queue; further ones are dropped.
const BEHIND: usize = 1024;
/// Bytes of the longest text that is kept for new listeners. They miss the beginning of a longer
/// text.
const MOST_TEXT: usize = 256 * 1024;

/// The listeners of each session, and its open turn.
#[derive(Debug, Default)]
pub struct Events {
    listeners: KeyedListeners<SessionId, TurnEvent>,
    /// Those that get thoughts as well. The queues of the others have no place for them.
    with_thoughts: KeyedListeners<SessionId, TurnEvent>,
    /// Held while an event is sent, so that a new listener gets each event once.
    turns: Mutex<HashMap<SessionId, TurnSoFar>>,
}

/// The part of an open turn that a new listener has missed.
#[derive(Debug)]
struct TurnSoFar {
    started: TurnEvent,
    /// The text of the present step.
    text: String,
    /// `true` if the text is longer than the kept one.
    is_cut: bool,
    /// Set while the turn waits.
    waiting: Option<TurnEvent>,
    /// The request that the text answers, as far as it is known.
    request: Option<AnswerRequest>,
    /// Events that listeners get later, while a `/stop` is being committed.
    held: Option<Vec<TurnEvent>>,
}

impl TurnSoFar {
    fn new(started: TurnEvent) -> Self {
        Self {
            started,
            text: String::new(),
            is_cut: false,
            waiting: None,
            request: None,
            held: None,
        }
    }

    fn apply_event(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::Text { delta } if self.text.len() + delta.len() <= MOST_TEXT => {
                self.text.push_str(delta);
            }
            TurnEvent::Text { .. } => self.is_cut = true,
            TurnEvent::Restarted => self.begin_text(),
            TurnEvent::Thinking { .. } => {
                self.begin_text();
                self.request = None;
            }
            TurnEvent::Waiting { .. } => {
                self.begin_text();
                self.request = None;
                self.waiting = Some(event.clone());
            }
            TurnEvent::Resumed => self.waiting = None,
            TurnEvent::Started { .. }
            | TurnEvent::Compacting
            | TurnEvent::Thought { .. }
            | TurnEvent::ToolStarted { .. }
            | TurnEvent::ToolProgress { .. }
            | TurnEvent::ToolFinished { .. }
            | TurnEvent::Ended { .. } => {}
        }
    }

    /// Frees the text of the previous step, which is in the log.
    fn begin_text(&mut self) {
        (self.text, self.is_cut) = (String::new(), false);
    }

    fn events_so_far(&self) -> impl Iterator<Item = TurnEvent> {
        let text = !self.text.is_empty() && !self.is_cut;
        let text = text.then(|| TurnEvent::Text { delta: self.text.clone() });
        [Some(self.started.clone()), text, self.waiting.clone()].into_iter().flatten()
    }
}

impl Events {
    /// Adds a listener, which gets the turn so far first.
    fn add_to(
        &self,
        listeners: &KeyedListeners<SessionId, TurnEvent>,
        session: &SessionId,
    ) -> flume::Receiver<TurnEvent> {
        let turns = self.turns.lock();
        let so_far = turns.get(session).into_iter().flat_map(TurnSoFar::events_so_far);
        listeners.add_after(session.clone(), BEHIND, so_far)
    }

    /// Returns the request that the open turn of a session has made, as long as it works on the
    /// answer.
    pub(crate) fn open_request(&self, session: &SessionId) -> Option<AnswerRequest> {
        self.turns.lock().get(session)?.request
    }

    /// Returns the text of the answer so far, and holds all further events of the turn back. So
    /// listeners have the same text as the caller.
    pub(crate) fn hold_answer(&self, session: &SessionId) -> Option<(AnswerRequest, String)> {
        let mut turns = self.turns.lock();
        let turn = turns.get_mut(session)?;
        let request = turn.request?;
        turn.held.get_or_insert_default();
        Some((request, turn.text.clone()))
    }

    /// Sends the events that were held back, if their turn is still open.
    pub(crate) fn resume_answer(&self, session: &SessionId) {
        let mut turns = self.turns.lock();
        let held = turns.get_mut(session).and_then(|turn| turn.held.take());
        held.iter().flatten().for_each(|event| self.send(&mut turns, session, event));
    }

    /// Sends an event, unless it is held back. Drops the events that were held back if their turn
    /// was stopped.
    fn send_or_hold(
        &self,
        turns: &mut HashMap<SessionId, TurnSoFar>,
        session: &SessionId,
        event: TurnEvent,
    ) {
        let Some(held) = turns.get_mut(session).and_then(|turn| turn.held.as_mut()) else {
            return self.send(turns, session, &event);
        };
        match event {
            TurnEvent::Ended { turn: None, .. } => {}
            TurnEvent::Ended { outcome, .. } => {
                let held = std::mem::take(held);
                if outcome != Outcome::Stopped {
                    held.iter().for_each(|event| self.send(turns, session, event));
                }
            }
            event => return held.push(event),
        }
        self.send(turns, session, &event);
    }

    fn send(
        &self,
        turns: &mut HashMap<SessionId, TurnSoFar>,
        session: &SessionId,
        event: &TurnEvent,
    ) {
        match event {
            TurnEvent::Started { .. } => {
                turns.insert(session.clone(), TurnSoFar::new(event.clone()));
            }
            TurnEvent::Ended { turn: ended @ Some(_), .. } => {
                let is_open = |open: &TurnSoFar| match &open.started {
                    TurnEvent::Started { turn, .. } => Some(*turn) == *ended,
                    _ => false,
                };
                if turns.get(session).is_some_and(is_open) {
                    turns.remove(session);
                }
            }
            event => {
                if let Some(turn) = turns.get_mut(session) {
                    turn.apply_event(event);
                }
            }
        }
        let is_thought = matches!(event, TurnEvent::Thought { .. });
        let listeners = (!is_thought).then(|| self.listeners.listeners_of(session));
        let all = listeners.into_iter().flatten().chain(self.with_thoughts.listeners_of(session));
        for listener in all {
            ignore_result(
                listener.try_send(event.clone()),
                "a listener that is too far behind misses the event",
            );
        }
    }
}

impl TurnEvents for Events {
    fn emit(&self, session: &SessionId, event: TurnEvent) {
        self.send_or_hold(&mut self.turns.lock(), session, event);
    }

    fn note_request(&self, session: &SessionId, request: AnswerRequest) {
        if let Some(turn) = self.turns.lock().get_mut(session) {
            turn.request = Some(request);
        }
    }

    fn subscribe(&self, session: &SessionId) -> flume::Receiver<TurnEvent> {
        self.add_to(&self.listeners, session)
    }

    fn subscribe_with_thoughts(&self, session: &SessionId) -> flume::Receiver<TurnEvent> {
        self.add_to(&self.with_thoughts, session)
    }
}

#[cfg(test)]
mod tests {
    use avocet_protocol::access::Trust;
    use avocet_protocol::ids::TurnId;
    use avocet_protocol::tool::WaitKind;
    use avocet_protocol::turn::StartedMessage;

    use super::*;

    fn thinking(step: u32) -> TurnEvent {
        TurnEvent::Thinking { step }
    }

    fn text(delta: &str) -> TurnEvent {
        TurnEvent::Text { delta: delta.to_owned() }
    }

    fn started(turn: i64) -> TurnEvent {
        let message = StartedMessage {
            id: avocet_protocol::ids::MessageId(turn),
            sender: "uid:0".to_owned(),
            text: "hi".to_owned(),
        };
        TurnEvent::Started { turn: TurnId(turn), messages: vec![message] }
    }

    fn ended(turn: Option<i64>) -> TurnEvent {
        let turn = turn.map(TurnId);
        TurnEvent::Ended { turn, messages: Vec::new(), outcome: Outcome::Replied }
    }

    fn session(name: &str) -> SessionId {
        SessionId::parse(&format!("terminal:local:{name}")).unwrap()
    }

    #[test]
    fn emit_reaches_subscribers_of_the_session_without_waiting_for_them() {
        let (a, b) = (session("a"), session("b"));
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

    #[test]
    fn emit_sends_thoughts_only_to_listeners_that_ask_for_them() {
        let (a, events) = (session("a"), Events::default());
        let (plain, thinker) = (events.subscribe(&a), events.subscribe_with_thoughts(&a));
        let thought = TurnEvent::Thought { delta: "hm".to_owned() };
        let sent = [started(1), thought.clone(), text("a")];
        sent.iter().for_each(|event| events.emit(&a, event.clone()));
        assert_eq!(thinker.drain().collect::<Vec<_>>(), sent);
        assert_eq!(plain.drain().collect::<Vec<_>>(), [started(1), text("a")]);
        // A thought is past: a new listener gets the text.
        let late = events.subscribe_with_thoughts(&a);
        assert_eq!(late.drain().collect::<Vec<_>>(), [started(1), text("a")]);
    }

    #[test]
    fn subscribe_in_a_turn_gets_the_turn_so_far_first() {
        let waiting = || TurnEvent::Waiting { kind: WaitKind::Approval };
        let tool =
            || TurnEvent::ToolStarted { name: "read_file".to_owned(), about: None, call: None };
        let long = "x".repeat(MOST_TEXT);
        let table: [(&[TurnEvent], &[TurnEvent]); 12] = [
            (&[thinking(0), text("lost")], &[]),
            (&[started(1)], &[started(1)]),
            (&[started(1), thinking(0), text("a "), text("b")], &[started(1), text("a b")]),
            (&[started(1), text("a"), tool()], &[started(1), text("a")]),
            (&[started(1), text("a"), TurnEvent::Restarted], &[started(1)]),
            (&[started(1), text("a"), thinking(1), text("b")], &[started(1), text("b")]),
            (&[started(1), text("a"), waiting()], &[started(1), waiting()]),
            (&[started(1), waiting(), TurnEvent::Resumed], &[started(1)]),
            (&[started(1), text("a"), ended(None)], &[started(1), text("a")]),
            (&[started(1), text("a"), ended(Some(1))], &[]),
            (&[started(2), ended(Some(1)), text("a")], &[started(2), text("a")]),
            (&[started(1), text(&long), text("y")], &[started(1)]),
        ];
        for (before, expected) in table {
            let (a, events) = (session("a"), Events::default());
            before.iter().for_each(|event| events.emit(&a, event.clone()));
            events.emit(&session("b"), started(9));
            let listener = events.subscribe(&a);
            let first: Vec<TurnEvent> = listener.drain().collect();
            assert_eq!(first, expected, "after {} events", before.len());
            events.emit(&a, text("next"));
            assert_eq!(listener.drain().collect::<Vec<_>>(), [text("next")]);
        }
    }

    #[test]
    fn hold_answer_gives_the_text_so_far_and_delays_later_events() {
        let stopped = |turn| TurnEvent::Ended {
            turn: Some(TurnId(turn)),
            messages: Vec::new(),
            outcome: Outcome::Stopped,
        };
        let table: [(&[TurnEvent], &[TurnEvent]); 4] = [
            // The stop found nothing to stop: the turn goes on.
            (&[], &[text("c"), thinking(1)]),
            (&[ended(Some(1))], &[text("c"), thinking(1), ended(Some(1))]),
            (&[stopped(1)], &[stopped(1)]),
            (&[ended(None)], &[ended(None), text("c"), thinking(1)]),
        ];
        for (last, expected) in table {
            let (a, events) = (session("a"), Events::default());
            assert_eq!(events.hold_answer(&a), None, "no turn");
            [started(1), thinking(0)].into_iter().for_each(|event| events.emit(&a, event));
            assert_eq!(events.hold_answer(&a), None, "no request");
            let request = AnswerRequest { turn: TurnId(1), step: 0, trust: Trust::User };
            events.note_request(&a, request);
            [text("a"), text("b")].into_iter().for_each(|event| events.emit(&a, event));
            let listener = events.subscribe(&a);
            drop(listener.drain());
            assert_eq!(events.hold_answer(&a), Some((request, "ab".to_owned())));
            let held = [text("c"), thinking(1)];
            held.iter().chain(last).for_each(|event| events.emit(&a, event.clone()));
            events.resume_answer(&a);
            assert_eq!(listener.drain().collect::<Vec<_>>(), expected, "{last:?}");
            assert_eq!(events.open_request(&a), None);
        }
    }

    #[test]
    fn ended_turns_free_their_text() {
        let (a, events) = (session("a"), Events::default());
        for turn in 1..4 {
            events.emit(&a, started(turn));
            events.emit(&a, text("a"));
            events.emit(&a, ended(Some(turn)));
        }
        assert!(events.turns.lock().is_empty());
    }
}
