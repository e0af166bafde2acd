//! Requests whose failure is only logged: acknowledgements and reactions.

use std::sync::Arc;

use serenity::model::id::ChannelId;

use crate::Discord;
use crate::discord::in_place::CommandAnswer;
use crate::discord::reactions::ReactionChange;

/// A request that runs while further events are processed.
#[derive(Debug)]
pub(super) enum BackgroundRequest {
    /// Acknowledge a command whose reply takes long.
    Acknowledge(Arc<CommandAnswer>),
    /// Acknowledge the press of a button with a command.
    AcknowledgePress(Arc<CommandAnswer>),
    /// Change the reactions of a message.
    React(ReactionChange),
}

impl Discord {
    /// Makes a request. Returns the channel whose reactions it has changed, if any.
    pub(super) async fn make_in_background(&self, request: BackgroundRequest) -> Option<ChannelId> {
        match request {
            BackgroundRequest::Acknowledge(command) => {
                self.acknowledge_if_late(command).await;
                None
            }
            BackgroundRequest::AcknowledgePress(press) => {
                self.acknowledge_press(&press).await;
                None
            }
            BackgroundRequest::React(change) => {
                self.react(&change).await;
                Some(change.channel)
            }
        }
    }
}
