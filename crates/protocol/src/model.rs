//! The port of a language model.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use std::sync::Arc;

use crate::{
    Effort, FailedRequest, ImageRef, Messages, Money, PictureFormat, Price, Reasoning, Timestamp,
    ToolCall, ToolSpec,
};

/// Everything that a provider needs for one answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelRequest {
    /// A valid history, as the agent's validator defines it.
    pub messages: Messages,
    /// The tools whose schemas the model gets.
    pub tools: Arc<[ToolSpec]>,
    /// Further tools that the model may call by name. Their schemas are not sent.
    pub deferred: Arc<[ToolSpec]>,
    /// The pictures of the messages that are sent along; other pictures are omitted. Empty for a
    /// model without vision.
    pub images: BTreeMap<ImageRef, Image>,
    /// The JSON Schema of the answer, if it has to be JSON. Providers with structured output get
    /// it; the caller validates the answer in any case.
    pub answer_schema: Option<Arc<serde_json::Value>>,
    /// Effort and retries.
    pub options: RequestOptions,
}

/// The options of a request, in addition to its content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestOptions {
    /// The thinking effort; `None` for the setting of the model or its provider.
    pub effort: Option<Effort>,
    /// The number of retries after temporary errors.
    pub retries: Retries,
}

/// The retries of a request after temporary errors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Retries {
    /// As many as the provider's configuration allows.
    #[default]
    Configured,
    /// At most one, after a short pause; none after a timeout. A fallback model is asked next.
    Few,
}

impl ModelRequest {
    /// Returns every tool that the model may call.
    #[must_use]
    pub fn callable(&self) -> Cow<'_, [ToolSpec]> {
        if self.deferred.is_empty() {
            return Cow::Borrowed(&self.tools);
        }
        Cow::Owned(self.tools.iter().chain(self.deferred.iter()).cloned().collect())
    }
}

/// A picture, kept only for the duration of a request. Logs and histories never contain its bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    /// The media type that its bytes show: `image/jpeg`, `image/png`, `image/gif` or `image/webp`.
    pub media_type: &'static str,
    /// The file.
    pub bytes: Arc<[u8]>,
}

impl Image {
    /// Detects a media type from the first bytes; `None` if models do not accept the format.
    #[must_use]
    pub fn media_type_of(bytes: &[u8]) -> Option<&'static str> {
        let format = PictureFormat::recognise(bytes).filter(|format| format.is_shown)?;
        Some(format.media_type)
    }
}

/// Leaves out the bytes.
impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.media_type, self.bytes.len())
    }
}

/// The whole answer of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelReply {
    /// Empty if the model only calls tools.
    pub text: String,
    /// The tool calls, in the model's order.
    pub calls: Vec<ToolCall>,
    /// The whole reply, if `calls` were read from its text although the model calls tools natively;
    /// otherwise `None`. Such a text may only explain a call, so a call with an effect needs an
    /// approval.
    pub written: Option<String>,
    /// Reasoning that the model needs back together with these calls.
    pub reasoning: Option<Reasoning>,
    /// Usage by each model that was asked and gave an answer, even an empty one.
    pub spent: Vec<Spent>,
    /// `true` if the answer was cut off at its output limit.
    pub truncated: bool,
    /// `true` if a filter of the provider ended the answer.
    pub filtered: bool,
    /// `true` if the model signals that the whole task is done. The signal, such as a last line
    /// `TASK COMPLETE`, is not part of the text.
    pub is_done: bool,
}

impl ModelReply {
    /// The tokens of all asked models.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.spent.iter().fold(Usage::default(), |sum, spent| sum + spent.usage)
    }
}

/// The usage of one model call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// `provider/model`.
    pub model: String,
    /// Its tokens.
    pub usage: Usage,
    /// Their cost; `None` if the model's price is unknown.
    pub cost: Option<Money>,
}

/// Tokens, as the provider counts them. Without that count, an estimate of four bytes per token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Input tokens.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Part of `input` that the provider read from its cache.
    #[serde(default)]
    pub cached: u64,
    /// Part of `input` that the provider wrote into its cache.
    #[serde(default)]
    pub cache_written: u64,
}

