//! Notifies the channels of the outcome of messages, for platforms on which the bot reacts to them.

use avocet_protocol::chat::Outcome;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{EndedMessage, Settlement};
use avocet_supervise::Group;

use crate::SessionParts;

/// Notifies the channels of messages that have ended.
pub(crate) fn note_ended(parts: &SessionParts, messages: &[EndedMessage]) {
    for EndedMessage { address, key, outcome } in messages {
        if let Some(channel) = parts.channels.channel_of(address) {
            channel.note_outcome(address, key, *outcome);
        }
    }
}

/// Notifies the channels of the messages of a settled turn: of answered ones once the answer has
/// arrived, and of others at once.
pub(crate) fn note_settled(
    parts: &SessionParts,
    turn: TurnId,
    settlement: &Settlement,
    ended: Vec<EndedMessage>,
) {
    match &settlement.reply {
        Some(reply) if settlement.outcome == Outcome::Replied && !reply.chunks.is_empty() => {
            parts.deliverer.note_when_delivered(turn, &reply.address, ended);
        }
        _ => note_ended(parts, &ended),
    }
}

/// Starts a task that notifies the channels of every message of turns that were ended from
/// outside.
pub(crate) fn note_outcomes(parts: &SessionParts, group: &Group, turns: Vec<TurnId>) {
    let parts = parts.clone();
    group.spawn("outcomes", async move {
        for turn in turns {
            match parts.with_retry(|| parts.turns.ended_messages(turn)).await {
                Ok(ended) => note_ended(&parts, &ended),
                Err(error) => {
                    tracing::debug!(%turn, %error, "cannot read the outcomes of its messages");
                }
            }
        }
    });
}
