//! Reads a begun answer, event by event. An answer without streaming is one event. An answer that is
//! too long is cut.

use std::time::Duration;

use avocet_net::{HttpResponse, NetError};
use avocet_protocol::model::{Arguments, Delta, ModelError, ToolCall};
use futures_util::stream::{BoxStream, StreamExt};
use serde_json::Value;

use super::length::{close_json, text_beginning};
use super::{AnswerPiece, CompleteAnswer, ModelEndpoint, StreamedAnswer};
use crate::body::{self, BodyEvent};
use crate::event::{EventDecoder, TakenEvents};
use crate::retry::ShownDeltas;
use crate::visible::VisibleText;

/// The tag before reasoning.
const THOUGHT_TAG: &str = "<think>";

/// An answer whose first piece has arrived.
pub(super) struct StreamingAnswer<A> {
    events: BoxStream<'static, Result<BodyEvent, NetError>>,
    decoder: EventDecoder,
    answer: A,
    /// Bytes that are kept of the answer.
    max_answer: usize,
    /// `true` after the last event of the answer.
    is_over: bool,
    /// `true` if the rest is skipped because the answer is too long.
    is_cut: bool,
    /// `true` if the answer was cut within a body without streaming.
    is_cut_body: bool,
    /// The limit that the transport reached. `None` if the answer itself was too long.
    too_long: Option<NetError>,
}

impl ModelEndpoint {
    /// Waits for the first piece of an answer.
    pub(super) async fn first_data<A: StreamedAnswer>(
        &self,
        response: HttpResponse,
        max_answer: usize,
    ) -> Result<(StreamingAnswer<A>, AnswerPiece), ModelError> {
        let mut stream = StreamingAnswer {
            events: body::read_events(response),
            decoder: EventDecoder::default(),
            answer: A::default(),
            max_answer,
            is_over: false,
            is_cut: false,
            is_cut_body: false,
            too_long: None,
        };
        let first = self.next(&mut stream).await?;
        Ok((stream, first))
    }

    /// Reads a streamed answer, starting with its first piece.
    ///
    /// A finish reason ends the answer, and only usage is waited for then. But some servers send a
    /// finish reason with every piece: if the answer grows with or after its finish reason, it goes
    /// on until the stream says that it ends.
    pub(super) async fn read<A: StreamedAnswer>(
        &self,
        mut stream: StreamingAnswer<A>,
        first: AnswerPiece,
        visible: &mut VisibleText,
        shown: &ShownDeltas<'_>,
    ) -> Result<CompleteAnswer, ModelError> {
        let (mut piece, mut room) = (first, stream.max_answer);
        let (mut bytes, mut has_ended, mut goes_on) = (0, false, false);
        loop {
            shown.show_delta(Delta::Thought(&stream.answer.take_thought()));
            match piece {
                AnswerPiece::End => break,
                AnswerPiece::Text(text) => {
                    let text = text_beginning(&text, room);
                    room -= text.len();
                    visible.push(text, |delta| shown.show_delta(delta));
                }
                AnswerPiece::KeepAlive | AnswerPiece::Unseen => {}
            }
            let had_ended = has_ended;
            has_ended = stream.answer.has_ended();
            let is_more = had_ended || A::ENDS_OFTEN;
            goes_on |= has_ended && is_more && stream.answer.kept_bytes() > bytes;
            bytes = stream.answer.kept_bytes();
            let timeout = match A::FAREWELL {
                Duration::ZERO if has_ended => break,
                farewell if has_ended && !goes_on => self.limits.gap.min(farewell),
                _ => self.limits.gap,
            };
            let next = self.next(&mut stream);
            let next = self.with_timeout(timeout, "no data arrived any more", next).await;
            let is_reliable = A::FAREWELL < Duration::MAX;
            piece = match next {
                Err(ModelError::TimedOut { .. }) if has_ended => {
                    self.release_stream(&mut stream)?
                }
                Err(ModelError::BadAnswer { .. }) if has_ended && is_reliable => break,
                Err(_) if has_ended && is_reliable && !goes_on => break,
                next => next?,
            };
        }
        let StreamingAnswer { answer, is_cut, is_cut_body, too_long, .. } = stream;
        if let Some(thought) = answer.lone_thought() {
            // Reasoning that never ends: nothing of it is shown, but its calls are kept.
            visible.push(THOUGHT_TAG, |delta| shown.show_delta(delta));
            visible.push(thought, |delta| shown.show_delta(delta));
        }
        let mut answer = answer.finish_answer().map_err(|error| self.error_from_answer(error))?;
        if let Some(error) = too_long.filter(|_| answer.is_empty()) {
            return Err(self.broken_answer(&error));
        }
        if is_cut {
            // Reasoning that was cut has no signature, so every model would refuse it.
            answer.reasoning = None;
        }
        if let Some(call) = answer.calls.last_mut().filter(|_| is_cut_body) {
            make_unusable(call);
        }
        Ok(answer)
    }

