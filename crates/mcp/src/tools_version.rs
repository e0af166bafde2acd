//! The version of the list of tools, which grows with each change.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of changes of the tools.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolsVersion(Arc<AtomicU64>);

impl ToolsVersion {
    pub(crate) fn increase_version(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}
