//! Derives the outcome of a failed send from the platform's answer.

use avocet_protocol::channel::SendError;

use crate::Telegram;
use crate::fault::{BotApiError, BotApiRefusal, DELETED_AT_ONCE};
use crate::telegram::token;

impl Telegram {
    /// The outcome of a failed send.
    pub(crate) fn outcome(&self, fault: &BotApiError) -> SendError {
        if token::is_refused(fault) {
            self.account_refused(fault);
        }
        outcome(fault)
    }
}

fn outcome(fault: &BotApiError) -> SendError {
    let text = fault.to_string();
    match fault {
        BotApiError::Wait(wait) => SendError::RetryAfter(*wait),
        BotApiError::NotSent(_) => SendError::Failed(text),
        BotApiError::Broken(_) => SendError::Unknown(text),
        BotApiError::Moved(_) => SendError::Refused(text),
        BotApiError::Refused(refusal) => match refusal.turned_away_for() {
            Some(wait) => SendError::RetryAfter(wait),
            None => refused(refusal),
        },
    }
}

fn refused(refusal: &BotApiRefusal) -> SendError {
    let text = refusal.to_string();
    match (refusal.code, &refusal.description) {
        // Messages wait until the operator corrects the token or `api_url`.
        (401 | 404, _) => SendError::Failed(text),
        // A retry would end in the same way.
        (500, Some(description)) if description.contains(DELETED_AT_ONCE) => {
            SendError::Refused(refusal.with_advice())
        }
        (500.., _) if refusal.is_certain_failure() => SendError::Failed(text),
        (500.., _) => SendError::Unknown(text),
        // The message is too large, whichever server says so.
        (413, _) => SendError::Refused(text),
        // A server in front of the Bot API refused, regardless of the message.
        (400.., None) => SendError::Failed(text),
        (400.., Some(_)) => SendError::Refused(refusal.with_advice()),
        (..400, _) => SendError::Unknown(text),
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
