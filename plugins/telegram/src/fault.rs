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
        RequestError::Api(error) => error.to_string(),
        RequestError::MigrateToChatId(chat) => format!("the group is now the supergroup {chat}"),
        RequestError::RetryAfter(seconds) => format!("to wait for {seconds}"),
        RequestError::Io(error) if error.kind() == ErrorKind::TimedOut => {
            "no answer in time".to_owned()
        }
        RequestError::Io(error) => error.to_string(),
    }
}

/// A request that was given up because nothing came.
pub(crate) fn silent() -> RequestError {
    RequestError::Io(Arc::new(ErrorKind::TimedOut.into()))
}
