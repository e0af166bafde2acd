//! The files of attached clients, piece by piece: those of a chunk that the client delivers, and those
//! that the client keeps.

use avocet_methods::{FilePiece, GetFile};
use avocet_protocol::channel::{FetchError, PieceRequest};
use avocet_text::plain_json;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::channel_program::cut_error;
use crate::client_request::ClientRequest;
use crate::connection::Connection;
use crate::methods::permitted_params;
use crate::wire::RpcError;

/// Bytes of a piece of a file. In base64, a piece fits into a line.
const PIECE: usize = 512 * 1024;

/// `file.read`: the daemon reads a piece of a file that the program keeps. The answer is a
/// [`FilePiece`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ReadFilePiece {
    /// The reference of the attachment.
    pub(crate) reference: String,
    /// The number of bytes before the piece.
    pub(crate) offset: u64,
    /// The most bytes of the piece.
    pub(crate) length: usize,
}

impl Connection {
    /// Asks the client for a piece of a file that it keeps.
    pub(crate) async fn read_piece(&self, PieceRequest { reference, offset, piece }: PieceRequest) {
        let id = format!("file-{}", uuid::Uuid::new_v4());
        let params = json!(ReadFilePiece { reference, offset, length: PIECE });
        self.request(id, "file.read", params, ClientRequest::Piece(piece)).await;
    }

    /// Answers `file.get`.
    pub(crate) async fn file_piece(
        &self,
        caller: &Caller,
        params: Value,
    ) -> Result<Value, RpcError> {
        let GetFile { delivery, file, offset } =
            permitted_params::<GetFile>(&self.parts, caller, params).await?;
        let open = self.open.lock();
        let found = match open.get(&delivery) {
            Some(ClientRequest::Chunk { files, .. }) => files.get(file),
            _ => None,
        };
        let found = found.ok_or_else(|| {
            let message = format!(
                "file.get: the delivery {delivery} is not open on this connection, or has no file \
                 {file}; read files before you answer the delivery"
            );
            RpcError::new(RpcError::NOT_FOUND, message)
        })?;
        let start = offset.min(found.bytes.len());
        let end = (start + PIECE).min(found.bytes.len());
        Ok(json!(FilePiece { data: BASE64.encode(&found.bytes[start..end]) }))
    }
}

/// The piece in a client's answer.
pub(crate) fn piece_of(result: Result<Value, RpcError>) -> Result<Vec<u8>, FetchError> {
    match result {
        Ok(result) => {
            let wrong =
                |error: String| FetchError::Failed(format!("cannot read the piece: {error}"));
            let piece: FilePiece =
                serde_json::from_value(result).map_err(|error| wrong(plain_json(&error)))?;
            BASE64.decode(piece.data).map_err(|error| wrong(error.to_string()))
        }
        Err(RpcError { code: RpcError::NOT_FOUND, message, .. }) => {
            Err(FetchError::Gone(cut_error(&message)))
        }
        Err(error) => Err(FetchError::Failed(cut_error(&error.message))),
    }
}
