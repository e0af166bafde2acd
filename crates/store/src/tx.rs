//! Write transactions, and the helpers that run statements in them.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;

use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{EventSeq, StoreError};
use avocet_text::Redactor;
use jiff::tz::TimeZone;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row};

use crate::error::store_error;

pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A connection that translates errors. Reads use it inside and outside of write transactions.
#[derive(Clone, Copy)]
pub(crate) struct Db<'c> {
    pub(crate) connection: &'c Connection,
    pub(crate) path: &'c Path,
}

impl Db<'_> {
    pub(crate) fn store_error(&self, error: &rusqlite::Error) -> StoreError {
        store_error(self.path, error)
    }

    pub(crate) fn current_epoch(&self) -> Result<i64> {
        self.query_one("SELECT epoch FROM meta", (), |row| row.get(0))
    }

    /// Returns the only row; `None` if there is no row.
    pub(crate) fn query_row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        let query = || self.prepare_cached(sql)?.query_row(params, read).optional();
        query().map_err(|error| self.store_error(&error))
    }

    /// Prepares a statement, or takes it from the connection's cache. With
    /// `log.level = "info,avocet_store=trace"` the log has a line for each.
    pub(crate) fn prepare_cached(&self, sql: &str) -> rusqlite::Result<CachedStatement<'_>> {
        tracing::trace!(sql, "statement");
        self.connection.prepare_cached(sql)
    }

    /// Runs a statement without parameters, and drops its rows.
    pub(crate) fn run(&self, sql: &str) -> Result<()> {
        let run = || {
            let mut statement = self.prepare_cached(sql)?;
            let mut rows = statement.query(())?;
            while rows.next()?.is_some() {}
            Ok(())
        };
        run().map_err(|error| self.store_error(&error))
    }

    /// Returns the only row of a query that always has one.
    pub(crate) fn query_one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.query_row(sql, params, read)?
            .ok_or_else(|| StoreError::Internal(format!("no row where there is always one: {sql}")))
    }

    pub(crate) fn query_rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let query = || {
            let mut statement = self.prepare_cached(sql)?;
            statement.query_map(params, read)?.collect::<rusqlite::Result<Vec<T>>>()
        };
        query().map_err(|error| self.store_error(&error))
    }

    /// Reads rows until `read` breaks.
    pub(crate) fn rows_while(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<ControlFlow<()>>,
    ) -> Result<()> {
        let query = || {
            let mut statement = self.prepare_cached(sql)?;
            let mut rows = statement.query(params)?;
            while let Some(row) = rows.next()? {
                if read(row)?.is_break() {
                    break;
                }
            }
            Ok(())
        };
        query().map_err(|error| self.store_error(&error))
    }
}

/// A write transaction of one epoch.
#[derive(Clone, Copy)]
pub(crate) struct Tx<'c> {
    pub(crate) db: Db<'c>,
    pub(crate) epoch: i64,
    pub(crate) now: Timestamp,
    /// Removes secrets from texts for the audit table.
    pub(crate) redactor: &'c Redactor,
    /// The time zone of times in messages.
    pub(crate) zone: &'c TimeZone,
    pub(crate) changed: &'c ChangeMarks,
}

/// The tables with a waiting part that a transaction changes.
#[derive(Debug, Default)]
pub(crate) struct ChangeMarks {
    pub(crate) memories: Cell<bool>,
    pub(crate) schedules: Cell<bool>,
    pub(crate) rules: Cell<bool>,
    pub(crate) stop: Cell<bool>,
    /// Set if the transaction changes or removes a part of an ended turn, which may be cached.
    pub(crate) past: Cell<bool>,
    /// The newest event, if the transaction adds events.
    pub(crate) newest_event: Cell<Option<EventSeq>>,
}

impl Tx<'_> {
    /// Inserts a row and returns its number; `None` if a conflict clause skipped the row.
    pub(crate) fn insert(&self, sql: &str, params: impl Params) -> Result<Option<i64>> {
        let execute = || self.db.prepare_cached(sql)?.execute(params);
        let inserted = execute().map_err(|error| self.db.store_error(&error))?;
        Ok((inserted > 0).then(|| self.db.connection.last_insert_rowid()))
    }

    /// Runs an UPDATE or a DELETE. Returns the number of changed rows.
    pub(crate) fn change_rows(&self, sql: &str, params: impl Params) -> Result<usize> {
        let execute = || self.db.prepare_cached(sql)?.execute(params);
        execute().map_err(|error| self.db.store_error(&error))
    }

    /// Fails if another daemon has taken over the log. The writer calls this first in each
    /// transaction, which then holds SQLite's write lock, so that the epoch stays until its end.
    pub(crate) fn check_epoch(&self) -> Result<()> {
        let ours = self.epoch;
        match self.db.current_epoch()? {
            theirs if theirs == ours => Ok(()),
            theirs => Err(StoreError::Fenced { ours, theirs }),
        }
    }

    /// Updates like [`Self::change_rows`], but fails with `StoreError::Stale` if no row matches.
    pub(crate) fn update_one(
        &self,
        what: impl std::fmt::Display,
        sql: &str,
        params: impl Params,
    ) -> Result<()> {
        match self.change_rows(sql, params)? {
            0 => Err(StoreError::Stale(what.to_string())),
            _ => Ok(()),
        }
    }
}
