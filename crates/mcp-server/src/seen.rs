//! The state of a turn, as its events show it.

use avocet_protocol::store::{EventDetail, EventKind, EventSeq, LogEvent};
use avocet_protocol::tool::WaitKind;

use crate::forms::TurnQuestion;

/// The state of the turn, by the events so far.
#[derive(Debug, Default)]
pub(crate) struct SeenState {
    /// The events that it waits for.
    pub(crate) waits: Vec<WaitKind>,
    /// The last question of the agent.
    pub(crate) asked: Option<TurnQuestion>,
    /// The tools of its last step that have not finished.
    running: Vec<String>,
    last: EventSeq,
}

impl SeenState {
    /// Notes an event. Returns the text for progress, and `true` if a question may be new, or
    /// answered. `None` for an event that was seen before.
    pub(crate) fn note_event(&mut self, event: LogEvent) -> Option<(Option<String>, bool)> {
        if event.seq <= self.last {
            return None;
        }
        self.last = event.seq;
        Some(match (event.kind, event.detail) {
            (EventKind::TurnWaiting, Some(EventDetail::TurnInfo(turn))) => {
                self.waits = turn.waits_for;
                (Some(self.in_words()), true)
            }
            (EventKind::TurnRunning, _) => {
                let resumed = !self.waits.is_empty();
                self.waits.clear();
                self.asked = None;
                (Some("working".to_owned()), resumed)
            }
            (EventKind::DeliveryPending, Some(EventDetail::Delivery(delivery)))
                if delivery.source == "prompt" =>
            {
                let (text, choices) = (delivery.text, delivery.choices);
                // The list of approvals has the others.
                if !choices.iter().any(|choice| choice.says.starts_with("/approve")) {
                    self.asked = Some(TurnQuestion::Answer { text, choices });
                }
                (None, true)
            }
            (EventKind::ModelAnswered, Some(EventDetail::Answer(answer))) => {
                self.running = answer.calls;
                (Some(self.in_words()), false)
            }
            (EventKind::CallFinished, Some(EventDetail::Tool(tool))) => {
                if let Some(place) = self.running.iter().position(|name| *name == tool.name) {
                    self.running.remove(place);
                }
                let outcome = if tool.ok == Some(false) { "failed" } else { "finished" };
                (Some(format!("{} {outcome}", tool.name)), false)
            }
            _ => (None, false),
        })
    }

    /// Describes the state for progress.
    pub(crate) fn in_words(&self) -> String {
        let waits: Vec<&str> = self.waits.iter().map(|kind| kind.as_str()).collect();
        if !waits.is_empty() {
            return format!("still working: waits for {}", waits.join(", "));
        }
        if self.running.is_empty() {
            "still working".to_owned()
        } else {
            format!("still working: runs {}", self.running.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(seq: i64, kind: &str, name: &str, detail: &serde_json::Value) -> LogEvent {
        serde_json::from_value(json!({"seq": seq, "at": 1, "kind": kind, name: detail})).unwrap()
    }

    #[test]
    fn seen_state_follows_the_tools_and_the_waits_of_a_turn() {
        let mut state = SeenState::default();
        let answer =
            json!({"text": "", "input_tokens": 1, "output_tokens": 1, "calls": ["a", "b"]});
        let answered = event(1, "model.answered", "answer", &answer);
        let text = "still working: runs a, b".to_owned();
        assert_eq!(state.note_event(answered.clone()), Some((Some(text), false)));
        assert_eq!(state.note_event(answered), None, "an event that comes again");
        let done = json!({"name": "a", "arguments": {}, "ok": true});
        let finished = state.note_event(event(2, "call.finished", "tool", &done));
        assert_eq!(finished, Some((Some("a finished".to_owned()), false)));
        assert_eq!(state.in_words(), "still working: runs b");
        let waits = event(3, "turn.waiting", "turn_info", &json!({"waits_for": ["answer"]}));
        let text = "still working: waits for answer".to_owned();
        assert_eq!(state.note_event(waits), Some((Some(text), true)));
        let resumed = event(4, "turn.running", "turn_info", &json!({}));
        assert_eq!(state.note_event(resumed), Some((Some("working".to_owned()), true)));
        assert_eq!(state.waits, []);
    }

    #[test]
    fn seen_state_leaves_prompts_of_approvals_to_their_list() {
        let mut state = SeenState::default();
        let prompt = |says: &str| {
            json!({
                "id": "o1", "chat": "terminal:local:a", "source": "prompt", "part": 0, "text": "?",
                "choices": [{"label": "Yes", "says": says}], "attempts": 0, "repeat": false,
            })
        };
        state.note_event(event(1, "delivery.pending", "delivery", &prompt("/approve w1")));
        assert_eq!(state.asked, None);
        state.note_event(event(2, "delivery.pending", "delivery", &prompt("red")));
        assert!(matches!(state.asked, Some(TurnQuestion::Answer { text, .. }) if text == "?"));
    }
}
