//! What went wrong, in words that may be logged: an HTTP error contains the URL, and the URL the
//! token (F15).

use std::sync::{Arc, Mutex, PoisonError};

use avocet_protocol::Health;
use teloxide::RequestError;

/// An error without the URL.
pub(crate) fn fault(error: &RequestError) -> String {
    match error {
        RequestError::Network(error) if error.is_timeout() => "no answer in time".to_owned(),
        RequestError::Network(error) if error.is_connect() => "no connection".to_owned(),
        RequestError::Network(_) => "the connection broke".to_owned(),
        RequestError::InvalidJson { .. } => "the answer cannot be read".to_owned(),
        RequestError::Api(error) => error.to_string(),
        RequestError::MigrateToChatId(chat) => format!("the group is now the supergroup {chat}"),
        RequestError::RetryAfter(seconds) => format!("to wait for {seconds}"),
        RequestError::Io(error) => error.to_string(),
    }
}

/// A request that was given up because nothing came.
pub(crate) fn silent() -> RequestError {
    RequestError::Io(Arc::new(std::io::ErrorKind::TimedOut.into()))
}

/// How the account fares, as of its last exchange with the platform (F24).
#[derive(Debug)]
pub(crate) struct Exchanges(Mutex<Health>);

impl Default for Exchanges {
    fn default() -> Self {
        Self(Mutex::new(Health::Down("not connected yet".to_owned())))
    }
}

impl Exchanges {
    pub(crate) fn works(&self) {
        self.set(Health::Up);
    }

    pub(crate) fn fails(&self, why: &str) {
        self.set(Health::Down(why.to_owned()));
    }

    pub(crate) fn get(&self) -> Health {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, health: Health) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = health;
    }
}
