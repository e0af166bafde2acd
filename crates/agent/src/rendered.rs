//! Keeps the messages of past turns. They are the same in each request of a conversation, and making
//! them is most of the work for a request.
//!
//! # A past in blocks
//!
//! The turns of a session that have ended never change, and a new one comes at the end. So the
//! messages of the past are kept in blocks of [`BLOCK_TURNS`] turns, in their order:
//!
//! ```text
//! past turns   1 ............ 32 | 33 ........... 64 | 65  66  67
//! kept         block             | block             | turn turn turn
//! ```
//!
//! A request takes the blocks as they are: their messages are valid, their tokens are counted, and
//! their JSON and trust are known. Each of the turns behind the last block, less than [`BLOCK_TURNS`],
//! is a small block of its own. When there are enough of them, they become one block.
//!
//! **When a block is valid.** A block knows the records that its messages show. It is used only for a
//! past that has the same records in the same place, with as many of them shortened. A transaction
//! that changes an ended turn empties the store's cache, so that the past then consists of other
//! records. After a compaction the past begins with another turn. In both cases the blocks are made
//! anew from the first difference on, whatever the reason of the change.
//!
//! **Why not one block.** It would be copied for each new turn, because the request before may still
//! use it. Blocks of a fixed size are made once.

use std::sync::{Arc, Weak};

use avocet_protocol::LruMap;
use avocet_protocol::chat::SessionId;
use avocet_protocol::model::{Message, MessageBlock, MessagePart, Messages, SharedMessage};
use avocet_protocol::store::Past;
use avocet_protocol::turn::TurnRecord;
use parking_lot::Mutex;

use crate::block_trust::BlockTrust;
use crate::make_valid;

/// The turns of a block.
pub(crate) const BLOCK_TURNS: usize = 32;
/// Turns are kept if a past has at least this many. Shorter conversations often get no further
/// request, so that keeping them would only need memory.
const KEPT_FROM: usize = 3;
/// Maximum size of the messages of all sessions, in bytes, as [`KeptPast::bytes`] estimates it.
const MOST_BYTES: usize = 16 << 20;
/// More sessions than fit into [`MOST_BYTES`].
const MOST_SESSIONS: usize = MOST_BYTES / MESSAGE_BYTES + 1;
/// Estimated memory of a message in addition to its text, in bytes.
const MESSAGE_BYTES: usize = 256;

/// The messages of past turns of an agent's conversations, and its latest system message.
#[derive(Debug, Clone, Default)]
pub struct RenderedTurns {
    pasts: Arc<Mutex<KeptSessions>>,
    system: Arc<Mutex<Option<Arc<SharedMessage>>>>,
}

#[derive(Debug, Default)]
struct KeptSessions {
    bytes: usize,
    sessions: LruMap<SessionId, KeptPast, MOST_SESSIONS>,
}

/// The kept messages of a session's past.
#[derive(Debug, Default)]
struct KeptPast {
    blocks: Vec<Arc<KeptBlock>>,
    /// The turns behind the blocks.
    turns: Vec<KeptTurn>,
}

/// The messages of a past turn.
#[derive(Debug)]
struct KeptTurn {
    /// The record that the messages show.
    of: Weak<TurnRecord>,
    is_shortened: bool,
    /// Valid messages.
    messages: Arc<MessageBlock>,
    /// The tokens of the messages before any were joined.
    tokens: u64,
}

/// The messages of [`BLOCK_TURNS`] past turns.
#[derive(Debug)]
pub(crate) struct KeptBlock {
    /// The records that the messages show.
    of: Box<[Weak<TurnRecord>]>,
    /// The number of turns at the beginning that are shortened.
    shortened: usize,
    messages: Arc<MessageBlock>,
    /// The tokens of the messages before any were joined.
    tokens: u64,
    pub(crate) trust: BlockTrust,
}

