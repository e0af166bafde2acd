//! Keeps the configurations of repositories that the search for protected paths has read.
//!
//! Each program is watched for the untrusted files that are opened while it runs, and the watch
//! cannot tell who opened one. A search that opened an untrusted `.git/config` again would mark the
//! output of every running program. So an unchanged file is opened once, before any program runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};

use crate::git::ConfigEntry;

/// Maximum number of configurations that are kept. Further ones are read each time.
const KEPT: usize = 4096;

/// Device, inode, and the time of the last change, which programs cannot set.
pub(crate) type FileIdentity = (u64, u64, i64, i64);

/// The entries of each configuration; `None` if git would refuse the file.
#[derive(Debug, Default)]
pub(crate) struct ReadConfigs(Mutex<BTreeMap<FileIdentity, Option<Arc<[ConfigEntry]>>>>);

impl ReadConfigs {
    /// Returns the entries of a file in this state, and calls `read` only if the state is new.
    pub(crate) fn get_or_read(
        &self,
        identity: FileIdentity,
        read: impl FnOnce() -> Option<Arc<[ConfigEntry]>>,
    ) -> Option<Arc<[ConfigEntry]>> {
        if let Some(known) = self.0.lock().get(&identity) {
            return known.clone();
        }
        let now = clock_after((identity.2, identity.3));
        let is_settled = (identity.2, identity.3) < now;
        let entries = read();
        let mut kept = self.0.lock();
        if is_settled && kept.len() < KEPT {
            kept.insert(identity, entries.clone());
        }
        entries
    }
}

/// Returns the time of the clock that stamps changes of files. If a file was changed in the present
/// tick, waits for the next one: a further change within the tick could leave it with the same time,
/// and so with the same identity. A tick has at most 10 ms.
fn clock_after(changed: (i64, i64)) -> (i64, i64) {
    let read = || {
        let now = clock_gettime(ClockId::RealtimeCoarse);
        (now.tv_sec, now.tv_nsec)
    };
    let start = read();
    let mut now = start;
    while now == start && now <= changed {
        thread::yield_now();
        now = read();
    }
    now
}
