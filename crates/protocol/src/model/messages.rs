//! The messages of a request. The requests of a session begin with the same messages, so they share
//! them, together with cached results such as the JSON.
//!
//! A long conversation has thousands of messages, so most of them are shared in blocks: a request
//! then holds some dozens of parts, and the work for it depends on the number of parts.
//!
//! ```text
//! Messages   [system] [block of turns 1 to 32] [block of turns 33 to 64] [user] [assistant] [user]
//! ```
//!
//! An iteration over the messages yields those of blocks as well.

use std::fmt;
use std::ops::Index;
use std::slice;
use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};

use crate::ignore_result;
use crate::model::{ImageRef, Message};

/// The messages of a request, in order.
#[derive(Clone, Default)]
pub struct Messages(Vec<MessagePart>);

/// A part of the messages of a request.
#[derive(Debug, Clone)]
pub enum MessagePart {
    /// One message.
    One(Arc<SharedMessage>),
    /// Many messages, which most requests of a session contain.
    Block(Arc<MessageBlock>),
}

/// A message of one request or several.
pub struct SharedMessage {
    message: Message,
    tokens: OnceLock<u64>,
    /// `None` if only one request has the message.
    written: Option<OnceLock<WrittenJson>>,
}

/// Messages that many requests contain one after the other.
pub struct MessageBlock {
    messages: Box<[Arc<SharedMessage>]>,
    tokens: u64,
    has_images: bool,
    has_calls: bool,
    has_reasoning: bool,
    written: OnceLock<WrittenJson>,
}

/// The JSON of a message, or of several.
struct WrittenJson {
    /// The API of the provider.
    api: &'static str,
    json: Box<str>,
}

impl Messages {
    /// Number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|part| part.messages().len()).sum()
    }

    /// Returns `true` if there are no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the messages.
    pub fn iter(&self) -> MessageIter<'_> {
        self.shared().map(message)
    }

    /// Iterates over the messages with their cached results.
    pub fn shared(&self) -> SharedMessageIter<'_> {
        self.0.iter().flat_map(MessagePart::messages)
    }

    /// Iterates over the parts.
    pub fn parts(&self) -> slice::Iter<'_, MessagePart> {
        self.0.iter()
    }

    /// Returns the parts.
    #[must_use]
    pub fn into_parts(self) -> Vec<MessagePart> {
        self.0
    }

    /// Returns the message at an index; `None` after the last.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<&Message> {
        self.iter().nth(place)
    }

    /// `None` if there are no messages.
    #[must_use]
    pub fn first(&self) -> Option<&Message> {
        self.iter().next()
    }

    /// `None` if there are no messages.
    #[must_use]
    pub fn last(&self) -> Option<&Message> {
        self.iter().next_back()
    }

    /// Makes room for `more` parts.
    pub fn reserve(&mut self, more: usize) {
        self.0.reserve(more);
    }

    /// Adds a message at the end.
    pub fn push(&mut self, message: impl Into<Arc<SharedMessage>>) {
        self.0.push(MessagePart::One(message.into()));
    }

    /// Adds a part at the end.
    pub fn push_part(&mut self, part: MessagePart) {
        self.0.push(part);
    }

    /// Removes and returns the last message. Copies it if other requests share it.
    pub fn pop(&mut self) -> Option<Message> {
        if let Some(MessagePart::Block(block)) = self.0.last() {
            let block = block.clone();
            self.0.pop();
            self.extend(block.messages.iter().cloned());
        }
        match self.0.pop()? {
            MessagePart::One(shared) => Some(SharedMessage::into_message(shared)),
            MessagePart::Block(_) => unreachable!("a block at the end was divided"),
        }
    }

    /// Estimates the tokens of the messages, without pictures.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        self.0.iter().map(MessagePart::estimated_tokens).sum()
    }

    /// Iterates over the pictures.
    pub fn images(&self) -> impl Iterator<Item = &ImageRef> {
        let with_images = self.0.iter().filter(|part| match part {
            MessagePart::One(_) => true,
            MessagePart::Block(block) => block.has_images,
        });
        with_images.flat_map(MessagePart::messages).flat_map(|shared| match &shared.message {
            Message::User { images, .. } => images.as_slice(),
            Message::System { .. } | Message::Assistant { .. } | Message::ToolResult { .. } => &[],
        })
    }

    /// Iterates over the messages of the model that have calls or reasoning, and perhaps others.
    pub fn with_calls_or_reasoning(&self) -> impl Iterator<Item = &Message> {
        let wanted = self.0.iter().filter(|part| match part {
            MessagePart::One(_) => true,
            MessagePart::Block(block) => block.has_calls || block.has_reasoning,
        });
        wanted.flat_map(MessagePart::messages).map(message)
    }
}

/// Iterates over the messages of a request.
pub type MessageIter<'m> =
    std::iter::Map<SharedMessageIter<'m>, fn(&'m Arc<SharedMessage>) -> &'m Message>;

