//! Fetches attachments before the model is asked: bytes go into the workspace, transcripts of
//! recordings and reasons of failures into the log.

use std::sync::Arc;
use std::time::Duration;

use avocet_outbox::ChannelRegistry;
use avocet_protocol::access::Trust;
use avocet_protocol::channel::{Channel, FetchAttachments, FetchError};
use avocet_protocol::chat::{
    Attachment, AttachmentKind, AttachmentSource, LoggedInbound, Transcript,
};
use avocet_protocol::clock::{Clock, within};
use avocet_protocol::ids::{MessageId, TurnId};
use avocet_protocol::model::{AudioError, ConvertPicture, PictureFormat, Recording, Transcribe};
use avocet_protocol::store::{StoreError, TurnLog};
use avocet_protocol::tool::Files;
use avocet_supervise::Backoff;
use avocet_supervise::fail_point::{FailMoment, pass_in_task};
use avocet_text::sanitise;

use crate::extension::extension;

/// Timeout for one attempt to fetch an attachment.
const FETCH_LIMIT: Duration = Duration::from_mins(2);
/// Timeout for one attempt to transcribe a recording. The transcriber has its own timeout too.
const LISTEN_LIMIT: Duration = Duration::from_mins(5);
/// Maximum number of attempts.
const TRIES: u32 = 3;
/// Longest time without a sign of life while one attachment is fetched and transcribed.
pub(crate) const LONGEST_FETCH: Duration = Duration::from_mins(25);
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Settings for attachments.
#[derive(Debug, Clone)]
pub struct Attachments {
    /// The transcriber of recordings; `None` if transcription is off.
    pub transcribe: Option<Arc<dyn Transcribe>>,
    /// The converter of pictures that models do not accept; `None` if they stay as they are.
    pub convert: Option<Arc<dyn ConvertPicture>>,
    /// Maximum size to fetch, in bytes.
    pub max_bytes: u64,
}

/// Fetches attachments for one agent.
#[derive(Debug, Clone)]
pub struct AttachmentFetcher {
    /// Converters and limits.
    pub settings: Attachments,
    /// Destination of the files: the workspace of the agent that reads them.
    pub files: Arc<dyn Files>,
    /// The sources of the files.
    pub channels: Arc<ChannelRegistry>,
    /// Receives the new sources.
    pub log: Arc<dyn TurnLog>,
    /// Limits and repeats the attempts.
    pub clock: Arc<dyn Clock>,
}

/// The reason of a failure, in words for the reader of the message.
enum NotDone {
    /// A retry would fail as well.
    Final(String),
    /// A retry may help.
    ForNow(String),
}

#[async_trait::async_trait]
impl FetchAttachments for AttachmentFetcher {
    /// Fetches one attachment after the other.
    async fn fetch(&self, turn: TurnId, messages: &mut [LoggedInbound]) -> Result<(), StoreError> {
        for message in messages {
            let inbound = &mut message.message.inbound;
            let attachments = &mut inbound.content.attachments;
            if !attachments.iter().any(is_elsewhere) {
                continue;
            }
            pass_in_task("fetch", FailMoment::Before).await;
            let channel = self.channels.channel_of(&inbound.address);
            for ordinal in 0..attachments.len() {
                if is_elsewhere(&attachments[ordinal]) {
                    let name = FileName { message: message.id, ordinal };
                    self.settle_source(&mut attachments[ordinal], &name, channel.as_ref()).await;
                    self.log.set_attachments(turn, message.id, attachments).await?;
                }
            }
        }
        Ok(())
    }
}

impl AttachmentFetcher {
    /// Fetches one attachment and sets its final source.
    async fn settle_source(
        &self,
        attachment: &mut Attachment,
        name: &FileName,
        channel: Option<&Arc<dyn Channel>>,
    ) {
        let AttachmentSource::Platform(reference) = &attachment.source else { return };
        let fetched = match channel {
            Some(channel) => {
                let download = || self.download_file(channel, reference, attachment, name);
                self.with_retry(FETCH_LIMIT, download).await
            }
            None => Err("its channel is not configured any more".to_owned()),
        };
        match fetched {
            Ok(SavedFile { name, path, bytes }) => {
                attachment.bytes = Some(bytes.len() as u64);
                attachment.source = AttachmentSource::Workspace(path);
                set_kind_by_bytes(attachment, &bytes);
                attachment.transcript =
                    self.transcribe_recording(attachment.kind, name, &bytes).await;
            }
            Err(why) => {
                tracing::warn!(%name, why, "an attachment is not fetched");
                attachment.source = AttachmentSource::Lost(why);
            }
        }
    }

