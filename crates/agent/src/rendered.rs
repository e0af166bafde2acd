//! A cache of the messages of past turns. They are the same in each request of a conversation, and
//! making them is most of the work for a request.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use avocet_protocol::ids::TurnId;
use avocet_protocol::model::{Message, Messages, SharedMessage};
use avocet_protocol::turn::TurnRecord;
use parking_lot::Mutex;

use crate::make_valid;

/// Turns are cached if there are at least this many. Shorter conversations often get no further
/// request, so a cache would only need memory.
const KEPT_FROM: usize = 3;
/// Maximum size of the messages, in bytes, as [`RenderedTurn::bytes`] estimates it.
const MOST_BYTES: usize = 2 << 20;
/// Estimated memory of a message in addition to its text, in bytes.
const MESSAGE_BYTES: usize = 256;

/// The messages of past turns of an agent's conversations.
#[derive(Debug, Clone, Default)]
pub struct RenderedTurns(Arc<Mutex<KnownTurns>>);

#[derive(Debug, Default)]
struct KnownTurns {
    bytes: usize,
    turns: HashMap<TurnId, RenderedTurn>,
}

#[derive(Debug)]
struct RenderedTurn {
    /// The record that the messages show.
    of: Weak<TurnRecord>,
    is_shortened: bool,
    turn: KeptTurn,
}

/// The messages of a past turn.
#[derive(Debug, Clone)]
pub(crate) struct KeptTurn {
    /// Valid messages if they are kept.
    pub(crate) messages: Messages,
    /// The tokens of the messages before any were joined.
    pub(crate) tokens: u64,
}

impl RenderedTurns {
    /// Returns the messages of a turn in a past of `turns` turns. Calls `render` for those that are
    /// not kept.
    pub(crate) fn for_model(
        &self,
        turn: &Arc<TurnRecord>,
        turns: usize,
        is_shortened: bool,
        render: impl FnOnce() -> Vec<Message>,
    ) -> KeptTurn {
        if turns < KEPT_FROM {
            let messages = Messages::from(render());
            return KeptTurn { tokens: messages.estimated_tokens(), messages };
        }
        if let Some(known) = self.0.lock().turns.get(&turn.id)
            && known.of.as_ptr() == Arc::as_ptr(turn)
            && known.is_shortened == is_shortened
        {
            return known.turn.clone();
        }
        // The messages of a turn are valid among others if they are valid alone: they begin with a
        // user message, and their calls have unique ids.
        let messages = Messages::from(render());
        let tokens = messages.estimated_tokens();
        let messages = make_valid(messages);
        let lasting = |shared| SharedMessage::with_cached_json(SharedMessage::into_message(shared));
        let messages: Messages = messages.into_iter().map(lasting).map(Arc::new).collect();
        let kept = KeptTurn { messages, tokens };
        let of = Arc::downgrade(turn);
        self.0.lock().insert(turn.id, RenderedTurn { of, is_shortened, turn: kept.clone() });
        kept
    }
}

impl KnownTurns {
    /// Caches a turn. Drops all others if there is no room for it.
    fn insert(&mut self, id: TurnId, turn: RenderedTurn) {
        let new = turn.bytes();
        if self.bytes + new > MOST_BYTES {
            *self = Self::default();
        }
        if new <= MOST_BYTES {
            self.bytes += new;
            let old = self.turns.insert(id, turn);
            self.bytes -= old.map_or(0, |old| old.bytes());
        }
    }
}

impl RenderedTurn {
    /// Estimates the memory of the messages and of their JSON.
    fn bytes(&self) -> usize {
        self.turn.tokens as usize * 4 * 2 + self.turn.messages.len() * MESSAGE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use avocet_testkit::Scripted;

    use super::*;
    use crate::harness::AgentHarness;

    #[tokio::test]
    async fn turn_is_rendered_again_only_for_another_record_another_form_or_after_the_cap() {
        let harness = AgentHarness::new(vec![Scripted::says("ok")]).await;
        harness.turn("question").await;
        let record = Arc::new(harness.record().await);
        let (rendered, calls) = (RenderedTurns::default(), Cell::new(0));
        let render = |turn: &Arc<TurnRecord>, turns, is_shortened, bytes| {
            let text = "x".repeat(bytes);
            let kept = rendered.for_model(turn, turns, is_shortened, || {
                calls.set(calls.get() + 1);
                vec![Message::user(text)]
            });
            assert_eq!(kept.messages.len(), 1);
            calls.take()
        };
        let copy = Arc::new(TurnRecord::clone(&record));
        let other = Arc::new(TurnRecord { id: TurnId(77), ..TurnRecord::clone(&record) });
        assert_eq!(render(&record, KEPT_FROM - 1, false, 9), 1);
        assert_eq!(render(&record, KEPT_FROM, false, 9), 1);
        assert_eq!(render(&record, KEPT_FROM, false, 9), 0);
        assert_eq!(render(&record, KEPT_FROM, true, 9), 1);
        assert_eq!(render(&copy, KEPT_FROM, true, 9), 1);
        assert_eq!(render(&other, KEPT_FROM, false, MOST_BYTES / 2 - 1000), 1);
        assert_eq!(render(&copy, KEPT_FROM, true, 9), 0, "both have room");
        assert_eq!(render(&record, KEPT_FROM, true, 2000), 1);
        assert_eq!(render(&other, KEPT_FROM, false, 9), 1, "it made room");
        assert_eq!(render(&other, KEPT_FROM, true, MOST_BYTES + 1), 1);
        assert_eq!(render(&other, KEPT_FROM, true, MOST_BYTES + 1), 1, "it has no room");
    }
}
