//! Files of the platform: their identifiers, `getFile`, and the download.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::Timestamp;
use serde_json::{Value, json};

use super::images;
use super::wire::ApiError;
use crate::http::{Piece, whole_bytes};

/// Maximum size in bytes of a file that a bot may download (getFile, Bot API).
pub const DOWNLOAD_LIMIT: u64 = 20 * 1024 * 1024;

/// Lifetime of a path from `getFile` (Bot API: at least an hour).
pub const FILE_PATH_KEPT: Duration = Duration::from_hours(1);

const HEADERS: &[(&str, &str)] = &[("content-type", "application/octet-stream")];

#[derive(Debug)]
struct File {
    /// The size that the platform reports, right or wrong. `None` if it reports none.
    size: Option<u64>,
    bytes: Arc<[u8]>,
}

impl File {
    fn is_too_big(&self) -> bool {
        self.size.is_some_and(|size| size > DOWNLOAD_LIMIT)
    }
}

/// All files that the bot can refer to.
#[derive(Debug, Default)]
pub(super) struct BotFiles {
    files: BTreeMap<String, File>,
    /// Paths from `getFile`, with the ends of their lifetimes.
    paths: BTreeMap<String, Timestamp>,
    cut: bool,
}

impl BotFiles {
    /// Adds a file. `size` is the size that the platform reports.
    pub(super) fn add(&mut self, id: &str, size: Option<u64>, bytes: &[u8]) {
        self.files.insert(id.to_owned(), File { size, bytes: bytes.into() });
    }

    /// Adds an uploaded file of the bot, and returns its identifier.
    pub(super) fn upload(&mut self, bytes: &[u8], kind: &str) -> Result<String, ApiError> {
        check_upload(bytes.len(), kind == "photo")?;
        match kind {
            "photo" => images::check(bytes)?,
            "voice" if !bytes.starts_with(b"OggS") => {
                return Err(ApiError::bad_request("VOICE_FILE_INVALID"));
            }
            "video" if bytes.get(4..8) != Some(b"ftyp") => {
                return Err(ApiError::bad_request("VIDEO_FILE_INVALID"));
            }
            _ => {}
        }
        let id = format!("upload-{}", self.files.len() + 1);
        self.add(&id, u64::try_from(bytes.len()).ok(), bytes);
        Ok(id)
    }

    /// Cuts downloads after half of the body from now on, or stops doing so.
    pub(super) fn cut(&mut self, cut: bool) {
        self.cut = cut;
    }

    pub(super) fn is_known(&self, id: &str) -> bool {
        self.files.contains_key(id)
    }

    /// Answers `getFile`.
    pub(super) fn get(&mut self, id: &str, now: Timestamp) -> Result<Value, ApiError> {
        if id.is_empty() {
            return Err(ApiError::bad_request("file_id not specified"));
        }
        let file = self.files.get(id).ok_or_else(|| {
            ApiError::bad_request("wrong file_id or the file is temporarily unavailable")
        })?;
        if file.is_too_big() {
            return Err(ApiError::bad_request("file is too big"));
        }
        let (path, size) = (format!("files/{id}"), file.size);
        let mut found =
            json!({ "file_id": id, "file_unique_id": format!("u{id}"), "file_path": path });
        self.paths.insert(path, now.after(FILE_PATH_KEPT));
        if let Some(size) = size {
            found["file_size"] = json!(size);
        }
        Ok(found)
    }

    /// Returns the file below `/file/bot<TOKEN>/` during the lifetime of the path.
    pub(super) fn download(&self, path: &str, now: Timestamp) -> Result<Arc<[u8]>, ApiError> {
        if self.paths.get(path).is_none_or(|until| *until <= now) {
            return Err(ApiError::new(404, "Not Found"));
        }
        let found = path.strip_prefix("files/").and_then(|id| self.files.get(id));
        let file = found.filter(|file| !file.is_too_big());
        Ok(file.ok_or_else(|| ApiError::new(404, "Not Found"))?.bytes.clone())
    }

    pub(super) fn pieces(&self, bytes: &[u8]) -> Vec<Piece> {
        if self.cut {
            let mut pieces = whole_bytes(200, HEADERS, &bytes[..bytes.len() / 2]);
            pieces.pop();
            return pieces.into_iter().chain([Piece::Close]).collect();
        }
        whole_bytes(200, HEADERS, bytes)
    }
}

/// Checks the size: 10 MB for a photo, 50 MB for other files (sending files, Bot API).
fn check_upload(bytes: usize, is_photo: bool) -> Result<(), ApiError> {
    const MEGABYTE: usize = 1024 * 1024;
    if bytes == 0 {
        return Err(ApiError::bad_request("file must be non-empty"));
    }
    if is_photo && bytes > 10 * MEGABYTE {
        let why = format!("too big for a photo: {bytes} bytes");
        return Err(ApiError::bad_request(why));
    }
    if bytes > 50 * MEGABYTE {
        return Err(ApiError::new(413, "Request Entity Too Large"));
    }
    Ok(())
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
