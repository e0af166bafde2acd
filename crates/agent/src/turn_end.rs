//! The ends of a turn.

use avocet_protocol::ids::CallId;
use avocet_protocol::store::Answer;
use avocet_protocol::tool::WaitRequest;
use avocet_protocol::turn::TurnFailure;

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
    /// The text for the user.
    pub notice: String,
    /// The reason in words, for the log of the program.
    pub reason: String,
    /// The reason, for programs.
    pub failure: Option<TurnFailure>,
}

impl FailedTurn {
    /// Creates the end of a turn that failed for this reason.
    #[must_use]
    pub fn new(notice: String, failure: impl Into<TurnFailure>) -> Self {
        Self { reason: notice.clone(), notice, failure: Some(failure.into()) }
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
