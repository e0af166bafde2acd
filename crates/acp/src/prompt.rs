//! The content of a prompt, as a text for the agent with files.

use std::path::PathBuf;

use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};
use avocet_gateway::{PublishedFile, UntrustedPart};
use avocet_protocol::chat::AttachmentKind;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::place::SessionPlace;

/// Size in bytes of the longest text inside a message; a longer text becomes a file.
const MAX_INLINE: usize = 64 * 1024;
/// Bytes of the text of a message. As JSON it fits into a line of the socket.
const MAX_TEXT: usize = 384 * 1024;

/// A prompt of the editor.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PromptContent {
    pub(crate) text: String,
    /// Embedded texts. The person has not written them.
    pub(crate) untrusted: Vec<UntrustedPart>,
    pub(crate) files: Vec<PromptFile>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PromptFile {
    pub(crate) published: PublishedFile,
    pub(crate) bytes: Vec<u8>,
}

impl PromptContent {
    /// Reads the content of a prompt.
    ///
    /// # Errors
    /// A text for the person, if a part is unusable or nothing is left.
    pub(crate) fn read(blocks: Vec<ContentBlock>, place: &SessionPlace) -> Result<Self, String> {
        let mut reading = PromptReader { place, content: Self::default() };
        for block in blocks {
            reading.add(block)?;
        }
        let content = reading.content;
        if content.text.trim().is_empty() && content.files.is_empty() {
            return Err("the prompt is empty".to_owned());
        }
        let embedded = content.untrusted.iter().map(|part| part.text.len());
        let length = content.text.len() + embedded.sum::<usize>();
        if length > MAX_TEXT {
            return Err(format!(
                "the text of the prompt is {length} bytes long; at most {MAX_TEXT} are possible: \
                 save it as a file, and name the file"
            ));
        }
        Ok(content)
    }
}

struct PromptReader<'a> {
    place: &'a SessionPlace,
    content: PromptContent,
}

impl PromptReader<'_> {
    fn add(&mut self, block: ContentBlock) -> Result<(), String> {
        match block {
            ContentBlock::Text(text) => self.content.text.push_str(&text.text),
            ContentBlock::ResourceLink(link) => self.refer(&link.uri),
            ContentBlock::Image(image) => {
                let name = image.uri.as_deref().and_then(last_part);
                self.decode(AttachmentKind::Image, name, Some(image.mime_type), &image.data)?;
            }
            ContentBlock::Audio(audio) => {
                self.decode(AttachmentKind::Audio, None, Some(audio.mime_type), &audio.data)?;
            }
            ContentBlock::Resource(embedded) => match embedded.resource {
                EmbeddedResourceResource::TextResourceContents(text) => {
                    self.refer(&text.uri);
                    self.embed(&text.uri, text.mime_type, text.text);
                }
                EmbeddedResourceResource::BlobResourceContents(blob) => {
                    self.refer(&blob.uri);
                    let name = last_part(&blob.uri);
                    self.decode(AttachmentKind::Document, name, blob.mime_type, &blob.blob)?;
                }
                other => return Err(unknown(&other)),
            },
            other => return Err(unknown(&other)),
        }
        Ok(())
    }

    /// Names a resource in the text.
    fn refer(&mut self, uri: &str) {
        let name = self.name_of(uri);
        self.content.text.push_str(&format!("`{name}`"));
    }

    fn name_of(&self, uri: &str) -> String {
        match file_path(uri) {
            Some(path) => self.place.for_tools(&path),
            None => uri.to_owned(),
        }
    }

    fn embed(&mut self, uri: &str, media_type: Option<String>, text: String) {
        if text.len() > MAX_INLINE {
            self.attach(AttachmentKind::Document, last_part(uri), media_type, text.into_bytes());
            return;
        }
        let from = Some(format!("the content of `{}`", self.name_of(uri)));
        self.content.untrusted.push(UntrustedPart { from, text });
    }

    fn decode(
        &mut self,
        kind: AttachmentKind,
        name: Option<String>,
        media_type: Option<String>,
        data: &str,
    ) -> Result<(), String> {
        let bytes = BASE64.decode(data);
        let bytes =
            bytes.map_err(|error| format!("a file of the prompt is not base64: {error}"))?;
        self.attach(kind, name, media_type, bytes);
        Ok(())
    }

    fn attach(
        &mut self,
        kind: AttachmentKind,
        name: Option<String>,
        media_type: Option<String>,
        bytes: Vec<u8>,
    ) {
        let reference = uuid::Uuid::new_v4().to_string();
        let length = Some(bytes.len() as u64);
        let published = PublishedFile { reference, kind, name, media_type, bytes: length };
        self.content.files.push(PromptFile { published, bytes });
    }
}

fn unknown(part: &impl std::fmt::Debug) -> String {
    let part = format!("{part:?}");
    let kind = part.split(['(', ' ']).next().unwrap_or_default();
    format!("a part of the prompt has the unknown kind {kind}")
}

/// A fence that is longer than every fence in the text.
pub(crate) fn fence_for(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// The path of a `file:` URI (RFC 8089), or of a bare absolute path.
fn file_path(uri: &str) -> Option<PathBuf> {
    if uri.starts_with('/') {
        return Some(PathBuf::from(uri));
    }
    let path = uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let path = path.split(['?', '#']).next().unwrap_or(path);
    path.starts_with('/').then(|| PathBuf::from(unescape(path)))
}

/// Decodes percent encoding (RFC 3986, section 2.1).
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let digits = (*first == b'%').then(|| behind.get(..2)).flatten();
        let byte = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = byte.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The name of the file that a URI names.
fn last_part(uri: &str) -> Option<String> {
    let path = uri.split(['?', '#']).next()?;
    let name = unescape(path.rsplit('/').next()?);
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
