//! The recent messages of groups that were not for the agent. The next message for the agent gives
//! them to the model. Only memory holds them, because a bot cannot read the history of a group.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use avocet_channel_kit::Converted;
use avocet_protocol::{ChatKind, Content, DedupeKey, Inbound, Quote};
use teloxide::types::UpdateKind;

use crate::bot::{Audience, BotIdentity};
use crate::commands::is_command;
use crate::update::Update;

/// Longest text of a message that is kept, in characters.
const MAX_TEXT: usize = 600;
/// Groups and topics whose messages are kept. Above that, the one without a message for the longest
/// time is forgotten.
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
    /// The messages of each chat by its address.
    chats: BTreeMap<String, ChatMessages>,
    /// The number of noted messages, which orders the chats by their last one.
    noted: u64,
    /// The context that came with the last messages, by chat and key.
    given: VecDeque<((String, DedupeKey), Vec<Quote>)>,
}

#[derive(Debug, Default)]
struct ChatMessages {
    /// The number of the last message that was noted.
    last: u64,
    /// The oldest first.
    messages: VecDeque<(DedupeKey, Quote)>,
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
            let mut kept = self.kept();
            match inbound.corrects {
                Some(original) => kept.correct(&chat, &original, quote),
                None => kept.note(chat, inbound.key, quote, self.limit),
            }
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
                let kept = kept.chats.get(&chat).map(|chat| &chat.messages);
                kept.into_iter().flatten().map(|(_, quote)| quote.clone()).collect()
            }
        };
        drop(kept);
        converted.set_earlier(earlier);
    }

    /// Removes the messages that came with an accepted message, because they are in the
    /// conversation now.
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
            let oldest = self.chats.iter().min_by_key(|(_, chat)| chat.last);
            if let Some(oldest) = oldest.map(|(chat, _)| chat.clone()) {
                self.chats.remove(&oldest);
            }
        }
        self.noted += 1;
        let chat = self.chats.entry(chat).or_default();
        chat.last = self.noted;
        chat.messages.push_back((key, quote));
        if chat.messages.len() > limit {
            chat.messages.pop_front();
        }
    }

    /// Replaces a kept message. The edit of any other message is ignored: the model has the
    /// original already, or it was forgotten.
    fn correct(&mut self, chat: &str, original: &DedupeKey, quote: Quote) {
        let messages = self.chats.get_mut(chat).map(|chat| &mut chat.messages);
        if let Some((_, known)) =
            messages.into_iter().flatten().find(|(known, _)| known == original)
        {
            *known = quote;
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
    let text = content.as_text().chars().take(MAX_TEXT).collect();
    let name = inbound.sender.name.clone().unwrap_or_else(|| inbound.sender.id.to_string());
    Quote { from: Some(name), text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quote(text: &str) -> Quote {
        Quote { from: None, text: text.to_owned() }
    }

    fn key(number: usize) -> DedupeKey {
        format!("m{number}").parse().unwrap()
    }

    #[test]
    fn note_forgets_the_chat_without_a_message_for_the_longest_time() {
        let mut kept = Kept::default();
        for number in (0..MAX_CHATS).chain([0, MAX_CHATS]) {
            kept.note(number.to_string(), key(1), quote("hi"), 3);
        }
        assert_eq!(kept.chats.len(), MAX_CHATS);
        assert!(kept.chats.contains_key("0") && !kept.chats.contains_key("1"));
    }

    #[test]
    fn correct_replaces_only_a_kept_message() {
        let mut kept = Kept::default();
        for number in 1..4 {
            kept.note("a".to_owned(), key(number), quote("hi"), 2);
        }
        for number in [1, 3, 9] {
            kept.correct("a", &key(number), quote("edited"));
        }
        kept.correct("b", &key(3), quote("edited"));
        let texts: Vec<&str> =
            kept.chats["a"].messages.iter().map(|(_, quote)| quote.text.as_str()).collect();
        assert_eq!((texts, kept.chats.len()), (vec!["hi", "edited"], 1));
    }
}
