//! The outcome of a delivery, from the fault of its request.

use avocet_protocol::channel::SendError;
use serenity::model::id::ChannelId;

use crate::Discord;
use crate::fault::{RestError, RestRefusal};

/// Advice about a refusal, by its code.
const ADVICE: [(isize, &str); 4] = [
    (10_003, "the channel is gone"),
    (
        50_001,
        "the bot does not see this channel: invite it to the server again, or let it view the \
        channel",
    ),
    (
        50_007,
        "this person accepts no direct messages from the bot: they have to share a server with it \
            and allow messages from its members",
    ),
    (50_013, "the bot may not write in this channel: let it send messages there"),
];

/// Codes of refusals that close a chat until somebody opens it again.
const CLOSED: [isize; 4] = [10_003, 50_001, 50_007, 50_013];

impl Discord {
    /// Notes what the result of a send says about its chat.
    pub(crate) fn note_closed(&self, chat: ChannelId, fault: Option<&RestError>) {
        match fault {
            None => self.closed_chats.remove(chat),
            Some(fault) if CLOSED.iter().any(|code| fault.is_refused_with(*code)) => {
                self.closed_chats.insert(chat);
            }
            Some(_) => {}
        }
    }

    /// Converts the fault of a send to its outcome.
    pub(crate) fn outcome(&self, fault: &RestError) -> SendError {
        let text = fault.to_string();
        match fault {
            RestError::Wait(wait) => SendError::RetryAfter(*wait),
            // The operator has to replace the token; until then messages wait.
            fault if fault.is_about_token() => SendError::Failed(text),
            RestError::Refused(RestRefusal { code, .. }) => {
                let advice = ADVICE.iter().find(|(known, _)| known == code);
                SendError::Refused(match advice {
                    Some((_, advice)) => format!("{advice} ({text})"),
                    None => text,
                })
            }
            RestError::NotSent(_) => {
                self.health.fails("messages cannot be sent");
                SendError::Failed(text)
            }
            RestError::Server(_) | RestError::Broken(_) => {
                self.health.fails("messages cannot be sent");
                SendError::Unknown(text)
            }
        }
    }
}
