//! The answer of a fake model, in a form that is independent of the API. Each API fake turns it
//! into events.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;

use crate::http::{Piece, whole};

/// The model's answer to a request.
#[derive(Debug, Clone)]
pub enum ModelAnswer {
    /// Streams this text, one word per delta.
    Says(String),
    /// Streams these calls: name and arguments.
    Calls(Vec<(String, Value)>),
    /// Thinks this text first, if the API shows thoughts, then gives the second answer.
    Thinks(String, Box<Self>),
    /// Streams only these events. `[DONE]` is one of them, or is missing.
    Events(Vec<String>),
    /// A status, headers and body, instead of a stream.
    Status(u16, Vec<(&'static str, String)>, String),
    /// Sends these bytes unchanged.
    Raw(Vec<Piece>),
    /// Answers after it has taken a permit.
    When(Arc<Semaphore>, Box<Self>),
    /// Waits for this time before each delta.
    Slowly(Duration, Box<Self>),
}

impl ModelAnswer {
    /// Returns an answer that streams a text.
    #[must_use]
    pub fn says(text: impl Into<String>) -> Self {
        Self::Says(text.into())
    }

    /// Returns an answer that streams one call.
    #[must_use]
    pub fn call(name: &str, arguments: Value) -> Self {
        Self::Calls(vec![(name.to_owned(), arguments)])
    }

    /// Returns an answer with a thought before it.
    #[must_use]
    pub fn thinks(thinking: &str, then: Self) -> Self {
        Self::Thinks(thinking.to_owned(), Box::new(then))
    }
}

/// The content of an answer, for any API.
#[derive(Debug, Default)]
pub struct Spoken {
    pub(crate) thinking: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<(String, Value)>,
}

impl Spoken {
    pub(crate) fn thinking(&self) -> impl Iterator<Item = &str> {
        self.thinking.split_inclusive(' ')
    }

    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.text.split_inclusive(' ')
    }
}

/// The streaming format of an API.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wire {
    pub(crate) media_type: &'static str,
    pub(crate) events: fn(&Spoken) -> Vec<String>,
}

/// Returns the bytes of an answer.
pub(crate) fn pieces(answer: ModelAnswer, wire: Wire) -> Vec<Piece> {
    Sending { wire, pause: Duration::ZERO, thinking: String::new() }.pieces(answer)
}

struct Sending {
    wire: Wire,
    pause: Duration,
    thinking: String,
}

impl Sending {
    fn pieces(mut self, answer: ModelAnswer) -> Vec<Piece> {
        match answer {
            ModelAnswer::Says(text) => self.spoken(text, Vec::new()),
            ModelAnswer::Calls(calls) => self.spoken(String::new(), calls),
            ModelAnswer::Thinks(thinking, then) => {
                self.thinking = thinking;
                self.pieces(*then)
            }
            ModelAnswer::Events(events) => self.stream(&events),
            ModelAnswer::Status(status, headers, body) => {
                let headers: Vec<(&str, &str)> =
                    headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
                whole(status, &headers, &body)
            }
            ModelAnswer::Raw(pieces) => pieces,
            ModelAnswer::When(permits, then) => {
                let mut all = vec![Piece::Permit(permits)];
                all.extend(self.pieces(*then));
                all
            }
            ModelAnswer::Slowly(pause, then) => {
                self.pause = pause;
                self.pieces(*then)
            }
        }
    }

    fn spoken(self, text: String, calls: Vec<(String, Value)>) -> Vec<Piece> {
        let spoken = Spoken { thinking: self.thinking.clone(), text, calls };
        self.stream(&(self.wire.events)(&spoken))
    }

    fn stream(&self, events: &[String]) -> Vec<Piece> {
        let mut pieces = vec![Piece::head(200, &[("content-type", self.wire.media_type)])];
        for event in events {
            if !self.pause.is_zero() {
                pieces.push(Piece::Pause(self.pause));
            }
            pieces.push(Piece::chunk(event.as_bytes()));
        }
        pieces.push(Piece::end());
        pieces
    }
}

/// The media type of a stream of events.
pub(crate) const EVENTS: &str = "text/event-stream";

/// Returns the status line and headers of a stream of events.
#[must_use]
pub fn stream_head() -> Piece {
    Piece::head(200, &[("content-type", EVENTS)])
}

/// Returns an event of a stream, as text for a chunk of its body.
#[must_use]
pub fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}