/// The messages of all past turns of a request.
#[derive(Debug)]
pub(crate) struct PastMessages {
    /// Blocks, and messages of which only those of one turn are valid together.
    pub(crate) messages: Messages,
    /// The tokens of the messages before any were joined.
    pub(crate) tokens: u64,
}

impl RenderedTurns {
    /// Returns the system message with this text. It is the kept one if that has the same text, so that
    /// its tokens and its JSON are known.
    pub(crate) fn system_message(&self, text: &str) -> Arc<SharedMessage> {
        let mut kept = self.system.lock();
        match &*kept {
            Some(system) if is_system(system.message(), text) => system.clone(),
            _ => {
                let message = Message::System { text: text.to_owned() };
                let system = Arc::new(SharedMessage::with_cached_json(message));
                *kept = Some(system.clone());
                system
            }
        }
    }

    /// Returns the messages of a past. Calls `render` for the turns that are not kept.
    pub(crate) fn past_messages(
        &self,
        past: &Past,
        render: impl Fn(&TurnRecord) -> Vec<Message>,
    ) -> PastMessages {
        let Some(session) = past.turns.last().map(|turn| &turn.session) else {
            return PastMessages { messages: Messages::default(), tokens: 0 };
        };
        if past.turns.len() < KEPT_FROM {
            let messages: Messages = past.turns.iter().flat_map(|turn| render(turn)).collect();
            return PastMessages { tokens: messages.estimated_tokens(), messages };
        }
        // Another request of the session meanwhile finds nothing, and renders the turns itself.
        let mut kept = self.pasts.lock().take(session).unwrap_or_default();
        kept.follow(past, render);
        let shown = kept.to_messages();
        self.pasts.lock().insert(session.clone(), kept);
        shown
    }

    /// Returns the kept blocks with which a past begins.
    pub(crate) fn kept_blocks(&self, past: &Past) -> Vec<Arc<KeptBlock>> {
        let Some(session) = past.turns.last().map(|turn| &turn.session) else { return Vec::new() };
        let kept = self.pasts.lock();
        let Some(kept) = kept.sessions.peek(session) else { return Vec::new() };
        kept.blocks[..kept.count_same_blocks(past)].to_vec()
    }
}

fn is_system(message: &Message, wanted: &str) -> bool {
    matches!(message, Message::System { text } if text == wanted)
}

impl KeptSessions {
    fn take(&mut self, session: &SessionId) -> Option<KeptPast> {
        let kept = self.sessions.pop(session)?;
        self.bytes -= kept.bytes();
        Some(kept)
    }

    /// Keeps the past of a session. The sessions that were used least recently make room.
    fn insert(&mut self, session: SessionId, kept: KeptPast) {
        let bytes = kept.bytes();
        if bytes > MOST_BYTES {
            return;
        }
        self.bytes += bytes;
        let replaced = self.sessions.put(session, kept);
        self.bytes -= replaced.map_or(0, |replaced| replaced.bytes());
        while self.bytes > MOST_BYTES {
            let Some((_, oldest)) = self.sessions.pop_lru() else { break };
            self.bytes -= oldest.bytes();
        }
    }
}

impl KeptPast {
    /// Estimates the memory of the messages and of their JSON.
    fn bytes(&self) -> usize {
        let blocks =
            self.blocks.iter().map(|block| (block.tokens, block.messages.messages().len()));
        let turns = self.turns.iter().map(|turn| (turn.tokens, turn.messages.messages().len()));
        let bytes = |(tokens, messages)| tokens as usize * 4 * 2 + messages * MESSAGE_BYTES;
        blocks.chain(turns).map(bytes).sum()
    }

