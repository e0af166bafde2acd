//! The signs that a platform shows below answered messages, such as a reaction. An answer counts only
//! once it has arrived: a refused one is a failure. Memory holds the waiting signs, so a crash may
//! leave some out.

use std::collections::BTreeMap;

use avocet_protocol::chat::{ChatAddress, Outcome};
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{EndedMessage, Head, SendEnd};
use parking_lot::Mutex;

use crate::ChannelRegistry;

/// Turns that may wait for their delivery. A further one removes the oldest, which has the smallest id.
const MAX_WAITING: usize = 1000;

/// The answered messages of turns whose answer is on its way.
#[derive(Debug, Default)]
pub(crate) struct AnswerSigns(Mutex<BTreeMap<TurnId, WaitingSigns>>);

#[derive(Debug)]
struct WaitingSigns {
    /// The chat of the answer, without its topic.
    chat: ChatAddress,
    messages: Vec<EndedMessage>,
}

impl AnswerSigns {
    /// Keeps the messages of a turn until its answer has arrived in a chat.
    pub(crate) fn keep_until_delivered(
        &self,
        turn: TurnId,
        chat: ChatAddress,
        messages: Vec<EndedMessage>,
    ) {
        let mut waiting = self.0.lock();
        if waiting.len() >= MAX_WAITING {
            waiting.pop_first();
        }
        waiting.insert(turn, WaitingSigns { chat, messages });
    }

    /// Tells the channels what the end of a send means for the messages of its turn, and of the whole
    /// chat if it has no open chunk any more.
    pub(crate) fn note_end(
        &self,
        channels: &ChannelRegistry,
        head: &Head,
        end: &SendEnd,
        has_more: bool,
    ) {
        note_outcomes(channels, self.take_failed(head.delivery.turn, end));
        if !has_more {
            self.note_idle(channels, &head.delivery.address);
        }
    }

    /// Tells the channels that the answers to a chat have arrived, because it has no open chunk.
    pub(crate) fn note_idle(&self, channels: &ChannelRegistry, chat: &ChatAddress) {
        note_outcomes(channels, self.take_delivered(&chat.whole_chat()));
    }

    fn take_failed(&self, turn: Option<TurnId>, end: &SendEnd) -> Vec<EndedMessage> {
        let signs = turn.filter(|_| is_failed(end)).and_then(|turn| self.0.lock().remove(&turn));
        let failed = |message| EndedMessage { outcome: Outcome::Error, ..message };
        signs.into_iter().flat_map(|signs| signs.messages).map(failed).collect()
    }

    fn take_delivered(&self, chat: &ChatAddress) -> Vec<EndedMessage> {
        let mut waiting = self.0.lock();
        let delivered = waiting.extract_if(.., |_, signs| signs.chat == *chat);
        delivered.flat_map(|(_, signs)| signs.messages).collect()
    }
}

fn note_outcomes(channels: &ChannelRegistry, messages: Vec<EndedMessage>) {
    for EndedMessage { address, key, outcome } in messages {
        if let Some(channel) = channels.channel_of(&address) {
            channel.note_outcome(&address, &key, outcome);
        }
    }
}

fn is_failed(end: &SendEnd) -> bool {
    match end {
        SendEnd::Dead { .. } | SendEnd::Unconfirmed { .. } => true,
        SendEnd::Partly(rest) => is_failed(rest),
        SendEnd::Sent(_)
        | SendEnd::Again { .. }
        | SendEnd::Unreachable
        | SendEnd::Anew
        | SendEnd::Unknown { .. } => false,
    }
}
