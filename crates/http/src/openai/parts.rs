//! The parts of a message's content: text, pictures and other files, in the forms of both APIs.

use avocet_gateway::PublishedFile;
use avocet_protocol::AttachmentKind;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::error::OpenAiError;

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
    file_url: Option<Value>,
    file_id: Option<Value>,
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
    filename: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ApiAudio {
    data: String,
    #[serde(default)]
    format: String,
}

/// A file of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestFile {
    pub(crate) file: PublishedFile,
    pub(crate) bytes: Bytes,
}

/// A content that was read.
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
                let url = self.image_url.ok_or_else(|| missing("image_url"))?;
                let (ImageUrl::Url(url) | ImageUrl::Object { url }) = url;
                read_data_url(param, &url, None, AttachmentKind::Image)?
            }
            "file" | "input_file" => {
                let (data, name) = match self.file {
                    Some(ApiFile { file_data, filename }) => (file_data, filename),
                    None => (self.file_data, self.filename),
                };
                if data.is_none() && (self.file_url.is_some() || self.file_id.is_some()) {
                    return Err(OpenAiError::invalid(
                        param,
                        "files are taken as `file_data` only, not by an address or an id",
                    ));
                }
                let data = data.ok_or_else(|| missing("file_data"))?;
                read_data_url(param, &data, name, AttachmentKind::Document)?
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

/// Reads a `data:` URL (RFC 2397), or base64 alone.
fn read_data_url(
    param: &str,
    url: &str,
    name: Option<String>,
    kind: AttachmentKind,
) -> Result<RequestFile, OpenAiError> {
    let Some(data) = url.strip_prefix("data:") else {
        if url.contains("://") {
            let reason = "files at an address are not fetched; send the bytes as a `data:` URL";
            return Err(OpenAiError::invalid(param, reason));
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
    let kind = match &media_type {
        Some(media) if media.starts_with("image/") => AttachmentKind::Image,
        _ => kind,
    };
    let reference = uuid::Uuid::new_v4().simple().to_string();
    let length = Some(bytes.len() as u64);
    let file = PublishedFile { reference, kind, name, media_type, bytes: length };
    Ok(RequestFile { file, bytes: bytes.into() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
            {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,YQ=="}},
            {"type": "input_file", "filename": "b.pdf", "file_data": "YQ=="},
            {"type": "input_audio", "input_audio": {"data": "YQ==", "format": "wav"}},
            {"type": "output_text", "text": "b", "annotations": []},
        ]))
        .unwrap();
        assert_eq!(content.text, "a\nb");
        let files = content.files.iter().map(|RequestFile { file, bytes }| {
            (file.kind, file.name.as_deref(), file.media_type.as_deref(), &bytes[..])
        });
        let expected: [(_, Option<&str>, Option<&str>, &[u8]); 5] = [
            (AttachmentKind::Image, None, Some("image/png"), &[1, 2, 3]),
            (AttachmentKind::Image, None, Some("image/jpeg"), &[1, 2]),
            (AttachmentKind::Document, Some("a.txt"), Some("text/plain"), b"a"),
            (AttachmentKind::Document, Some("b.pdf"), None, b"a"),
            (AttachmentKind::Audio, None, Some("audio/wav"), b"a"),
        ];
        assert_eq!(files.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn api_content_read_names_what_it_does_not_take() {
        let table = [
            (json!({"type": "video_url"}), "a content of type \"video_url\" is not supported"),
            (json!({"type": "image_url"}), "needs `image_url`"),
            (
                json!({"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}),
                "not fetched",
            ),
            (
                json!({"type": "input_image", "image_url": "data:image/png,abc"}),
                "must be in base64",
            ),
            (
                json!({"type": "input_image", "image_url": "data:image/png;base64,???"}),
                "not base64",
            ),
            (json!({"type": "input_file", "file_id": "file-1"}), "as `file_data` only"),
        ];
        for (part, says) in table {
            let error = read(json!([part])).unwrap_err();
            assert!(error.starts_with("`messages`: ") && error.contains(says), "{error}");
        }
    }
}
