//! The port of a channel whose clients come and go: terminals, other processes.

use std::fmt;

use tokio::sync::oneshot;

use crate::{ChatAddress, Delivery, Receipt};

/// A channel that clients attach to.
pub trait Attach: fmt::Debug + Send + Sync {
    /// Delivers the chunks of the chat to a new client, in order, until the client drops its end.
    fn attach(&self, chat: &ChatAddress) -> flume::Receiver<Handover>;
}

/// A chunk that is handed to a client.
#[derive(Debug)]
pub struct Handover {
    /// The chunk.
    pub delivery: Delivery,
    /// The client confirms the chunk here. If the sender is dropped unused, the outcome is unknown.
    pub receipt: oneshot::Sender<Receipt>,
}
