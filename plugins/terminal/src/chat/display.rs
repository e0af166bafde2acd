//! Shows the chat on the screen.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::LruMap;
use avocet_protocol::chat::REPEAT_MARK;
use avocet_protocol::ids::{DeliveryId, MessageId, SenderId, TurnId};
use avocet_protocol::turn::{StartedMessage, TurnEvent, TurnRecord};

use super::{SaidChunk, TerminalLink};
use crate::convert::{make_safe, print_chunk};
use crate::drawn_pictures::picture_paths;
use crate::live::{CallReport, LiveScreen};
use crate::screen::Screen;

/// Chunks and messages that are remembered, to recognise repetitions.
const SEEN: usize = 256;
const AWAY: &str = "while you were away:";
/// The texts of notifications.
const ANSWERED: &str = "Avocet has answered";
const ASKS: &str = "Avocet asks you something";

pub(super) struct ChatDisplay {
    link: Arc<dyn TerminalLink>,
    pub(super) screen: Screen,
    /// The person at the terminal, by the daemon's id.
    me: SenderId,
    seen: LruMap<DeliveryId, (), SEEN>,
    /// Messages that are on the screen already.
    known: LruMap<MessageId, (), SEEN>,
    turn: Option<TurnId>,
    /// `true` if the answer is shown while it is written, from its beginning on.
    streams: bool,
    /// The streamed text; its final chunk is still to come.
    streamed: String,
    /// The shown text of the turn before. Its final chunk may come after the start of the next
    /// turn, or after the last exchange was read from the log.
    earlier: Option<(TurnId, String)>,
    /// The turn of the last exchange, until an answer from before it or the next turn comes.
    newest: Option<TurnId>,
    activity: String,
}

impl ChatDisplay {
    pub(super) fn new(link: Arc<dyn TerminalLink>, screen: Screen, me: SenderId) -> Self {
        Self {
            link,
            screen,
            me,
            seen: LruMap::default(),
            known: LruMap::default(),
            turn: None,
            streams: false,
            streamed: String::new(),
            earlier: None,
            newest: None,
            activity: "waiting".to_owned(),
        }
    }

    /// Forgets the turns of the conversation before.
    pub(super) fn forget_turns(&mut self) {
        self.begin_text(false);
        (self.turn, self.earlier, self.newest) = (None, None, None);
    }

    /// Marks a message as shown, because it was typed here.
    pub(super) fn mark_shown(&mut self, message: MessageId) {
        self.known.put(message, ());
    }

    /// Returns the screen, if a person looks at it.
    pub(super) fn live_screen(&mut self) -> Option<&mut LiveScreen> {
        self.screen.live_screen()
    }

    /// A remark for a person; left out in a pipe.
    pub(super) fn show_remark(&mut self, text: &str) {
        if let Some(live) = self.live_screen() {
            live.show_remark(text);
        }
    }

    /// A remark about the connection. Text may be missing from here on, so the answer is shown only
    /// once complete.
    pub(super) fn remark_of_link(&mut self, text: &str) {
        self.begin_text(false);
        self.screen.show_remark(text);
    }

    /// Shows the last exchange of the conversation.
    pub(super) fn show_past(&mut self, turn: &TurnRecord) {
        let answer = turn.steps.iter().rev().map(|step| step.text.as_str());
        let answer = answer.chain(turn.notice.as_deref()).find(|text| !text.trim().is_empty());
        self.newest = Some(turn.id);
        if let Some(live) = self.live_screen() {
            let calls = turn.steps.iter().flat_map(|step| &step.calls);
            calls.filter_map(CallReport::from_logged).for_each(|report| live.keep_report(report));
        }
        for logged in turn.origin.messages() {
            self.mark_shown(logged.id);
            if let Some(live) = self.live_screen() {
                live.add_typed(&make_safe(&logged.message.inbound.content.as_text()));
            }
        }
        if let Some(answer) = answer
            && let Some(live) = self.live_screen()
            && live.show_past_answer(answer)
        {
            self.earlier = Some((turn.id, answer.to_owned()));
        }
    }

    fn begin_text(&mut self, streams: bool) {
        self.end_stream();
        self.streams = streams;
        self.streamed.clear();
    }

    fn end_stream(&mut self) {
        if let Some(live) = self.live_screen() {
            live.end_stream();
            live.end_tools();
        }
    }

    /// Shows an event. `follows` is `true` if it may concern a message of this terminal.
    pub(super) fn show_event(&mut self, event: TurnEvent, follows: bool) {
        match event {
            TurnEvent::Started { turn, messages } => {
                "waiting".clone_into(&mut self.activity);
                self.newest = None;
                self.begin_turn(turn, follows);
                self.release_lines(&messages.iter().map(|message| message.id).collect::<Vec<_>>());
                messages.iter().for_each(|message| self.show_message(message));
            }
            TurnEvent::Ended { messages, .. } => {
                "waiting".clone_into(&mut self.activity);
                self.end_stream();
                self.release_lines(&messages);
            }
            TurnEvent::Waiting { .. } | TurnEvent::Resumed => {
                "waiting".clone_into(&mut self.activity);
                self.end_stream();
            }
            _ if !follows => self.begin_text(false),
            TurnEvent::Compacting => {
                "summarising the earlier conversation".clone_into(&mut self.activity);
            }
            TurnEvent::Thinking { .. } => {
                "thinking".clone_into(&mut self.activity);
                self.begin_text(true);
            }
            TurnEvent::Text { delta } if self.streams => {
                "writing".clone_into(&mut self.activity);
                self.streamed.push_str(&delta);
                if let Some(live) = self.live_screen() {
                    live.stream_answer(&delta);
                }
            }
            TurnEvent::Text { .. } | TurnEvent::Thought { .. } => {}
            TurnEvent::Restarted => {
                if !self.streamed.is_empty() {
                    self.end_stream();
                    self.show_remark("(starting over)");
                    self.streamed.clear();
                }
            }
            TurnEvent::ToolStarted { name, about, call } => {
                self.streamed.clear();
                if let Some(live) = self.live_screen() {
                    live.tool_started(&name, about.as_deref(), call);
                }
            }
            TurnEvent::ToolProgress { name, text } => {
                self.activity = format!("running {}: {}", make_safe(&name), make_safe(&text));
                if let Some(live) = self.live_screen() {
                    live.tool_progress(&name, &text);
                }
            }
            TurnEvent::ToolFinished { name, ok, call } => {
                if let Some(live) = self.live_screen() {
                    live.tool_ended(&name, call, ok);
                }
            }
        }
    }

