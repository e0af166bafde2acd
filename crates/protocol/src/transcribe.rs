//! The port for the transcription of recordings.

use std::fmt;

use async_trait::async_trait;

/// Transcribes recordings.
#[async_trait]
pub trait Transcribe: fmt::Debug + Send + Sync {
    /// Returns the spoken words of a recording; empty if it has none.
    ///
    /// # Errors
    /// [`TranscribeError`] says if a retry can help.
    async fn transcribe(&self, recording: Recording) -> Result<String, TranscribeError>;
}

/// A recording to be transcribed.
#[derive(Clone, PartialEq, Eq)]
pub struct Recording {
    /// A file name whose extension shows the format: `m5-0.ogg`.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
}

/// Leaves out the bytes.
impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.name, self.bytes.len())
    }
}

/// The reason why there is no transcript. Models and people read this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TranscribeError {
    /// The request was refused. The sender or the operator has to change something.
    #[error("{0}")]
    Refused(String),
    /// The request failed, or the answer is malformed. A retry can help.
    #[error("{0}")]
    Failed(String),
}