    /// Returns a file after writing it to the workspace.
    async fn download_file(
        &self,
        channel: &Arc<dyn Channel>,
        reference: &str,
        attachment: &Attachment,
        name: &FileName,
    ) -> Result<SavedFile, NotDone> {
        let fetched = channel.fetch(reference, self.settings.max_bytes).await;
        let bytes = fetched.map_err(|error| match error {
            FetchError::TooLarge { .. } | FetchError::Gone(_) => NotDone::Final(error.to_string()),
            FetchError::Failed(why) => NotDone::ForNow(why),
        })?;
        let bytes = self.with_shown_format(attachment, bytes, name).await;
        let picture = picture_format(attachment, &bytes);
        let name = format!("{name}.{}", extension(attachment, picture));
        let path = format!("inbox/{name}");
        let written = self.files.write(&path, bytes.clone(), Trust::Low).await;
        match written {
            Ok(()) => Ok(SavedFile { name, path, bytes }),
            Err(error) => Err(NotDone::ForNow(format!("it cannot be saved: {error}"))),
        }
    }

    /// Converts a picture that models do not accept. Without a converter, and if the conversion fails,
    /// it stays as it is.
    async fn with_shown_format(
        &self,
        attachment: &Attachment,
        bytes: Vec<u8>,
        name: &FileName,
    ) -> Vec<u8> {
        let format = picture_format(attachment, &bytes).filter(|format| !format.is_shown);
        let (Some(format), Some(convert)) = (format, &self.settings.convert) else { return bytes };
        match convert.convert_picture(format, &bytes).await {
            Ok(converted) => converted,
            Err(why) => {
                let format = format.name;
                tracing::warn!(%name, format, why, "a picture is not converted");
                bytes
            }
        }
    }

    /// Transcribes a recording, if a transcriber is configured.
    async fn transcribe_recording(
        &self,
        kind: AttachmentKind,
        name: String,
        bytes: &[u8],
    ) -> Option<Transcript> {
        let has_words = matches!(kind, AttachmentKind::Voice | AttachmentKind::Audio);
        let transcribe = self.settings.transcribe.as_ref().filter(|_| has_words)?;
        let listen = || async {
            let recording = Recording { name: name.clone(), bytes: bytes.to_vec() };
            transcribe.transcribe(recording).await.map_err(|error| match error {
                AudioError::Refused(why) => NotDone::Final(why),
                AudioError::Failed(why) => NotDone::ForNow(why),
            })
        };
        Some(match self.with_retry(LISTEN_LIMIT, listen).await {
            Ok(text) => Transcript::Said(sanitise(text.trim()).text),
            Err(why) => {
                tracing::warn!(%name, why, "a recording is not transcribed");
                Transcript::Failed(why)
            }
        })
    }

    /// Retries failures that may pass, each attempt with this timeout.
    async fn with_retry<T, W>(&self, limit: Duration, work: impl Fn() -> W) -> Result<T, String>
    where
        W: Future<Output = Result<T, NotDone>>,
    {
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        let mut tries = 1;
        loop {
            let why = match within(self.clock.as_ref(), limit, work()).await {
                Ok(Ok(done)) => return Ok(done),
                Ok(Err(NotDone::Final(why))) => return Err(why),
                Ok(Err(NotDone::ForNow(why))) => why,
                Err(_) => format!("it took longer than {} s", limit.as_secs()),
            };
            if tries == TRIES {
                return Err(why);
            }
            tries += 1;
            tracing::debug!(why, "trying again");
            self.clock.sleep(backoff.next_wait()).await;
        }
    }
}

/// A file in the workspace.
struct SavedFile {
    name: String,
    path: String,
    bytes: Vec<u8>,
}

/// Returns the format of a picture. Stickers are no pictures: most of them are shown by their emoji.
fn picture_format(attachment: &Attachment, bytes: &[u8]) -> Option<&'static PictureFormat> {
    PictureFormat::recognise(bytes).filter(|_| attachment.kind != AttachmentKind::Sticker)
}

/// Corrects the kind and the media type, which the sender or the platform has declared.
fn set_kind_by_bytes(attachment: &mut Attachment, bytes: &[u8]) {
    match picture_format(attachment, bytes) {
        Some(format) => {
            let is_shown = format.is_shown;
            attachment.kind =
                if is_shown { AttachmentKind::Image } else { AttachmentKind::Document };
            attachment.media_type = Some(format.media_type.to_owned());
        }
        None if attachment.kind == AttachmentKind::Image => {
            attachment.kind = AttachmentKind::Document;
        }
        None => {}
    }
}

fn is_elsewhere(attachment: &Attachment) -> bool {
    matches!(attachment.source, AttachmentSource::Platform(_))
}

/// File name of an attachment in the workspace, without extension. The name that its sender chose
/// is ignored.
struct FileName {
    message: MessageId,
    ordinal: usize,
}

impl std::fmt::Display for FileName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.message, self.ordinal)
    }
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
