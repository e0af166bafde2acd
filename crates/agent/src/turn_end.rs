//! The ends of a turn.

use avocet_protocol::ids::CallId;
use avocet_protocol::store::Answer;
use avocet_protocol::tool::WaitRequest;
use avocet_protocol::turn::{FailureCode, TurnFailure};

/// The end of a turn, or its pause.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEnd {
    /// The model has answered.
    Answered(Answer),
    /// A cap was reached or the model failed.
    Failed(FailedTurn),
    /// Calls wait for outside events, so the turn waits. Any number of them wait for children; at
    /// most one waits for another event.
    Waiting(Vec<CallWait>),
}

/// The end of a turn without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedTurn {
    /// The text for an owner: the cause, and what to do.
    pub notice: String,
    /// The text for everybody else, without words of the program.
    pub plain: PlainNotice,
    /// The reason in words, for the log of the program.
    pub reason: String,
    /// The reason, for programs.
    pub failure: Option<TurnFailure>,
}

impl FailedTurn {
    /// Creates the end of a turn that failed for this reason.
    #[must_use]
    pub fn new(notice: String, failure: impl Into<TurnFailure>) -> Self {
        let plain = PlainNotice::not_now();
        Self { reason: notice.clone(), notice, plain, failure: Some(failure.into()) }
    }
}

/// The text about a turn without an answer, for people who are no owners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainNotice {
    /// Full sentences.
    pub text: String,
    /// `true` if only an owner can do something about the cause.
    pub needs_owner: bool,
}

impl PlainNotice {
    /// A cause that the reader cannot change.
    #[must_use]
    pub fn not_now() -> Self {
        Self { text: "I cannot answer just now.".to_owned(), needs_owner: true }
    }

    /// A cause that the reader can do something about.
    #[must_use]
    pub fn for_reader(text: &str) -> Self {
        Self { text: text.to_owned(), needs_owner: false }
    }

    /// Says what a failure of this kind means to its reader.
    #[must_use]
    pub fn of_failure(code: FailureCode) -> Self {
        match code {
            FailureCode::ContextTooLong => Self::for_reader(
                "Our conversation has become too long for me. /new begins another one.",
            ),
            FailureCode::RefusedByFilter => {
                Self::for_reader("I may not answer this. Please say it in other words.")
            }
            FailureCode::LimitReached => Self::for_reader(
                "I found no answer to this. Please say it in other words, or begin again with /new.",
            ),
            FailureCode::RateLimited
            | FailureCode::Quota
            | FailureCode::KeyRefused
            | FailureCode::Unavailable
            | FailureCode::TimedOut
            | FailureCode::BadAnswer
            | FailureCode::Refused
            | FailureCode::Internal => Self::not_now(),
        }
    }
}

/// A call that makes its turn wait.
#[derive(Debug, Clone, PartialEq)]
pub struct CallWait {
    /// Gets the result of the wait.
    pub call: CallId,
    /// The event that it waits for.
    pub request: WaitRequest,
}
