//! Asking a model over HTTP, whatever it speaks: the request is made, and made again where that can
//! help, held to its limits, and its answer is read while it streams. Calls that are written as text stay
//! in the text: [`Dialected`](crate::Dialected) reads them.

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

use crate::Limits;
use crate::detail::clean;
use crate::hidden::Visible;
use crate::limits::limited;
use crate::lines;
use crate::retry::{Shown, retrying};
use crate::sse;

pub use probe::Probe;
pub(crate) use probe::texts;

/// Bytes that are read of an answer that is not streamed: one of [`MAX_ANSWER`] bytes with escapes.
const MAX_BODY: usize = 2 * MAX_ANSWER;
/// About what a token is, where the provider does not count.
pub(crate) const BYTES_A_TOKEN: u64 = 4;

/// Where a model is, and how long and how often it is asked.
#[derive(Debug)]
pub(crate) struct Endpoint {
    /// `provider/model`.
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) api_key: Option<Secret>,
    /// What every request says beside its body, the key included.
    pub(crate) headers: fn(Option<&Secret>) -> Vec<(&'static str, String)>,
    pub(crate) retries: usize,
    pub(crate) limits: Limits,
    /// Bytes that are kept of an answer ([`max_answer`]).
    pub(crate) max_answer: usize,
    pub(crate) http: HttpClient,
    pub(crate) clock: Arc<dyn Clock>,
}

/// How a stream is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Into server-sent events.
    Events,
    /// Into lines.
    Lines,
}

/// An answer that is put together from the events of its stream.
pub(crate) trait Answer: Default + Send {
    /// What an event is.
    const FRAMING: Framing = Framing::Events;
    /// How long more may come behind its end, as what it costs: without a limit of its own, as long as
    /// between any two pieces. Not every server closes the connection, nor in good order.
    const FAREWELL: Duration = Duration::from_secs(10);

    /// Takes the data of the next event.
    fn take(&mut self, data: &str) -> Result<Piece, Fault>;

    /// Whether its end has come.
    fn has_ended(&self) -> bool;

    /// Bytes that are kept of it so far, and [`ITEM`] for each call. Called for every event, so it counts nothing anew.
    fn bytes(&self) -> usize;

    /// Makes it end here, as at the model's output limit.
    fn cut(&mut self);

    /// The whole answer, if it came to its end.
    fn finish(self) -> Result<Said, Fault>;

    /// Takes all of an answer that is not streamed.
    fn take_whole(&mut self, body: &str) -> Result<(), Fault> {
        self.take(body).map(drop)
    }

    /// An answer that is not streamed, however long it is.
    #[cfg(any(test, feature = "testing"))]
    fn whole(body: &str) -> Result<Said, Fault> {
        let mut answer = Self::default();
        answer.take_whole(body)?;
        answer.finish()
    }

    /// The status that stands for a refusal where its own says less, and how long the provider asks to
    /// be left alone if it says so in the body.
    fn refusal(status: u16, error: &Value) -> (u16, Option<Duration>) {
        let _ = error;
        (status, None)
    }
}

/// What a model has answered, as its provider has it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCall>,
    /// [`Reasoning::content`].
    pub(crate) reasoning: Option<Value>,
    /// Bytes of what it thought, as far as that could be read.
    pub(crate) thought: u64,
    /// Zero where the provider does not count.
    pub(crate) usage: Usage,
    /// Whether it was cut off at its output limit.
    pub(crate) truncated: bool,
    /// Whether a filter of the provider ended it.
    pub(crate) filtered: bool,
}

/// What an event brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Nothing of the answer, only that the connection is alive: the model may be silent all the same.
    KeepAlive,
    /// More of the answer, of which nothing is shown.
    Unseen,
    /// More text.
    Text(String),
    /// The end of the answer.
    End,
}

/// Why there is no answer, although one had begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It broke off or makes no sense.
    Unreadable(String),
    /// What would have been this status, had it not begun with 200.
    Status(u16, String),
    /// The model will not answer this.
    Declined(String),
}

impl From<String> for Fault {
    fn from(detail: String) -> Self {
        Self::Unreadable(detail)
    }
}

impl Said {
    /// Whether it neither says nor calls anything.
    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }

    /// How long it is, in bytes, for whoever is not told what it costs.
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

/// An answer of which something has come.
enum Begun<A> {
    /// All of it.
    Whole(Said),
    /// Its first piece.
    Streaming(Streaming<A>, Piece),
}

/// An answer that comes piece by piece.
struct Streaming<A> {
    events: BoxStream<'static, Result<String, NetError>>,
    answer: A,
    /// Whether the rest is left unread because the answer is too long.
    is_cut: bool,
    /// Why, if it is not for what the model said.
    too_long: Option<NetError>,
}

