//! Text that the editor has: pieces of a step while the model writes, and delivered messages. The
//! daemon sends the same text in both forms, and the editor shows it once.

use std::collections::VecDeque;

use avocet_protocol::ids::TurnId;

/// Ended replies that are remembered, because their deliveries may come later.
const REMEMBERED: usize = 8;

/// The text of the present step of a turn.
#[derive(Debug, Default)]
pub(crate) struct EditorText {
    /// `true` while pieces belong to the present turn.
    streams: bool,
    step: String,
    /// Bytes of `step` that were delivered, too.
    delivered: usize,
    ended: VecDeque<(Option<TurnId>, String)>,
    /// Turns that were stopped.
    stopped: VecDeque<TurnId>,
}

impl EditorText {
    pub(crate) fn begin_step(&mut self) {
        self.streams = true;
        self.step.clear();
        self.delivered = 0;
    }

    /// Ends the turn: later pieces are left out.
    pub(crate) fn end_turn(&mut self) {
        self.streams = false;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.step.is_empty()
    }

    /// Adds a piece. Returns `true` if the editor gets the piece.
    pub(crate) fn add_delta(&mut self, delta: &str) -> bool {
        if self.streams {
            self.step.push_str(delta);
        }
        self.streams
    }

    /// Takes a delivered text. Returns the part that the editor does not have.
    pub(crate) fn take_delivery(&mut self, turn: Option<TurnId>, text: &str) -> Option<String> {
        if turn.is_some_and(|turn| self.stopped.contains(&turn)) {
            return None;
        }
        let mut replies = self.ended.iter().filter(|(of, _)| *of == turn);
        if replies.any(|(_, reply)| reply.contains(text.trim())) {
            return None;
        }
        let pending = self.step[self.delivered..].trim_start();
        let skipped = self.step.len() - pending.len();
        if !pending.is_empty() && pending.starts_with(text.trim()) {
            self.delivered = skipped + text.trim().len();
            return None;
        }
        let rest = match text.trim_start().strip_prefix(pending) {
            Some(rest) if !pending.is_empty() => rest.to_owned(),
            _ => self.apart(text),
        };
        self.step.push_str(&rest);
        self.delivered = self.step.len();
        Some(rest)
    }

    /// Takes the reply of an ended turn. Returns the part that the editor does not have.
    pub(crate) fn take_reply(&mut self, turn: Option<TurnId>, reply: &str) -> Option<String> {
        let (step, text) = (self.step.trim(), reply.trim());
        let rest = if text.is_empty() || step.ends_with(text) {
            None
        } else {
            match text.strip_prefix(self.step.trim_start()).or_else(|| text.strip_prefix(step)) {
                Some(rest) if !step.is_empty() => Some(rest.to_owned()),
                _ => Some(self.apart(text)),
            }
        };
        self.remember(turn, reply);
        if let Some(rest) = &rest {
            self.step.push_str(rest);
        }
        rest
    }

    /// Remembers a text that the editor does not need in any form.
    pub(crate) fn remember(&mut self, turn: Option<TurnId>, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.ended.push_back((turn, text.to_owned()));
        if self.ended.len() > REMEMBERED {
            self.ended.pop_front();
        }
    }

    /// Leaves out the texts of a stopped turn that are delivered later, such as the mark of its stop.
    pub(crate) fn leave_out_turn(&mut self, turn: TurnId) {
        self.stopped.push_back(turn);
        if self.stopped.len() > REMEMBERED {
            self.stopped.pop_front();
        }
    }

    /// Returns the text as a separate paragraph.
    fn apart(&self, text: &str) -> String {
        let gap = if self.step.is_empty() { "" } else { "\n\n" };
        format!("{gap}{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Option<TurnId> = Some(TurnId(1));

    fn streamed(pieces: &[&str]) -> EditorText {
        let mut text = EditorText::default();
        text.begin_step();
        for piece in pieces {
            assert!(text.add_delta(piece));
        }
        text
    }

    #[test]
    fn take_reply_returns_only_the_missing_part() {
        assert_eq!(streamed(&["Hello ", "world."]).take_reply(TURN, "Hello world."), None);
        assert_eq!(
            streamed(&["Hello "]).take_reply(TURN, "Hello world."),
            Some("world.".to_owned())
        );
        assert_eq!(
            streamed(&["Hello"]).take_reply(TURN, "Hello world."),
            Some(" world.".to_owned())
        );
        assert_eq!(streamed(&["Oh"]).take_reply(TURN, "Hello"), Some("\n\nHello".to_owned()));
        assert_eq!(streamed(&[]).take_reply(TURN, "Hello"), Some("Hello".to_owned()));
    }

    #[test]
    fn take_delivery_shows_each_text_once() {
        let mut text = streamed(&["one\ntwo\n"]);
        assert_eq!(text.take_delivery(TURN, "one"), None);
        assert_eq!(text.take_delivery(TURN, "two"), None);
        assert_eq!(text.take_delivery(TURN, "a file"), Some("\n\na file".to_owned()));
        assert_eq!(text.take_reply(TURN, "one\ntwo\n\n\na file"), None);
        assert_eq!(text.take_delivery(TURN, "a file"), None, "the reply has ended");
    }

    #[test]
    fn take_delivery_before_the_reply_leaves_nothing_to_say() {
        let mut text = streamed(&[]);
        assert_eq!(text.take_delivery(TURN, "Done."), Some("Done.".to_owned()));
        assert_eq!(text.take_reply(TURN, "Done."), None);
        let mut text = streamed(&[]);
        assert_eq!(text.take_reply(TURN, "Done."), Some("Done.".to_owned()));
        assert_eq!(text.take_delivery(TURN, "Done."), None);
    }

    #[test]
    fn take_delivery_leaves_out_the_late_texts_of_a_stopped_turn() {
        let mut text = streamed(&["1, 2"]);
        text.leave_out_turn(TurnId(1));
        assert_eq!(text.take_delivery(TURN, "1, 2 … (stopped)"), None);
        assert_eq!(text.take_delivery(TURN, "… (stopped)"), None);
        text.begin_step();
        assert_eq!(text.take_delivery(Some(TurnId(2)), "one"), Some("one".to_owned()));
    }

    #[test]
    fn add_leaves_out_pieces_after_the_end_of_the_turn() {
        let mut text = streamed(&["one"]);
        text.end_turn();
        assert!(!text.add_delta("late"));
    }
}
