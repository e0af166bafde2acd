//! The recent messages of each chat that were not for the agent. The next message for the agent
//! gives them to the model. Memory holds them.

use std::collections::{BTreeMap, VecDeque};

use avocet_protocol::chat::Quote;

/// Longest text of a message that is kept, in characters.
const MAX_TEXT: usize = 600;
/// Messages whose context is kept for their edits.
const MAX_GIVEN: usize = 100;

/// The recent messages of each chat. `C` is the id of a chat, `M` that of a message, unique in all
/// chats.
#[derive(Debug)]
pub struct RecentMessages<C, M> {
    /// Messages to keep per chat.
    limit: usize,
    /// Chats whose messages are kept. Above that, the one without a message for the longest time
    /// is forgotten.
    max_chats: usize,
    chats: BTreeMap<C, ChatMessages<M>>,
    /// The number of noted messages, which orders the chats by their last one.
    noted: u64,
    /// The context that came with the last messages, for their edits.
    given: VecDeque<(M, Vec<Quote>)>,
}

#[derive(Debug)]
struct ChatMessages<M> {
    /// The number of the last message that was noted.
    last: u64,
    /// In the order in which they were noted.
    messages: VecDeque<(M, Quote)>,
}

impl<C: Ord + Clone, M: PartialEq> RecentMessages<C, M> {
    /// Keeps up to `limit` messages of each chat, and no message if it is 0.
    #[must_use]
    pub fn new(limit: usize, max_chats: usize) -> Self {
        let (chats, given) = (BTreeMap::new(), VecDeque::new());
        Self { limit, max_chats, chats, noted: 0, given }
    }

    /// Returns how many messages of a chat are kept; 0 if the operator wants none.
    #[must_use]
    pub fn max_messages(&self) -> usize {
        self.limit
    }

    /// Notes a message that is not for the agent. A message that is noted again changes nothing.
    pub fn note_message(&mut self, chat: C, id: M, quote: Quote) {
        let known = self.chats.get(&chat).map(|chat| &chat.messages);
        if self.limit == 0 || known.into_iter().flatten().any(|(known, _)| *known == id) {
            return;
        }
        self.forget_oldest_chat(&chat);
        self.noted += 1;
        let new = || ChatMessages { last: 0, messages: VecDeque::new() };
        let chat = self.chats.entry(chat).or_insert_with(new);
        chat.last = self.noted;
        chat.messages.push_back((id, shorten_quote(quote)));
        if chat.messages.len() > self.limit {
            chat.messages.pop_front();
        }
    }

    /// Forgets the chat without a message for the longest time, if a further chat has no room.
    fn forget_oldest_chat(&mut self, new: &C) {
        if self.chats.len() < self.max_chats || self.chats.contains_key(new) {
            return;
        }
        let oldest = self.chats.iter().min_by_key(|(_, chat)| chat.last);
        if let Some(oldest) = oldest.map(|(chat, _)| chat.clone()) {
            self.chats.remove(&oldest);
        }
    }

    /// Replaces a kept message by its edit. The edit of any other message is ignored: the model has
    /// the original already, or it was forgotten.
    pub fn correct_message(&mut self, chat: &C, original: &M, quote: Quote) {
        let messages = self.chats.get_mut(chat).map(|chat| &mut chat.messages);
        let mut messages = messages.into_iter().flatten();
        if let Some((_, known)) = messages.find(|(known, _)| known == original) {
            *known = shorten_quote(quote);
        }
    }

    /// Returns the kept messages of a chat, in the order in which they were noted.
    pub fn messages_of(&self, chat: &C) -> impl Iterator<Item = &(M, Quote)> {
        self.chats.get(chat).into_iter().flat_map(|chat| &chat.messages)
    }

    /// Call it after a commit: the conversation then has the messages itself.
    pub fn forget_messages(&mut self, chat: &C, is_in_conversation: impl Fn(&M) -> bool) {
        if let Some(kept) = self.chats.get_mut(chat) {
            kept.messages.retain(|(id, _)| !is_in_conversation(id));
            if kept.messages.is_empty() {
                self.chats.remove(chat);
            }
        }
    }

    /// Notes the context that came with a message, for an edit of the message.
    pub fn note_context(&mut self, message: M, context: Vec<Quote>) {
        if context.is_empty() {
            return;
        }
        self.given.push_back((message, context));
        if self.given.len() > MAX_GIVEN {
            self.given.pop_front();
        }
    }

    /// Returns the context that came with a message; empty if it is unknown.
    #[must_use]
    pub fn find_context(&self, message: &M) -> Vec<Quote> {
        let given = self.given.iter().rev().find(|(known, _)| known == message);
        given.map(|(_, context)| context.clone()).unwrap_or_default()
    }
}

fn shorten_quote(quote: Quote) -> Quote {
    Quote { text: quote.text.chars().take(MAX_TEXT).collect(), ..quote }
}

#[cfg(test)]
#[path = "recent_tests.rs"]
mod tests;
