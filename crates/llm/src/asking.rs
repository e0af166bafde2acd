//! Sends requests to a model over HTTP, independent of the API: retries, enforces timeouts, and
//! reads the answer while it streams. Calls that are written as text stay in the text:
//! [`Dialected`](crate::Dialected) reads them.

mod length;
mod probe;
mod refusal;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use avocet_net::{HttpClient, HttpResponse, NetError};
use avocet_protocol::{
    Arguments, Clock, Delta, Deltas, ModelError, ModelReply, ModelRequest, Reasoning, Secret,
    Spent, TOKENS_AN_IMAGE, ToolCall, Usage, plain_json,
};
use futures_util::stream::{BoxStream, StreamExt};
use serde_json::Value;

pub(crate) use length::{ITEM, MAX_ANSWER, max_answer};

use crate::RequestTimeouts;
use crate::detail::clean;
use crate::hidden::Visible;
use crate::limits::limited;
use crate::lines;
use crate::retry::{ShownDeltas, retrying};
use crate::sse;

pub use probe::Probe;
pub(crate) use probe::texts;

/// Bytes that are read of an answer without streaming: room for [`MAX_ANSWER`] bytes with escapes.
const MAX_BODY: usize = 2 * MAX_ANSWER;
/// Estimated bytes per token, for providers that report no usage.
pub(crate) const BYTES_A_TOKEN: u64 = 4;

/// The address of a model, and the timeouts and retries of requests to it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    /// `provider/model`.
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) api_key: Option<Secret>,
    /// The headers of every request, including the key.
    pub(crate) headers: fn(Option<&Secret>) -> Vec<(&'static str, String)>,
    pub(crate) retries: usize,
    pub(crate) limits: RequestTimeouts,
    /// Bytes that are kept of an answer ([`max_answer`]).
    pub(crate) max_answer: usize,
    pub(crate) http: HttpClient,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The unit into which a stream is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Events,
    Lines,
}

/// An answer that is put together from the events of its stream.
pub(crate) trait StreamedAnswer: Default + Send {
    const FRAMING: Framing = Framing::Events;
    /// Time to wait for more data (such as usage) after the end of the answer. A value above the
    /// gap timeout counts as the gap timeout. Some servers leave the connection open or close it
    /// uncleanly.
    const FAREWELL: Duration = Duration::from_secs(10);

    /// Processes the data of the next event.
    fn take(&mut self, data: &str) -> Result<AnswerPiece, AnswerError>;

    /// Returns `true` once the end of the answer has arrived.
    fn has_ended(&self) -> bool;

    /// Bytes that are kept of the answer so far, plus [`ITEM`] for each call. Must be fast, because
    /// it is called for every event.
    fn bytes(&self) -> usize;

    /// Ends the answer here, as if the model had reached its output limit.
    fn cut(&mut self);

    /// Returns the whole answer, or an [`AnswerError`] if it is incomplete or failed.
    fn finish(self) -> Result<CompleteAnswer, AnswerError>;

    /// Processes the complete body of an answer without streaming.
    fn take_whole(&mut self, body: &str) -> Result<(), AnswerError> {
        self.take(body).map(drop)
    }

    /// Parses an answer without streaming and without a length limit.
    #[cfg(any(test, feature = "testing"))]
    fn whole(body: &str) -> Result<CompleteAnswer, AnswerError> {
        let mut answer = Self::default();
        answer.take_whole(body)?;
        answer.finish()
    }

    /// Returns the status to use for a refusal, because some providers send a more precise one in
    /// the body, and the retry delay if the body states one.
    fn refusal(status: u16, error: &Value) -> (u16, Option<Duration>) {
        let _ = error;
        (status, None)
    }
}

/// A complete model answer in the form common to all providers.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct CompleteAnswer {
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCall>,
    /// The value of [`Reasoning::content`].
    pub(crate) reasoning: Option<Value>,
    /// Bytes of reasoning, as far as the reasoning was readable.
    pub(crate) thought: u64,
    /// Zero if the provider reports no usage.
    pub(crate) usage: Usage,
    /// `true` if the answer was cut off at the output limit.
    pub(crate) truncated: bool,
    /// `true` if a content filter of the provider ended the answer.
    pub(crate) filtered: bool,
}

