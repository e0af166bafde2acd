//! Locks on paths: a call waits for earlier calls that touch the same path.

use std::sync::Arc;

use avocet_protocol::tool::ToolClass;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The paths in use, by all tools and in all directories.
#[derive(Debug, Default)]
pub struct PathLocks {
    used: Mutex<Vec<Arc<PathUse>>>,
    freed: Notify,
}

/// A call in progress and its paths.
#[derive(Debug)]
struct PathUse {
    paths: Vec<Vec<String>>,
    changes: bool,
}

impl PathLocks {
    /// Locks these paths until the returned guard is dropped; reads may share a path. All paths are
    /// taken at once, which rules out deadlocks.
    pub(crate) async fn lock_paths(
        self: &Arc<Self>,
        paths: &[String],
        class: ToolClass,
    ) -> PathLock {
        let paths = paths.iter().map(|path| path_components(path)).collect();
        let wanted = Arc::new(PathUse { paths, changes: class != ToolClass::Pure });
        loop {
            let freed = self.freed.notified();
            {
                let mut used = self.used.lock();
                if !used.iter().any(|other| other.is_in_the_way_of(&wanted)) {
                    used.push(wanted.clone());
                    return PathLock { paths: self.clone(), used: wanted };
                }
            }
            freed.await;
        }
    }
}

/// A lock on the paths of one call.
#[derive(Debug)]
pub(crate) struct PathLock {
    paths: Arc<PathLocks>,
    used: Arc<PathUse>,
}

impl Drop for PathLock {
    fn drop(&mut self) {
        let mut used = self.paths.used.lock();
        used.retain(|other| !Arc::ptr_eq(other, &self.used));
        drop(used);
        self.paths.freed.notify_waiters();
    }
}

impl PathUse {
    fn is_in_the_way_of(&self, other: &Self) -> bool {
        let share =
            |one: &[String], other: &[String]| one.starts_with(other) || other.starts_with(one);
        (self.changes || other.changes)
            && self.paths.iter().any(|one| other.paths.iter().any(|other| share(one, other)))
    }
}

/// Normalises a path for comparison, in lower case because some file systems ignore case.
fn path_components(path: &str) -> Vec<String> {
    let mut components: Vec<String> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(components.pop()),
            part => components.push(part.to_lowercase()),
        }
    }
    components
}

#[cfg(test)]
#[path = "paths_tests.rs"]
mod tests;
