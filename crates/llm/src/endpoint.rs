//! Sends requests to a model over HTTP, independent of the API: retries, enforces timeouts, and
//! builds the reply. Calls that are written as text stay in the text:
//! [`DialectModel`](crate::DialectModel) reads them.

mod answer;
mod errors;
mod length;
pub(crate) mod offered;
mod probe;
mod read;
mod wait;
mod window;

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use avocet_net::{HttpClient, HttpResponse};
use avocet_protocol::clock::Clock;
use avocet_protocol::model::{
    Delta, Deltas, FailedAttempt, ModelError, ModelReply, ModelRequest, Reasoning, Spent,
    TOKENS_AN_IMAGE,
};
use avocet_text::{Secret, plain_json};

pub(crate) use answer::{AnswerError, AnswerPiece, CompleteAnswer, StreamedAnswer};
use length::max_answer;
pub(crate) use length::{ITEM, MAX_ANSWER};
pub(crate) use offered::{ListForm, one_page, openai_model};
pub use offered::{ModelListError, OfferedModel};
pub use probe::ProbeResult;
pub(crate) use probe::texts_at_key;

use crate::RequestTimeouts;
use crate::facts::host_of;
use crate::keys::{KeyRing, UsedKey};
use crate::limits::with_timeout;
use crate::repair::{RepairAttempts, RepairLessons, RequestAdjustment, RequestFault};
use crate::retry::{BYTES_A_TOKEN, RetryLimit, ShownDeltas, complete_with_retries};
use crate::visible::VisibleText;
use read::StreamingAnswer;

/// Bytes that are read of an answer without streaming: room for [`MAX_ANSWER`] bytes with escapes.
const MAX_BODY: usize = 2 * MAX_ANSWER;

/// The address of a model, and the timeouts and retries of requests to it.
#[derive(Debug)]
pub(crate) struct ModelEndpoint {
    /// `provider/model`.
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) keys: KeyRing,
    /// The headers of every request, including the key.
    pub(crate) headers: fn(Option<&Secret>) -> Vec<(&'static str, String)>,
    pub(crate) retries: usize,
    pub(crate) limits: RequestTimeouts,
    pub(crate) http: HttpClient,
    pub(crate) window: NamedWindow,
    pub(crate) repairs: RepairLessons,
    pub(crate) clock: Arc<dyn Clock>,
}

#[derive(Clone, Copy)]
struct RequestAttempt<'a> {
    shown: &'a ShownDeltas<'a>,
    key: Option<&'a Secret>,
    /// Bytes that are kept of the answer.
    max_answer: usize,
}

/// The context window that a refusal of the server has named. It counts for later requests.
#[derive(Debug, Default)]
pub(crate) struct NamedWindow(AtomicU64);

impl NamedWindow {
    /// The window in tokens; `None` if no refusal has named one.
    pub(crate) fn get(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|tokens| *tokens > 0)
    }

    fn learn_window(&self, tokens: u64) {
        self.0.store(tokens, Ordering::Relaxed);
    }
}

impl ModelEndpoint {
    /// Sends the request, and repairs it if it is refused: see [`crate::repair`]. The answer has at
    /// most `most` tokens. `body` is called anew for each attempt, to free its memory between
    /// attempts.
    pub(crate) async fn ask_model<A: StreamedAnswer>(
        &self,
        request: &ModelRequest,
        most: Option<u32>,
        body: impl Fn(&ModelRequest) -> serde_json::Result<Vec<u8>> + Send + Sync,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let shown = ShownDeltas::new(deltas);
        let take_back = |delta: Delta<'_>| shown.show_delta(delta);
        let repairs = RepairAttempts::default();
        let attempt = async || {
            let mut others = self.keys.len();
            loop {
                let (sent, version) =
                    (self.sendable_request(request), self.repairs.lessons_version());
                let bytes = body(&sent).map_err(|error| self.bad_answer(plain_json(&error)))?;
                let input = estimated_tokens(bytes.len() as u64, request);
                let used = self.keys.current_key(self.clock.elapsed());
                let attempt =
                    RequestAttempt { shown: &shown, key: used.key, max_answer: max_answer(most) };
                // Boxed, because each function that takes a future by value stores it once more.
                let asking = Box::pin(self.ask_once::<A>(bytes, input, attempt));
                let began = self.clock.now();
                let asking = self.with_timeout(self.limits.total, "it did not end", asking);
                let answered = shown.run_attempt(&self.name, input, asking).await;
                others = others.saturating_sub(1);
                match &answered {
                    Err(error)
                        if (others > 0 && self.has_other_key(used, error))
                            || self.repair_request(&sent, version, error, &repairs, &body) =>
                    {
                        shown.show_delta(Delta::Retry(FailedAttempt { error, began }));
                        shown.show_delta(Delta::Restart);
                    }
                    _ => return answered,
                }
            }
        };
        let retries = RetryLimit::new(self.retries, request.options.retries);
        complete_with_retries(self.clock.as_ref(), retries, &take_back, attempt).await
    }

