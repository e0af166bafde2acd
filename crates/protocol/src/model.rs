//! The port of a language model.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use std::sync::Arc;

use crate::{ImageRef, Message, Money, Price, Reasoning, ToolCall, ToolSpec};

/// One request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// A valid history: see the agent's validator.
    pub messages: Vec<Message>,
    /// The tools it may call, sorted by name.
    pub tools: Arc<[ToolSpec]>,
    /// What is in those pictures of the messages that are sent along; the others are not. Empty
    /// for a model that takes none.
    pub images: BTreeMap<ImageRef, Image>,
}

/// A picture, for as long as a request takes: its bytes are in no log and no history.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    /// What its bytes say it is: `image/jpeg`, `image/png`, `image/gif` or `image/webp`.
    pub media_type: &'static str,
    /// The file.
    pub bytes: Arc<[u8]>,
}

/// Without the bytes.
impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.media_type, self.bytes.len())
    }
}

/// A model's whole answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelReply {
    /// What it says.
    pub text: String,
    /// The tools it calls, in its order.
    pub calls: Vec<ToolCall>,
    /// The whole reply, if `calls` were read from its text although the model calls tools natively: it may
    /// only explain a call, so one with an effect needs an approval. Otherwise `None`.
    pub written: Option<String>,
    /// What it wants to have back with these calls.
    pub reasoning: Option<Reasoning>,
    /// What it cost: by each model that was asked for it and said something, or nothing.
    pub spent: Vec<Spent>,
    /// Whether it was cut off at its output limit.
    pub truncated: bool,
    /// Whether a filter of the provider ended it.
    pub filtered: bool,
}

impl ModelReply {
    /// The tokens of all who were asked.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.spent.iter().fold(Usage::default(), |sum, spent| sum + spent.usage)
    }
}

/// What one call of a model cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// `provider/model`.
    pub model: String,
    /// Its tokens.
    pub usage: Usage,
    /// What they cost; none if nobody knows the model's price.
    pub cost: Option<Money>,
}

/// Tokens, as the provider counts them, or estimated at four bytes each where it does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input: u64,
    /// Tokens written, those of its reasoning included.
    pub output: u64,
    /// Of those read, those that the provider had in its cache.
    #[serde(default)]
    pub cached: u64,
    /// Of those read, those that it has put into its cache.
    #[serde(default)]
    pub cache_written: u64,
}

impl Usage {
    /// So many tokens read and written, and no cache.
    #[must_use]
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output, ..Self::default() }
    }

    /// Read and written together.
    #[must_use]
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// How much of what was read came from the cache, from 0 to 100.
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

/// A piece of an answer while it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta<'a> {
    /// More text.
    Text(&'a str),
    /// What came so far does not count: the request is made again.
    Restart,
    /// An attempt came to nothing and may have to be paid all the same: it broke off, is dropped, or said
    /// nothing. It is told as soon as that is known and is not in the reply. Estimated, where the
    /// provider has not said it.
    Lost(&'a Spent),
}

/// Where a model puts the pieces of its answer. Pieces are for showing; the reply is what counts.
pub type Deltas<'a> = &'a (dyn Fn(Delta<'_>) + Send + Sync);

/// What is known of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ModelFacts {
    /// Tokens that a request and its answer may have together; none if nobody knows.
    pub context: Option<u64>,
    /// Tokens that an answer may have; none if only the context is its limit, or nobody knows.
    pub max_output: Option<u64>,
    /// Whether it is sent pictures ([`ModelRequest::images`]).
    pub images: bool,
    /// What its tokens cost; none if nobody knows.
    pub price: Option<Price>,
}

/// A language model behind a provider. A request is given up by dropping its future.
#[async_trait]
pub trait Model: fmt::Debug + Send + Sync {
    /// `provider/model`, as in the configuration.
    fn name(&self) -> &str;

    /// What is known of it. Its server may be asked for that, once.
    async fn facts(&self) -> ModelFacts {
        ModelFacts::default()
    }

    /// A request as this model is sent it: for one that writes calls as text, tools and calls are in
    /// the text.
    async fn as_sent(&self, request: &ModelRequest) -> ModelRequest {
        request.clone()
    }

    /// Asks the model once. Retries that can help have been made when this returns. What came to
    /// nothing and may have cost something is told by [`Delta::Lost`].
    ///
    /// # Errors
    /// [`ModelError`] says who can do something about it.
    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError>;
}

/// Why a model gave no answer. The text says what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The operator: the key is missing or wrong.
    #[error("{model} refused the key ({detail}); check api_key in the configuration")]
    Unauthorized {
        /// Which model.
        model: String,
        /// What the provider said.
        detail: String,
    },
    /// The operator: there is no such model, nobody pays for it, or the request does not fit it.
    #[error("{model} refused the request: {detail}")]
    Refused {
        /// Which model.
        model: String,
        /// What the provider said.
        detail: String,
        /// Whether it would refuse any other request too: the first two.
        lasting: bool,
    },
    /// The user: the conversation is longer than the model takes.
    #[error("the conversation is too long for {model} ({detail}); start afresh with /new")]
    TooLong {
        /// Which model.
        model: String,
        /// What the provider said.
        detail: String,
        /// The model's window ([`ModelFacts::context`]), if the request was never sent because it is
        /// smaller.
        window: Option<u64>,
    },
    /// Nobody but time: too many requests, or the provider is overloaded.
    #[error("{model} is busy ({detail}); try again later")]
    Busy {
        /// Which model.
        model: String,
        /// What the provider said.
        detail: String,
        /// When it asked to be left alone until.
        retry_after: Option<Duration>,
    },
    /// The operator: nothing answers there.
    #[error("{model} cannot be reached ({detail})")]
    Unreachable {
        /// Which model.
        model: String,
        /// What failed.
        detail: String,
    },
    /// A limit ran out: connect, first token, gap between tokens, or total.
    #[error("{model} did not answer in time: {detail}")]
    TimedOut {
        /// Which model.
        model: String,
        /// Which limit, and how long it is.
        detail: String,
    },
    /// The provider: the answer broke off or makes no sense.
    #[error("{model} sent an answer that cannot be read: {detail}")]
    BadAnswer {
        /// Which model.
        model: String,
        /// What is wrong with it.
        detail: String,
    },
}

impl ModelError {
    /// Whether the model may have read the request, so that it has to be paid.
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

    /// Whether asking again can help.
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
