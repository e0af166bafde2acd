//! The parts of an answer that all providers have in common. A provider implements
//! [`StreamedAnswer`].

use std::time::Duration;

use avocet_protocol::model::{Arguments, Money, ToolCall, Usage};
use serde_json::Value;

use crate::openai::codes;
use crate::wire_json::WireJson;

/// An answer that is put together from the events of its stream.
///
/// An answer is complete if its stream has given a reason for its end, or has said in another way
/// that nothing follows ([`Self::end_answer`]). A stream that closes without either was cut off.
pub(crate) trait StreamedAnswer: Default + Send {
    /// Time to wait for more data (such as usage) after the end of the answer. A value above the
    /// gap timeout counts as the gap timeout. Some servers leave the connection open or close it
    /// uncleanly.
    const FAREWELL: Duration = Duration::from_secs(10);

    /// `true` if a piece that ends the answer and adds to it may be followed by more, as from
    /// servers that send a finish reason with every piece. Otherwise only a piece after the end
    /// says so.
    const ENDS_OFTEN: bool = true;

    /// Processes the next event: an object of a stream, or the whole body of an answer without
    /// streaming. Its errors are already found. An event that cannot be understood is a
    /// [`AnswerPiece::KeepAlive`].
    ///
    /// # Errors
    /// [`AnswerError`] if the event says that the answer failed.
    fn take_event(&mut self, event: &WireJson<'_>) -> Result<AnswerPiece, AnswerError>;

    /// Takes the readable reasoning that has arrived since the last call, for display. Empty if there
    /// is none.
    fn take_thought(&mut self) -> String {
        String::new()
    }

    /// Ends the answer after `[DONE]`, or after a body that is a single JSON value. It is complete
    /// then, even without a finish reason.
    fn end_answer(&mut self) {}

    /// Returns `true` once the end of the answer has arrived.
    fn has_ended(&self) -> bool;

    /// Bytes that are kept of the answer so far, plus [`ITEM`](super::ITEM) for each call. Must be
    /// fast, because it is called for every event.
    fn kept_bytes(&self) -> usize;

    /// Ends the answer here, as if the model had reached its output limit.
    fn cut_answer(&mut self);

    /// Returns the readable reasoning of an answer that has neither text nor calls. Some servers put
    /// calls there that their parser did not find.
    fn lone_thought(&self) -> Option<&str> {
        None
    }

    /// Returns the whole answer, or an [`AnswerError`] if it is incomplete or failed.
    fn finish_answer(self) -> Result<CompleteAnswer, AnswerError>;

    /// Returns the status that an error in a begun answer stands for; `None` if it names none.
    fn error_status(error: &Value) -> Option<u16> {
        codes::of_error(error)
    }

    /// Returns the status of a refusal, and the retry delay if the body states one. Some providers
    /// send a more precise status in the body.
    fn refusal_status(status: u16, error: &Value) -> (u16, Option<Duration>) {
        let _ = error;
        (status, None)
    }
}

/// A complete model answer in the form common to all providers.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct CompleteAnswer {
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCall>,
    /// The value of [`Reasoning::content`](avocet_protocol::model::Reasoning::content).
    pub(crate) reasoning: Option<Value>,
    /// Bytes of reasoning, as far as the reasoning was readable.
    pub(crate) thought: u64,
    /// Zero if the provider reports no usage.
    pub(crate) usage: Usage,
    /// The cost, from a provider that states it. It counts instead of the price table.
    pub(crate) cost: Option<Money>,
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
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }

    /// The length in bytes, used to estimate tokens.
    pub(super) fn count_bytes(&self) -> u64 {
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
