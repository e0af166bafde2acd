//! The size of the log, and its reduction: `avocet db size` and `avocet db vacuum`.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use crate::copy::{CopyError, check_room, largest_copy_bytes, write_copy};
use crate::error::{store_error, unusable_path};
use crate::files::{DATABASE, PART, put_in_place, remove_with_journal, with_suffix};
use crate::lock::DirectoryLock;
use crate::precheck::look_at_files;
use crate::schema::PAGE_BYTES;
use crate::tx::{Db, Result};
use crate::{OpenError, SqliteStore, binding, damage};

/// The size of the log and of the kinds of content in it, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSize {
    /// The database file.
    pub file: u64,
    /// The `-wal` beside it.
    pub wal: u64,
    /// Pages in the file that hold no rows any more, and that new rows use.
    pub free: u64,
    /// `true` if the daemon gives free pages back to the disk.
    pub shrinks: bool,
    /// Number of messages, and the bytes of messages, replies and deliveries.
    pub messages: RowSpace,
    /// Number of calls of tools, and the bytes of their results.
    pub results: RowSpace,
    /// Number of rows of the audit table, and the bytes of their texts.
    pub audit: RowSpace,
    /// Number of memories, with the forgotten ones, and the bytes of their texts.
    pub memories: RowSpace,
}

/// The number of rows, and the bytes of their texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowSpace {
    /// The number of rows.
    pub rows: u64,
    /// The bytes of their texts.
    pub bytes: u64,
}

impl SqliteStore {
    /// Measures the log. Reads every row once.
    ///
    /// # Errors
    /// [`StoreError`](avocet_protocol::store::StoreError) if the log cannot be read.
    pub async fn measure_size(&self) -> Result<LogSize> {
        self.read(log_size).await
    }
}

/// Returns the bytes of the database file and its `-wal`; 0 without a log.
#[must_use]
pub fn file_bytes(directory: &Path) -> u64 {
    let path = directory.join(DATABASE);
    ["", "-wal"].map(|suffix| bytes_of(&with_suffix(&path, suffix))).iter().sum()
}

fn bytes_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

fn log_size(db: Db<'_>) -> Result<LogSize> {
    let number = |pragma: &str| db.query_one(pragma, (), |row| row.get::<_, u64>(0));
    let rows = |sql: &str| {
        db.query_one(sql, (), |row| {
            Ok(RowSpace { rows: row.get(0)?, bytes: row.get::<_, i64>(1)?.unsigned_abs() })
        })
    };
    Ok(LogSize {
        file: bytes_of(db.path),
        wal: bytes_of(&with_suffix(db.path, "-wal")),
        free: number("PRAGMA freelist_count")? * number("PRAGMA page_size")?,
        shrinks: number("PRAGMA auto_vacuum")? == 2,
        messages: rows(
            "SELECT (SELECT count(*) FROM inbound), \
                (SELECT coalesce(sum(octet_length(content)), 0) FROM inbound) \
                + (SELECT coalesce(sum(octet_length(content)), 0) FROM outbox) \
                + (SELECT coalesce(sum(octet_length(text) + coalesce(octet_length(reasoning), 0)), 0) \
                    FROM steps)",
        )?,
        results: rows(
            "SELECT count(*), coalesce(sum(octet_length(result)), 0) \
                + (SELECT coalesce(sum(octet_length(body)), 0) FROM kept_results) FROM calls",
        )?,
        audit: rows(
            "SELECT count(*), coalesce(sum(octet_length(summary) + octet_length(hash) * 2), 0) \
             FROM audit",
        )?,
        memories: rows("SELECT count(*), coalesce(sum(octet_length(text) * 2), 0) FROM memories")?,
    })
}

/// Rewrites the log of a stopped daemon without its free pages, and lets later daemons give free
/// pages back. Returns the bytes of the file before and after. Blocks.
///
/// The new file takes the place of the old one in one step: a crash leaves one of the two.
///
/// # Errors
/// [`CopyError`]; the log is unchanged then.
pub fn vacuum_log(_lock: &DirectoryLock, directory: &Path) -> Result<(u64, u64), CopyError> {
    let path = directory.join(DATABASE);
    if !path.exists() {
        return Err(CopyError::NoLog(directory.to_owned()));
    }
    let not_whole = |detail| CopyError::NotWhole { path: path.clone(), detail };
    match look_at_files(&path).map_err(|error| unusable_path(&path, error))? {
        Ok(binding::WalState::Nothing) => {}
        Ok(binding::WalState::Wal { .. }) => {
            let detail =
                "its -wal was not emptied at the last stop; start the daemon and stop it again";
            return Err(not_whole(detail.to_owned()));
        }
        Err(detail) => return Err(not_whole(detail)),
    }
    let before = bytes_of(&path);
    let part = with_suffix(&path, PART);
    let written = write_smaller(&path, &part);
    if let Err(error) = written {
        remove_with_journal(&part);
        return Err(error);
    }
    put_in_place(&part, &path)?;
    Ok((before, bytes_of(&path)))
}

fn write_smaller(path: &Path, part: &Path) -> Result<(), CopyError> {
    let error = |error| OpenError::from(store_error(path, &error));
    let source = Connection::open(path).map_err(error)?;
    check_room(largest_copy_bytes(&source, path)?, part)?;
    // Both take effect in the copy. 2 is INCREMENTAL.
    source.pragma_update(None, "auto_vacuum", 2).map_err(error)?;
    source.pragma_update(None, "page_size", PAGE_BYTES).map_err(error)?;
    write_copy(&source, part)?;
    let copy = Connection::open(part).map_err(|error| store_error(part, &error))?;
    match damage::find_thoroughly(Db { connection: &copy, path: part })? {
        None => Ok(()),
        Some(detail) => Err(CopyError::NotWhole { path: path.to_owned(), detail }),
    }
}
