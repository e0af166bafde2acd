//! The port of a channel whose far side comes and goes: terminals, other processes.

use std::fmt;

use tokio::sync::oneshot;

use crate::{ChatAddress, Delivery, Receipt};

/// A channel that clients attach themselves to.
pub trait Attach: fmt::Debug + Send + Sync {
    /// Hands what is said in the chat to a new client, in order, until the client drops its end.
    fn attach(&self, chat: &ChatAddress) -> flume::Receiver<Handover>;
}

/// A chunk that is handed to a client.
#[derive(Debug)]
pub struct Handover {
    /// The chunk.
    pub delivery: Delivery,
    /// Where the client says that it has it. Dropped without a word, the outcome is unknown.
    pub receipt: oneshot::Sender<Receipt>,
}
