//! Recordings of answers, which the daemon makes.

use crate::chat::{Attachment, AttachmentKind, AttachmentSource};
use crate::ids::TurnId;

/// The directory of the workspace in which files of answers are.
pub const ANSWER_FILES: &str = "answers/";
/// The name of the recording of an answer for its recipient.
const RECORDING_NAME: &str = "voice.ogg";

impl Attachment {
    /// Returns the path of the recording of a turn's answer. The fingerprint is that of the text.
    #[must_use]
    pub fn recording_path(turn: TurnId, fingerprint: u64) -> String {
        format!("{ANSWER_FILES}{turn}-{fingerprint:016x}.ogg")
    }

    /// Makes the recording of an answer, an Ogg file at its [`recording_path`](Self::recording_path).
    #[must_use]
    pub fn recording(path: String, bytes: u64) -> Self {
        Self {
            name: Some(RECORDING_NAME.to_owned()),
            media_type: Some("audio/ogg".to_owned()),
            bytes: Some(bytes),
            ..Self::new(AttachmentKind::Voice, AttachmentSource::Workspace(path))
        }
    }

    /// Returns the path of the recording of an answer; `None` for any other file, also for one with
    /// another name in [`ANSWER_FILES`].
    #[must_use]
    pub fn as_recording(&self) -> Option<&str> {
        let AttachmentSource::Workspace(path) = &self.source else { return None };
        let name = path.strip_prefix(ANSWER_FILES)?.strip_suffix(".ogg")?;
        let (turn, fingerprint) = name.split_once('-')?;
        let turn = TurnId(turn.strip_prefix('t')?.parse().ok()?);
        let fingerprint = u64::from_str_radix(fingerprint, 16).ok()?;
        let is_recording = self.kind == AttachmentKind::Voice
            && self.name.as_deref() == Some(RECORDING_NAME)
            && *path == Self::recording_path(turn, fingerprint);
        is_recording.then_some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_recording_accepts_only_the_path_of_a_recording() {
        let path = Attachment::recording_path(TurnId(7), 0xbeef);
        let recording = Attachment::recording(path.clone(), 4);
        assert_eq!(recording.as_recording(), Some(path.as_str()));
        let hex = "000000000000beef";
        for other in [
            "answers/voice.ogg".to_owned(),
            format!("answers/../answers/t7-{hex}.ogg"),
            format!("answers/x/t7-{hex}.ogg"),
            "answers/t7-beef.ogg".to_owned(),
            format!("answers/t7-{hex}.mp3"),
            format!("t7-{hex}.ogg"),
        ] {
            let file = Attachment::recording(other, 4);
            assert_eq!(file.as_recording(), None, "{:?}", file.source);
        }
        let renamed = Attachment { name: Some("song.ogg".to_owned()), ..recording };
        assert_eq!(renamed.as_recording(), None);
    }
}