/// The result of processing one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnswerPiece {
    /// A sign that the connection is alive, although the model may be stalled.
    KeepAlive,
    /// A hidden part of the answer.
    Unseen,
    Text(String),
    /// The end of the answer.
    End,
}

/// The reason why an answer that had begun failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnswerError {
    /// The answer broke off or is invalid.
    Unreadable(String),
    /// An error in an answer that had begun with 200, and the status that it stands for.
    Status(u16, String),
    /// The model declines to answer this request.
    Declined(String),
}

impl From<String> for AnswerError {
    fn from(detail: String) -> Self {
        Self::Unreadable(detail)
    }
}

impl CompleteAnswer {
    /// Returns `true` if the text and the calls are empty.
    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }

    /// The length in bytes, used to estimate tokens.
    fn bytes(&self) -> u64 {
        let of_call = |call: &ToolCall| {
            let arguments = match &call.arguments {
                Arguments::Object(object) => Value::Object(object.clone()).to_string().len(),
                Arguments::Malformed(text) => text.len(),
            };
            (call.name.len() + arguments) as u64
        };
        self.text.len() as u64 + self.thought + self.calls.iter().map(of_call).sum::<u64>()
    }
}

/// An answer after its first data has arrived.
enum BegunAnswer<A> {
    /// The complete answer.
    Whole(CompleteAnswer),
    /// A streamed answer and its first piece.
    Streaming(Streaming<A>, AnswerPiece),
}

struct Streaming<A> {
    events: BoxStream<'static, Result<String, NetError>>,
    answer: A,
    /// `true` if the rest is skipped because the answer is too long.
    is_cut: bool,
    /// The limit that the transport reached. `None` if the answer itself was too long.
    too_long: Option<NetError>,
}

impl Endpoint {
    /// Sends the request. `body` is called anew for each attempt, to free its memory between
    /// attempts.
    pub(crate) async fn ask<A: StreamedAnswer>(
        &self,
        request: &ModelRequest,
        body: impl Fn() -> serde_json::Result<Vec<u8>> + Send + Sync,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let shown = ShownDeltas::new(deltas);
        let take_back = |delta: Delta<'_>| shown.show(delta);
        let attempt = async || {
            let body = body().map_err(|error| self.bad_answer(plain_json(&error)))?;
            let input = estimated_tokens(body.len() as u64, request);
            let asking = self.ask_once::<A>(body, input, &shown);
            let asking = self.limited(self.limits.total, "it did not come to an end", asking);
            shown.attempt(&self.name, input, asking).await
        };
        retrying(self.clock.as_ref(), self.retries, &take_back, attempt).await
    }

    async fn ask_once<A: StreamedAnswer>(
        &self,
        body: Vec<u8>,
        input: u64,
        shown: &ShownDeltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let begun = self.begin::<A>(body, shown);
        let begun = self.limited(self.limits.first_token, "no answer began", begun).await?;
        let mut visible = Visible::keeping_calls();
        match begun {
            BegunAnswer::Whole(said) => {
                visible.push(length::beginning(&said.text, self.max_answer), |_| {});
                let text = visible.finish(|_| {});
                shown.show(Delta::Text(&text));
                Ok(self.reply(said, text, input))
            }
            BegunAnswer::Streaming(stream, first) => {
                let said = self.read(stream, first, &mut visible, shown).await?;
                let text = visible.finish(|delta| shown.show(delta));
                Ok(self.reply(said, text, input))
            }
        }
    }

