//! Who listens to what, without waiting for anybody to come back.

use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashMap;

/// Keys among which those that nobody listens to are not looked for.
const FEW: usize = 64;

/// The listeners of each key that has any, each with a queue of its own. Of those who have gone
/// nothing stays: they are forgotten when their key is used, and all of them whenever the keys
/// have doubled since the last time.
#[derive(Debug)]
pub struct Listeners<K: Eq + Hash, T> {
    by_key: DashMap<K, Vec<flume::Sender<T>>>,
    /// The number of keys at which all of them are looked through.
    sweep_at: AtomicUsize,
}

impl<K: Eq + Hash, T> Default for Listeners<K, T> {
    fn default() -> Self {
        Self { by_key: DashMap::new(), sweep_at: AtomicUsize::new(FEW) }
    }
}

impl<K: Eq + Hash, T> Listeners<K, T> {
    /// A new listener, who may be behind by `behind` items. It has gone when it drops its end.
    pub fn add(&self, key: K, behind: usize) -> flume::Receiver<T> {
        if self.by_key.len() >= self.sweep_at.load(Ordering::Relaxed) {
            self.by_key.retain(|_, listeners| forget_gone(listeners));
            self.sweep_at.store(FEW.max(2 * self.by_key.len()), Ordering::Relaxed);
        }
        let (listener, items) = flume::bounded(behind);
        self.by_key.entry(key).or_default().push(listener);
        items
    }

    /// Those who listen to a key now.
    pub fn of(&self, key: &K) -> Vec<flume::Sender<T>> {
        let Some(mut listeners) = self.by_key.get_mut(key) else { return Vec::new() };
        forget_gone(&mut listeners);
        let now = listeners.clone();
        drop(listeners);
        if now.is_empty() {
            self.by_key.remove_if(key, |_, listeners| listeners.is_empty());
        }
        now
    }

    /// How many keys are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}

/// Whether anybody is left.
fn forget_gone<T>(listeners: &mut Vec<flume::Sender<T>>) -> bool {
    listeners.retain(|listener| !listener.is_disconnected());
    !listeners.is_empty()
}

#[cfg(test)]
#[path = "listeners_tests.rs"]
mod tests;
