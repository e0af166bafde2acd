//! An outbound message.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::chat::{ChatAddress, Content};
use crate::clock::Timestamp;
use crate::ids::{DeliveryId, PlatformId, TurnId};

/// A message to a chat, before it is split into chunks for the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outbound {
    /// The destination.
    pub address: ChatAddress,
    /// Of any length.
    pub content: Content,
}

/// An outbound message that its channel has split into chunks, the future rows of the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The destination.
    pub address: ChatAddress,
    /// In order; each fits into one message of the platform. At least one.
    pub chunks: Vec<Content>,
}

/// One chunk on its way to the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The row of the outbox.
    pub id: DeliveryId,
    /// The idempotency key for platforms that take one. It is the same for every send of this row,
    /// and differs from all other rows, also those of other databases. At most 20 ASCII letters and
    /// digits.
    pub nonce: String,
    /// The turn that sent it; `None` for a message of another process.
    pub turn: Option<TurnId>,
    /// The destination.
    pub address: ChatAddress,
    /// Fits into one message of the platform.
    pub content: Content,
    /// `true` if it is sent again although it may have arrived before. The channel then marks it
    /// visibly.
    pub repeat: bool,
    /// The beginning of its first send; `None` before that.
    pub first_sent_at: Option<Timestamp>,
    /// The platform's message that already shows a part of it (a preview). That message is edited,
    /// and no new message is sent.
    pub shown_as: Option<PlatformId>,
    /// For a later chunk, the platform's message of the first chunk of the same message. A forum
    /// shows that message as a post, which takes the later chunks.
    pub first_chunk: Option<PlatformId>,
    /// The content of those attachments that are files of the workspace, in their order.
    pub files: Vec<LoadedFile>,
}

impl Delivery {
    /// Makes a chunk without a turn and without earlier sends.
    #[must_use]
    pub fn new(id: DeliveryId, address: ChatAddress, content: Content) -> Self {
        Self {
            id,
            nonce: id.to_string(),
            turn: None,
            address,
            content,
            repeat: false,
            first_sent_at: None,
            shown_as: None,
            first_chunk: None,
            files: Vec::new(),
        }
    }
}

/// A file, kept only until it is sent: its bytes are in no log.
#[derive(Clone, PartialEq, Eq)]
pub struct LoadedFile {
    /// Its name at the destination, without directories.
    pub name: String,
    /// All of its bytes.
    pub bytes: Arc<[u8]>,
}

/// Leaves out the bytes.
impl fmt::Debug for LoadedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {} bytes", self.name, self.bytes.len())
    }
}

/// Size in bytes of the largest file that is sent to a chat. The file is in memory during the send.
/// [`crate::channel::Channel::max_file_bytes`] can set a lower limit for a platform.
pub const MAX_SENT_FILE_BYTES: u64 = 50 * 1024 * 1024;

/// The platform's confirmation of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The platform's name for the message, if it gives one.
    pub platform_id: Option<PlatformId>,
}

/// The text that marks a chunk as sent again.
pub const REPEAT_MARK: &str = "(sent again; it may have arrived before)";