    /// Sends the request and waits until the first data of an answer has arrived.
    async fn begin<A: StreamedAnswer>(
        &self,
        body: Vec<u8>,
        shown: &ShownDeltas<'_>,
    ) -> Result<BegunAnswer<A>, ModelError> {
        let response = self.post(body).await?;
        if response.status() != 200 {
            return Err(self.refusal::<A>(response).await);
        }
        shown.begin();
        if response.is("application/json") {
            let body = response.beginning(MAX_BODY).await.map_err(|error| self.broken(&error))?;
            return self.whole::<A>(body).map(BegunAnswer::Whole);
        }
        let events = match A::FRAMING {
            Framing::Events => sse::events(response),
            Framing::Lines => lines::lines(response),
        };
        let mut stream = Streaming { events, answer: A::default(), is_cut: false, too_long: None };
        let first = self.next(&mut stream).await?;
        Ok(BegunAnswer::Streaming(stream, first))
    }

    /// Parses an answer without streaming. An answer that is too long ends at the cut.
    fn whole<A: StreamedAnswer>(
        &self,
        (body, is_cut): (String, bool),
    ) -> Result<CompleteAnswer, ModelError> {
        let mut answer = A::default();
        if !is_cut {
            let taken = answer.take_whole(&body);
            if taken.is_ok() && answer.bytes() > self.max_answer {
                self.cut(&mut answer);
            }
            return taken.and_then(|()| answer.finish()).map_err(|fault| self.failed(fault));
        }
        // Errors are ignored, because the text after the cut is missing.
        drop(answer.take_whole(&length::closed(&body)));
        self.cut(&mut answer);
        let mut said = answer.finish().map_err(|fault| self.failed(fault))?;
        if said.is_empty() {
            return Err(self.broken(&NetError::TooLong(MAX_BODY)));
        }
        // The last call may be the one that was cut and then closed by `closed`.
        if let Some(call) = said.calls.last_mut() {
            let arguments = Value::Object(call.arguments.to_object()).to_string();
            call.arguments = Arguments::Malformed(arguments);
        }
        Ok(said)
    }

    /// Ends an answer that is too long.
    fn cut<A: StreamedAnswer>(&self, answer: &mut A) {
        let (model, bytes, limit) = (&self.name, answer.bytes(), self.max_answer);
        tracing::warn!(model, bytes, limit, "the answer is too long; the rest of it is not read");
        answer.cut();
    }

    /// Builds the reply with the visible text. `input` is the estimate of input tokens, used if the
    /// provider reports none.
    fn reply(&self, said: CompleteAnswer, text: String, input: u64) -> ModelReply {
        let mut usage = said.usage;
        if usage.input == 0 {
            usage.input = input;
        }
        if usage.output == 0 {
            usage.output = said.bytes() / BYTES_A_TOKEN;
        }
        let CompleteAnswer { mut calls, reasoning, truncated, filtered, .. } = said;
        if truncated {
            length::shorten_cut_calls(&mut calls);
        }
        let reasoning = reasoning.map(|content| Reasoning { model: self.name.clone(), content });
        let spent = vec![Spent { model: self.name.clone(), usage, cost: None }];
        ModelReply { text, calls, written: None, reasoning, spent, truncated, filtered }
    }

    /// Reads a streamed answer, starting with its first piece.
    async fn read<A: StreamedAnswer>(
        &self,
        mut stream: Streaming<A>,
        first: AnswerPiece,
        visible: &mut Visible,
        shown: &ShownDeltas<'_>,
    ) -> Result<CompleteAnswer, ModelError> {
        let (mut piece, mut room) = (first, self.max_answer);
        loop {
            match piece {
                AnswerPiece::End => break,
                AnswerPiece::Text(text) => {
                    let text = length::beginning(&text, room);
                    room -= text.len();
                    visible.push(text, |delta| shown.show(delta));
                }
                AnswerPiece::KeepAlive | AnswerPiece::Unseen => {}
            }
            let has_ended = stream.answer.has_ended();
            let patience = match A::FAREWELL {
                _ if !has_ended => self.limits.gap,
                Duration::ZERO => break,
                farewell => self.limits.gap.min(farewell),
            };
            let next = self.next(&mut stream);
            piece = match self.limited(patience, "it fell silent, no more came", next).await {
                Err(ModelError::TimedOut { .. }) if has_ended => break,
                Err(ModelError::BadAnswer { .. }) if has_ended && A::FAREWELL < Duration::MAX => {
                    break;
                }
                next => next?,
            };
        }
        let Streaming { answer, is_cut, too_long, .. } = stream;
        let said = answer.finish().map_err(|fault| self.failed(fault))?;
        match too_long {
            Some(error) if said.is_empty() => Err(self.broken(&error)),
            // Reasoning that was cut has no signature, so every model would refuse it.
            _ if is_cut => Ok(CompleteAnswer { reasoning: None, ..said }),
            _ => Ok(said),
        }
    }

