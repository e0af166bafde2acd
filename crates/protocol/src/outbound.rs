//! A message on its way out.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{ChatAddress, Content, DeliveryId, PlatformId, Timestamp, TurnId};

/// Something to be said in a chat, not yet cut into what the platform takes at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outbound {
    /// Where to say it.
    pub address: ChatAddress,
    /// What to say.
    pub content: Content,
}

/// An outbound message after its channel cut it: what becomes rows of the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Where to say it.
    pub address: ChatAddress,
    /// In order; each fits into one message of the platform. Not empty.
    pub chunks: Vec<Content>,
}

/// One chunk on its way to the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The row of the outbox.
    pub id: DeliveryId,
    /// The idempotency key for platforms that take one: the same for every send of this row, another
    /// for every other row, also of another database. At most 20 ASCII letters and digits.
    pub nonce: String,
    /// The turn that said it; `None` for what another process sent.
    pub turn: Option<TurnId>,
    /// Where it goes.
    pub address: ChatAddress,
    /// What it says.
    pub content: Content,
    /// Sent again although it may have arrived before: the channel marks it visibly.
    pub repeat: bool,
    /// When a send of it was first begun; none if it never was.
    pub first_sent_at: Option<Timestamp>,
    /// The message of the platform that shows a part of it already (a preview): it is edited, and
    /// nothing new is sent.
    pub shown_as: Option<PlatformId>,
    /// What is in the attachments of the content that are files of the workspace, in their order.
    pub files: Vec<LoadedFile>,
}

impl Delivery {
    /// A chunk that belongs to no turn and was never sent.
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
            files: Vec::new(),
        }
    }
}

/// A file, for as long as it takes to send it: its bytes are in no log.
#[derive(Clone, PartialEq, Eq)]
pub struct LoadedFile {
    /// How it is called where it goes; no path.
    pub name: String,
    /// All of it.
    pub bytes: Arc<[u8]>,
}

/// Without the bytes.
impl fmt::Debug for LoadedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {} bytes", self.name, self.bytes.len())
    }
}

/// Bytes of the largest file that is sent to a chat, whatever the platform takes: its bytes are in
/// memory while it is sent. A lower limit of a platform is [`crate::Channel::max_file_bytes`].
pub const MAX_SENT_FILE_BYTES: u64 = 50 * 1024 * 1024;

/// The platform accepted a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The platform's name for it, if it gives one.
    pub platform_id: Option<PlatformId>,
}

/// The words that mark a chunk as sent again.
pub const REPEAT_MARK: &str = "(sent again; it may have arrived before)";
