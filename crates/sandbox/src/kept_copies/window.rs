//! The time in which a program may change everything in a directory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::state::PathState;

/// Held while a program of a conversation runs. Drop it when the call has ended.
#[derive(Debug)]
pub struct ChangeWindow {
    /// The name of the conversation's directory.
    conversation: String,
    /// Absolute paths that other conversations change meanwhile, with the state that they leave. `None`
    /// while the change is under way.
    by_others: Mutex<PathsByOthers>,
}

/// Absolute paths with the state in which another conversation has left them.
pub(super) type PathsByOthers = BTreeMap<PathBuf, Option<PathState>>;

/// The windows of all conversations.
#[derive(Debug, Default)]
pub(super) struct OpenWindows(Mutex<Vec<Weak<ChangeWindow>>>);

impl OpenWindows {
    /// Opens a window.
    pub(super) fn open_window(&self, conversation: &str) -> Arc<ChangeWindow> {
        let mut open = self.0.lock();
        open.retain(|window| window.strong_count() > 0);
        let conversation = conversation.to_owned();
        let window = Arc::new(ChangeWindow { conversation, by_others: Mutex::default() });
        open.push(Arc::downgrade(&window));
        window
    }

    /// Notes that a conversation changes these absolute paths, or has left them in these states.
    pub(super) fn note_paths(&self, conversation: &str, paths: &PathsByOthers) {
        for window in self.0.lock().iter().filter_map(Weak::upgrade) {
            if window.conversation != conversation {
                window.by_others.lock().extend(paths.clone());
            }
        }
    }

    /// Returns `true` if another conversation has a window.
    pub(super) fn has_others(&self, conversation: &str) -> bool {
        let windows = self.0.lock();
        windows.iter().filter_map(Weak::upgrade).any(|window| window.conversation != conversation)
    }

    /// Returns `true` if a conversation has a window.
    pub(super) fn has_own(&self, conversation: &str) -> bool {
        let windows = self.0.lock();
        windows.iter().filter_map(Weak::upgrade).any(|window| window.conversation == conversation)
    }

    /// Returns the paths that others have changed in the windows of a conversation.
    pub(super) fn paths_by_others(&self, conversation: &str) -> PathsByOthers {
        let windows = self.0.lock();
        let own = windows.iter().filter_map(Weak::upgrade);
        let own = own.filter(|window| window.conversation == conversation);
        own.flat_map(|window| window.by_others.lock().clone()).collect()
    }
}
