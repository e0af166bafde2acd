//! The port of whoever listens: from a recording to what is said in it.

use std::fmt;

use async_trait::async_trait;

/// Listens to recordings.
#[async_trait]
pub trait Transcribe: fmt::Debug + Send + Sync {
    /// What is said in a recording; empty if nothing is.
    ///
    /// # Errors
    /// [`TranscribeError`] says whether asking again can help.
    async fn transcribe(&self, recording: Recording) -> Result<String, TranscribeError>;
}

/// Something to listen to.
#[derive(Clone, PartialEq, Eq)]
pub struct Recording {
    /// A file name whose extension says what it is: `m5-0.ogg`.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
}

/// Without the bytes.
impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.name, self.bytes.len())
    }
}

/// Why it is not known what is said in a recording. The text is read by the model and by people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TranscribeError {
    /// The sender, or the operator: it will not be transcribed like this.
    #[error("{0}")]
    Refused(String),
    /// A retry: nobody could be asked, or the answer cannot be read.
    #[error("{0}")]
    Failed(String),
}