    /// Drops the kept turns that are not part of this past, and renders the missing ones.
    fn follow(&mut self, past: &Past, render: impl Fn(&TurnRecord) -> Vec<Message>) {
        let same = self.count_same_blocks(past);
        if same < self.blocks.len() {
            self.blocks.truncate(same);
            self.turns.clear();
        }
        let shortened = count_shortened(past);
        let first = same * BLOCK_TURNS;
        for (place, turn) in past.turns.iter().enumerate().skip(first) {
            let is_shortened = place < shortened;
            let kept = self.turns.get(place - self.blocks.len() * BLOCK_TURNS);
            if !kept.is_some_and(|kept| kept.shows(turn, is_shortened)) {
                self.turns.truncate(place - self.blocks.len() * BLOCK_TURNS);
                self.turns.push(KeptTurn::new(turn, is_shortened, render(turn)));
            }
            if place + 1 == (self.blocks.len() + 1) * BLOCK_TURNS {
                let later = self.turns.split_off(BLOCK_TURNS);
                let turns = std::mem::replace(&mut self.turns, later);
                self.blocks.push(Arc::new(KeptBlock::new(turns)));
            }
        }
        self.turns.truncate(past.turns.len() - self.blocks.len() * BLOCK_TURNS);
    }

    /// Counts the blocks with which a past begins.
    fn count_same_blocks(&self, past: &Past) -> usize {
        let shortened = count_shortened(past);
        let groups = past.turns.chunks_exact(BLOCK_TURNS).enumerate();
        let same = self.blocks.iter().zip(groups).take_while(|(block, (place, turns))| {
            let of_group = shortened.saturating_sub(place * BLOCK_TURNS).min(BLOCK_TURNS);
            block.shortened == of_group
                && block.of.iter().zip(*turns).all(|(of, turn)| of.as_ptr() == Arc::as_ptr(turn))
        });
        same.count()
    }

    fn to_messages(&self) -> PastMessages {
        let (mut messages, mut tokens) = (Messages::default(), 0);
        for block in &self.blocks {
            messages.push_part(MessagePart::Block(block.messages.clone()));
            tokens += block.tokens;
        }
        for turn in &self.turns {
            messages.push_part(MessagePart::Block(turn.messages.clone()));
            tokens += turn.tokens;
        }
        PastMessages { messages, tokens }
    }
}

impl KeptTurn {
    fn new(turn: &Arc<TurnRecord>, is_shortened: bool, messages: Vec<Message>) -> Self {
        // The messages of a turn are valid among others if they are valid alone: they begin with a
        // user message, and their calls have unique ids.
        let messages = Messages::from(messages);
        let tokens = messages.estimated_tokens();
        let messages = make_valid(messages).into_iter().map(SharedMessage::into_message);
        let messages = Arc::new(MessageBlock::new(messages));
        Self { of: Arc::downgrade(turn), is_shortened, messages, tokens }
    }

    fn shows(&self, turn: &Arc<TurnRecord>, is_shortened: bool) -> bool {
        self.of.as_ptr() == Arc::as_ptr(turn) && self.is_shortened == is_shortened
    }
}

impl KeptBlock {
    fn new(turns: Vec<KeptTurn>) -> Self {
        let shortened = turns.iter().filter(|turn| turn.is_shortened).count();
        let (mut of, mut messages, mut tokens) = (Vec::new(), Messages::default(), 0);
        for turn in turns {
            of.push(turn.of);
            messages.push_part(MessagePart::Block(turn.messages));
            tokens += turn.tokens;
        }
        let messages = make_valid(messages).into_iter().map(SharedMessage::into_message);
        let messages = Arc::new(MessageBlock::new(messages));
        Self { of: of.into(), shortened, messages, tokens, trust: BlockTrust::default() }
    }

    /// Returns `true` if a turn of the block may have calls.
    pub(crate) fn has_calls(&self) -> bool {
        self.messages.has_calls()
    }
}

/// Returns how many turns of a past are shortened: the oldest ones.
fn count_shortened(past: &Past) -> usize {
    match past.compacted.shortened_to {
        Some(last) => past.turns.partition_point(|turn| turn.id <= last),
        None => 0,
    }
}

#[cfg(test)]
#[path = "rendered_tests.rs"]
mod tests;
