//! The parts of a message's content: text, pictures and other files, in the forms of both APIs.

use avocet_protocol::chat::AttachmentKind;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;

use super::error::OpenAiError;
use super::request_files::{FileSource, RequestFile};

/// The content of a message: a text, or parts.
#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
pub(crate) enum ApiContent {
    Text(String),
    Parts(Vec<ApiPart>),
    #[default]
    Nothing,
}

/// A part of a content. The keys of all types stand side by side.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ApiPart {
    #[serde(rename = "type", default)]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
    image_url: Option<ImageUrl>,
    file: Option<ApiFile>,
    input_audio: Option<ApiAudio>,
    file_data: Option<String>,
    filename: Option<String>,
    file_url: Option<String>,
    file_id: Option<String>,
}

/// An address, alone (Responses) or in an object (Chat Completions).
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ImageUrl {
    Url(String),
    Object { url: String },
}

#[derive(Debug, Deserialize)]
struct ApiFile {
    file_data: Option<String>,
    file_id: Option<String>,
    filename: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ApiAudio {
    data: String,
    #[serde(default)]
    format: String,
}

#[derive(Debug, Default)]
pub(crate) struct ReadContent {
    pub(crate) text: String,
    pub(crate) files: Vec<RequestFile>,
}

impl ApiContent {
    /// Reads the text and the files of a content. `param` is its place in the request.
    ///
    /// # Errors
    /// A part is of a type that is not supported, or its bytes cannot be read.
    pub(crate) fn read(self, param: &str) -> Result<ReadContent, OpenAiError> {
        let parts = match self {
            Self::Nothing => return Ok(ReadContent::default()),
            Self::Text(text) => return Ok(ReadContent { text, files: Vec::new() }),
            Self::Parts(parts) => parts,
        };
        let (mut texts, mut files) = (Vec::new(), Vec::new());
        for part in parts {
            match part.read(param)? {
                PartContent::Text(text) => texts.push(text),
                PartContent::File(file) => files.push(file),
            }
        }
        Ok(ReadContent { text: texts.join("\n"), files })
    }
}

enum PartContent {
    Text(String),
    File(RequestFile),
}

impl ApiPart {
    fn read(self, param: &str) -> Result<PartContent, OpenAiError> {
        let kind = self.kind.as_str();
        let missing = |key: &str| {
            OpenAiError::invalid(param, format!("a content of type {kind:?} needs `{key}`"))
        };
        let file = match kind {
            "text" | "input_text" | "output_text" => {
                return self.text.map(PartContent::Text).ok_or_else(|| missing("text"));
            }
            "refusal" => {
                return self.refusal.map(PartContent::Text).ok_or_else(|| missing("refusal"));
            }
            "image_url" | "input_image" => {
                let kind = AttachmentKind::Image;
                match self.image_url {
                    Some(ImageUrl::Url(url) | ImageUrl::Object { url }) => {
                        read_data_url(param, &url, None, kind)?
                    }
                    None => uploaded_file(param, self.file_id, None, kind)
                        .ok_or_else(|| missing("image_url` or `file_id"))?,
                }
            }
            "file" | "input_file" => {
                let kind = AttachmentKind::Document;
                let (data, id, name) = match self.file {
                    Some(ApiFile { file_data, file_id, filename }) => {
                        (file_data, file_id, filename)
                    }
                    None => (self.file_data, self.file_id, self.filename),
                };
                match data.or(self.file_url) {
                    Some(data) => read_data_url(param, &data, name, kind)?,
                    None => uploaded_file(param, id, name, kind)
                        .ok_or_else(|| missing("file_data`, `file_id` or `file_url"))?,
                }
            }
            "input_audio" => {
                let ApiAudio { data, format } =
                    self.input_audio.ok_or_else(|| missing("input_audio"))?;
                let media = format!("audio/{format}");
                request_file(param, &data, Some(media), None, AttachmentKind::Audio)?
            }
            kind => {
                let reason = format!("a content of type {kind:?} is not supported");
                return Err(OpenAiError::invalid(param, reason));
            }
        };
        Ok(PartContent::File(file))
    }
}

/// Reads a `data:` URL (RFC 2397), base64 alone, or an address.
fn read_data_url(
    param: &str,
    url: &str,
    name: Option<String>,
    kind: AttachmentKind,
) -> Result<RequestFile, OpenAiError> {
    let Some(data) = url.strip_prefix("data:") else {
        if url.contains("://") {
            let source = FileSource::Address(url.trim().to_owned());
            let media_type = None;
            return Ok(RequestFile { source, kind, name, media_type, param: param.to_owned() });
        }
        return request_file(param, url, None, name, kind);
    };
    let Some((head, data)) = data.split_once(',') else {
        return Err(OpenAiError::invalid(param, "the `data:` URL has no comma before its bytes"));
    };
    let Some(media) = head.strip_suffix(";base64") else {
        return Err(OpenAiError::invalid(param, "the `data:` URL must be in base64"));
    };
    let media = media.split(';').next().filter(|media| !media.is_empty());
    request_file(param, data, media.map(str::to_owned), name, kind)
}

fn request_file(
    param: &str,
    base64: &str,
    media_type: Option<String>,
    name: Option<String>,
    kind: AttachmentKind,
) -> Result<RequestFile, OpenAiError> {
    let bytes = BASE64.decode(base64.trim()).map_err(|error| {
        OpenAiError::invalid(param, format!("the bytes of a file are not base64: {error}"))
    })?;
    let source = FileSource::Bytes(bytes.into());
    Ok(RequestFile { source, kind, name, media_type, param: param.to_owned() })
}

/// Returns a file that the request names by its id.
fn uploaded_file(
    param: &str,
    id: Option<String>,
    name: Option<String>,
    kind: AttachmentKind,
) -> Option<RequestFile> {
    let source = FileSource::Uploaded(id?);
    Some(RequestFile { source, kind, name, media_type: None, param: param.to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(parts: Value) -> Result<ReadContent, String> {
        let content: ApiContent = serde_json::from_value(parts).unwrap();
        content.read("messages").map_err(|error| error.detail().to_owned())
    }

    #[test]
    fn api_content_read_takes_text_pictures_files_and_sound() {
        let content = read(json!([
            {"type": "text", "text": "a"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID", "detail": "low"}},
            {"type": "input_image", "image_url": "data:image/jpeg;base64,AQI="},
            {"type": "input_image", "file_id": "file-1", "detail": "auto"},
            {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,YQ=="}},
            {"type": "input_file", "filename": "b.pdf", "file_data": "YQ=="},
            {"type": "file", "file": {"file_id": "file-2"}},
            {"type": "input_file", "file_id": "file-3", "filename": "c.pdf"},
            {"type": "input_file", "file_url": "https://x.example/d.pdf"},
            {"type": "image_url", "image_url": {"url": "https://x.example/e.png"}},
            {"type": "input_audio", "input_audio": {"data": "YQ==", "format": "wav"}},
            {"type": "output_text", "text": "b", "annotations": []},
        ]))
        .unwrap();
        assert_eq!(content.text, "a\nb");
        let files = content.files.iter().map(|file| {
            (file.kind, file.name.as_deref(), file.media_type.as_deref(), file.source.clone())
        });
        let bytes = |bytes: &'static [u8]| FileSource::Bytes(bytes.into());
        let address = |url: &str| FileSource::Address(url.to_owned());
        let uploaded = |id: &str| FileSource::Uploaded(id.to_owned());
        let expected = [
            (AttachmentKind::Image, None, Some("image/png"), bytes(&[1, 2, 3])),
            (AttachmentKind::Image, None, Some("image/jpeg"), bytes(&[1, 2])),
            (AttachmentKind::Image, None, None, uploaded("file-1")),
            (AttachmentKind::Document, Some("a.txt"), Some("text/plain"), bytes(b"a")),
            (AttachmentKind::Document, Some("b.pdf"), None, bytes(b"a")),
            (AttachmentKind::Document, None, None, uploaded("file-2")),
            (AttachmentKind::Document, Some("c.pdf"), None, uploaded("file-3")),
            (AttachmentKind::Document, None, None, address("https://x.example/d.pdf")),
            (AttachmentKind::Image, None, None, address("https://x.example/e.png")),
            (AttachmentKind::Audio, None, Some("audio/wav"), bytes(b"a")),
        ];
        assert_eq!(files.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn api_content_read_names_what_it_does_not_take() {
        let table = [
            (json!({"type": "video_url"}), "a content of type \"video_url\" is not supported"),
            (json!({"type": "image_url"}), "needs `image_url`"),
            (
                json!({"type": "input_image", "image_url": "data:image/png,abc"}),
                "must be in base64",
            ),
            (
                json!({"type": "input_image", "image_url": "data:image/png;base64,???"}),
                "not base64",
            ),
            (json!({"type": "input_file"}), "needs `file_data`, `file_id` or `file_url`"),
        ];
        for (part, says) in table {
            let error = read(json!([part])).unwrap_err();
            assert!(error.starts_with("`messages`: ") && error.contains(says), "{error}");
        }
    }
}
