//! The recent messages of each chat that were not for the agent. The next message for the agent
//! gives them to the model. Memory holds them.

use std::collections::VecDeque;
use std::hash::Hash;

use avocet_protocol::chat::Quote;
use lru::LruCache;

/// Longest text of a message that is kept, in characters.
const MAX_TEXT: usize = 600;
/// Messages whose context is kept for their edits.
const MAX_GIVEN: usize = 100;

/// The recent messages of each chat. `C` is the id of a chat, `M` that of a message, unique in all
/// chats.
#[derive(Debug)]
pub struct RecentMessages<C: Hash + Eq, M> {
    /// Messages to keep per chat.
    limit: usize,
    /// Chats whose messages are kept. Above that, the one without a message for the longest time
    /// is forgotten.
    max_chats: usize,
    /// The messages of each chat, in the order in which they were noted.
    chats: LruCache<C, VecDeque<(M, Quote)>>,
    /// The context that came with the last messages, for their edits.
    given: VecDeque<(M, Vec<Quote>)>,
}

impl<C: Hash + Eq, M: PartialEq> RecentMessages<C, M> {
    /// Keeps up to `limit` messages of each chat, and no message if it is 0.
    #[must_use]
    pub fn new(limit: usize, max_chats: usize) -> Self {
        Self { limit, max_chats, chats: LruCache::unbounded(), given: VecDeque::new() }
    }

    /// Returns how many messages of a chat are kept; 0 if the operator wants none.
    #[must_use]
    pub fn max_messages(&self) -> usize {
        self.limit
    }

    /// Notes a message that is not for the agent. A message that is noted again changes nothing.
    pub fn note_message(&mut self, chat: C, id: M, quote: Quote) {
        let known = self.chats.peek(&chat);
        if self.limit == 0 || known.into_iter().flatten().any(|(known, _)| *known == id) {
            return;
        }
        let messages = self.chats.get_or_insert_mut(chat, VecDeque::new);
        messages.push_back((id, shorten_quote(quote)));
        if messages.len() > self.limit {
            messages.pop_front();
        }
        if self.chats.len() > self.max_chats {
            self.chats.pop_lru();
        }
    }

    /// Replaces a kept message by its edit. The edit of any other message is ignored: the model has
    /// the original already, or it was forgotten.
    pub fn correct_message(&mut self, chat: &C, original: &M, quote: Quote) {
        let mut messages = self.chats.peek_mut(chat).into_iter().flatten();
        if let Some((_, known)) = messages.find(|(known, _)| known == original) {
            *known = shorten_quote(quote);
        }
    }

    /// Returns the kept messages of a chat, in the order in which they were noted.
    pub fn messages_of(&self, chat: &C) -> impl Iterator<Item = &(M, Quote)> {
        self.chats.peek(chat).into_iter().flatten()
    }

    /// Call it after a commit: the conversation then has the messages itself.
    pub fn forget_messages(&mut self, chat: &C, is_in_conversation: impl Fn(&M) -> bool) {
        if let Some(messages) = self.chats.peek_mut(chat) {
            messages.retain(|(id, _)| !is_in_conversation(id));
            if messages.is_empty() {
                self.chats.pop(chat);
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
