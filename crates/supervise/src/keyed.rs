//! One task for each key that has work. Idle keys use no memory.

use std::fmt::{Debug, Display};
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;

use dashmap::{DashMap, Entry};

use crate::{Group, catch_panic};

/// Runs the work of each key sequentially, and that of different keys in parallel. Only keys with
/// running work are kept in memory.
#[derive(Debug)]
pub struct KeyedWork<K: Eq + Hash> {
    group: Group,
    /// The keys with running work. `true` if the key was woken during that work.
    live: DashMap<K, bool>,
}

impl<K> KeyedWork<K>
where
    K: Clone + Debug + Display + Eq + Hash + Send + Sync + 'static,
{
    /// Starts without any running work.
    #[must_use]
    pub fn new(group: Group) -> Self {
        Self { group, live: DashMap::new() }
    }

    /// The group that the tasks belong to.
    #[must_use]
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// Runs `work` for the key: now, or once more if it is already running. `work` returns when the
    /// key's work is done.
    pub fn wake<F, W>(self: &Arc<Self>, key: K, work: F)
    where
        F: Fn(K) -> W + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        match self.live.entry(key.clone()) {
            Entry::Occupied(mut woken) => *woken.get_mut() = true,
            Entry::Vacant(place) => {
                place.insert(false);
                self.spawn(key.clone(), Box::pin(work(key)), work);
            }
        }
    }

    /// Runs `first` for an idle key, and `work` after it if the key is woken meanwhile. Returns
    /// `false`, without running anything, if the key's work is already running.
    pub fn wake_if_idle<F, W>(
        self: &Arc<Self>,
        key: K,
        first: impl Future<Output = ()> + Send + 'static,
        work: F,
    ) -> bool
    where
        F: Fn(K) -> W + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        match self.live.entry(key.clone()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(false);
                self.spawn(key, Box::pin(first), work);
                true
            }
        }
    }

    /// Runs `first`, and then `work` as often as the key was woken meanwhile. Boxed, so that waiting
    /// keys stay small.
    fn spawn<F, W>(
        self: &Arc<Self>,
        key: K,
        first: Pin<Box<dyn Future<Output = ()> + Send>>,
        work: F,
    ) where
        F: Fn(K) -> W + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        let keyed = self.clone();
        self.group.spawn(&key.to_string(), async move {
            let mut next = first;
            loop {
                if let Err(panicked) = catch_panic(next).await {
                    tracing::error!(%key, error = %panicked, "task panicked");
                }
                if keyed.leave_unless_woken(&key) {
                    return;
                }
                next = Box::pin(work(key.clone()));
            }
        });
    }

    /// Takes the wake-up of a key whose work is running: the work itself looks once more. Returns
    /// `true` if the key was woken during that work.
    pub fn take_wake(&self, key: &K) -> bool {
        self.live.get_mut(key).is_some_and(|mut woken| std::mem::take(&mut *woken))
    }

    /// Number of keys with running work.
    #[must_use]
    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// Returns `true` if the key's work is running.
    #[must_use]
    pub fn is_running(&self, key: &K) -> bool {
        self.live.contains_key(key)
    }

    /// Returns `true` if all keys are idle.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    fn leave_unless_woken(&self, key: &K) -> bool {
        if self.live.remove_if(key, |_, woken| !*woken).is_some() {
            return true;
        }
        if let Some(mut woken) = self.live.get_mut(key) {
            *woken = false;
        }
        false
    }
}

#[cfg(test)]
#[path = "keyed_tests.rs"]
mod tests;
