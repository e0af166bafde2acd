//! Streams an answer as server-sent events, in the form of one API.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value;

use super::answer::TurnAnswer;
use super::error::OpenAiError;
use super::turn::{AskedTurn, TurnProgress};
use crate::sse::KEEP_ALIVE;

/// Writes the events of an API.
pub(crate) trait WriteEvents: Send + 'static {
    /// Returns the events before the first text.
    fn start(&mut self) -> Vec<Event>;

    /// Returns the events of a piece of text.
    fn text(&mut self, delta: &str) -> Vec<Event>;

    /// Returns the last events.
    fn done(&mut self, answer: &TurnAnswer) -> Vec<Event>;

    /// Returns the last events if there is no answer.
    fn failed(&mut self, error: &OpenAiError) -> Vec<Event>;
}

/// An event with this data.
pub(crate) fn event(data: &Value) -> Event {
    Event::default().data(data.to_string())
}

struct AnswerStream<W> {
    turn: AskedTurn,
    writer: W,
    due: VecDeque<Event>,
    is_over: bool,
}

/// Streams the answer to a message.
pub(crate) fn stream_answer(turn: AskedTurn, mut writer: impl WriteEvents) -> Response {
    let due = writer.start().into();
    let start = AnswerStream { turn, writer, due, is_over: false };
    let events = stream::unfold(start, |mut stream| async move {
        let event = stream.next().await?;
        Some((Ok::<_, Infallible>(event), stream))
    });
    ([("cache-control", "no-store")], Sse::new(events)).into_response()
}

impl<W: WriteEvents> AnswerStream<W> {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.due.pop_front() {
                return Some(event);
            }
            if self.is_over {
                return None;
            }
            let clock = self.turn.state.parts.clock.clone();
            let progress = tokio::select! {
                biased;
                progress = self.turn.next() => progress,
                () = clock.sleep(KEEP_ALIVE) => return Some(Event::default().comment("alive")),
            };
            let events = match progress {
                TurnProgress::Text(delta) => self.writer.text(&delta),
                TurnProgress::Done(answer) => {
                    self.is_over = true;
                    self.writer.done(&answer)
                }
                TurnProgress::Failed(error) => {
                    self.is_over = true;
                    self.writer.failed(&error)
                }
            };
            self.due.extend(events);
        }
    }
}
