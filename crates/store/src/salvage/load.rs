//! Loads rows of a damaged log into a new one.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use rusqlite::{Connection, Error, params_from_iter};

use super::SavedTable;
use super::source::DamagedLog;
use crate::binding::columns_of_table;
use crate::raw::{NodeKind, RawRow};

/// Tables that accept rows from lost pages, which no tree names. Excluded are access control
/// tables, because such a page may hold withdrawn rights, and tables whose rows look like those of
/// others.
const FROM_LOST_PAGES: &[&str] = &[
    "sessions",
    "turns",
    "inbound",
    "steps",
    "calls",
    "kept_results",
    "waits",
    "outbox",
    "undelivered",
    "jobs",
    "reports",
    "usage",
    "memories",
    "memory_changes",
    "consolidations",
    "rules",
    "stop_all",
    "stop_told",
    // Of older versions.
    "notes",
    "audit",
];

/// Tables excluded from recovery. Grants must be given again. The index of the history, the vectors
/// of memories, the sums of usage and the last numbers are made anew. Events and failed requests
/// describe the past only.
const NOT_RECOVERED: [&str; 11] = [
    "meta",
    "events",
    "failed_requests",
    "grants",
    "history_mark",
    "history_pending",
    "last_numbers",
    "memory_vectors",
    "usage_days",
    "usage_mark",
    "usage_sessions",
];

struct TargetTable {
    name: String,
    has_rowid: bool,
    columns: Vec<TargetColumn>,
    saved: SavedTable,
}

struct TargetColumn {
    name: String,
    kind: String,
    not_null: bool,
    /// Position in the primary key, from 1; 0 for other columns.
    key: i64,
}

/// Loads every table. Returns a report for each, and the number of unreadable rows.
pub(super) fn load(
    connection: &Connection,
    source: &mut DamagedLog<'_>,
) -> rusqlite::Result<(Vec<SavedTable>, usize)> {
    let mut targets = target_tables(connection)?;
    let mut unreadable = 0;
    for target in &mut targets {
        let Some(table) = source.take_table(&target.name) else { continue };
        let names = columns_of_table(&table.sql).unwrap_or_else(|| target.column_names());
        for page in table.pages {
            let (rows, broken) = source.rows_of_page(page);
            unreadable += broken;
            for row in rows {
                target.insert(connection, &names, row)?;
            }
        }
    }
    for page in source.lost_pages() {
        // Long rows read meanwhile may have shown that this page is an overflow page.
        let Some(node) = source.pages.read_node(page) else { continue };
        let has_rowid = match node.kind {
            NodeKind::TableLeaf => true,
            NodeKind::IndexLeaf | NodeKind::IndexInterior => false,
            NodeKind::TableInterior => continue,
        };
        let (rows, _) = source.rows_of_page(page);
        let fits = |target: &&mut TargetTable| {
            FROM_LOST_PAGES.contains(&target.name.as_str())
                && target.has_rowid == has_rowid
                && rows.iter().all(|row| target.fits_table(row))
        };
        let mut fitting = targets.iter_mut().filter(fits);
        if let (Some(target), None) = (fitting.next(), fitting.next()) {
            let names = target.column_names();
            for row in rows {
                target.insert(connection, &names, row)?;
            }
        }
    }
    Ok((targets.into_iter().map(|target| target.saved).collect(), unreadable))
}

fn target_tables(connection: &Connection) -> rusqlite::Result<Vec<TargetTable>> {
    let mut statement = connection.prepare(
        "SELECT list.name AS \"table\", list.wr, info.name, info.type, info.\"notnull\", info.pk \
         FROM pragma_table_list AS list, pragma_table_info(list.name) AS info \
         WHERE list.schema = 'main' AND list.type = 'table' AND list.name NOT LIKE 'sqlite_%' \
         ORDER BY list.name, CASE WHEN list.wr THEN info.pk = 0 END, \
             CASE WHEN list.wr THEN info.pk END, info.cid",
    )?;
    let mut rows = statement.query(())?;
    let mut targets = BTreeMap::<String, TargetTable>::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        if NOT_RECOVERED.contains(&name.as_str()) {
            continue;
        }
        let has_rowid = !row.get::<_, bool>(1)?;
        let (column, kind, not_null) = (row.get(2)?, row.get(3)?, row.get(4)?);
        let column = TargetColumn { name: column, kind, not_null, key: row.get(5)? };
        let target = targets.entry(name.clone()).or_insert_with(|| {
            let saved = SavedTable { name: name.clone(), rows: 0, left_out: 0, why: None };
            TargetTable { name, has_rowid, columns: Vec::new(), saved }
        });
        target.columns.push(column);
    }
    Ok(targets.into_values().collect())
}

impl TargetTable {
    fn column_names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// Returns `true` if this column is the rowid, for which stored rows contain NULL.
    fn is_rowid(&self, column: &TargetColumn) -> bool {
        self.has_rowid && column.key == 1 && column.kind == "INTEGER"
    }

    /// Returns `true` if the number and types of the values fit this table.
    fn fits_table(&self, (_, values): &RawRow) -> bool {
        // Older rows lack columns that were added later.
        let required = self.columns.iter().rposition(|column| column.key > 0).unwrap_or_default();
        let number = values.len();
        let least = (required + 1).max(self.columns.len() / 2);
        (least..=self.columns.len()).contains(&number)
            && self.columns.iter().zip(values).all(|(column, value)| match value {
                Value::Null => !column.not_null || self.is_rowid(column),
                Value::Integer(_) => column.kind == "INTEGER" && !self.is_rowid(column),
                Value::Text(_) => column.kind == "TEXT",
                Value::Real(_) => column.kind == "REAL",
                Value::Blob(_) => column.kind == "BLOB",
            })
    }

    /// Inserts a row with values for these columns. An existing row with the same primary key
    /// stays, because it comes from a newer page.
    fn insert(
        &mut self,
        connection: &Connection,
        names: &[String],
        (rowid, values): RawRow,
    ) -> rusqlite::Result<()> {
        let (mut into, mut inserted) = (Vec::new(), Vec::new());
        for (name, value) in names.iter().zip(values) {
            let Some(column) = self.columns.iter().find(|column| column.name == *name) else {
                continue;
            };
            into.push(format!("\"{name}\""));
            inserted.push(match rowid {
                Some(rowid) if self.is_rowid(column) => Value::Integer(rowid),
                _ => value,
            });
        }
        let places = vec!["?"; into.len()].join(", ");
        let sql = format!("INSERT INTO \"{}\" ({}) VALUES ({places})", self.name, into.join(", "));
        // SQLITE_CONSTRAINT_PRIMARYKEY and SQLITE_CONSTRAINT_ROWID.
        const SAME_KEY: [i32; 2] = [1555, 2579];
        match connection.prepare_cached(&sql)?.execute(params_from_iter(inserted)) {
            Ok(_) => self.saved.rows += 1,
            Err(Error::SqliteFailure(failure, _)) if SAME_KEY.contains(&failure.extended_code) => {}
            Err(Error::SqliteFailure(failure, why))
                if failure.code == rusqlite::ErrorCode::ConstraintViolation
                    || failure.code == rusqlite::ErrorCode::TypeMismatch =>
            {
                self.saved.left_out += 1;
                self.saved.why = self.saved.why.take().or(why);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
