//! A request of the daemon to a client.

use avocet_protocol::channel::{FetchError, SendError};
use avocet_protocol::chat::{LoadedFile, Receipt};
use tokio::sync::oneshot;

use crate::editor_answer::EditorAnswer;

/// A request that the client has not answered yet.
#[derive(Debug)]
pub(crate) enum ClientRequest {
    /// `deliver`.
    Chunk {
        receipt: oneshot::Sender<Result<Receipt, SendError>>,
        /// The files of the chunk, for `file.get`.
        files: Vec<LoadedFile>,
    },
    /// `file.read`.
    Piece(oneshot::Sender<Result<Vec<u8>, FetchError>>),
    /// `editor.read` or `editor.write`.
    Editor(EditorAnswer),
    /// `events`. Gets `true` for a result, `false` for an error.
    Events(oneshot::Sender<bool>),
}
