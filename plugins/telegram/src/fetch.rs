//! Downloads files that the platform keeps. The URL contains the token, so errors leave it out
//! (F15).

use avocet_protocol::FetchError;
use futures_util::StreamExt;
use serde::Deserialize;
use teloxide::net::Download;
use teloxide::payloads::GetFile;
use teloxide::types::FileId;

use crate::Telegram;
use crate::fault::{BotApiError, BotApiRefusal};

/// Bytes of the largest file that a bot can download (Bot API, "getFile").
const PLATFORM_LIMIT: u64 = 20 * 1024 * 1024;

/// The location of a file (Bot API, `File`).
#[derive(Deserialize)]
struct FileLocation {
    file_path: String,
    file_size: Option<u64>,
}

impl Telegram {
    /// Downloads a file of at most `limit` bytes, even if the platform reports a wrong size.
    pub(crate) async fn download(
        &self,
        reference: &str,
        limit: u64,
    ) -> Result<Vec<u8>, FetchError> {
        let asked = self.api.call(GetFile::new(FileId(reference.to_owned()))).await;
        let FileLocation { file_path, file_size } =
            asked.map_err(|fault| refusal(&fault, limit))?;
        let too_large = || FetchError::TooLarge { limit };
        if file_size.is_some_and(|size| size > limit) {
            return Err(too_large());
        }
        let mut pieces = self.api.bot().download_file_stream(&file_path);
        let mut bytes = Vec::new();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| match error.status() {
                // The path is valid for an hour; a retry gets a new one.
                Some(status) => FetchError::Failed(format!("the platform answered {status}")),
                None => FetchError::Failed(BotApiError::of(&error).to_string()),
            })?;
            if (bytes.len() + piece.len()) as u64 > limit {
                return Err(too_large());
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }
}

fn refusal(fault: &BotApiError, limit: u64) -> FetchError {
    if fault.contains("file is too big") {
        return FetchError::TooLarge { limit: limit.min(PLATFORM_LIMIT) };
    }
    let BotApiError::Refused(BotApiRefusal { description: Some(description), .. }) = fault else {
        return FetchError::Failed(fault.to_string());
    };
    match description.strip_prefix("Bad Request: ") {
        Some(why) => FetchError::Gone(why.to_owned()),
        None => FetchError::Failed(description.clone()),
    }
}
