//! A message on its way out.

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
    /// The turn that said it; none for what another process sent.
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
}

impl Delivery {
    /// A chunk that belongs to no turn and was never sent.
    #[must_use]
    pub fn new(id: DeliveryId, address: ChatAddress, content: Content) -> Self {
        Self {
            id,
            turn: None,
            address,
            content,
            repeat: false,
            first_sent_at: None,
            shown_as: None,
        }
    }
}

/// The platform accepted a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The platform's name for it, if it gives one.
    pub platform_id: Option<PlatformId>,
}

/// The words that mark a chunk as sent again.
pub const REPEAT_MARK: &str = "(sent again; it may have arrived before)";
