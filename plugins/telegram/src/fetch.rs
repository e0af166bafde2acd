//! Downloads files that the platform keeps. The URL contains the token, so errors leave it out
//! (F15).

use avocet_protocol::channel::FetchError;
use futures_util::StreamExt;
use serde_json::Value;
use teloxide::net::Download;
use teloxide::payloads::GetFile;
use teloxide::types::FileId;

use crate::Telegram;
use crate::fault::{BotApiError, BotApiRefusal};

/// Bytes of the largest file that a bot can download (Bot API, "getFile").
const PLATFORM_LIMIT: u64 = 20 * 1024 * 1024;

impl Telegram {
    /// Downloads a file of at most `limit` bytes, even if the platform reports a wrong size.
    pub(crate) async fn download(
        &self,
        reference: &str,
        limit: u64,
    ) -> Result<Vec<u8>, FetchError> {
        let asked = self.api.call(GetFile::new(FileId(reference.to_owned()))).await;
        // The location of a file (Bot API, `File`).
        let file: Value = asked.map_err(|fault| refusal(&fault, limit))?;
        let too_large = || FetchError::TooLarge { limit };
        if file["file_size"].as_u64().is_some_and(|size| size > limit) {
            return Err(too_large());
        }
        let path = file["file_path"].as_str().ok_or_else(|| {
            FetchError::Failed("Telegram does not say where the file is".to_owned())
        })?;
        let mut pieces = self.api.bot().download_file_stream(path);
        let mut bytes = Vec::new();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| match error.status() {
                // The path is valid for an hour; a retry gets a new one.
                Some(status) => FetchError::Failed(format!("the platform answered {status}")),
                None => FetchError::Failed(BotApiError::from_reqwest(&error).to_string()),
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
