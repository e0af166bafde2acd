//! The port of a channel whose clients come and go: terminals, other processes.

use std::fmt;

use tokio::sync::oneshot;

use crate::{ChatAddress, Delivery, FetchError, Receipt, SendError};

/// A channel that clients attach to.
pub trait Attach: fmt::Debug + Send + Sync {
    /// Delivers the chunks of the chat to a new client, in order, until the client drops its end.
    fn attach(&self, chat: &ChatAddress) -> flume::Receiver<ForClient>;

    /// The part of the channel for programs that are its platform; `None` if its clients speak for
    /// themselves only.
    fn platform(&self) -> Option<&dyn AttachPlatform> {
        None
    }
}

/// A channel whose platform is a program on the socket. The program reports the messages of people,
/// and delivers to them.
pub trait AttachPlatform: fmt::Debug + Send + Sync {
    /// Delivers the chunks of all chats to a new client, until the client drops its end. A chat with
    /// a client of its own keeps that one.
    fn attach_all(&self) -> flume::Receiver<ForClient>;

    /// Sets the characters of the longest message that the platform takes.
    ///
    /// # Errors
    /// The reason why the number is unusable.
    fn set_max_text(&self, chars: usize) -> Result<(), String>;
}

/// An item for an attached client.
#[derive(Debug)]
pub enum ForClient {
    /// A chunk to deliver.
    Chunk(Box<Handover>),
    /// The agent works on an answer for this chat.
    Typing(ChatAddress),
    /// A piece of a file that the client keeps.
    Piece(PieceRequest),
}

/// A request for a piece of a file. The client keeps the file under the reference that it gave in a
/// message.
#[derive(Debug)]
pub struct PieceRequest {
    /// The reference of the attachment.
    pub reference: String,
    /// The number of bytes before the piece.
    pub offset: u64,
    /// The client's bytes go here; none means the end of the file.
    pub piece: oneshot::Sender<Result<Vec<u8>, FetchError>>,
}

/// A chunk that is handed to a client.
#[derive(Debug)]
pub struct Handover {
    /// The chunk.
    pub delivery: Delivery,
    /// The client reports the outcome here. If the sender is dropped unused, the outcome is unknown.
    pub receipt: oneshot::Sender<Result<Receipt, SendError>>,
}
