//! Reads a damaged log page by page and puts its rows into a new one.
//!
//! SQLite reads a table from its root and stops at the first damaged page. Here, each page is read
//! by itself: first the pages of trees, the newest first, then lost pages. Rows of lost pages are
//! assigned to tables by their shape. Constraints decide which rows are taken; the others are
//! reported.

mod load;
mod readable;
mod repair;
mod source;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use avocet_protocol::clock::Timestamp;
use avocet_text::Redactor;
use serde::Serialize;

use crate::copy::{CopyError, check_room};
use crate::distrust::{EndedWork, RolledBack};
use crate::error::{store_error, unusable_path};
use crate::files::remove_with_journal;
use crate::last::LastTransaction;
use crate::missing::{roll_back, unsure_until};
use crate::tx::Db;
use crate::{damage, migrate, schema};

use source::DamagedLog;

/// Report about a recovered log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SalvageReport {
    /// Number of pages of the database.
    pub pages: u32,
    /// Number of unreadable pages.
    pub unreadable_pages: usize,
    /// Number of unreadable rows in readable pages.
    pub unreadable_rows: usize,
    /// Text about the use of its `-wal`.
    pub wal: String,
    /// One entry for each table.
    pub tables: Vec<SavedTable>,
    /// Texts about rows that were changed or left out to satisfy references.
    pub repairs: Vec<String>,
    /// Work that was open in the log and is ended unfinished.
    pub ended: EndedWork,
}

/// Report about a recovered table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SavedTable {
    /// Name of the table.
    pub name: String,
    /// Number of rows in the new log.
    pub rows: u64,
    /// Number of rows that were read but left out.
    pub left_out: u64,
    /// Reason for the first of them.
    pub why: Option<String>,
}

impl SalvageReport {
    /// Returns the number of rows in the new log.
    #[must_use]
    pub fn count_rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }
}

/// Facts known from outside the damaged log.
#[derive(Debug)]
pub(crate) struct SalvageFacts<'a> {
    /// Content of the `-last` file.
    pub(crate) last: Option<LastTransaction>,
    /// Row numbers given out elsewhere, by table.
    pub(crate) numbers: BTreeMap<String, i64>,
    pub(crate) redactor: &'a Redactor,
    pub(crate) now: Timestamp,
}

/// Puts the readable rows of `from` into a new database. Blocks.
///
/// # Errors
/// [`CopyError::NotWhole`] if all rows are unreadable; the new database is then removed.
pub(crate) fn salvage_log(
    from: &Path,
    into: &Path,
    given: &SalvageFacts<'_>,
) -> Result<SalvageReport, CopyError> {
    let salvaged = salvage_into(from, into, given);
    if salvaged.is_err() {
        remove_with_journal(into);
    }
    salvaged
}

fn salvage_into(
    from: &Path,
    into: &Path,
    given: &SalvageFacts<'_>,
) -> Result<SalvageReport, CopyError> {
    let not_whole = |detail: String| CopyError::NotWhole { path: from.to_owned(), detail };
    let wal = source::read_wal(from).map_err(|error| unusable_path(from, error))?;
    let mut source = DamagedLog::open(from, &wal).map_err(|error| unusable_path(from, error))?;
    check_room(u64::from(source.pages.last_page()) * source.pages.page_size() as u64, into)?;
    let mut connection = schema::make_database(into, source.version)?;
    let sql = |error: rusqlite::Error| store_error(into, &error);
    connection.pragma_update(None, "foreign_keys", false).map_err(sql)?;
    connection.pragma_update(None, "synchronous", "OFF").map_err(sql)?;
    let transaction = connection.transaction().map_err(sql)?;
    let found_numbers = source.last_numbers();
    let (mut tables, unreadable_rows) = load::load(&transaction, &mut source).map_err(sql)?;
    if tables.iter().all(|table| table.rows == 0) {
        return Err(not_whole("none of its rows can be read".to_owned()));
    }
    transaction.commit().map_err(sql)?;
    migrate::bring_up(&mut connection, into, source.version, schema::MIGRATIONS)?;
    let transaction = connection.transaction().map_err(sql)?;
    let repairs =
        repair::repair_references(Db { connection: &transaction, path: into }, &mut tables)?;
    transaction.commit().map_err(sql)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(sql)?;

    let mut numbers = given.numbers.clone();
    for (table, number) in found_numbers {
        let known = numbers.entry(table).or_default();
        *known = number.max(*known);
    }
    let epoch = source.meta.as_ref().map_or(0, |meta| meta.epoch);
    let rolled_back = RolledBack {
        outcome: "recovered",
        why: format!("it was recovered from the damaged log {}", from.display()),
        for_chats: "it was damaged and has been recovered".to_owned(),
        unsure_until: given.last.as_ref().map(unsure_until),
        epoch: given.last.as_ref().map_or(epoch, |last| last.epoch.max(epoch)) + 1,
        numbers,
    };
    let db = Db { connection: &connection, path: into };
    let ended = roll_back(db, &rolled_back, given.redactor, given.now)?;
    if let Some(detail) = damage::find_thoroughly(db)? {
        return Err(not_whole(format!("the recovered part is not consistent ({detail})")));
    }
    let pages = source.pages.last_page();
    let unreadable_pages = source.unreadable_pages();
    let wal = source.wal_used;
    Ok(SalvageReport { pages, unreadable_pages, unreadable_rows, wal, tables, repairs, ended })
}

/// Returns the last readable row numbers of a log, by table. The log may be damaged.
pub(crate) fn last_numbers(path: &Path) -> BTreeMap<String, i64> {
    let read = || {
        let wal = source::read_wal(path)?;
        Ok::<_, std::io::Error>(DamagedLog::open(path, &wal)?.last_numbers())
    };
    read().unwrap_or_default()
}

/// Returns the default log to recover: the last one that was moved aside.
pub(crate) fn newest_damaged(database: &Path) -> std::io::Result<Option<PathBuf>> {
    let noted =
        damage::UndecidedDamage::read(database)?.and_then(|damage| damage.moved_path(database));
    match noted {
        Some(noted) => Ok(Some(noted)),
        None => damage::newest_aside(database),
    }
}
