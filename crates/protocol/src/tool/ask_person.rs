//! The port through which a running call asks a person and waits for the answer in memory.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::chat::{ChatAddress, SessionId};

/// Asks people in chats.
#[async_trait]
pub trait AskPerson: fmt::Debug + Send + Sync {
    /// Sends a question to its chat, and waits for an answer that passes the check. Dropping the
    /// future withdraws the question; a restart does, too.
    ///
    /// # Errors
    /// [`UnansweredQuestion`], if the chat cannot be asked or the time is over.
    async fn ask(&self, question: PersonQuestion) -> Result<PersonAnswer, UnansweredQuestion>;
}

/// A question of a running call.
#[derive(Debug, Clone)]
pub struct PersonQuestion {
    /// The conversation of the call.
    pub session: SessionId,
    /// The chat that is asked.
    pub chat: ChatAddress,
    /// `true` if the request of the turn comes from owners. Otherwise the private chats of owners
    /// are asked, too.
    pub is_from_owner: bool,
    /// The question in Markdown, with the name of the program that asks.
    pub text: String,
    /// Answers for which there are buttons.
    pub options: Vec<AnswerOption>,
    /// An answer that fails it is not taken.
    pub check: AnswerCheck,
    /// The time for an answer that passes the check.
    pub time_limit: Duration,
}

/// An answer for which there is a button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerOption {
    /// The text on the button.
    pub label: String,
    /// The answer. A few bytes: platforms limit the text of a button.
    pub answer: String,
}

impl AnswerOption {
    /// Takes both texts as they are.
    #[must_use]
    pub fn new(label: impl Into<String>, answer: impl Into<String>) -> Self {
        Self { label: label.into(), answer: answer.into() }
    }
}

/// Checks an answer before it is taken.
#[derive(Clone)]
pub struct AnswerCheck(Arc<CheckFunction>);

type CheckFunction = dyn Fn(&str) -> Result<(), String> + Send + Sync;

impl AnswerCheck {
    /// Makes a check from a function, whose error is a sentence for the person.
    pub fn new(check: impl Fn(&str) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// Checks an answer.
    ///
    /// # Errors
    /// The reason for a refusal, as a sentence for the person.
    pub fn check(&self, answer: &str) -> Result<(), String> {
        (self.0)(answer)
    }
}

impl fmt::Debug for AnswerCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerCheck").finish_non_exhaustive()
    }
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonAnswer {
    /// The text, which passes the check.
    Text(String),
    /// The person does not answer this question.
    Declined,
}

/// The reason why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnansweredQuestion {
    /// The time is over.
    #[error("no answer came within {0} s")]
    Late(u64),
    /// The question cannot be sent.
    #[error("the question cannot be sent: {0}")]
    Unsent(String),
    /// The person has answered, and the log did not take the answer.
    #[error("the answer could not be recorded")]
    Unrecorded,
}