impl Endpoint {
    /// Asks with this body, made anew for each attempt so that it takes no room meanwhile.
    pub(crate) async fn ask<A: Answer>(
        &self,
        request: &ModelRequest,
        body: impl Fn() -> serde_json::Result<Vec<u8>> + Send + Sync,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let shown = Shown::new(deltas);
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

    async fn ask_once<A: Answer>(
        &self,
        body: Vec<u8>,
        input: u64,
        shown: &Shown<'_>,
    ) -> Result<ModelReply, ModelError> {
        let begun = self.begin::<A>(body, shown);
        let begun = self.limited(self.limits.first_token, "no answer began", begun).await?;
        let mut visible = Visible::keeping_calls();
        match begun {
            Begun::Whole(said) => {
                visible.push(length::beginning(&said.text, self.max_answer), |_| {});
                let text = visible.finish(|_| {});
                shown.show(Delta::Text(&text));
                Ok(self.reply(said, text, input))
            }
            Begun::Streaming(stream, first) => {
                let said = self.read(stream, first, &mut visible, shown).await?;
                let text = visible.finish(|delta| shown.show(delta));
                Ok(self.reply(said, text, input))
            }
        }
    }

    /// Asks, and waits until anything of an answer has come.
    async fn begin<A: Answer>(
        &self,
        body: Vec<u8>,
        shown: &Shown<'_>,
    ) -> Result<Begun<A>, ModelError> {
        let response = self.post(body).await?;
        if response.status() != 200 {
            return Err(self.refusal::<A>(response).await);
        }
        shown.begin();
        if response.is("application/json") {
            let body = response.beginning(MAX_BODY).await.map_err(|error| self.broken(&error))?;
            return self.whole::<A>(body).map(Begun::Whole);
        }
        let events = match A::FRAMING {
            Framing::Events => sse::events(response),
            Framing::Lines => lines::lines(response),
        };
        let mut stream = Streaming { events, answer: A::default(), is_cut: false, too_long: None };
        let first = self.next(&mut stream).await?;
        Ok(Begun::Streaming(stream, first))
    }

    /// Reads an answer that is not streamed. One that is too long ends where it was cut.
    fn whole<A: Answer>(&self, (body, is_cut): (String, bool)) -> Result<Said, ModelError> {
        let mut answer = A::default();
        if !is_cut {
            let taken = answer.take_whole(&body);
            if taken.is_ok() && answer.bytes() > self.max_answer {
                self.cut(&mut answer);
            }
            return taken.and_then(|()| answer.finish()).map_err(|fault| self.failed(fault));
        }
        // What is missing behind the cut is no error.
        drop(answer.take_whole(&length::closed(&body)));
        self.cut(&mut answer);
        let mut said = answer.finish().map_err(|fault| self.failed(fault))?;
        if said.is_empty() {
            return Err(self.broken(&NetError::TooLong(MAX_BODY)));
        }
        // The last call may be the one that was cut, and been closed since.
        if let Some(call) = said.calls.last_mut() {
            let arguments = Value::Object(call.arguments.to_object()).to_string();
            call.arguments = Arguments::Malformed(arguments);
        }
        Ok(said)
    }

    /// Ends an answer that is too long.
    fn cut<A: Answer>(&self, answer: &mut A) {
        let (model, bytes, limit) = (&self.name, answer.bytes(), self.max_answer);
        tracing::warn!(model, bytes, limit, "the answer is too long; the rest of it is not read");
        answer.cut();
    }

    /// What was said, with the text of it that can be seen; `input` is what the request costs, where
    /// the provider does not count.
    fn reply(&self, said: Said, text: String, input: u64) -> ModelReply {
        let mut usage = said.usage;
        if usage.input == 0 {
            usage.input = input;
        }
        if usage.output == 0 {
            usage.output = said.bytes() / BYTES_A_TOKEN;
        }
        let Said { mut calls, reasoning, truncated, filtered, .. } = said;
        if truncated {
            length::shorten_cut_calls(&mut calls);
        }
        let reasoning = reasoning.map(|content| Reasoning { model: self.name.clone(), content });
        let spent = vec![Spent { model: self.name.clone(), usage, cost: None }];
        ModelReply { text, calls, written: None, reasoning, spent, truncated, filtered }
    }

    /// Reads an answer while it streams, from its first piece.
    async fn read<A: Answer>(
        &self,
        mut stream: Streaming<A>,
        first: Piece,
        visible: &mut Visible,
        shown: &Shown<'_>,
    ) -> Result<Said, ModelError> {
        let (mut piece, mut room) = (first, self.max_answer);
        loop {
            match piece {
                Piece::End => break,
                Piece::Text(text) => {
                    let text = length::beginning(&text, room);
                    room -= text.len();
                    visible.push(text, |delta| shown.show(delta));
                }
                Piece::KeepAlive | Piece::Unseen => {}
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
            // Thoughts that were cut are not sealed: no model takes them back.
            _ if is_cut => Ok(Said { reasoning: None, ..said }),
            _ => Ok(said),
        }
    }

    /// The next piece of an answer, whatever comes before it only to keep the connection alive.
    async fn next<A: Answer>(&self, stream: &mut Streaming<A>) -> Result<Piece, ModelError> {
        while !stream.is_cut {
            let piece = match stream.events.next().await {
                None => return Ok(Piece::End),
                Some(Err(error @ NetError::TooLong(_))) => {
                    (stream.is_cut, stream.too_long) = (true, Some(error));
                    Piece::End
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
            if piece != Piece::KeepAlive {
                return Ok(piece);
            }
        }
        Ok(Piece::End)
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

    fn failed(&self, fault: Fault) -> ModelError {
        match fault {
            Fault::Unreadable(detail) => self.bad_answer(detail),
            Fault::Status(status, says) => self.refused(status, "", &says, None),
            Fault::Declined(detail) => {
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

/// What a request costs, where the provider does not count.
fn estimated_tokens(length: u64, request: &ModelRequest) -> u64 {
    // Base64 is a third longer than what it stands for.
    let of_images = request.images.values().map(|image| image.bytes.len() as u64 * 4 / 3).sum();
    let text = length.saturating_sub(of_images) / BYTES_A_TOKEN;
    text + request.images.len() as u64 * TOKENS_AN_IMAGE
}