impl Usage {
    /// Makes a usage without cached tokens.
    #[must_use]
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output, ..Self::default() }
    }

    /// Input and output tokens together.
    #[must_use]
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Percentage of the input tokens that came from the cache, from 0 to 100.
    #[must_use]
    pub fn cached_percent(self) -> u64 {
        let percent = u128::from(self.cached) * 100 / u128::from(self.input.max(1));
        u64::try_from(percent.min(100)).unwrap_or(100)
    }
}

impl std::ops::Add for Usage {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
            cache_written: self.cache_written.saturating_add(other.cache_written),
        }
    }
}

/// A piece of a streamed answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta<'a> {
    /// More text.
    Text(&'a str),
    /// More of the model's reasoning, which is no part of the reply's text. A provider may send a
    /// summary of it, or none.
    Thought(&'a str),
    /// A request failed and is made again: after a pause, changed, with another key, or to another
    /// model.
    Retry(FailedAttempt<'a>),
    /// Earlier pieces are void: the request is made again.
    Restart,
    /// The usage of an attempt that broke off, was dropped, or was empty. It may have a cost, but
    /// is not part of the reply. Estimated if the provider did not report it.
    Lost(&'a Spent),
}

/// A request to a model that failed and is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedAttempt<'a> {
    /// The reason.
    pub error: &'a ModelError,
    /// The start of the request. Its end is the time of the [`Delta`].
    pub began: Timestamp,
}

impl FailedAttempt<'_> {
    /// Returns the request for the ledger; `ended` is the time of the failure.
    #[must_use]
    pub fn as_failed_request(self, ended: Timestamp) -> FailedRequest {
        FailedRequest { began: self.began, ended, failure: self.error.into() }
    }
}

/// The receiver of the pieces of an answer. Pieces are for display; only the reply is
/// authoritative.
pub type Deltas<'a> = &'a (dyn Fn(Delta<'_>) + Send + Sync);

/// Known facts about a model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ModelFacts {
    /// The most tokens of a request and its answer together; `None` if unknown.
    pub context: Option<u64>,
    /// The most tokens of an answer; `None` if it is unknown, or if only the context limits the
    /// answer.
    pub max_output: Option<u64>,
    /// `true` if pictures are sent to it ([`ModelRequest::images`]).
    pub images: bool,
    /// The price of its tokens; `None` if unknown.
    pub price: Option<Price>,
    /// `true` if it can think before it answers, `false` if it cannot; `None` if unknown.
    pub thinking: Option<bool>,
}

impl ModelFacts {
    /// The window, in tokens, that is assumed of a model whose window is unknown.
    pub const ASSUMED_CONTEXT: u64 = 65_536;
}

/// A language model behind a provider. Dropping the future cancels a request.
#[async_trait]
pub trait Model: fmt::Debug + Send + Sync {
    /// `provider/model`, as in the configuration.
    fn name(&self) -> &str;

    /// Returns the known facts about the model. May ask its server, once.
    async fn facts(&self) -> ModelFacts {
        ModelFacts::default()
    }

    /// Returns the request in the form that this model gets. For a model that writes calls as text,
    /// tools and calls are part of the text.
    async fn as_sent(&self, request: &ModelRequest) -> ModelRequest {
        request.clone()
    }

    /// Asks the model, including useful retries. [`Delta::Lost`] reports failed attempts that may
    /// have cost something.
    ///
    /// # Errors
    /// [`ModelError`]; its variant says who can fix the problem.
    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError>;
}

/// The reason why a model gave no answer. The text says how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The key is missing or wrong. The operator can fix it.
    #[error("{model} refused the key ({detail}); check api_key in the configuration")]
    Unauthorized {
        /// `provider/model`.
        model: String,
        /// The provider's message.
        detail: String,
    },
    /// The model does not exist, its use is unpaid, or the request is unsuitable. The operator can
    /// fix it.
    #[error("{model} refused the request: {detail}")]
    Refused {
        /// `provider/model`.
        model: String,
        /// The provider's message.
        detail: String,
        /// `true` in the first two cases: any other request would be refused too.
        lasting: bool,
    },
    /// The conversation is too long for the model. The user can begin a new one.
    #[error("the conversation is too long for {model} ({detail}); start a new one with /new")]
    TooLong {
        /// `provider/model`.
        model: String,
        /// The provider's message.
        detail: String,
        /// The model's window ([`ModelFacts::context`]), if it is known or the refusal names it.
        window: Option<u64>,
    },
    /// Too many requests, or the provider is overloaded. A later retry can help.
    #[error("{model} {} ({detail}); try again {}", trouble(detail), when(*retry_after))]
    Busy {
        /// `provider/model`.
        model: String,
        /// The provider's message.
        detail: String,
        /// The time for which the provider asks clients to wait.
        retry_after: Option<Duration>,
    },
    /// The server cannot be reached. The operator can fix it.
    #[error("{model} cannot be reached ({detail})")]
    Unreachable {
        /// `provider/model`.
        model: String,
        /// The error of the connection.
        detail: String,
    },
    /// A timeout: connect, first token, gap between tokens, or total.
    #[error("{model} did not answer in time: {detail}")]
    TimedOut {
        /// `provider/model`.
        model: String,
        /// The exceeded limit and its length.
        detail: String,
    },
    /// The answer broke off or is malformed. The provider can fix it.
    #[error("{model} sent an answer that cannot be read: {detail}")]
    BadAnswer {
        /// `provider/model`.
        model: String,
        /// The fault in the answer.
        detail: String,
    },
}

/// Describes a temporary fault by the status at the beginning of its details.
fn trouble(detail: &str) -> &'static str {
    let is_internal = ["500", "501", "502", "504"].iter().any(|status| detail.starts_with(status));
    if is_internal { "has an internal error" } else { "is busy" }
}

