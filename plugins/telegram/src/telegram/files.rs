//! Sends single files, one message each. Photos, sound, voice messages and videos are shown, and
//! other files are documents.

use avocet_protocol::channel::SendError;
use avocet_protocol::chat::{Attachment, AttachmentKind, Delivery, LoadedFile, Receipt};
use avocet_text::sanitise;
use bytes::Bytes;
use reqwest::multipart::{Form, Part};
use serde::Serialize;

use crate::Telegram;
use crate::api::MessageReceipt;
use crate::compose::buttons;
use crate::direct_topics::DirectTopic;
use crate::fault::BotApiError;
use crate::telegram::attempt::Attempt;

const MEGABYTE: u64 = 1024 * 1024;
/// Bytes of a file that a bot may send through Telegram's own server (Bot API, "Sending files").
const MAX_BYTES: u64 = 50 * MEGABYTE;
/// The same for a self-hosted Bot API server (Bot API, "Using a Local Bot API Server").
const MAX_BYTES_LOCAL: u64 = 2000 * MEGABYTE;
const OFFICIAL_HOST: &str = "api.telegram.org";
/// Bytes of a photo (Bot API, `sendPhoto`). A larger one is sent as a document.
const MAX_PHOTO_BYTES: usize = 10 * 1024 * 1024;
/// Characters of a file's name.
const MAX_NAME: usize = 100;

/// Bytes of the largest file that the Bot API server on this host accepts.
pub(crate) fn max_bytes(host: Option<&str>) -> u64 {
    match host {
        Some(OFFICIAL_HOST) => MAX_BYTES,
        _ => MAX_BYTES_LOCAL,
    }
}

/// A file to send, and the method to use.
struct Upload<'a> {
    attempt: Attempt<'a>,
    file: &'a LoadedFile,
    shown_as: ShownAs,
}

/// The form in which a file is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShownAs {
    Audio,
    Document,
    Photo,
    Video,
    Voice,
}

impl ShownAs {
    /// Returns the form that fits the first bytes of a file.
    pub(crate) fn for_attachment(attachment: &Attachment, file: &LoadedFile) -> Self {
        let bytes = &file.bytes;
        let has = |start: &[u8]| bytes.starts_with(start);
        let brand = bytes.get(4..12).unwrap_or_default();
        match brand {
            _ if is_photo(attachment, file) => Self::Photo,
            _ if has(b"OggS") && bytes.get(28..36) == Some(b"OpusHead") => Self::Voice,
            _ if has(b"OggS") || has(b"ID3") || has(b"\xff\xfb") || has(b"\xff\xf3") => Self::Audio,
            b"ftypM4A " => Self::Audio,
            brand if brand.starts_with(b"ftyp") && has_end(&file.name, ".mp4") => Self::Video,
            _ => Self::Document,
        }
    }

    /// Returns the method, and the parameter that holds the file (Bot API).
    pub(crate) fn method(self) -> (&'static str, &'static str) {
        match self {
            Self::Audio => ("sendAudio", "audio"),
            Self::Document => ("sendDocument", "document"),
            Self::Photo => ("sendPhoto", "photo"),
            Self::Video => ("sendVideo", "video"),
            Self::Voice => ("sendVoice", "voice"),
        }
    }
}

fn has_end(name: &str, end: &str) -> bool {
    name.to_ascii_lowercase().ends_with(end)
}

impl Telegram {
    /// Sends a file to its chat. If the platform refuses its form, it is sent again as a document.
    pub(crate) async fn send_file(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        let ([attachment], [file]) = (&delivery.content.attachments[..], &delivery.files[..])
        else {
            let why = "a Telegram message has exactly one file, from the workspace";
            return Err(SendError::Refused(why.to_owned()));
        };
        let attempt = Attempt::new(self, delivery)?;
        let mut upload =
            Upload { attempt, file, shown_as: ShownAs::for_attachment(attachment, file) };
        loop {
            match self.upload(&upload).await {
                Ok(message) => return Ok(upload.attempt.receipt(message)),
                Err(fault) if upload.shown_as != ShownAs::Document && is_about_the_form(&fault) => {
                    upload.shown_as = ShownAs::Document;
                }
                Err(fault) => upload.attempt = upload.attempt.adapt(self, &fault)?,
            }
            self.pace.leave_again();
        }
    }

