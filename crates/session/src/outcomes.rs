//! Notifies the channels of the outcome of messages, for platforms on which the bot reacts to them.

use std::sync::Arc;

use avocet_protocol::{EndedMessage, TurnId};

use crate::lane::Lanes;

impl Lanes {
    /// Notifies the channels of messages that have ended.
    pub(crate) fn note_ended(&self, messages: &[EndedMessage]) {
        for EndedMessage { address, key, outcome } in messages {
            if let Some(channel) = self.parts.channels.channel_of(address) {
                channel.note_outcome(address, key, *outcome);
            }
        }
    }

    /// Starts a task that notifies the channels of every message of turns that were ended from
    /// outside.
    pub(crate) fn note_outcomes(self: &Arc<Self>, turns: Vec<TurnId>) {
        let lanes = self.clone();
        self.group().spawn("outcomes", async move {
            for turn in turns {
                match lanes.with_retry(|| lanes.parts.turns.ended_messages(turn)).await {
                    Ok(ended) => lanes.note_ended(&ended),
                    Err(error) => {
                        tracing::debug!(%turn, %error, "cannot read the outcomes of its messages");
                    }
                }
            }
        });
    }
}
