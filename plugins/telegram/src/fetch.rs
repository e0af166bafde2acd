//! The bytes of a file that the platform keeps. The address that they come from contains the token:
//! it is in no error (F15).

use avocet_protocol::FetchError;
use futures_util::StreamExt;
use teloxide::net::Download;
use teloxide::requests::{Request, Requester};
use teloxide::types::{File, FileId};
use teloxide::{ApiError, RequestError};

use crate::Telegram;
use crate::fault::fault;

/// Bytes of the largest file that the platform gives to a bot (Bot API, "getFile").
const PLATFORM_LIMIT: u64 = 20 * 1024 * 1024;

impl Telegram {
    /// The bytes of a file of at most `limit` bytes, whatever the platform says of its size.
    pub(crate) async fn download(
        &self,
        reference: &str,
        limit: u64,
    ) -> Result<Vec<u8>, FetchError> {
        let asked = self.client.get_file(FileId(reference.to_owned())).send().await;
        let File { meta, path } = asked.map_err(|error| refusal(&error, limit))?;
        let too_large = || FetchError::TooLarge { limit };
        // This is how the client writes that the platform does not say it.
        if meta.size != u32::MAX && u64::from(meta.size) > limit {
            return Err(too_large());
        }
        let mut pieces = self.client.download_file_stream(&path);
        let mut bytes = Vec::new();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| match error.status() {
                // The path is good for an hour; asking again gives another.
                Some(status) => FetchError::Failed(format!("the platform answered {status}")),
                None => FetchError::Failed(fault(&RequestError::Network(error.into()))),
            })?;
            if (bytes.len() + piece.len()) as u64 > limit {
                return Err(too_large());
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }
}

fn refusal(error: &RequestError, limit: u64) -> FetchError {
    let RequestError::Api(refusal) = error else { return FetchError::Failed(fault(error)) };
    let says = match refusal {
        ApiError::Unknown(says) => says.clone(),
        ApiError::InvalidToken => return FetchError::Failed(fault(error)),
        other => other.to_string(),
    };
    if says.contains("file is too big") {
        return FetchError::TooLarge { limit: limit.min(PLATFORM_LIMIT) };
    }
    match says.strip_prefix("Bad Request: ") {
        Some(why) => FetchError::Gone(why.to_owned()),
        None => FetchError::Failed(says),
    }
}
