//! The port through which a running call asks the model of its session (MCP, "Sampling").

use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;

use crate::chat::SessionId;
use crate::ids::TurnId;
use crate::model::{Image, ImageRef, Message, Usage};

/// Asks the model of a session in the name of another program.
#[async_trait]
pub trait SampleModel: fmt::Debug + Send + Sync {
    /// Asks the model once, without tools. The cost is recorded for the turn.
    ///
    /// # Errors
    /// [`NoSample`], if a budget is used up or the model fails.
    async fn sample(&self, request: SampleRequest) -> Result<Sample, NoSample>;
}

/// A request of another program to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleRequest {
    /// The conversation of the call.
    pub session: SessionId,
    /// The turn of the call.
    pub turn: TurnId,
    /// The conversation with the model: instructions first, then texts in turns that begin and end
    /// with a user's.
    pub messages: Vec<Message>,
    /// The pictures of the messages. A model without vision does not get them.
    pub images: BTreeMap<ImageRef, Image>,
}

/// The answer of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// `provider/model`.
    pub model: String,
    /// Perhaps cut off, see `truncated`.
    pub text: String,
    /// `true` if the answer was cut off at its output limit.
    pub truncated: bool,
    /// The tokens of all asked models.
    pub usage: Usage,
}

/// The reason for a missing answer, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoSample(pub String);
