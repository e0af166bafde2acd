//! Files on their way to the platform: each is a message of its own, shown as a photo where it is
//! one, and the text goes below it or before it.

use avocet_channel_kit::Styled;
use avocet_channel_kit::telegram::{MAX_CAPTION, size};
use avocet_protocol::{
    Attachment, AttachmentKind, Content, Delivery, LoadedFile, REPEAT_MARK, Receipt, SendError,
    sanitise,
};
use bytes::Bytes;
use teloxide::payloads::{SendDocumentSetters, SendPhotoSetters};
use teloxide::requests::{Request, Requester};
use teloxide::types::{InputFile, MessageEntity, MessageId};
use teloxide::{ApiError, RequestError};

use crate::Telegram;
use crate::moved::Place;
use crate::send;

/// Bytes of a photo (Bot API, `sendPhoto`).
const MAX_PHOTO_BYTES: usize = 10 * 1024 * 1024;
/// Characters of a file's name.
const MAX_NAME: usize = 100;

/// Cuts a reply with files. One file has the text below it, if it fits; otherwise the text goes
/// first. The buttons go with the last message.
pub(crate) fn plan(reply: &Content, numbered: bool) -> Vec<Content> {
    let text = Content { attachments: Vec::new(), choices: Vec::new(), ..reply.clone() };
    let mut chunks = if text.is_empty() { Vec::new() } else { send::plan(&text, numbered) };
    match (&chunks[..], &reply.attachments[..]) {
        ([caption], [file]) if fits_below(caption) => {
            chunks = vec![Content { attachments: vec![file.clone()], ..caption.clone() }];
        }
        (_, files) => chunks.extend(files.iter().map(alone)),
    }
    if let Some(last) = chunks.last_mut() {
        last.choices.clone_from(&reply.choices);
    }
    chunks
}

fn alone(file: &Attachment) -> Content {
    let attachments = vec![file.clone()];
    Content { styles: Some(Vec::new()), attachments, ..Content::default() }
}

/// Also where it is sent again and marked.
fn fits_below(caption: &Content) -> bool {
    size(&send::styled(caption)).saturating_add(REPEAT_MARK.len() + 1) <= MAX_CAPTION
}

/// A file on its way, and how it is tried.
struct Upload<'a> {
    delivery: &'a Delivery,
    file: &'a LoadedFile,
    caption: Styled,
    place: Place,
    looks: Vec<MessageEntity>,
    as_photo: bool,
}

impl Telegram {
    /// Sends a file to its chat. A photo that the platform refuses goes once more, as a document.
    pub(crate) async fn send_file(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        let ([attachment], [file]) = (&delivery.content.attachments[..], &delivery.files[..])
        else {
            let why = "a message of Telegram has one file, and that is one of the workspace";
            return Err(SendError::Refused(why.to_owned()));
        };
        let caption = send::marked(send::styled(&delivery.content), delivery.repeat);
        let mut upload = Upload {
            delivery,
            file,
            place: self.place(&delivery.address)?,
            looks: send::looks(&caption)?,
            caption,
            as_photo: is_photo(attachment, file),
        };
        loop {
            match self.upload(&upload).await {
                Ok(message) => return Ok(send::receipt(upload.place, message)),
                Err(RequestError::MigrateToChatId(new)) if new != upload.place.chat => {
                    upload.place = Place::moved_to(new);
                }
                Err(error) if send::is_about_looks(&error) && !upload.looks.is_empty() => {
                    upload.looks.clear();
                }
                Err(error) if upload.as_photo && is_about_the_picture(&error) => {
                    upload.as_photo = false;
                }
                Err(error) => return Err(send::outcome(&error)),
            }
        }
    }

    async fn upload(&self, upload: &Upload<'_>) -> Result<MessageId, RequestError> {
        let Upload { delivery, place, caption, looks, .. } = upload;
        let file = InputFile::memory(Bytes::from_owner(upload.file.bytes.clone()));
        let file = file.file_name(name(&upload.file.name));
        // The same for both, which have no type in common.
        macro_rules! send {
            ($method:ident) => {{
                let mut request = self.uploads.$method(place.chat, file);
                if !caption.text.is_empty() {
                    request = request.caption(&caption.text).caption_entities(looks.clone());
                }
                if let Some(topic) = send::topic(&delivery.address) {
                    request = request.message_thread_id(topic);
                }
                if let Some(replied) = send::reply_to(&delivery.content, *place) {
                    request = request.reply_parameters(replied);
                }
                if !delivery.content.choices.is_empty() {
                    request = request.reply_markup(send::buttons(&delivery.content.choices));
                }
                request.send().await
            }};
        }
        let sent = if upload.as_photo { send!(send_photo) } else { send!(send_document) };
        Ok(sent?.id)
    }
}

/// A picture by its name and by its first bytes: JPEG, PNG or WebP.
fn is_photo(attachment: &Attachment, file: &LoadedFile) -> bool {
    let bytes = &file.bytes;
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    let is_picture =
        is_webp || bytes.starts_with(b"\xff\xd8\xff") || bytes.starts_with(b"\x89PNG\r\n\x1a\n");
    attachment.kind == AttachmentKind::Image && is_picture && bytes.len() <= MAX_PHOTO_BYTES
}

/// Whether a refusal is about how the picture is shown, not about the message.
fn is_about_the_picture(error: &RequestError) -> bool {
    match error {
        RequestError::Api(ApiError::ImageProcessFailed) => true,
        RequestError::Api(ApiError::Unknown(text)) => {
            text.contains("PHOTO_") || text.contains("IMAGE_") || text.contains("for a photo")
        }
        _ => false,
    }
}

/// A name that is nothing but a name: its end, which says what it is, if it is too long.
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
    fn a_name_is_nothing_but_a_name() {
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
