//! The files of a message.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::one_line;
use crate::model::PictureFormat;

/// A file, by reference: its bytes are never part of a message in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    /// The way in which a platform would show it.
    pub kind: AttachmentKind,
    /// The place of the bytes.
    pub source: AttachmentSource,
    /// The file's name from its sender; never used as a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The media type (RFC 6838), according to the platform or the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The size in bytes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The duration in seconds, if the platform provides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
    /// The spoken words, once they have been transcribed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Transcript>,
    /// Inbound only: `true` if the file belongs to the message that this one replies to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    pub quoted: bool,
}

impl Attachment {
    /// Makes an attachment with a kind and a source alone.
    #[must_use]
    pub fn new(kind: AttachmentKind, source: AttachmentSource) -> Self {
        Self {
            kind,
            source,
            name: None,
            media_type: None,
            bytes: None,
            seconds: None,
            transcript: None,
            quoted: false,
        }
    }

    /// Describes kind, duration, name, transcript and fate in one line.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut line = format!("[{}", self.kind.as_str());
        if let Some(seconds) = self.seconds {
            line.push_str(&format!(", {seconds} s"));
        }
        let details = self.details();
        if !details.is_empty() {
            line.push_str(": ");
            line.push_str(&details.join(", "));
        }
        line.push(']');
        line
    }

    /// Returns the format of a fetched picture that models do not accept.
    #[must_use]
    pub fn unsupported_picture(&self) -> Option<&'static PictureFormat> {
        match self.source {
            AttachmentSource::Workspace(_) => {
                PictureFormat::find_unsupported(self.media_type.as_deref()?)
            }
            AttachmentSource::Platform(_) | AttachmentSource::Lost(_) => None,
        }
    }

    /// Kind and name.
    pub(super) fn in_short(&self) -> String {
        let path = match &self.source {
            AttachmentSource::Workspace(path) => path.rsplit('/').next(),
            AttachmentSource::Platform(_) | AttachmentSource::Lost(_) => None,
        };
        let name = self.name.as_deref().or(path).map(one_line).unwrap_or_default();
        format!("the {} {name}", self.kind.as_str()).trim_end().to_owned()
    }

    fn details(&self) -> Vec<String> {
        let mut details: Vec<String> = self.name.as_deref().map(one_line).into_iter().collect();
        match &self.transcript {
            Some(Transcript::Said(text)) if text.is_empty() => {
                details.push("no words were recognised in it".to_owned());
            }
            Some(Transcript::Said(text)) => details.push(format!("“{text}”")),
            Some(Transcript::Failed(why)) => {
                details.push(format!("it could not be transcribed: {why}"));
            }
            None => details.extend(self.bytes.map(|bytes| format!("{bytes} bytes"))),
        }
        match &self.source {
            AttachmentSource::Workspace(path) => details.push(format!("saved as {path}")),
            AttachmentSource::Lost(why) => details.push(format!("could not be fetched: {why}")),
            AttachmentSource::Platform(_) => {}
        }
        if let Some(format) = self.unsupported_picture() {
            details.push(format!("a picture in the format {}, which you cannot see", format.name));
        }
        details
    }
}

/// The transcript of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transcript {
    /// The spoken words; empty for a recording without words.
    Said(String),
    /// The reason why there is no transcript.
    Failed(String),
}

/// The kind of an attachment on a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AttachmentKind {
    /// A picture.
    Image,
    /// Sound.
    Audio,
    /// A voice message.
    Voice,
    /// A small picture that expresses a feeling; some are animated.
    Sticker,
    /// A video.
    Video,
    /// Any other file.
    Document,
}

impl AttachmentKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Voice => "voice",
            Self::Sticker => "sticker",
            Self::Video => "video",
            Self::Document => "document",
        }
    }
}

/// The place of an attachment's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AttachmentSource {
    /// A file below the workspace, by its relative path.
    Workspace(String),
    /// The platform keeps it under this reference.
    Platform(String),
    /// The file could not be fetched, for this reason.
    Lost(String),
}