    /// Returns the next piece of an answer and skips keep-alive events.
    async fn next<A: StreamedAnswer>(
        &self,
        stream: &mut StreamingAnswer<A>,
    ) -> Result<AnswerPiece, ModelError> {
        while !stream.is_cut && !stream.is_over {
            let event = match stream.events.next().await {
                None => return self.release_stream(stream),
                Some(Err(error @ NetError::TooLong(_))) => {
                    (stream.is_cut, stream.too_long) = (true, Some(error));
                    self.cut_answer(stream);
                    return Ok(AnswerPiece::End);
                }
                Some(event) => event.map_err(|error| self.broken_answer(&error))?,
            };
            let piece = self.take_event(stream, event)?;
            if stream.answer.kept_bytes() > stream.max_answer && !stream.is_cut {
                stream.is_cut = true;
                self.cut_answer(stream);
            }
            if piece != AnswerPiece::KeepAlive {
                return Ok(piece);
            }
        }
        Ok(AnswerPiece::End)
    }

    fn take_event<A: StreamedAnswer>(
        &self,
        stream: &mut StreamingAnswer<A>,
        event: BodyEvent,
    ) -> Result<AnswerPiece, ModelError> {
        let StreamingAnswer { decoder, answer, .. } = stream;
        let taken = match event {
            BodyEvent::Data(text) => decoder.take_data(answer, &text, false),
            BodyEvent::Error(text) => decoder.take_data(answer, &text, true),
            BodyEvent::Done | BodyEvent::Whole => {
                let released = self.release_stream(stream)?;
                stream.answer.end_answer();
                return Ok(released);
            }
            BodyEvent::Cut(beginning) => {
                // Errors are ignored, because the text after the cut is missing.
                let taken = decoder.take_data(answer, &close_json(&beginning), false);
                (stream.is_cut, stream.is_cut_body) = (true, true);
                stream.too_long = Some(NetError::TooLong(body::MAX_EVENT));
                self.cut_answer(stream);
                return Ok(taken.map_or(AnswerPiece::End, |taken| taken.piece));
            }
            BodyEvent::Page => {
                return Err(self.bad_answer(
                    "it is a web page; base_url may lead to a proxy or to a page for people",
                ));
            }
            BodyEvent::Words(words) => {
                let detail = format!("the server sent only this: {words}");
                return Err(self.error_from_answer(detail.into()));
            }
        };
        let TakenEvents { piece, is_end } = taken.map_err(|error| self.error_from_answer(error))?;
        stream.is_over |= is_end;
        Ok(piece)
    }

    /// Ends the stream, and returns the last piece.
    fn release_stream<A: StreamedAnswer>(
        &self,
        stream: &mut StreamingAnswer<A>,
    ) -> Result<AnswerPiece, ModelError> {
        stream.is_over = true;
        let released = stream.decoder.release_held(&mut stream.answer);
        match released.map_err(|error| self.error_from_answer(error))?.piece {
            AnswerPiece::Text(text) => Ok(AnswerPiece::Text(text)),
            _ => Ok(AnswerPiece::End),
        }
    }

    /// Ends an answer that is too long.
    fn cut_answer<A: StreamedAnswer>(&self, stream: &mut StreamingAnswer<A>) {
        let (model, bytes, limit) = (&self.name, stream.answer.kept_bytes(), stream.max_answer);
        tracing::warn!(model, bytes, limit, "the answer is too long; its rest is not read");
        stream.answer.cut_answer();
    }
}

/// Makes a call unusable that may have been cut, and then closed by [`close_json`].
fn make_unusable(call: &mut ToolCall) {
    let arguments = Value::Object(call.arguments.to_object()).to_string();
    call.arguments = Arguments::Malformed(arguments);
}
