//! A map that forgets the entry that was used least recently.

use std::hash::Hash;
use std::num::NonZeroUsize;
use std::ops::{Deref, DerefMut};

use lru::LruCache;

/// A map of at most `LIMIT` entries, and at least one. `put` and `get_or_insert_mut` of a further
/// key remove the entry that was used least recently. `peek` and `contains` are no use of an entry.
///
/// An empty map takes no memory for its limit, unlike one of `LruCache::new`.
#[derive(Debug)]
pub struct LruMap<K: Hash + Eq, V, const LIMIT: usize>(LruCache<K, V>);

impl<K: Hash + Eq, V, const LIMIT: usize> Default for LruMap<K, V, LIMIT> {
    fn default() -> Self {
        Self(LruCache::sparse(NonZeroUsize::new(LIMIT).unwrap_or(NonZeroUsize::MIN)))
    }
}

impl<K: Hash + Eq, V, const LIMIT: usize> Deref for LruMap<K, V, LIMIT> {
    type Target = LruCache<K, V>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<K: Hash + Eq, V, const LIMIT: usize> DerefMut for LruMap<K, V, LIMIT> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn put_forgets_the_entry_that_was_used_least_recently() {
        let mut map = LruMap::<_, _, 2>::default();
        for (key, value) in [("a", 1), ("b", 2), ("a", 3)] {
            map.put(key, value);
        }
        assert_eq!(map.peek("b"), Some(&2));
        map.put("c", 4);
        assert_eq!((map.contains("b"), map.len()), (false, 2));
        assert_eq!(map.get("a"), Some(&3));
        *map.get_or_insert_mut("d", || 0) += 1;
        assert_eq!((map.peek("c"), map.peek("d")), (None, Some(&1)));
    }
}
