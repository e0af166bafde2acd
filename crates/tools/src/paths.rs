//! Which paths are in use: calls that touch the same ones wait for each other.

use std::sync::{Arc, Mutex, PoisonError};

use avocet_protocol::ToolClass;
use tokio::sync::Notify;

/// The paths that are in use, in workspaces and beside them, by all who work there.
#[derive(Debug, Default)]
pub struct Paths {
    used: Mutex<Vec<Arc<Use>>>,
    freed: Notify,
}

/// A call, and what it touches.
#[derive(Debug)]
struct Use {
    paths: Vec<Vec<String>>,
    changes: bool,
}

impl Paths {
    /// Waits until nobody is in the way, and keeps these paths for as long as the guard lives. All at
    /// once: nobody waits while holding what another waits for.
    pub(crate) async fn take(self: &Arc<Self>, paths: &[String], class: ToolClass) -> Taken {
        let paths = paths.iter().map(|path| components(path)).collect();
        let wanted = Arc::new(Use { paths, changes: class != ToolClass::Pure });
        loop {
            let freed = self.freed.notified();
            {
                let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
                if !used.iter().any(|other| other.is_in_the_way_of(&wanted)) {
                    used.push(wanted.clone());
                    return Taken { paths: self.clone(), used: wanted };
                }
            }
            freed.await;
        }
    }
}

/// Paths that nobody else touches.
#[derive(Debug)]
pub(crate) struct Taken {
    paths: Arc<Paths>,
    used: Arc<Use>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut used = self.paths.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|other| !Arc::ptr_eq(other, &self.used));
        drop(used);
        self.paths.freed.notify_waiters();
    }
}

impl Use {
    fn is_in_the_way_of(&self, other: &Self) -> bool {
        let share =
            |one: &[String], other: &[String]| one.starts_with(other) || other.starts_with(one);
        (self.changes || other.changes)
            && self.paths.iter().any(|one| other.paths.iter().any(|other| share(one, other)))
    }
}

/// A path as it is compared: without what leads nowhere, and alike where a file system may say so.
fn components(path: &str) -> Vec<String> {
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
