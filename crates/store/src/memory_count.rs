//! The number of active memories, which each recall compares with the numbers of its words. Counting
//! reads an entry of each memory, so the number is kept until a transaction with
//! [`ChangeMarks::memories`](crate::tx::ChangeMarks) commits.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::tx::Result;

/// The kept number.
#[derive(Debug, Default)]
pub(crate) struct MemoryCount {
    kept: Mutex<KeptCount>,
}

#[derive(Debug, Default)]
struct KeptCount {
    /// Number of times that the count was cleared.
    cleared: u64,
    count: Option<u64>,
}

/// The count for one read. A number that it has counted is kept only if there was no change since its
/// beginning.
#[derive(Debug)]
pub(crate) struct CountRead {
    count: Arc<MemoryCount>,
    /// See [`KeptCount::cleared`].
    cleared: u64,
}

impl MemoryCount {
    /// Forgets the number, because memories have changed.
    pub(crate) fn clear(&self) {
        let mut kept = self.kept.lock();
        kept.cleared += 1;
        kept.count = None;
    }

    /// Begins a read. Call this before its transaction begins.
    pub(crate) fn begin_read(self: &Arc<Self>) -> CountRead {
        CountRead { cleared: self.kept.lock().cleared, count: self.clone() }
    }
}

impl CountRead {
    /// Returns the kept number, or keeps the one that `count` reads.
    pub(crate) fn get_or_count(&self, count: impl FnOnce() -> Result<u64>) -> Result<u64> {
        if let Some(count) = self.count.kept.lock().count {
            return Ok(count);
        }
        let counted = count()?;
        let mut kept = self.count.kept.lock();
        if kept.cleared == self.cleared {
            kept.count = Some(counted);
        }
        Ok(counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn get_or_count_counts_once_between_changes() {
        let kept = Arc::<MemoryCount>::default();
        let before = kept.begin_read();
        assert_eq!(before.get_or_count(|| Ok(1)), Ok(1));
        assert_eq!(kept.begin_read().get_or_count(|| panic!("counted again")), Ok(1));
        kept.clear();
        assert_eq!(before.get_or_count(|| Ok(2)), Ok(2));
        assert_eq!(
            kept.begin_read().get_or_count(|| Ok(3)),
            Ok(3),
            "an older read kept its number"
        );
        assert_eq!(kept.begin_read().get_or_count(|| panic!("counted again")), Ok(3));
    }
}
