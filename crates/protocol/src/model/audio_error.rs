//! The error of spoken answers and of transcriptions.

/// The reason why there is no recording or no transcript. Models and people read this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AudioError {
    /// The request was refused. The sender or the operator has to change something.
    #[error("{0}")]
    Refused(String),
    /// The request failed, or the answer is malformed. A retry can help.
    #[error("{0}")]
    Failed(String),
}