/// Iterates over the messages of a request with their cached results.
pub type SharedMessageIter<'m> = std::iter::FlatMap<
    slice::Iter<'m, MessagePart>,
    &'m [Arc<SharedMessage>],
    fn(&'m MessagePart) -> &'m [Arc<SharedMessage>],
>;

fn message(shared: &Arc<SharedMessage>) -> &Message {
    &shared.message
}

impl MessagePart {
    /// Returns the messages of the part.
    #[must_use]
    pub fn messages(&self) -> &[Arc<SharedMessage>] {
        match self {
            Self::One(shared) => slice::from_ref(shared),
            Self::Block(block) => &block.messages,
        }
    }

    fn estimated_tokens(&self) -> u64 {
        match self {
            Self::One(shared) => shared.estimated_tokens(),
            Self::Block(block) => block.tokens,
        }
    }
}

impl MessageBlock {
    /// Makes a block of messages. Its JSON is cached as a whole. That of its messages is cached as
    /// well if a request may have to change some of them.
    #[must_use]
    pub fn new(messages: impl IntoIterator<Item = Message>) -> Self {
        let messages: Vec<Message> = messages.into_iter().collect();
        let (mut has_images, mut has_calls, mut has_reasoning) = (false, false, false);
        for message in &messages {
            match message {
                Message::User { images, .. } => has_images |= !images.is_empty(),
                Message::Assistant { calls, reasoning, .. } => {
                    has_calls |= !calls.is_empty();
                    has_reasoning |= reasoning.is_some();
                }
                Message::System { .. } | Message::ToolResult { .. } => {}
            }
        }
        let shared: fn(Message) -> SharedMessage = if has_images || has_calls {
            SharedMessage::with_cached_json
        } else {
            SharedMessage::from
        };
        let messages: Box<[Arc<SharedMessage>]> =
            messages.into_iter().map(shared).map(Arc::new).collect();
        let tokens = messages.iter().map(|message| message.estimated_tokens()).sum();
        Self { messages, tokens, has_images, has_calls, has_reasoning, written: OnceLock::new() }
    }

    /// Returns the messages.
    #[must_use]
    pub fn messages(&self) -> &[Arc<SharedMessage>] {
        &self.messages
    }

    /// Returns `true` if a message has pictures.
    #[must_use]
    pub fn has_images(&self) -> bool {
        self.has_images
    }

    /// Returns `true` if a message has calls.
    #[must_use]
    pub fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// Returns the JSON of the messages in the API with this name. Calls `write` the first time.
    /// `None` if `write` returns `None`, or if the cached JSON is of another API.
    pub fn written(
        &self,
        api: &'static str,
        write: impl FnOnce(&[Arc<SharedMessage>]) -> Option<String>,
    ) -> Option<&str> {
        written_json(&self.written, api, || write(&self.messages))
    }
}

/// Returns the cached JSON of an API. Calls `write` if there is none of any API.
fn written_json<'c>(
    cached: &'c OnceLock<WrittenJson>,
    api: &'static str,
    write: impl FnOnce() -> Option<String>,
) -> Option<&'c str> {
    if cached.get().is_none() {
        let json = write()?.into_boxed_str();
        ignore_result(
            cached.set(WrittenJson { api, json }),
            "another thread has set it meanwhile, and its value is kept",
        );
    }
    cached.get().filter(|cached| cached.api == api).map(|cached| &*cached.json)
}

impl Index<usize> for Messages {
    type Output = Message;

    fn index(&self, place: usize) -> &Message {
        match self.get(place) {
            Some(message) => message,
            None => panic!("there are {} messages, and none at {place}", self.len()),
        }
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
        let mut messages = Vec::with_capacity(self.len());
        for part in self.0 {
            match part {
                MessagePart::One(shared) => messages.push(shared),
                MessagePart::Block(block) => messages.extend_from_slice(&block.messages),
            }
        }
        messages.into_iter()
    }
}

impl<M: Into<Arc<SharedMessage>>> FromIterator<M> for Messages {
    fn from_iter<I: IntoIterator<Item = M>>(messages: I) -> Self {
        Self(messages.into_iter().map(Into::into).map(MessagePart::One).collect())
    }
}

impl<M: Into<Arc<SharedMessage>>> Extend<M> for Messages {
    fn extend<I: IntoIterator<Item = M>>(&mut self, messages: I) {
        self.0.extend(messages.into_iter().map(Into::into).map(MessagePart::One));
    }
}

impl<M: Into<Arc<SharedMessage>>> From<Vec<M>> for Messages {
    fn from(messages: Vec<M>) -> Self {
        messages.into_iter().collect()
    }
}

/// Compares the messages, however they are divided into parts.
impl PartialEq for Messages {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl fmt::Debug for MessageBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.messages).finish()
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
        written_json(self.written.as_ref()?, api, || write(&self.message))
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

#[cfg(test)]
#[path = "messages_tests.rs"]
mod tests;
