//! The port of a language model.

mod ask_json;
mod audio_error;
mod decode_json;
mod effort;
mod embed;
mod error;
mod message;
mod messages;
mod models;
mod money;
mod picture;
mod provider_names;
mod sample;
mod speak;
mod tokens;
mod transcribe;
mod usage;

pub use ask_json::{AskJson, AskJsonError, JsonAnswer, JsonQuestion};
pub use audio_error::AudioError;
pub use decode_json::decode_json;
pub use effort::{Effort, NoEffort};
pub use embed::{EmbedError, EmbeddedTexts, Embedder};
pub use error::{ModelError, ModelErrorDetail};
pub use message::{
    Arguments, ImageRef, MOMENT, Message, Reasoning, SAID, SentCall, ToolCall, without_marks,
};
pub use messages::{
    MessageBlock, MessageIter, MessagePart, Messages, SharedMessage, SharedMessageIter,
};
pub use models::{Models, NoModel};
pub use money::{Money, Price, thousands};
pub use picture::{ConvertPicture, PictureFormat};
pub use provider_names::ProviderNames;
pub use sample::{NoSample, Sample, SampleModel, SampleRequest};
pub use speak::{NoVoiceMode, Speak, VoiceMode};
pub use tokens::{TOKENS_AN_IMAGE, estimated_tokens};
pub use transcribe::{Recording, Transcribe};
pub use usage::Usage;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::tool::ToolSpec;
use crate::turn::FailedRequest;

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
