//! One task for each key that has something to do, and none for those that have not.

use std::fmt::{Debug, Display};
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

use dashmap::{DashMap, Entry};

use crate::{Group, catch};

/// Runs the work of each key one after the other, and that of different keys side by side. What
/// stays in memory is only the keys that are being worked on.
#[derive(Debug)]
pub struct Keyed<K: Eq + Hash> {
    group: Group,
    /// Whether the key was woken while it was being worked on.
    live: DashMap<K, bool>,
}

impl<K> Keyed<K>
where
    K: Clone + Debug + Display + Eq + Hash + Send + Sync + 'static,
{
    /// No key is being worked on.
    #[must_use]
    pub fn new(group: Group) -> Self {
        Self { group, live: DashMap::new() }
    }

    /// The group that the tasks belong to.
    #[must_use]
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// Has `work` run for the key: now, or once more if it is running. `work` returns when there is
    /// nothing left to do for the key.
    pub fn wake<F, W>(self: &Arc<Self>, key: K, work: F)
    where
        F: Fn(K) -> W + Send + 'static,
        W: Future<Output = ()> + Send,
    {
        match self.live.entry(key.clone()) {
            Entry::Occupied(mut woken) => *woken.get_mut() = true,
            Entry::Vacant(place) => {
                place.insert(false);
                let keyed = self.clone();
                self.group.spawn(&key.to_string(), async move {
                    loop {
                        if let Err(panicked) = catch(work(key.clone())).await {
                            tracing::error!(%key, error = %panicked, "task panicked");
                        }
                        if keyed.leave_unless_woken(&key) {
                            return;
                        }
                    }
                });
            }
        }
    }

    /// How many keys are being worked on.
    #[must_use]
    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// Whether no key is being worked on.
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