    /// A client that joins a running turn gets the whole text of the step next.
    fn begin_turn(&mut self, turn: TurnId, streams: bool) {
        if let Some(before) = self.turn.replace(turn).filter(|before| *before != turn) {
            self.earlier = Some((before, std::mem::take(&mut self.streamed)));
        }
        self.begin_text(streams);
    }

    /// Moves the lines of these messages up from the bottom.
    fn release_lines(&mut self, messages: &[MessageId]) {
        if let Some(live) = self.live_screen() {
            live.release_lines(messages);
        }
    }

    /// Shows a message from elsewhere, once: a resumed turn reports its messages again.
    fn show_message(&mut self, message: &StartedMessage) {
        if self.known.contains(&message.id) {
            return;
        }
        self.known.put(message.id, ());
        let text = make_safe(&message.text);
        if message.sender == self.me.as_str() {
            self.show_remark(&format!("you wrote earlier or elsewhere: {text}"));
        } else {
            self.show_remark(&format!("{} says: {text}", make_safe(&message.sender)));
        }
    }

    /// Shows the current activity and its duration; `None` if the agent is idle.
    pub(super) fn show_activity(&mut self, elapsed: Option<Duration>) {
        let activity = &self.activity;
        let text = elapsed.map(|time| format!("{activity} … {} s (Esc stops)", time.as_secs()));
        if let Some(live) = self.screen.live_screen() {
            // Running tools show their time themselves.
            live.set_activity(text.filter(|_| !live.has_open_tools()));
        }
    }

    pub(super) async fn show_chunk(&mut self, chunk: SaidChunk) {
        if !self.seen.contains(&chunk.id) {
            self.seen.put(chunk.id, ());
            match self.live_screen() {
                Some(_) => {
                    self.say_to_person(&chunk);
                    self.show_pictures(&chunk.text).await;
                }
                None => {
                    self.screen.show_line(&print_chunk(&chunk.text, &chunk.choices, chunk.repeat));
                }
            }
        }
        self.link.shown(chunk.id).await;
    }

    /// Draws the pictures that the text names, if the terminal can.
    async fn show_pictures(&mut self, text: &str) {
        if !self.live_screen().is_some_and(|live| live.draws_pictures()) {
            return;
        }
        for path in picture_paths(text) {
            if let Some(bytes) = self.link.picture(path).await
                && let Some(live) = self.live_screen()
            {
                live.show_picture(&bytes);
            }
        }
    }

    fn say_to_person(&mut self, chunk: &SaidChunk) {
        // Answers that waited for a terminal come below the last exchange, which is newer.
        let is_old = |newest: &mut TurnId| chunk.turn.is_some_and(|turn| turn < *newest);
        if self.newest.take_if(is_old).is_some() {
            self.show_remark(AWAY);
        }
        if chunk.repeat {
            self.show_remark(REPEAT_MARK);
        }
        match chunk.turn {
            Some(turn) => self.say_answer(turn, &make_safe(&chunk.text)),
            None => self.screen.show_line(&chunk.text),
        }
        if chunk.turn.is_some()
            && let Some(live) = self.live_screen()
        {
            live.call_person(if chunk.choices.is_empty() { ANSWERED } else { ASKS });
        }
        for choice in &chunk.choices {
            self.show_remark(&format!("  [{}] {}", choice.label, choice.says));
        }
    }

    /// Shows an answer without the part that was streamed already.
    fn say_answer(&mut self, turn: TurnId, text: &str) {
        let is_streamed = self.turn == Some(turn) && !self.streamed.trim().is_empty();
        let is_of_turn = self.earlier.as_ref().is_some_and(|(earlier, _)| *earlier == turn);
        let is_earlier = is_of_turn && !is_streamed;
        let streamed = match &self.earlier {
            Some((_, shown)) if is_earlier => shown,
            _ => &self.streamed,
        };
        let streamed = make_safe(streamed);
        let streamed = streamed.trim();
        let (rest, left) = if streamed.is_empty() {
            (Some(text), "")
        } else if let Some(rest) = text.trim_start().strip_prefix(streamed) {
            (Some(rest).filter(|rest| !rest.trim().is_empty()), "")
        } else if let Some(left) = streamed.strip_prefix(text.trim()) {
            // The answer comes in several chunks.
            (None, left)
        } else {
            self.end_stream();
            (Some(text), "")
        };
        let left = left.to_owned();
        let Some(live) = self.screen.live_screen() else { return };
        if is_earlier {
            rest.into_iter().for_each(|rest| live.show_text(rest));
            self.earlier = Some((turn, left));
            return;
        }
        rest.into_iter().for_each(|rest| live.stream_answer(rest));
        if left.is_empty() {
            self.begin_text(false);
        } else {
            self.streamed = left;
        }
    }
}
