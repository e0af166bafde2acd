//! The port for the transcription of recordings.

use std::fmt;

use async_trait::async_trait;

use crate::model::AudioError;

/// Transcribes recordings.
#[async_trait]
pub trait Transcribe: fmt::Debug + Send + Sync {
    /// Returns the spoken words of a recording; empty if it has none.
    ///
    /// # Errors
    /// [`AudioError`] says if a retry can help.
    async fn transcribe(&self, recording: Recording) -> Result<String, AudioError>;
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
