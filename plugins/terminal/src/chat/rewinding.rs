//! An earlier message of the person, said differently in a new conversation. The old conversation
//! stays as it is.

use super::{ChatLoop, EarlierMessage, LinkError, TerminalLink};
use crate::line::CompletionCandidate;

/// Characters of a message in the list.
const NAMED: usize = 60;
const OLD_STAYS: &str = "The conversation before it stays as it is; /sessions lists it.";
const NO_MESSAGES: &str = "There is no earlier message in this conversation.";

/// A new conversation with everything before a message.
#[derive(Debug)]
pub(super) struct RewoundChat {
    name: String,
    /// The message, to be changed and sent.
    text: String,
}

impl RewoundChat {
    /// Opens a conversation with everything before the message of this number in the list.
    pub(super) async fn open(link: &dyn TerminalLink, number: &str) -> Result<Self, LinkError> {
        let messages = link.earlier_messages().await?;
        let place = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let Some(message) = place.and_then(|place| messages.get(place)) else {
            let text = format!("There is no earlier message {number:?}; /rewind lists them.");
            return Err(LinkError(text));
        };
        let name = link.branch_before(message.turn).await?;
        link.open_conversation(&name).await?;
        Ok(Self { name, text: message.text.clone() })
    }
}

impl ChatLoop {
    /// Offers the messages below the line, unless the person has begun to type.
    pub(super) fn offer_messages(&mut self, messages: &[EarlierMessage]) {
        if messages.is_empty() {
            return self.display.show_remark(NO_MESSAGES);
        }
        let candidates = messages.iter().zip(1..).map(|(message, number)| CompletionCandidate {
            text: format!("/rewind {number}"),
            help: in_short(&message.text),
        });
        if let Some(live) = self.display.live_screen() {
            live.offer_lines(candidates.collect());
        }
    }

    /// Shows the new conversation, with the message in the line.
    pub(super) fn continue_differently(&mut self, chat: &RewoundChat) {
        self.begin_conversation(&chat.name);
        self.display.show_remark(OLD_STAYS);
        if let Some(live) = self.display.live_screen() {
            live.replace_line(&chat.text);
        }
    }
}

/// Returns the beginning of a message in one line.
fn in_short(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut named: String = words.chars().take(NAMED).collect();
    if named.len() < words.len() {
        named.push('…');
    }
    named
}
