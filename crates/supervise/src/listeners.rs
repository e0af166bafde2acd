//! The listeners of each key. A listener leaves by dropping its receiver; stale entries are swept.

use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};

use avocet_protocol::ignore_result;
use dashmap::DashMap;

/// Below this number of keys, there is no search for keys without listeners.
const FEW: usize = 64;

/// The listeners of each key, each with its own queue. Dropped listeners are removed when their key
/// is used. A sweep over all keys follows whenever the number of keys has doubled since the last
/// sweep.
#[derive(Debug)]
pub struct KeyedListeners<K: Eq + Hash, T> {
    by_key: DashMap<K, Vec<flume::Sender<T>>>,
    /// The number of keys at which the next sweep happens.
    sweep_at: AtomicUsize,
}

impl<K: Eq + Hash, T> Default for KeyedListeners<K, T> {
    fn default() -> Self {
        Self { by_key: DashMap::new(), sweep_at: AtomicUsize::new(FEW) }
    }
}

impl<K: Eq + Hash, T> KeyedListeners<K, T> {
    /// Adds a listener with a queue of `behind` items. The listener leaves by dropping the returned
    /// receiver.
    pub fn add_listener(&self, key: K, behind: usize) -> flume::Receiver<T> {
        self.add_after(key, behind, [])
    }

    /// Works as [`Self::add_listener`]. The queue begins with `first`, as far as there is room.
    pub fn add_after(
        &self,
        key: K,
        behind: usize,
        first: impl IntoIterator<Item = T>,
    ) -> flume::Receiver<T> {
        if self.by_key.len() >= self.sweep_at.load(Ordering::Relaxed) {
            self.by_key.retain(|_, listeners| forget_gone(listeners));
            self.sweep_at.store(FEW.max(2 * self.by_key.len()), Ordering::Relaxed);
        }
        let (listener, items) = flume::bounded(behind);
        for item in first {
            ignore_result(listener.try_send(item), "the queue is full, or its receiver is gone");
        }
        self.by_key.entry(key).or_default().push(listener);
        items
    }

    /// The present listeners of a key.
    pub fn listeners_of(&self, key: &K) -> Vec<flume::Sender<T>> {
        let Some(mut listeners) = self.by_key.get_mut(key) else { return Vec::new() };
        forget_gone(&mut listeners);
        let now = listeners.clone();
        drop(listeners);
        if now.is_empty() {
            self.by_key.remove_if(key, |_, listeners| listeners.is_empty());
        }
        now
    }

    /// Returns `true` if a key has a listener. Removes those that have left.
    pub fn are_present(&self) -> bool {
        self.by_key.retain(|_, listeners| forget_gone(listeners));
        !self.by_key.is_empty()
    }

    /// Number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Returns `true` if all keys are gone.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}

/// Removes listeners that have left. Returns `true` if any remain.
fn forget_gone<T>(listeners: &mut Vec<flume::Sender<T>>) -> bool {
    listeners.retain(|listener| !listener.is_disconnected());
    !listeners.is_empty()
}

#[cfg(test)]
#[path = "listeners_tests.rs"]
mod tests;
