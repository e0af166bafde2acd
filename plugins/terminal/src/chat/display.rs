//! Shows the chat on the screen.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::{DeliveryId, MessageId, SenderId, StartedMessage, TurnEvent};

use super::{ChatStyle, SaidChunk, TerminalLink};
use crate::convert::{printed, safe};
use crate::screen::Screen;

/// Chunks and messages that are remembered, to recognise repetitions.
const SEEN: usize = 256;

pub(super) struct Display {
    link: Arc<dyn TerminalLink>,
    pub(super) screen: Screen,
    pub(super) style: ChatStyle,
    /// The person at the terminal, by the daemon's id.
    me: SenderId,
    seen: VecDeque<DeliveryId>,
    /// Messages that are on the screen already.
    known: VecDeque<MessageId>,
    /// `true` if the answer is shown while it is written, from its beginning on.
    streams: bool,
    /// The streamed text; its final chunk is still to come.
    streamed: String,
    activity: String,
}

impl Display {
    pub(super) fn new(
        link: Arc<dyn TerminalLink>,
        screen: Screen,
        style: ChatStyle,
        me: SenderId,
    ) -> Self {
        Self {
            link,
            screen,
            style,
            me,
            seen: VecDeque::new(),
            known: VecDeque::new(),
            streams: false,
            streamed: String::new(),
            activity: "waiting".to_owned(),
        }
    }

    /// Marks a message as shown, because it was typed here.
    pub(super) fn mark_shown(&mut self, message: MessageId) {
        remember(&mut self.known, message);
    }

    /// A remark for a person; left out in a pipe.
    pub(super) fn remark(&mut self, text: &str) {
        if self.style == ChatStyle::Interactive {
            self.screen.remark(text);
        }
    }

    /// A remark about the connection. Text may be missing from here on, so the answer is shown only
    /// once complete.
    pub(super) fn remark_of_link(&mut self, text: &str) {
        self.begin_text(false);
        self.screen.remark(text);
    }

    fn begin_text(&mut self, streams: bool) {
        self.streams = streams;
        self.streamed.clear();
    }

    /// Shows an event. `follows` is `true` if it may concern a message of this terminal.
    pub(super) fn show_event(&mut self, event: TurnEvent, follows: bool) {
        match event {
            TurnEvent::Started { messages, .. } => {
                "waiting".clone_into(&mut self.activity);
                // A client that joins a running turn gets the whole text of the step next.
                self.begin_text(follows);
                messages.iter().for_each(|message| self.show_message(message));
            }
            TurnEvent::Ended { .. } | TurnEvent::Waiting { .. } | TurnEvent::Resumed => {
                "waiting".clone_into(&mut self.activity);
            }
            _ if !follows => self.begin_text(false),
            TurnEvent::Compacting => {
                "summarising the earlier conversation".clone_into(&mut self.activity);
            }
            TurnEvent::Thinking { .. } => {
                "thinking".clone_into(&mut self.activity);
                self.screen.end_line();
                self.begin_text(true);
            }
            TurnEvent::Text { delta } if self.streams => {
                self.streamed.push_str(&delta);
                self.stream(&delta);
            }
            TurnEvent::Text { .. } => {}
            TurnEvent::Restarted => {
                if !self.streamed.is_empty() {
                    self.remark("(starting over)");
                    self.streamed.clear();
                }
            }
            TurnEvent::ToolStarted { name, .. } => {
                self.screen.end_line();
                self.streamed.clear();
                self.activity = format!("running {}", safe(&name));
            }
            TurnEvent::ToolFinished { name, ok } => {
                let mark = if ok { "✓" } else { "✗" };
                self.remark(&format!("{mark} {}", safe(&name)));
            }
        }
    }

    fn stream(&mut self, delta: &str) {
        if self.style == ChatStyle::Interactive {
            self.screen.stream(&safe(delta));
        }
    }

    /// Shows a message from elsewhere, once: a resumed turn reports its messages again.
    fn show_message(&mut self, message: &StartedMessage) {
        if self.known.contains(&message.id) {
            return;
        }
        remember(&mut self.known, message.id);
        let text = safe(&message.text);
        if message.sender == self.me.as_str() {
            self.remark(&format!("you wrote earlier or elsewhere: {text}"));
        } else {
            self.remark(&format!("{} says: {text}", safe(&message.sender)));
        }
    }

    /// The temporary line: the current activity and its duration.
    pub(super) fn show_activity(&mut self, elapsed: Duration) {
        if self.style == ChatStyle::Interactive {
            let seconds = elapsed.as_secs();
            self.screen.status(&format!("{} … {seconds} s (Ctrl-C stops)", self.activity));
        }
    }

    pub(super) async fn say(&mut self, chunk: SaidChunk) {
        if !self.seen.contains(&chunk.id) {
            remember(&mut self.seen, chunk.id);
            let text = printed(&chunk.text, &chunk.choices, chunk.repeat);
            match chunk.turn {
                Some(_) => self.say_answer(&text),
                None => self.screen.line(&text),
            }
        }
        self.link.shown(chunk.id).await;
    }

    /// Prints an answer without the part that was streamed already.
    fn say_answer(&mut self, text: &str) {
        let streamed = safe(&self.streamed);
        let streamed = streamed.trim();
        if streamed.is_empty() || self.style == ChatStyle::Plain {
            self.screen.line(text);
        } else if let Some(rest) = text.trim_start().strip_prefix(streamed) {
            self.screen.stream(rest);
            self.screen.end_line();
            self.begin_text(false);
        } else if let Some(rest) = streamed.strip_prefix(text.trim()) {
            // The answer comes in several chunks.
            self.streamed = rest.to_owned();
        } else {
            self.screen.line(text);
        }
    }
}

fn remember<T>(known: &mut VecDeque<T>, one: T) {
    known.push_back(one);
    if known.len() > SEEN {
        known.pop_front();
    }
}
