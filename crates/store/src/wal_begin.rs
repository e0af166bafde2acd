//! Tells when the writer may begin a new `-wal`.
//!
//! ```text
//! -wal    | m e e e e e ... e e m | m m e e e ...        m: with `meta`   e: with events only
//!           ^ first commit    ^ ^   ^ begun anew, unless a reader still needed the frames
//!                             | checkpoint: moved into the database
//!                             1,000 frames
//! ```
//!
//! `binding.rs` compares the first and the last `meta` of a `-wal` with the database. So each `-wal`
//! begins with a transaction that writes `meta`, and the database never gets a transaction that follows
//! the last `meta`: an earlier copy of the `-wal` would seem to fit it. All other transactions that add
//! events leave that page alone, because the numbers of the events count them as well.
//!
//! A writer does not know before a commit whether SQLite begins the `-wal` anew. So each commit writes
//! `meta` as long as that is possible: the first one of a process, and those behind 1,000 frames. A
//! checkpoint of a tool beside the daemon is noticed one commit later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use avocet_protocol::ignore_result;
use rusqlite::Connection;
use rusqlite::hooks::Wal;

/// Frames of a `-wal` after which the next commit moves it into the database. SQLite's own limit.
const CHECKPOINT_FRAMES: u32 = 1000;

/// The `-wal` as the last commit of a connection left it.
#[derive(Debug, Clone, Default)]
pub(crate) struct WalBegin {
    /// Number of its frames; 0 before the first commit.
    frames: Arc<AtomicU32>,
    /// `true` if the last commit may have begun it.
    has_begun: Arc<AtomicBool>,
}

impl WalBegin {
    /// Watches the commits of a connection, and makes its checkpoints.
    pub(crate) fn watch(connection: &mut Connection) -> rusqlite::Result<Self> {
        let watched = Self::default();
        let Self { frames, has_begun } = watched.clone();
        connection.wal_hook(Some(move |wal: &mut Wal, pages: i32| {
            let now = pages.unsigned_abs();
            let before = frames.swap(now, Ordering::Relaxed);
            has_begun.store(now <= before, Ordering::Relaxed);
            // The commit has written `meta` behind these frames.
            if before >= CHECKPOINT_FRAMES && now > before {
                ignore_result(
                    wal.checkpoint(),
                    "the next commit tries again, as SQLite's own hook does",
                );
            }
            Ok(())
        }))?;
        Ok(watched)
    }

    /// Returns `true` if the next commit may begin a new `-wal`, or if the last one did so.
    pub(crate) fn may_begin(&self) -> bool {
        let frames = self.frames.load(Ordering::Relaxed);
        frames == 0 || frames >= CHECKPOINT_FRAMES || self.has_begun.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commits a row, and returns whether it could have begun a new `-wal`, and whether it did.
    fn commit(connection: &Connection, begin: &WalBegin, wal: &std::path::Path) -> (bool, bool) {
        let salt = || std::fs::read(wal).unwrap_or_default().get(16..24).map(<[u8]>::to_vec);
        let (before, could) = (salt(), begin.may_begin());
        connection.execute("INSERT INTO t VALUES (zeroblob(3000))", ()).unwrap();
        (could, salt() != before)
    }

    #[test]
    fn wal_begins_only_with_a_commit_that_may_begin_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let mut connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "page_size", 1024).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        connection.execute("CREATE TABLE t (c BLOB) STRICT", ()).unwrap();
        let begin = WalBegin::watch(&mut connection).unwrap();
        let wal = directory.path().join("a.db-wal");
        let commits: Vec<_> = (0..600).map(|_| commit(&connection, &begin, &wal)).collect();
        let could = commits.iter().filter(|(could, _)| *could).count();
        let began = commits.iter().filter(|(_, began)| *began).count();
        assert!(commits.iter().all(|(could, began)| *could || !began), "{commits:?}");
        assert!(began > 0 && could <= 3 * (began + 1), "{began} began, {could} of 600 could");

        // A reader keeps the frames, so that each commit could be the one that begins anew.
        let reader = Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
        let kept: Vec<_> = (0..400).map(|_| commit(&connection, &begin, &wal)).collect();
        assert!(kept[390..].iter().all(|(could, began)| *could && !began), "{kept:?}");
        reader.execute_batch("COMMIT").unwrap();
        let (could, _) = commit(&connection, &begin, &wal);
        assert_eq!((could, commit(&connection, &begin, &wal)), (true, (true, true)));

        // Another connection makes the checkpoint: the commit behind the next one is told.
        while begin.may_begin() {
            commit(&connection, &begin, &wal);
        }
        reader.query_row("PRAGMA wal_checkpoint(RESTART)", (), |_| Ok(())).unwrap();
        assert_eq!(commit(&connection, &begin, &wal), (false, true));
        assert!(begin.may_begin());
    }
}
