//! Requests whose failure is only logged: acknowledgements and reactions.

use std::sync::Arc;

use crate::Discord;
use crate::in_place::CommandAnswer;
use crate::reactions::ReactionChange;

/// A request beside the messages.
#[derive(Debug)]
pub(super) enum BackgroundRequest {
    /// Acknowledge a command whose reply takes long.
    Acknowledge(Arc<CommandAnswer>),
    /// Change the reactions of a message.
    React(ReactionChange),
}

impl Discord {
    /// Makes a request, and ends with it.
    pub(super) async fn make_in_background(&self, request: BackgroundRequest) {
        match request {
            BackgroundRequest::Acknowledge(command) => self.acknowledge_if_late(command).await,
            BackgroundRequest::React(change) => self.react(&change).await,
        }
    }
}
