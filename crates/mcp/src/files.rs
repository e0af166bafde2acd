//! Keeps the pictures and recordings of a result in the workspace, where the model can see them.

use avocet_protocol::access::{LeastTrust, Trust};
use avocet_protocol::ids::CallId;
use avocet_protocol::model::Image;
use avocet_protocol::tool::{Files, Workspaces};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{ContentBlock, ResourceContents};

/// The most files of a result that are kept.
const MOST_FILES: usize = 4;
/// Bytes of the largest file that is kept.
const LARGEST: usize = 5 * 1024 * 1024;

/// The place for the files of one call.
pub(crate) struct ResultFiles<'a> {
    pub(crate) workspaces: &'a dyn Workspaces,
    pub(crate) call: CallId,
    /// The least trust of everything that the call has read.
    pub(crate) read: &'a LeastTrust,
}

impl ResultFiles<'_> {
    /// Writes the pictures and recordings of a result into the workspace. Returns the path of each
    /// block that is kept.
    pub(crate) async fn keep_files(&self, content: &[ContentBlock]) -> Vec<Option<String>> {
        let mut paths: Vec<Option<String>> = vec![None; content.len()];
        let known = content.iter().map(data_of).enumerate();
        let known = known.filter_map(|(place, data)| Some((place, decode_file(data?)?)));
        let known: Vec<(usize, DecodedFile)> = known.take(MOST_FILES).collect();
        if known.is_empty() {
            return paths;
        }
        let files = match self.workspaces.find_workspace(Some(self.call.turn)).await {
            Ok(files) => files,
            Err(error) => {
                tracing::debug!(%error, "the files of a result are not kept");
                return paths;
            }
        };
        for (place, file) in known {
            paths[place] = self.write(files.as_ref(), place, file).await;
        }
        paths
    }

    async fn write(&self, files: &dyn Files, place: usize, file: DecodedFile) -> Option<String> {
        let path = format!("{}{place}.{}", self.call.files_prefix(), file.ending);
        match files.write(&path, file.bytes, Trust::Low).await {
            Ok(()) => {
                // The bytes do not tell what a picture says.
                self.read.lower_to(Trust::Low);
                Some(path)
            }
            Err(error) => {
                tracing::debug!(%error, "a file of a result is not kept");
                None
            }
        }
    }
}

/// A file whose kind is known.
struct DecodedFile {
    bytes: Vec<u8>,
    ending: &'static str,
}

/// Returns the Base64 text of a block with bytes, and its media type.
fn data_of(block: &ContentBlock) -> Option<(&str, &str)> {
    match block {
        ContentBlock::Image(image) => Some((&image.data, &image.mime_type)),
        ContentBlock::Audio(audio) => Some((&audio.data, &audio.mime_type)),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::BlobResourceContents { blob, mime_type, .. } => {
                Some((blob, mime_type.as_deref()?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns a picture in a format of models, or a recording; `None` for other and for large data.
fn decode_file((data, media_type): (&str, &str)) -> Option<DecodedFile> {
    if data.len() / 4 * 3 > LARGEST {
        return None;
    }
    let bytes = STANDARD.decode(data).ok()?;
    let ending = match (Image::media_type_of(&bytes), media_type) {
        (Some("image/jpeg"), _) => "jpg",
        (Some("image/png"), _) => "png",
        (Some("image/gif"), _) => "gif",
        (Some(_), _) => "webp",
        (None, "audio/wav" | "audio/x-wav") => "wav",
        (None, "audio/mpeg" | "audio/mp3") => "mp3",
        (None, "audio/ogg") => "ogg",
        (None, _) => return None,
    };
    Some(DecodedFile { bytes, ending })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use avocet_protocol::ids::TurnId;
    use avocet_testkit::{FakeFiles, OneWorkspace};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn keep_writes_pictures_and_recordings_of_known_kinds() {
        let files = Arc::new(FakeFiles::default());
        let workspaces = OneWorkspace(files.clone());
        let (read, call) = (LeastTrust::default(), CallId { turn: TurnId(5), step: 1, ordinal: 0 });
        let png = STANDARD.encode(b"\x89PNG\r\n\x1a\n rest");
        let large = STANDARD.encode([b"GIF8".as_slice(), &vec![0; LARGEST]].concat());
        let content = json!([
            {"type": "text", "text": "here"},
            {"type": "image", "data": png, "mimeType": "image/x-other"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "image", "data": "AAAA", "mimeType": "image/svg+xml"},
            {"type": "image", "data": large, "mimeType": "image/gif"},
            {"type": "resource", "resource": {"uri": "a://b", "blob": png, "mimeType": "image/png"}},
        ]);
        let content: Vec<ContentBlock> = serde_json::from_value(content).unwrap();
        let place = ResultFiles { workspaces: &workspaces, call, read: &read };
        let paths = place.keep_files(&content).await;
        let kept = |path: &str| Some(path.to_owned());
        let expected = [
            None,
            kept("inbox/t5s1c0-1.png"),
            kept("inbox/t5s1c0-2.wav"),
            None,
            None,
            kept("inbox/t5s1c0-5.png"),
        ];
        assert_eq!(paths, expected);
        assert_eq!(files.read("inbox/t5s1c0-2.wav", 9).await, Ok(vec![0, 0, 0]));
        assert_eq!(read.get(), Trust::Low);
        let many = vec![content[1].clone(); 9];
        assert_eq!(place.keep_files(&many).await.iter().flatten().count(), MOST_FILES);
    }
}
