//! The time in which a program may change everything in a directory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// Held while a program of a conversation runs. Drop it when the call has ended.
#[derive(Debug)]
pub struct ChangeWindow {
    /// The name of the conversation's directory.
    conversation: String,
    roots: Vec<PathBuf>,
    /// Absolute paths that other conversations have changed meanwhile.
    by_others: Mutex<BTreeSet<PathBuf>>,
}

/// The windows of all conversations.
#[derive(Debug, Default)]
pub(super) struct OpenWindows(Mutex<Vec<Weak<ChangeWindow>>>);

impl OpenWindows {
    /// Opens a window. Returns `None` if another conversation has one in the same directories, since
    /// nobody could tell their changes apart.
    pub(super) fn open_window(
        &self,
        conversation: &str,
        roots: Vec<PathBuf>,
    ) -> Option<Arc<ChangeWindow>> {
        let mut open = self.0.lock();
        open.retain(|window| window.strong_count() > 0);
        let overlaps = |window: Arc<ChangeWindow>| {
            let is_other = window.conversation != conversation;
            is_other && roots.iter().any(|root| window.roots.iter().any(|one| is_within(one, root)))
        };
        if open.iter().filter_map(Weak::upgrade).any(overlaps) {
            return None;
        }
        let conversation = conversation.to_owned();
        let window = Arc::new(ChangeWindow { conversation, roots, by_others: Mutex::default() });
        open.push(Arc::downgrade(&window));
        Some(window)
    }

    /// Notes that a call of a conversation changes these absolute paths.
    pub(super) fn note_paths(&self, conversation: &str, paths: &[String]) {
        for window in self.0.lock().iter().filter_map(Weak::upgrade) {
            if window.conversation != conversation {
                window.by_others.lock().extend(paths.iter().map(PathBuf::from));
            }
        }
    }

    /// Returns the paths that others have changed in the windows of a conversation.
    pub(super) fn paths_by_others(&self, conversation: &str) -> BTreeSet<PathBuf> {
        let windows = self.0.lock();
        let own = windows.iter().filter_map(Weak::upgrade);
        let own = own.filter(|window| window.conversation == conversation);
        own.flat_map(|window| window.by_others.lock().clone()).collect()
    }
}

/// Returns `true` if one of two paths is the other or is in it.
pub(super) fn is_within(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
