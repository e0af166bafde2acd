//! Decides when the pages of the database are checked. A small database is checked at each start,
//! before the first write. A large one is checked beside the daemon's work, and only if the last
//! process did not stop in order. A fault stops the daemon, and the next start moves the database
//! aside.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use avocet_protocol::daemon::LogCheck;
use avocet_protocol::store::StoreError;
use avocet_supervise::Group;
use parking_lot::Mutex;
use rusqlite::InterruptHandle;

use crate::LogHolder;
use crate::binding::WalState;
use crate::connect::read_only;
use crate::damage;
use crate::last::{LastTransaction, PageState, SharedPageState};
use crate::rows::events::POSITION;
use crate::schema;
use crate::tx::{Db, Result};
use crate::writer::LogWriter;

/// Databases up to this size in bytes are checked at each start, in a few milliseconds.
const SMALL: u64 = 1024 * 1024;
/// Larger databases in bytes are not checked; their pages are checked as they are used.
const LARGE: u64 = 1024 * 1024 * 1024;

/// The check that a start needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NeededCheck {
    /// The last process stopped in order, and found no fault.
    Header,
    /// Before the first write.
    First,
    /// Beside the work of the daemon.
    Beside,
    /// The database is too large.
    Skipped,
}

/// The facts that decide about the check.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckFacts<'a> {
    /// The size of the database in bytes.
    pub(crate) bytes: u64,
    pub(crate) last: Option<&'a LastTransaction>,
    /// The state of the `-wal` before SQLite opened the database.
    pub(crate) beside: WalState,
    pub(crate) holder: LogHolder,
    /// `true` if a migration follows, which rewrites pages.
    pub(crate) is_older: bool,
    /// `true` if a marker says that the database was damaged.
    pub(crate) has_marker: bool,
    /// The id, the position and `in_use` of the log; `None` if they cannot be read.
    pub(crate) meta: Option<(&'a str, i64, bool)>,
}

impl CheckFacts<'_> {
    pub(crate) fn needed_check(&self) -> NeededCheck {
        let pages = self.last.map_or(PageState::Unchecked, |last| last.pages);
        let must = self.has_marker || self.is_older || self.meta.is_none();
        if self.bytes <= SMALL || must || pages == PageState::Suspect {
            return NeededCheck::First;
        }
        if self.was_closed() && pages == PageState::Checked {
            return NeededCheck::Header;
        }
        match self.holder {
            _ if self.bytes > LARGE => NeededCheck::Skipped,
            LogHolder::Daemon => NeededCheck::Beside,
            // A command ends before a check beside it would.
            LogHolder::Command => NeededCheck::First,
        }
    }

    /// Returns `true` if the last process has moved its last transaction into the database.
    fn was_closed(&self) -> bool {
        let (Some(last), Some((id, position, in_use))) = (self.last, self.meta) else {
            return false;
        };
        let fits = last.id == id && last.position == position;
        fits && !in_use && self.beside == WalState::Nothing
    }
}

/// Finds out which check a database needs.
pub(crate) fn find_needed_check(
    db: Db<'_>,
    last: Option<&LastTransaction>,
    beside: WalState,
    holder: LogHolder,
) -> Result<NeededCheck> {
    let version: i64 = db.query_one("PRAGMA user_version", (), |row| row.get(0))?;
    let sql = format!("SELECT id, {POSITION}, in_use FROM meta");
    let meta = db.query_one(&sql, (), |row| {
        Ok((row.get::<_, String>(0)?, row.get(1)?, row.get::<_, i64>(2)? != 0))
    });
    let meta = meta.ok();
    let facts = CheckFacts {
        bytes: fs::metadata(db.path).map_or(0, |file| file.len()),
        last,
        beside,
        holder,
        is_older: usize::try_from(version).is_ok_and(|version| version < schema::newest_version()),
        has_marker: damage::has_marker(db.path),
        meta: meta.as_ref().map(|(id, position, in_use)| (id.as_str(), *position, *in_use)),
    };
    Ok(facts.needed_check())
}

/// The check of the pages, as `status` shows it.
#[derive(Debug, Clone)]
pub(crate) struct RunningCheck {
    state: Arc<Mutex<CheckProgress>>,
    pub(crate) pages: SharedPageState,
}

#[derive(Default)]
struct CheckProgress {
    shown: LogCheck,
    /// Ends the check, while it runs.
    interrupt: Option<InterruptHandle>,
    is_cancelled: bool,
}

impl std::fmt::Debug for CheckProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.shown)
    }
}

impl RunningCheck {
    pub(crate) fn new(needed: NeededCheck, pages: SharedPageState) -> Self {
        let shown = match needed {
            NeededCheck::Header | NeededCheck::First => LogCheck::AtStart,
            NeededCheck::Beside => LogCheck::Running,
            NeededCheck::Skipped => LogCheck::Skipped,
        };
        Self {
            state: Arc::new(Mutex::new(CheckProgress { shown, ..CheckProgress::default() })),
            pages,
        }
    }

    pub(crate) fn shown_check(&self) -> LogCheck {
        self.state.lock().shown
    }

    /// Marks the database as suspect after an error, so that the next start checks it first.
    pub(crate) fn note_error(&self, error: &StoreError) {
        if matches!(error, StoreError::Damaged { .. }) {
            self.pages.set_state(PageState::Suspect);
        }
    }

    /// Ends a running check. The next start begins it again.
    pub(crate) fn cancel_check(&self) {
        let mut state = self.state.lock();
        state.is_cancelled = true;
        if let Some(interrupt) = &state.interrupt {
            interrupt.interrupt();
        }
    }

    /// Checks the database in its own thread. A fault ends the writer.
    pub(crate) fn start(&self, path: &Path, writer: &LogWriter, group: &Group) -> Result<()> {
        let connection = read_only(path)?;
        let interrupt = connection.get_interrupt_handle();
        self.state.lock().interrupt = Some(interrupt);
        let (check, writer, path): (_, _, PathBuf) = (self.clone(), writer.clone(), path.into());
        let thread = move || {
            let found = damage::find_damage(Db { connection: &connection, path: &path });
            check.end_check(found, &path, &writer);
        };
        group.spawn_thread("store-check", thread).map(drop).map_err(|error| {
            StoreError::Internal(format!("cannot start the thread of the check: {error}"))
        })
    }

    fn end_check(&self, found: Result<Option<String>>, path: &Path, writer: &LogWriter) {
        let mut state = self.state.lock();
        state.interrupt = None;
        state.shown = match found {
            // The interruption looks like a fault.
            _ if state.is_cancelled => LogCheck::Skipped,
            Ok(None) => {
                self.pages.note_checked();
                LogCheck::Whole
            }
            Ok(Some(detail)) => {
                self.pages.set_state(PageState::Suspect);
                let path = path.display().to_string();
                tracing::error!(
                    path,
                    detail,
                    "the log is damaged; stopping without further writes"
                );
                writer.end_writing(StoreError::Damaged { path, detail });
                LogCheck::Damaged
            }
            Err(error) => {
                tracing::warn!(%error, "cannot check the log; the next start checks it again");
                LogCheck::Skipped
            }
        };
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
