//! A limit for remembered channels, messages and people: the loss of an old one is harmless.

use avocet_protocol::LruMap;

/// Keys that a map remembers.
pub(crate) const MAX_KNOWN: usize = 10_000;

/// A map of the keys that were put last.
pub(crate) type KnownMap<K, V> = LruMap<K, V, MAX_KNOWN>;
/// A set of the keys that were put last.
pub(crate) type KnownSet<K> = LruMap<K, (), MAX_KNOWN>;