impl ModelError {
    /// Returns `true` if the model may have read the request, which then has to be paid.
    #[must_use]
    pub fn may_have_cost(&self) -> bool {
        match self {
            Self::TimedOut { .. } | Self::BadAnswer { .. } => true,
            Self::Unauthorized { .. }
            | Self::Refused { .. }
            | Self::TooLong { .. }
            | Self::Busy { .. }
            | Self::Unreachable { .. } => false,
        }
    }

    /// Returns `true` if a retry can help.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unauthorized { .. } | Self::Refused { .. } | Self::TooLong { .. } => false,
            Self::Busy { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::BadAnswer { .. } => true,
        }
    }
}

/// Describes a delay in words: "in about an hour". `None` is "later".
fn when(delay: Option<Duration>) -> String {
    let rounded = |unit: u64, seconds: u64| seconds.saturating_add(unit / 2) / unit;
    let about = |count: u64, one: &str, many: &str| match count {
        1 => format!("in about {one}"),
        _ => format!("in about {count} {many}"),
    };
    match delay.map(|delay| delay.as_secs()) {
        None => "later".to_owned(),
        Some(..=1) => "in a moment".to_owned(),
        Some(seconds @ ..45) => format!("in {seconds} seconds"),
        Some(seconds @ ..2700) => about(rounded(60, seconds), "a minute", "minutes"),
        Some(seconds @ ..79_200) => about(rounded(3600, seconds), "an hour", "hours"),
        Some(seconds) => about(rounded(86_400, seconds), "a day", "days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_error_names_the_time_to_try_again() {
        let table = [
            (None, "later"),
            (Some(0), "in a moment"),
            (Some(20), "in 20 seconds"),
            (Some(60), "in about a minute"),
            (Some(400), "in about 7 minutes"),
            (Some(3600), "in about an hour"),
            (Some(9000), "in about 3 hours"),
            (Some(86_400), "in about a day"),
            (Some(u64::MAX), "in about 213503982334601 days"),
        ];
        for (seconds, expected) in table {
            let retry_after = seconds.map(Duration::from_secs);
            let (model, detail) = ("a/b".to_owned(), "429: slow down".to_owned());
            let error = ModelError::Busy { model, detail, retry_after }.to_string();
            assert_eq!(error, format!("a/b is busy (429: slow down); try again {expected}"));
        }
    }

    #[test]
    fn busy_error_tells_an_internal_error_from_too_many_requests() {
        for (detail, expected) in [("500: oops", "has an internal error"), ("503: x", "is busy")] {
            let (model, detail) = ("a/b".to_owned(), detail.to_owned());
            let error = ModelError::Busy { model, detail, retry_after: None }.to_string();
            assert!(error.starts_with(&format!("a/b {expected} (")), "{error}");
        }
    }
}
