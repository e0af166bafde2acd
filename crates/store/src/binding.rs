//! Checks that a `-wal` belongs to the database beside it. SQLite itself applies the pages of any
//! `-wal` that it finds.
//!
//! The first transaction of each `-wal` increments `meta.commits`, and so do all that add no event
//! (`wal_begin.rs`). The first and the last value in a `-wal` tell to which state of which database its
//! transactions were added.

use std::io;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::files::with_suffix;
use crate::raw::{FoundWal, OwnedPages, RawPages, WalFile, read_schema, rows_of};

/// The row of the table `meta`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatabaseMeta {
    pub(crate) id: String,
    /// Id before the last roll-back.
    was: Option<String>,
    pub(crate) epoch: i64,
    /// Number of transactions that have written this row.
    pub(crate) commits: i64,
    /// `true` while the database is open for writing, and after a crash.
    pub(crate) in_use: bool,
}

impl DatabaseMeta {
    /// Reads the table `meta` without SQLite. `None` if it is unreadable, or its schema lacks ids.
    pub(crate) fn read(pages: &RawPages<'_>) -> Option<(Self, u32)> {
        let mut owned = OwnedPages::default();
        let table = read_schema(pages, &mut owned).into_iter().find(|row| row.name == "meta")?;
        let columns = columns_of_table(&table.sql)?;
        let (rows, _) = rows_of(pages, table.root, &mut owned);
        let (_, values) = rows.into_iter().next()?;
        let value =
            |name: &str| values.get(columns.iter().position(|column| column == name)?).cloned();
        let integer = |name: &str| match value(name)? {
            Value::Integer(integer) => Some(integer),
            _ => None,
        };
        let text = |name: &str| match value(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        };
        let (id, was, in_use) = (text("id")?, text("was"), integer("in_use")? != 0);
        let (epoch, commits) = (integer("epoch")?, integer("commits")?);
        Some((Self { id, was, epoch, commits, in_use }, table.root))
    }
}

/// Returns the columns of a table in the order of its stored rows, from its CREATE TABLE statement.
pub(crate) fn columns_of_table(sql: &str) -> Option<Vec<String>> {
    if !sql.starts_with("CREATE TABLE ") {
        return None;
    }
    let columns = || {
        let connection = Connection::open_in_memory()?;
        connection.execute(sql, ())?;
        // Tables without rowid store the primary key first.
        let mut info = connection.prepare(
            "SELECT info.name FROM pragma_table_list AS list, pragma_table_info(list.name) AS info \
             WHERE list.schema = 'main' AND list.name NOT LIKE 'sqlite_%' \
             ORDER BY CASE WHEN list.wr THEN info.pk = 0 END, CASE WHEN list.wr THEN info.pk END, info.cid",
        )?;
        info.query_map((), |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()
    };
    columns().ok().filter(|columns| !columns.is_empty())
}

/// The `-wal` found beside a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalState {
    /// The `-wal` is missing, or SQLite reads no transaction from it.
    Nothing,
    Wal {
        /// `true` if there are commits behind a broken frame.
        broken: bool,
    },
}

/// Examines the `-wal` before SQLite opens the database. The inner error says why the two do not
/// fit.
pub(crate) fn examine_wal(path: &Path) -> io::Result<Result<WalState, String>> {
    let pages = RawPages::open(path)?;
    let meta = DatabaseMeta::read(&pages);
    Ok(match WalFile::read(&with_suffix(path, "-wal"))? {
        FoundWal::Nothing => Ok(WalState::Nothing),
        // If the database was closed, power failed while the first transaction was written.
        FoundWal::Headless => match meta {
            Some((DatabaseMeta { in_use: true, .. }, _)) => {
                Err("the header of its -wal cannot be read".to_owned())
            }
            _ => Ok(WalState::Nothing),
        },
        FoundWal::Wal(wal) if meta.is_some() && wal.page_size() != pages.page_size() => {
            Err("the -wal beside it has pages of another size".to_owned())
        }
        FoundWal::Wal(wal) => {
            let fits = compare_meta(path, meta.as_ref(), &wal, wal.read_by_sqlite())?;
            let broken = wal.is_broken();
            let is_used = broken || wal.read_by_sqlite().next().is_some();
            let state = if is_used { WalState::Wal { broken } } else { WalState::Nothing };
            fits.map_err(|misfit| misfit.to_string()).map(|()| state)
        }
    })
}

/// The reason why a `-wal` does not fit the database beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WalMisfit {
    #[error("the -wal beside it belongs to another database")]
    Another,
    #[error(
        "its -wal belongs to a later state of it: the database has {has} transactions, the -wal begins with number \
         {first}"
    )]
    Later { has: i64, first: i64 },
    #[error(
        "its -wal belongs to an earlier state of it: the database has {has} transactions, the -wal ends with number \
         {last}"
    )]
    Earlier { has: i64, last: i64 },
}

/// Compares `meta` of the database with `meta` in these frames of the `-wal`. A database without
/// `meta` fits any `-wal`, because SQLite checks its pages.
pub(crate) fn compare_meta(
    path: &Path,
    meta: Option<&(DatabaseMeta, u32)>,
    wal: &WalFile,
    frames: impl Iterator<Item = usize>,
) -> io::Result<Result<(), WalMisfit>> {
    let Some((base, root)) = meta else { return Ok(Ok(())) };
    let its_own: Vec<usize> = frames.filter(|at| wal.page_of(*at) == Some(*root)).collect();
    let (Some(first), Some(last)) = (its_own.first(), its_own.last()) else { return Ok(Ok(())) };
    let at = |frame: usize| -> io::Result<Option<DatabaseMeta>> {
        let mut pages = RawPages::open(path)?;
        pages.put_over(wal, [frame]);
        Ok(DatabaseMeta::read(&pages).map(|(meta, _)| meta))
    };
    let is_ours = |last: &DatabaseMeta, first: &DatabaseMeta| {
        // A roll-back may be only in this `-wal` so far.
        let is_last = last.id == base.id || last.was.as_ref() == Some(&base.id);
        let before = [Some(&base.id), Some(&last.id), base.was.as_ref()];
        is_last && before.contains(&Some(&first.id))
    };
    let has = base.commits;
    Ok(match (at(*first)?, at(*last)?) {
        (Some(first), Some(last)) if is_ours(&last, &first) => {
            if has < first.commits - 1 {
                Err(WalMisfit::Later { has, first: first.commits })
            } else if has > last.commits {
                Err(WalMisfit::Earlier { has, last: last.commits })
            } else {
                Ok(())
            }
        }
        _ => Err(WalMisfit::Another),
    })
}

#[cfg(test)]
#[path = "binding_tests.rs"]
mod tests;
