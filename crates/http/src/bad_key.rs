//! The fault of a table of the configuration, with its key.

/// The reason why a table of the configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BadHttpKey {
    /// The path of the key in the table: `tokens.phone.token`.
    pub key: String,
    /// The fault and its correction, without the value of a secret.
    pub message: String,
}

impl BadHttpKey {
    pub(crate) fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into() }
    }
}
