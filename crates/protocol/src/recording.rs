//! Recordings of answers, which the daemon makes.

use crate::{Attachment, AttachmentKind, AttachmentSource};

/// The directory of the workspace in which files of answers are.
pub const ANSWER_FILES: &str = "answers/";
/// The name of the recording of an answer for its recipient.
const RECORDING_NAME: &str = "voice.ogg";

impl Attachment {
    /// Makes the recording of an answer, an Ogg file at this path in [`ANSWER_FILES`].
    #[must_use]
    pub fn recording(path: String, bytes: u64) -> Self {
        Self {
            name: Some(RECORDING_NAME.to_owned()),
            media_type: Some("audio/ogg".to_owned()),
            bytes: Some(bytes),
            ..Self::new(AttachmentKind::Voice, AttachmentSource::Workspace(path))
        }
    }

    /// Returns the path of the recording of an answer; `None` for any other file.
    #[must_use]
    pub fn as_recording(&self) -> Option<&str> {
        let AttachmentSource::Workspace(path) = &self.source else { return None };
        let is_recording = self.kind == AttachmentKind::Voice
            && self.name.as_deref() == Some(RECORDING_NAME)
            && path.starts_with(ANSWER_FILES);
        is_recording.then_some(path)
    }
}
