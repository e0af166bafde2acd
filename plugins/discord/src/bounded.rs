//! A limit for remembered channels, messages and people. A full map is cleared: it is only a cache,
//! or its loss is harmless.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;

/// Keys that a map remembers.
pub(crate) const MAX_KNOWN: usize = 10_000;

/// A map or a set with at most [`MAX_KNOWN`] keys.
pub(crate) trait MakeRoom<K> {
    /// Clears a full map, unless it has the key.
    fn make_room(&mut self, key: &K);
}

impl<K: Eq + Hash, V> MakeRoom<K> for HashMap<K, V> {
    fn make_room(&mut self, key: &K) {
        if self.len() >= MAX_KNOWN && !self.contains_key(key) {
            self.clear();
        }
    }
}

impl<K: Eq + Hash> MakeRoom<K> for HashSet<K> {
    fn make_room(&mut self, key: &K) {
        if self.len() >= MAX_KNOWN && !self.contains(key) {
            self.clear();
        }
    }
}

impl<K: Ord> MakeRoom<K> for BTreeSet<K> {
    fn make_room(&mut self, key: &K) {
        if self.len() >= MAX_KNOWN && !self.contains(key) {
            self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn make_room_clears_a_full_set_for_a_new_key_only() {
        let mut known: HashSet<usize> = (0..MAX_KNOWN).collect();
        known.make_room(&1);
        assert_eq!(known.len(), MAX_KNOWN);
        known.make_room(&MAX_KNOWN);
        assert!(known.is_empty());
    }
}
