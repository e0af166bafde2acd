//! What went wrong, in words that may be logged: an HTTP error contains the URL, and the URL the
//! token (F15).

use std::io::ErrorKind;
use std::sync::Arc;

use teloxide::{ApiError, RequestError};

/// An error without the URL.
pub(crate) fn fault(error: &RequestError) -> String {
    match error {
        RequestError::Network(error) if error.is_timeout() => "no answer in time".to_owned(),
        RequestError::Network(error) if error.is_connect() => "no connection".to_owned(),
        RequestError::Network(_) => "the connection broke".to_owned(),
        RequestError::InvalidJson { .. } => "the answer cannot be read".to_owned(),
        // The client makes this of both.
        RequestError::Api(ApiError::InvalidToken) => "Unauthorized or Not Found".to_owned(),
        // In the platform's own words.
        RequestError::Api(ApiError::Unknown(words)) => words.clone(),
        RequestError::Api(error) => error.to_string(),
        RequestError::MigrateToChatId(chat) => format!("the group is now the supergroup {chat}"),
        RequestError::RetryAfter(seconds) => format!("to wait for {seconds}"),
        RequestError::Io(error) if error.kind() == ErrorKind::TimedOut => {
            "no answer in time".to_owned()
        }
        RequestError::Io(error) => error.to_string(),
    }
}

/// Why the platform does not take a message, and what can be done about it.
pub(crate) fn refusal(error: &RequestError) -> String {
    let words = fault(error);
    match ADVICE.iter().find(|(what, _)| words.contains(what)) {
        Some((_, advice)) => format!("{advice} ({words})"),
        None => words,
    }
}

/// By the platform's words, which the client names in part only.
const ADVICE: [(&str, &str); 6] = [
    ("blocked by the user", "the person has blocked the bot and can unblock it"),
    ("bot was kicked", "the bot is no longer in this chat: add it again"),
    ("bot is not a member", "the bot is not in this chat: add it"),
    ("chat not found", "there is no such chat, or nobody there has ever written to the bot"),
    ("not enough rights", "the bot may not write in this chat: let it"),
    ("user is deactivated", "the person has deleted the account"),
];

/// A request that was given up because nothing came.
pub(crate) fn silent() -> RequestError {
    RequestError::Io(Arc::new(ErrorKind::TimedOut.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_can_be_done_in_plain_words_and_in_the_platforms() {
        let kicked = "Forbidden: bot was kicked from the group chat".to_owned();
        let cases = [
            (ApiError::BotBlocked, "can unblock it (Forbidden: bot was blocked by the user)"),
            (ApiError::BotKickedFromSupergroup, "add it again (Forbidden: bot was kicked from the"),
            (ApiError::Unknown(kicked), "add it again (Forbidden: bot was kicked from the group"),
            (ApiError::ChatNotFound, "has ever written to the bot (Bad Request: chat not found)"),
            (ApiError::UserDeactivated, "has deleted the account (Forbidden: user is"),
            (ApiError::Unknown("Bad Request: x".to_owned()), "Bad Request: x"),
        ];
        for (error, words) in cases {
            let says = refusal(&RequestError::Api(error));
            assert!(says.contains(words) && !says.contains("Unknown error"), "{says}");
        }
    }
}
