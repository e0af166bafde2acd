//! The recent messages of groups that were not for the agent. The next message for the agent gives
//! them to the model. Only memory holds them, because a bot cannot read the history of a group.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use avocet_channel_kit::Converted;
use avocet_protocol::{ChatKind, Content, DedupeKey, Inbound, Quote};
use teloxide::types::UpdateKind;

use crate::bot::{Audience, BotIdentity};
use crate::update::Update;

/// Longest text of a message that is kept, in characters.
const MAX_TEXT: usize = 600;
/// Groups and topics whose messages are kept. A new one above that clears all.
const MAX_CHATS: usize = 500;
/// Messages whose context is kept for their edits.
const MAX_GIVEN: usize = 100;

/// The recent messages of each group and topic.
#[derive(Debug, Default)]
pub(crate) struct RecentMessages {
    /// Messages to keep per chat.
    limit: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The messages of each chat by its address, the oldest first.
    chats: BTreeMap<String, VecDeque<(DedupeKey, Quote)>>,
    /// The context that came with the last messages, by chat and key.
    given: VecDeque<((String, DedupeKey), Vec<Quote>)>,
}

impl RecentMessages {
    pub(crate) fn new(limit: u32) -> Self {
        Self { limit: limit as usize, kept: Mutex::default() }
    }

    /// Notes messages that are not for the agent, and their edits.
    pub(crate) fn note(&self, bot: &BotIdentity<'_>, updates: &[Update]) {
        if self.limit == 0 {
            return;
        }
        for inbound in updates.iter().filter_map(|update| readable(bot, update)) {
            let chat = inbound.address.to_string();
            let quote = as_quote(&inbound);
            let key = inbound.corrects.unwrap_or(inbound.key);
            self.kept().note(chat, key, quote, self.limit);
        }
    }

    /// Gives the kept messages of its group to a message for the agent. An edit gets those of the
    /// original message.
    pub(crate) fn give(&self, converted: &mut Converted) {
        let Converted::Inbound(inbound) = &*converted else { return };
        if !takes_context(inbound) {
            return;
        }
        let (kept, chat) = (self.kept(), inbound.address.to_string());
        let earlier = match &inbound.corrects {
            Some(original) => kept.given_with(&(chat, original.clone())),
            None => {
                kept.chats.get(&chat).into_iter().flatten().map(|(_, one)| one.clone()).collect()
            }
        };
        drop(kept);
        converted.set_earlier(earlier);
    }

    /// Forgets the messages that came with an accepted message: the conversation has them from now
    /// on.
    pub(crate) fn accepted(&self, inbound: &Inbound) {
        if !takes_context(inbound) || inbound.corrects.is_some() {
            return;
        }
        let mut kept = self.kept();
        let chat = inbound.address.to_string();
        kept.chats.remove(&chat);
        if inbound.content.earlier.is_empty() {
            return;
        }
        kept.given.push_back(((chat, inbound.key.clone()), inbound.content.earlier.clone()));
        if kept.given.len() > MAX_GIVEN {
            kept.given.pop_front();
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn note(&mut self, chat: String, key: DedupeKey, quote: Quote, limit: usize) {
        if self.chats.len() >= MAX_CHATS && !self.chats.contains_key(&chat) {
            self.chats.clear();
        }
        let messages = self.chats.entry(chat).or_default();
        if let Some((_, known)) = messages.iter_mut().find(|(known, _)| *known == key) {
            *known = quote;
            return;
        }
        messages.push_back((key, quote));
        if messages.len() > limit {
            messages.pop_front();
        }
    }

    fn given_with(&self, message: &(String, DedupeKey)) -> Vec<Quote> {
        let given = self.given.iter().rev().find(|(known, _)| known == message);
        given.map(|(_, context)| context.clone()).unwrap_or_default()
    }
}

/// Returns `true` for a message that a person wrote in a group, and that is no command. A pressed
/// button has no time of writing.
fn takes_context(inbound: &Inbound) -> bool {
    inbound.chat == ChatKind::Group
        && inbound.written_at.is_some()
        && !inbound.content.text.starts_with('/')
}

/// Returns a message of a person in the form for the agent, although it is for others.
fn readable(bot: &BotIdentity<'_>, update: &Update) -> Option<Inbound> {
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
    let text = content.as_text().chars().take(MAX_TEXT).collect();
    let name = inbound.sender.name.clone().unwrap_or_else(|| inbound.sender.id.to_string());
    Quote { from: Some(name), text }
}
