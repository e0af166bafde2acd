//! The answers of the fake: to its only message, and to questions with a schema.

use async_trait::async_trait;
use avocet_protocol::bus::ProgramCall;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{MessageId, TurnId};
use avocet_protocol::model::{AskJson, AskJsonError, JsonAnswer, JsonQuestion, Usage};
use avocet_protocol::store::MessageStatus;
use avocet_protocol::turn::AnswerEnding;

use super::{FakeDaemon, session};

/// The parts of the answer to `m1` that differ from the plain one.
#[derive(Debug, Clone, Default)]
pub struct FakeAnswer {
    /// The text; `None` for `the reply`.
    pub reply: Option<String>,
    /// The end of the text.
    pub ending: AnswerEnding,
    /// `true` if the turn ended with an error.
    pub failed: bool,
    /// The tokens; `None` before a turn began.
    pub usage: Option<Usage>,
    /// Calls that the program has to run.
    pub calls: Vec<ProgramCall>,
}

impl FakeDaemon {
    /// Returns the status of the message `m1`.
    pub(super) fn first_message(&self) -> MessageStatus {
        let outcome = *self.outcome.lock();
        let FakeAnswer { reply, ending, failed, usage, calls } = self.answer.lock().clone();
        let reply = outcome.map(|_| reply.unwrap_or_else(|| "the reply".to_owned()));
        MessageStatus {
            id: MessageId(1),
            session: session(),
            turn: usage.map(|_| TurnId(1)),
            outcome,
            reply,
            ending,
            failed,
            failure: None,
            received_at: usage.map(|_| Timestamp(5000)),
            usage,
            calls,
        }
    }
}

#[async_trait]
impl AskJson for FakeDaemon {
    async fn ask_json(&self, question: &JsonQuestion) -> Result<JsonAnswer, AskJsonError> {
        match question.schema.as_bool() {
            Some(false) => Err(AskJsonError::Schema("the whole: nothing is valid".to_owned())),
            _ => {
                let answer = Some(question.text.clone().into());
                let (model, faults) = ("a/b".to_owned(), Vec::new());
                Ok(JsonAnswer { model, requests: 1, answer, faults })
            }
        }
    }
}
