//! The port of a channel whose clients come and go: terminals, other processes.

use std::fmt;

use tokio::sync::oneshot;

use crate::channel::{FetchError, Health, SendError};
use crate::chat::{ChatAddress, Delivery, Receipt};

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

/// A channel whose platform is a program: on the socket, or as a child of the daemon. The program
/// reports the messages of people, and delivers to them.
pub trait AttachPlatform: fmt::Debug + Send + Sync {
    /// Delivers the chunks of all chats to a new client, until the client drops its end. A chat
    /// with its own client keeps that one.
    fn attach_all(&self) -> flume::Receiver<ForClient>;

    /// Sets the characters of the longest message that the platform takes.
    ///
    /// # Errors
    /// The reason why the number is unusable.
    fn set_max_text(&self, chars: usize) -> Result<(), String>;

    /// Sets the state of the platform, as the program reports it. It counts until the next program
    /// attaches.
    fn report(&self, health: Health);

    /// Sets the reason why no program is attached. It counts whenever none is.
    fn explain_absence(&self, why: &str);
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

/// A file of a message that an attached client keeps until the file is fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFile {
    /// The chat of the message.
    pub chat: ChatAddress,
    /// The client's own name of the file.
    pub name: String,
}

impl ClientFile {
    /// Parses a reference of an attachment; `None` if it is of another kind.
    #[must_use]
    pub fn parse(reference: &str) -> Option<Self> {
        // The address of a chat has no line break.
        let (chat, name) = reference.split_once('\n')?;
        Some(Self { chat: chat.parse().ok()?, name: name.to_owned() })
    }

    /// The reference of the attachment ([`crate::chat::AttachmentSource::Platform`]).
    #[must_use]
    pub fn to_reference(&self) -> String {
        format!("{}\n{}", self.chat, self.name)
    }

    /// Reads the file piece by piece from the first of these clients that has it.
    ///
    /// # Errors
    /// [`FetchError`] if the file is larger than `limit` bytes, or no client has it at present.
    pub async fn read(
        &self,
        clients: impl IntoIterator<Item = flume::Sender<ForClient>>,
        limit: u64,
    ) -> Result<Vec<u8>, FetchError> {
        let mut failed = FetchError::Failed("no client with the file is attached".to_owned());
        for client in clients {
            match self.read_from(&client, limit).await {
                Err(error @ (FetchError::Gone(_) | FetchError::Failed(_))) => failed = error,
                done => return done,
            }
        }
        Err(failed)
    }

    async fn read_from(
        &self,
        client: &flume::Sender<ForClient>,
        limit: u64,
    ) -> Result<Vec<u8>, FetchError> {
        let left = || FetchError::Failed("the client disconnected".to_owned());
        let mut bytes = Vec::new();
        loop {
            let (piece, received) = oneshot::channel();
            let (reference, offset) = (self.name.clone(), bytes.len() as u64);
            let request = ForClient::Piece(PieceRequest { reference, offset, piece });
            client.send_async(request).await.map_err(|_| left())?;
            let piece = received.await.map_err(|_| left())??;
            if piece.is_empty() {
                return Ok(bytes);
            }
            bytes.extend(piece);
            if bytes.len() as u64 > limit {
                return Err(FetchError::TooLarge { limit });
            }
        }
    }
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
    /// The client reports the outcome here. If the sender is dropped unused, the outcome is
    /// unknown.
    pub receipt: oneshot::Sender<Result<Receipt, SendError>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> ClientFile {
        ClientFile { chat: "terminal:local:me".parse().unwrap(), name: "a b\nc".to_owned() }
    }

    #[test]
    fn client_file_parse_reads_back_its_reference_and_no_other() {
        assert_eq!(ClientFile::parse(&file().to_reference()), Some(file()));
        for other in ["", "AgACAgIAAxkBAAI", "no-chat\nf1", "terminal:local:me f1"] {
            assert_eq!(ClientFile::parse(other), None, "{other}");
        }
    }

    /// Answers each request with at most three bytes of a file, or with the error.
    async fn serve(client: flume::Receiver<ForClient>, file: Result<&[u8], FetchError>) {
        while let Ok(ForClient::Piece(request)) = client.recv_async().await {
            assert_eq!(request.reference, "a b\nc");
            let start = usize::try_from(request.offset).unwrap();
            let piece = file.clone().map(|bytes| bytes[start..].iter().copied().take(3).collect());
            drop(request.piece.send(piece));
        }
    }

    #[tokio::test]
    async fn client_file_read_asks_each_client_until_one_has_the_file() {
        let gone = || FetchError::Gone("no such file".to_owned());
        let no_client = FetchError::Failed("no client with the file is attached".to_owned());
        assert_eq!(file().read([], 9).await, Err(no_client));
        let (eight, other) = (|| Ok(&b"01234567"[..]), || Ok(&b"other"[..]));
        for (first, second, limit, expected) in [
            (eight(), other(), 8, Ok(b"01234567".to_vec())),
            (eight(), other(), 7, Err(FetchError::TooLarge { limit: 7 })),
            (Err(gone()), other(), 7, Ok(b"other".to_vec())),
            (Err(gone()), Err(gone()), 7, Err(gone())),
            (Ok(&b""[..]), other(), 7, Ok(Vec::new())),
        ] {
            let ((one, of_one), (two, of_two)) = (flume::bounded(1), flume::bounded(1));
            let (of_one, of_two) = (serve(of_one, first), serve(of_two, second));
            let file = file();
            let (read, (), ()) = tokio::join!(file.read([one, two], limit), of_one, of_two);
            assert_eq!(read, expected);
        }
    }
}