    /// The request without the faults for which this model refused it before, and without the
    /// thoughts of other servers.
    fn sendable_request<'r>(&self, request: &'r ModelRequest) -> Cow<'r, ModelRequest> {
        self.repairs.sendable_request(request, self.host_name())
    }

    /// The name of the server, without its port.
    fn host_name(&self) -> &str {
        let host = host_of(&self.url).unwrap_or_default();
        let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
        if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host }
    }

    /// Learns from the refusal of a request that was made at this version of the lessons. Returns
    /// `true` if the request differs now and may be sent once more.
    fn repair_request(
        &self,
        refused: &ModelRequest,
        version: u64,
        error: &ModelError,
        attempts: &RepairAttempts,
        body: &(impl Fn(&ModelRequest) -> serde_json::Result<Vec<u8>> + Send + Sync),
    ) -> bool {
        let Some(fault) =
            RequestFault::from_error(error).filter(|fault| attempts.may_repair(*fault))
        else {
            return false;
        };
        if self.repairs.lessons_version() != version {
            // Another request has learned meanwhile.
            return true;
        }
        let before = body(refused);
        self.repairs.learn_fault(fault, refused, &self.name);
        let after = body(&self.sendable_request(refused));
        let is_repaired = matches!((before, after), (Ok(before), Ok(after)) if before != after);
        if is_repaired {
            let (model, remedy) = (&self.name, fault.remedy_text());
            tracing::warn!(model, %error, remedy, "the request was refused; asking once more");
        } else {
            self.repairs.forget_fault(fault);
        }
        is_repaired
    }

    /// Lets a key rest after an error that is about the key. Returns `true` if another key can be
    /// used at once.
    fn has_other_key(&self, used: UsedKey<'_>, error: &ModelError) -> bool {
        let has_other = self.keys.rest_key(used, error, self.clock.elapsed());
        if has_other {
            let (model, key) = (&self.name, used.number());
            tracing::warn!(model, key, %error, "cannot use an API key now; using the next key");
        }
        has_other
    }

    async fn ask_once<A: StreamedAnswer>(
        &self,
        body: Vec<u8>,
        input: u64,
        attempt: RequestAttempt<'_>,
    ) -> Result<ModelReply, ModelError> {
        let shown = attempt.shown;
        let begun = Box::pin(self.begin_answer::<A>(body, attempt));
        let begun = self.with_timeout(self.first_token(), "no answer began", begun).await?;
        let (stream, first) = begun;
        let mut visible = VisibleText::keeping_calls();
        let answer = self.read(stream, first, &mut visible, shown).await?;
        let text = visible.finish_text(|delta| shown.show_delta(delta));
        Ok(self.build_reply(answer, text, input))
    }

    /// The timeout for the first piece of an answer. Without streaming it is the whole answer.
    fn first_token(&self) -> Duration {
        let is_whole =
            self.repairs.current_adjustments().has_adjustment(RequestAdjustment::NoStream);
        if is_whole { self.limits.total } else { self.limits.first_token }
    }

    /// Sends the request and waits until the first data of an answer has arrived.
    async fn begin_answer<A: StreamedAnswer>(
        &self,
        body: Vec<u8>,
        attempt: RequestAttempt<'_>,
    ) -> Result<(StreamingAnswer<A>, AnswerPiece), ModelError> {
        let response = self.post_body(body, attempt.key).await?;
        if response.status() != 200 {
            return Err(self.error_from_response::<A>(response).await);
        }
        attempt.shown.mark_begun();
        self.first_data(response, attempt.max_answer).await
    }

    /// Builds the reply with the visible text. `input` is the estimate of input tokens, used if the
    /// provider reports none.
    fn build_reply(&self, answer: CompleteAnswer, text: String, input: u64) -> ModelReply {
        let mut usage = answer.usage;
        if usage.input == 0 {
            usage.input = input;
        }
        if usage.output == 0 {
            usage.output = answer.count_bytes() / BYTES_A_TOKEN;
        }
        let CompleteAnswer { mut calls, reasoning, truncated, filtered, .. } = answer;
        if truncated {
            length::shorten_cut_calls(&mut calls);
        }
        let (model, host) = (self.name.clone(), Some(self.host_name().to_owned()));
        let reasoning = reasoning.map(|content| Reasoning { model, host, content });
        let spent = vec![Spent { model: self.name.clone(), usage, cost: answer.cost }];
        let (written, is_done) = (None, false);
        ModelReply { text, calls, written, reasoning, spent, truncated, filtered, is_done }
    }

    async fn post_body(
        &self,
        body: Vec<u8>,
        key: Option<&Secret>,
    ) -> Result<HttpResponse, ModelError> {
        let headers = (self.headers)(key);
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let posted = self.http.post_json(&self.url, &headers, body).await;
        posted.map_err(|error| self.error_without_response(error))
    }

    async fn with_timeout<T>(
        &self,
        limit: Duration,
        what: &str,
        part: impl Future<Output = Result<T, ModelError>>,
    ) -> Result<T, ModelError> {
        with_timeout(self.clock.as_ref(), &self.name, limit, what, part).await
    }
}

/// Estimates the input tokens, for providers that report none.
fn estimated_tokens(length: u64, request: &ModelRequest) -> u64 {
    // Base64 is a third longer than the bytes that it encodes.
    let of_images = request.images.values().map(|image| image.bytes.len() as u64 * 4 / 3).sum();
    let text = length.saturating_sub(of_images) / BYTES_A_TOKEN;
    text + request.images.len() as u64 * TOKENS_AN_IMAGE
}
