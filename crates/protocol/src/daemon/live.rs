//! A value that can be replaced while the daemon runs, such as a part of the configuration.

use std::fmt;
use std::mem;
use std::sync::Arc;

use parking_lot::RwLock;

/// A value that can be replaced while others read it. Clones share the value.
pub struct Live<T: ?Sized>(Arc<RwLock<Arc<T>>>);

impl<T: ?Sized> Live<T> {
    /// Creates the cell with its first value.
    pub fn new(value: impl Into<Arc<T>>) -> Self {
        Self(Arc::new(RwLock::new(value.into())))
    }

    /// Returns the current value. The caller keeps this value if another one replaces it.
    #[must_use]
    pub fn now(&self) -> Arc<T> {
        self.0.read().clone()
    }

    /// Replaces the value, for all later calls of [`Self::now`].
    pub fn replace(&self, value: impl Into<Arc<T>>) {
        let value = value.into();
        self.change(|_| value);
    }

    /// Replaces the value by one that is made from it. Other changes wait meanwhile.
    pub fn change(&self, make: impl FnOnce(&T) -> Arc<T>) {
        let mut value = self.0.write();
        let new = make(&value);
        let old = mem::replace(&mut *value, new);
        // Unlock first: the destructor of the old value may read the new one.
        drop(value);
        drop(old);
    }
}

impl<T: ?Sized> Clone for Live<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Default> Default for Live<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Live<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Live").field(&self.now()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replace_changes_the_value_of_all_clones_and_keeps_borrowed_ones() {
        let live = Live::<str>::new("first");
        let (clone, before) = (live.clone(), live.now());
        live.replace("second");
        assert_eq!((&*before, &*clone.now()), ("first", "second"));
        clone.change(|value| format!("{value} and third").into());
        assert_eq!(&*live.now(), "second and third");
    }

    /// A value whose destructor reads the cell that contained it.
    struct Reader(Live<Option<Reader>>);

    impl Drop for Reader {
        fn drop(&mut self) {
            assert!(self.0.now().is_none());
        }
    }

    #[test]
    fn replace_drops_the_old_value_after_readers_can_go_on() {
        let live = Live::<Option<Reader>>::default();
        live.replace(Some(Reader(live.clone())));
        live.replace(None);
        assert!(live.now().is_none());
    }
}
