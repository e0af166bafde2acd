//! The messages of a request. The requests of a session begin with the same messages, so they share
//! them, together with cached results such as the JSON.

use std::fmt;
use std::ops::Index;
use std::slice;
use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};

use crate::ignore_result;
use crate::model::Message;

/// The messages of a request, in order.
#[derive(Clone, Default, PartialEq)]
pub struct Messages(Vec<Arc<SharedMessage>>);

/// A message of one request or several.
pub struct SharedMessage {
    message: Message,
    tokens: OnceLock<u64>,
    /// `None` if only one request has the message.
    written: Option<OnceLock<WrittenMessage>>,
}

/// The JSON of a message.
struct WrittenMessage {
    /// The API of the provider.
    api: &'static str,
    json: Box<str>,
}

impl Messages {
    /// Number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the messages.
    pub fn iter(&self) -> MessageIter<'_> {
        self.0.iter().map(message)
    }

    /// Iterates over the messages with their cached results.
    pub fn shared(&self) -> slice::Iter<'_, Arc<SharedMessage>> {
        self.0.iter()
    }

    /// Returns the message at an index; `None` after the last.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<&Message> {
        self.0.get(place).map(message)
    }

    /// `None` if there are no messages.
    #[must_use]
    pub fn first(&self) -> Option<&Message> {
        self.0.first().map(message)
    }

    /// `None` if there are no messages.
    #[must_use]
    pub fn last(&self) -> Option<&Message> {
        self.0.last().map(message)
    }

    /// Makes room for `more` messages.
    pub fn reserve(&mut self, more: usize) {
        self.0.reserve(more);
    }

    /// Adds a message at the end.
    pub fn push(&mut self, message: impl Into<Arc<SharedMessage>>) {
        self.0.push(message.into());
    }

    /// Removes and returns the last message. Copies it if other requests share it.
    pub fn pop(&mut self) -> Option<Message> {
        self.0.pop().map(SharedMessage::into_message)
    }

    /// Estimates the tokens of the messages, without pictures.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        self.0.iter().map(|message| message.estimated_tokens()).sum()
    }
}

/// Iterates over the messages of a request.
pub type MessageIter<'m> =
    std::iter::Map<slice::Iter<'m, Arc<SharedMessage>>, fn(&'m Arc<SharedMessage>) -> &'m Message>;

fn message(shared: &Arc<SharedMessage>) -> &Message {
    &shared.message
}

impl Index<usize> for Messages {
    type Output = Message;

    fn index(&self, place: usize) -> &Message {
        &self.0[place].message
    }
}

impl<'m> IntoIterator for &'m Messages {
    type Item = &'m Message;
    type IntoIter = MessageIter<'m>;

    fn into_iter(self) -> MessageIter<'m> {
        self.iter()
    }
}

impl IntoIterator for Messages {
    type Item = Arc<SharedMessage>;
    type IntoIter = std::vec::IntoIter<Arc<SharedMessage>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<M: Into<Arc<SharedMessage>>> FromIterator<M> for Messages {
    fn from_iter<I: IntoIterator<Item = M>>(messages: I) -> Self {
        Self(messages.into_iter().map(Into::into).collect())
    }
}

impl<M: Into<Arc<SharedMessage>>> Extend<M> for Messages {
    fn extend<I: IntoIterator<Item = M>>(&mut self, messages: I) {
        self.0.extend(messages.into_iter().map(Into::into));
    }
}

impl<M: Into<Arc<SharedMessage>>> From<Vec<M>> for Messages {
    fn from(messages: Vec<M>) -> Self {
        messages.into_iter().collect()
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl Serialize for Messages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl SharedMessage {
    /// Makes a message that later requests will share. Caches its JSON.
    #[must_use]
    pub fn with_cached_json(message: Message) -> Self {
        Self { written: Some(OnceLock::new()), ..Self::from(message) }
    }

    /// Borrows the message without its cached JSON.
    #[must_use]
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Returns the message. Copies it if other requests share it.
    #[must_use]
    pub fn into_message(shared: Arc<Self>) -> Message {
        match Arc::try_unwrap(shared) {
            Ok(own) => own.message,
            Err(shared) => shared.message.clone(),
        }
    }

    /// Estimates the tokens of the message, without pictures. Caches the result.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        *self.tokens.get_or_init(|| self.message.estimated_tokens())
    }

    /// Returns the JSON of the message in the API with this name. Calls `write` the first time.
    /// `None` if `write` returns `None`, if only one request has the message, or if the cached JSON
    /// is of another API.
    pub fn written(
        &self,
        api: &'static str,
        write: impl FnOnce(&Message) -> Option<String>,
    ) -> Option<&str> {
        let kept = self.written.as_ref()?;
        if kept.get().is_none() {
            let json = write(&self.message)?.into_boxed_str();
            ignore_result(
                kept.set(WrittenMessage { api, json }),
                "another thread has set it meanwhile, and its value is kept",
            );
        }
        kept.get().filter(|kept| kept.api == api).map(|kept| &*kept.json)
    }
}

impl From<Message> for SharedMessage {
    fn from(message: Message) -> Self {
        Self { message, tokens: OnceLock::new(), written: None }
    }
}

impl From<Message> for Arc<SharedMessage> {
    fn from(message: Message) -> Self {
        Self::new(message.into())
    }
}

impl PartialEq for SharedMessage {
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message
    }
}

impl fmt::Debug for SharedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}
