//! The port of a language model.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use std::sync::Arc;

use crate::{ImageRef, Message, Reasoning, ToolCall, ToolSpec};

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
    /// What it wants to have back with these calls.
    pub reasoning: Option<Reasoning>,
    /// What it cost.
    pub usage: Usage,
    /// Whether it was cut off at its output limit.
    pub truncated: bool,
}

/// Tokens, as the provider counts them, or estimated at four bytes each where it does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
}

impl Usage {
    /// Both together.
    #[must_use]
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl std::ops::Add for Usage {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
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
}

/// Where a model puts the pieces of its answer. Pieces are for showing; the reply is what counts.
pub type Deltas<'a> = &'a (dyn Fn(Delta<'_>) + Send + Sync);

/// A language model behind a provider. A request is given up by dropping its future.
#[async_trait]
pub trait Model: fmt::Debug + Send + Sync {
    /// `provider/model`, as in the configuration.
    fn name(&self) -> &str;

    /// Whether it is sent pictures ([`ModelRequest::images`]).
    fn takes_images(&self) -> bool {
        false
    }

    /// Asks the model once. Retries that can help have been made when this returns.
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
    /// The operator: there is no such model, or the request does not fit it.
    #[error("{model} refused the request: {detail}")]
    Refused {
        /// Which model.
        model: String,
        /// What the provider said.
        detail: String,
    },
    /// The user: the conversation is longer than the model takes.
    #[error("the conversation is too long for {model} ({detail}); start afresh with /new")]
    TooLong {
        /// Which model.
        model: String,
        /// What the provider said.
        detail: String,
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
