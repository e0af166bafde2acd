//! The answers of editors that are still open, and the files that they change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use avocet_protocol::ignore_result;
use avocet_protocol::tool::EditorError;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use crate::channel_program::cut_error;
use crate::wire::RpcError;

/// The place for the answer of an editor, also for a late one.
#[derive(Debug)]
pub(crate) struct EditorAnswer {
    pub(crate) answer: flume::Sender<Result<Value, EditorError>>,
    /// Ends with the answer, or with the connection.
    pub(crate) change: Option<OpenChange>,
}

impl EditorAnswer {
    pub(crate) fn take_result(self, result: Result<Value, RpcError>) {
        let Self { answer, change } = self;
        // The change ends before the answer is seen.
        drop(change);
        let result = result.map_err(|error| EditorError::Refused(cut_error(&error.message)));
        ignore_result(answer.try_send(result), "nothing waits for a late answer");
    }
}

/// The files whose changes the editor has not answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenChanges(Arc<Mutex<Vec<PathBuf>>>);

impl OpenChanges {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.0.lock()
    }

    pub(crate) fn begin_change(&self, path: &Path) -> OpenChange {
        self.lock().push(path.to_owned());
        OpenChange { all: self.clone(), path: path.to_owned() }
    }
}

/// A change without an answer. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct OpenChange {
    all: OpenChanges,
    path: PathBuf,
}

impl Drop for OpenChange {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if let Some(place) = all.iter().position(|one| *one == self.path) {
            all.swap_remove(place);
        }
    }
}
