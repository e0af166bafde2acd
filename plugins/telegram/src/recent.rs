//! The recent messages of groups that were not for the agent. The next message for the agent gives
//! them to the model. Only memory holds them, because a bot cannot read the history of a group.

use avocet_channel_kit::{Converted, RecentMessages};
use avocet_protocol::chat::{ChatAddress, ChatKind, Content, Inbound, Quote};
use avocet_protocol::ids::DedupeKey;
use parking_lot::Mutex;
use teloxide::types::UpdateKind;

use crate::bot::{Audience, BotIdentity};
use crate::commands::is_command;
use crate::update::Update;

/// Groups and topics whose messages are kept.
const MAX_CHATS: usize = 500;

/// The id of a message: its chat, and its key there.
type GroupMessageId = (ChatAddress, DedupeKey);

/// The recent messages of each group and topic.
#[derive(Debug)]
pub(crate) struct GroupMessages(Mutex<RecentMessages<ChatAddress, GroupMessageId>>);

impl GroupMessages {
    pub(crate) fn new(limit: u32) -> Self {
        Self(Mutex::new(RecentMessages::new(limit as usize, MAX_CHATS)))
    }

    /// Notes messages that are not for the agent, and their edits.
    pub(crate) fn note_messages(&self, bot: &BotIdentity<'_>, updates: &[Update]) {
        if self.0.lock().max_messages() == 0 {
            return;
        }
        for inbound in updates.iter().filter_map(|update| readable(bot, update)) {
            let quote = as_quote(&inbound);
            let Inbound { address, key, corrects, .. } = inbound;
            let mut recent = self.0.lock();
            match corrects {
                Some(original) => {
                    recent.correct_message(&address, &(address.clone(), original), quote);
                }
                None => recent.note_message(address.clone(), (address, key), quote),
            }
        }
    }

    /// Gives the kept messages of its group to a message for the agent. An edit gets those of the
    /// original message.
    pub(crate) fn add_context(&self, converted: &mut Converted) {
        let Converted::Inbound(inbound) = &*converted else { return };
        if !takes_context(inbound) {
            return;
        }
        let (recent, chat) = (self.0.lock(), &inbound.address);
        let earlier = match &inbound.corrects {
            Some(original) => recent.find_context(&(chat.clone(), original.clone())),
            None => recent.messages_of(chat).map(|(_, quote)| quote.clone()).collect(),
        };
        drop(recent);
        converted.set_earlier(earlier);
    }

    /// Forgets the messages that came with an accepted message, because they are in the
    /// conversation now.
    pub(crate) fn forget_given(&self, inbound: &Inbound) {
        if !takes_context(inbound) || inbound.corrects.is_some() {
            return;
        }
        let Inbound { address, key, content, .. } = inbound;
        let mut recent = self.0.lock();
        recent.forget_messages(address, |_| true);
        recent.note_context((address.clone(), key.clone()), content.earlier.clone());
    }
}

/// Returns `true` for a message that a person wrote in a group, and that is no command. A pressed
/// button has no time of writing.
fn takes_context(inbound: &Inbound) -> bool {
    inbound.chat == ChatKind::Group
        && inbound.written_at.is_some()
        && !is_command(&inbound.content.text)
}

/// Returns a message of a person in the form for the agent, although it is for others.
fn readable(bot: &BotIdentity<'_>, update: &Update) -> Option<Inbound> {
    let bot = bot.reading(update);
    let converted = match &update.kind {
        UpdateKind::Message(message) => bot.message(message, Audience::Bot),
        UpdateKind::EditedMessage(message) => bot.edited(message, Audience::Bot),
        _ => return None,
    };
    match converted {
        Ok(Converted::Inbound(inbound)) => Some(*inbound),
        _ => None,
    }
}

fn as_quote(inbound: &Inbound) -> Quote {
    let content = Content { quote: None, ..inbound.content.clone() };
    let name = inbound.sender.name.clone().unwrap_or_else(|| inbound.sender.id.to_string());
    Quote { from: Some(name), text: content.as_text() }
}
