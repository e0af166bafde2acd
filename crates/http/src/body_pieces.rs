//! Reads the body of an upload piece by piece. Each piece has to arrive in time.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::channel::UploadError;
use avocet_protocol::clock::{Clock, within};
use axum::body::{Body, BodyDataStream};
use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::StreamExt;

use crate::problem::Problem;

/// The time in which a client has to send the next piece of a file.
const PIECE_TIME: Duration = Duration::from_secs(30);
/// The most bytes that are read and dropped after an upload has become too large, because many
/// clients read the answer only after they have sent the file.
const DROPPED: usize = 256 * 1024 * 1024;

/// The rest of a body.
pub(crate) struct BodyPieces {
    pieces: BodyDataStream,
    clock: Arc<dyn Clock>,
}

impl BodyPieces {
    pub(crate) fn new(body: Body, clock: Arc<dyn Clock>) -> Self {
        Self { pieces: body.into_data_stream(), clock }
    }

    /// Reads the next piece; `None` at the end of the body.
    ///
    /// # Errors
    /// The connection broke, or nothing arrived in time.
    pub(crate) async fn next_piece(&mut self) -> Result<Option<Bytes>, Problem> {
        match within(self.clock.as_ref(), PIECE_TIME, self.pieces.next()).await {
            Ok(piece) => piece.transpose().map_err(|_| {
                Problem::bad_request(
                    "the file is incomplete: the connection broke; send the file again",
                )
            }),
            Err(_) => {
                let detail = format!(
                    "no bytes of the file arrived for {} seconds; send the file again",
                    PIECE_TIME.as_secs()
                );
                Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "urn:avocet:problem:slow", detail))
            }
        }
    }

    /// Reads the rest and drops it.
    pub(crate) async fn drop_rest(&mut self) {
        let mut dropped = 0;
        while dropped < DROPPED
            && let Ok(Some(piece)) = self.next_piece().await
        {
            dropped += piece.len();
        }
    }
}

impl From<UploadError> for Problem {
    fn from(error: UploadError) -> Self {
        let detail = error.to_string();
        match error {
            UploadError::TooLarge { .. } => Self::too_large(detail),
            UploadError::Full(_) => {
                let kind = "urn:avocet:problem:disk-full";
                Self::new(StatusCode::INSUFFICIENT_STORAGE, kind, detail)
            }
            UploadError::Failed(_) | UploadError::Unreadable(_) => Self::unavailable(detail),
        }
    }
}