    /// Returns the next piece of an answer and skips keep-alive events.
    async fn next<A: StreamedAnswer>(
        &self,
        stream: &mut Streaming<A>,
    ) -> Result<AnswerPiece, ModelError> {
        while !stream.is_cut {
            let piece = match stream.events.next().await {
                None => return Ok(AnswerPiece::End),
                Some(Err(error @ NetError::TooLong(_))) => {
                    (stream.is_cut, stream.too_long) = (true, Some(error));
                    AnswerPiece::End
                }
                Some(event) => {
                    let event = event.map_err(|error| self.broken(&error))?;
                    let piece = stream.answer.take(&event).map_err(|fault| self.failed(fault))?;
                    stream.is_cut = stream.answer.bytes() > self.max_answer;
                    piece
                }
            };
            if stream.is_cut {
                self.cut(&mut stream.answer);
            }
            if piece != AnswerPiece::KeepAlive {
                return Ok(piece);
            }
        }
        Ok(AnswerPiece::End)
    }

    async fn post(&self, body: Vec<u8>) -> Result<HttpResponse, ModelError> {
        let headers = (self.headers)(self.api_key.as_ref());
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let posted = self.http.post_json(&self.url, &headers, body).await;
        posted.map_err(|error| self.unanswered(error))
    }

    fn unanswered(&self, error: NetError) -> ModelError {
        match error {
            NetError::Broken(detail) => self.bad_answer(detail),
            error @ NetError::TooLong(_) => self.broken(&error),
            NetError::Invalid(detail) | NetError::Connect(detail) => {
                ModelError::Unreachable { model: self.name.clone(), detail: self.clean(&detail) }
            }
        }
    }

    async fn limited<T>(
        &self,
        limit: Duration,
        what: &str,
        part: impl Future<Output = Result<T, ModelError>>,
    ) -> Result<T, ModelError> {
        limited(self.clock.as_ref(), &self.name, limit, what, part).await
    }

    fn failed(&self, fault: AnswerError) -> ModelError {
        match fault {
            AnswerError::Unreadable(detail) => self.bad_answer(detail),
            AnswerError::Status(status, says) => self.refused(status, "", &says, None),
            AnswerError::Declined(detail) => {
                let (model, detail) = (self.name.clone(), self.clean(&detail));
                ModelError::Refused { model, detail, lasting: false }
            }
        }
    }

    fn bad_answer(&self, fault: impl AsRef<str>) -> ModelError {
        ModelError::BadAnswer { model: self.name.clone(), detail: self.clean(fault.as_ref()) }
    }

    fn broken(&self, error: &NetError) -> ModelError {
        self.bad_answer(error.to_string())
    }

    fn clean(&self, text: &str) -> String {
        clean(&self.http.redacted(text), self.api_key.as_ref())
    }
}

/// Estimates the input tokens, for providers that report none.
fn estimated_tokens(length: u64, request: &ModelRequest) -> u64 {
    // Base64 is a third longer than the bytes that it encodes.
    let of_images = request.images.values().map(|image| image.bytes.len() as u64 * 4 / 3).sum();
    let text = length.saturating_sub(of_images) / BYTES_A_TOKEN;
    text + request.images.len() as u64 * TOKENS_AN_IMAGE
}