    async fn upload(&self, upload: &Upload<'_>) -> Result<MessageReceipt, BotApiError> {
        let (method, _) = upload.shown_as.method();
        let message = self.api.upload(method, upload.form()?).await?;
        Ok(MessageReceipt::read(&message))
    }
}

impl Upload<'_> {
    /// The parameters of a method for a file (Bot API).
    fn form(&self) -> Result<Form, BotApiError> {
        let Attempt { delivery, text: caption, entities, .. } = &self.attempt;
        let mut form = self.attempt.form()?;
        if !caption.text.is_empty() {
            form = form.text("caption", caption.text.clone());
            form = form.text("caption_entities", json(entities)?);
        }
        if !delivery.content.choices.is_empty() {
            form = form.text("reply_markup", json(&buttons(&delivery.content.choices))?);
        }
        let (_, parameter) = self.shown_as.method();
        Ok(form.part(parameter, file_part(self.file)))
    }
}

impl Attempt<'_> {
    /// The parameters that all methods for files have in common: the destination.
    pub(crate) fn form(&self) -> Result<Form, BotApiError> {
        let mut form = Form::new().text("chat_id", self.place.chat.to_string());
        if let Some(topic) = self.topic() {
            form = form.text("message_thread_id", topic.to_string());
        }
        if let Some(topic) = DirectTopic::from_chat(&self.delivery.address) {
            form = form.text("direct_messages_topic_id", topic.number().to_string());
        }
        if let Some(replied) = self.reply_to() {
            form = form.text("reply_parameters", json(&replied)?);
        }
        Ok(form)
    }
}

/// The bytes and the name of a file, as a part of a form.
pub(crate) fn file_part(file: &LoadedFile) -> Part {
    let bytes = Bytes::from_owner(file.bytes.clone());
    Part::stream(bytes).file_name(name(&file.name))
}

pub(crate) fn json(value: &impl Serialize) -> Result<String, BotApiError> {
    serde_json::to_string(value).map_err(|_| BotApiError::NotSent("it cannot be written"))
}

/// Returns `true` for a JPEG, PNG or WebP picture, by its kind and its first bytes.
fn is_photo(attachment: &Attachment, file: &LoadedFile) -> bool {
    let bytes = &file.bytes;
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    let is_picture =
        is_webp || bytes.starts_with(b"\xff\xd8\xff") || bytes.starts_with(b"\x89PNG\r\n\x1a\n");
    attachment.kind == AttachmentKind::Image && is_picture && bytes.len() <= MAX_PHOTO_BYTES
}

/// Returns `true` if a refusal is about the form of the file, rather than the message. People can
/// refuse voice messages.
fn is_about_the_form(fault: &BotApiError) -> bool {
    const PARTS: [&str; 7] =
        ["PHOTO_", "IMAGE_", "for a photo", "VOICE_", "VIDEO_", "AUDIO_", "wrong type of the"];
    PARTS.iter().any(|text| fault.contains(text))
}

/// A plain file name. If it is too long, its end is kept, which has the extension.
fn name(given: &str) -> String {
    let text = sanitise(given).text;
    let name = text.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain = |c: char| if c.is_control() || c == '"' { '_' } else { c };
    let name: String = name.trim().chars().map(plain).collect();
    let cut = name.chars().count().saturating_sub(MAX_NAME);
    match name.chars().skip(cut).collect::<String>() {
        name if name.is_empty() => "file".to_owned(),
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_removes_directories_and_unsafe_characters_and_limits_length() {
        let long = format!("{}.pdf", "x".repeat(200));
        let cut = format!("{}.pdf", "x".repeat(96));
        let cases = [
            ("report.pdf", "report.pdf"),
            ("Übersicht 2.pdf", "Übersicht 2.pdf"),
            ("out/report.pdf", "report.pdf"),
            ("a\"b\r\nX: y.txt", "a_b__X: y.txt"),
            ("evil\u{202e}fdp.exe", "evilfdp.exe"),
            (" ", "file"),
            (&long, &cut),
        ];
        for (given, expected) in cases {
            assert_eq!(name(given), expected, "{given:?}");
        }
    }
}
