//! The readable parts of a damaged log: its pages, and the table to which each belongs.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use rusqlite::types::Value;

use crate::binding::{DatabaseMeta, WalMisfit, compare_meta};
use crate::files::with_suffix;
use crate::raw::{
    FoundWal, OwnedPages, RawPages, RawRow, SchemaRow, WalFile, read_schema, rows_of,
};
use crate::rows::numbers::NUMBERED;
use crate::schema::newest_version;

/// A log that is read page by page.
pub(super) struct DamagedLog<'w> {
    pub(super) pages: RawPages<'w>,
    /// Text about the use of the `-wal`.
    pub(super) wal_used: String,
    pub(super) meta: Option<DatabaseMeta>,
    pub(super) version: usize,
    tables: BTreeMap<String, DamagedTable>,
    owned: OwnedPages,
}

pub(super) struct DamagedTable {
    /// The CREATE statement.
    pub(super) sql: String,
    /// The pages with its rows, the newest first.
    pub(super) pages: Vec<u32>,
}

/// Reads the `-wal` beside a database, even with a damaged header.
pub(super) fn read_wal(path: &Path) -> io::Result<FoundWal> {
    let wal = with_suffix(path, "-wal");
    match WalFile::read(&wal)? {
        FoundWal::Headless => {
            let page_size = RawPages::open(path)?.page_size();
            WalFile::read_headless(&wal, page_size).map(FoundWal::Wal)
        }
        found => Ok(found),
    }
}

impl<'w> DamagedLog<'w> {
    pub(super) fn open(path: &Path, wal: &'w FoundWal) -> io::Result<Self> {
        let mut pages = RawPages::open(path)?;
        let wal_used = match wal {
            FoundWal::Wal(wal) => {
                let meta = DatabaseMeta::read(&pages);
                match compare_meta(path, meta.as_ref(), wal, wal.readable_frames())? {
                    Err(misfit @ (WalMisfit::Another | WalMisfit::Earlier { .. })) => {
                        format!("not used: {misfit}")
                    }
                    _ if wal.page_size() != pages.page_size() => {
                        "not used: its pages have another size".to_owned()
                    }
                    Ok(()) | Err(WalMisfit::Later { .. }) => {
                        pages.put_over(wal, wal.readable_frames());
                        let (used, broken) =
                            (wal.readable_frames().count(), wal.count_unreadable());
                        format!("{used} pages of it are used, {broken} cannot be read")
                    }
                }
            }
            FoundWal::Nothing | FoundWal::Headless => "there is none".to_owned(),
        };
        let meta = DatabaseMeta::read(&pages).map(|(meta, _)| meta);
        let known = |version: &usize| (1..=newest_version()).contains(version);
        let version = pages.schema_version().map(|version| version as usize).filter(known);
        let version = version.unwrap_or_else(newest_version);
        let (tables, owned) = find_tables(&pages);
        Ok(Self { pages, wal_used, meta, version, tables, owned })
    }

    pub(super) fn take_table(&mut self, name: &str) -> Option<DamagedTable> {
        self.tables.remove(name)
    }

    /// Returns the rows of a page and the number of its unreadable rows.
    pub(super) fn rows_of_page(&mut self, page: u32) -> (Vec<RawRow>, usize) {
        rows_of(&self.pages, page, &mut self.owned)
    }

    /// Returns the pages that no tree names, the newest first. Some contain rows of a tree that
    /// lost its path to them, others deleted or moved rows.
    pub(super) fn lost_pages(&self) -> Vec<u32> {
        let mut lost: Vec<u32> =
            (2..=self.pages.last_page()).filter(|page| !self.owned.has_page(*page)).collect();
        lost.sort_by_key(|page| std::cmp::Reverse(self.pages.age_of_page(*page)));
        lost
    }

    pub(super) fn unreadable_pages(&self) -> usize {
        self.owned.unreadable
    }

    /// Returns the last row numbers given out, by table. Taken tables are missing.
    pub(super) fn last_numbers(&self) -> BTreeMap<String, i64> {
        let noted = ["sqlite_sequence", "last_numbers"].map(|name| self.tables.get(name));
        let pages = noted.into_iter().flatten().flat_map(|table| &table.pages);
        let rows = pages.flat_map(|page| rows_of(&self.pages, *page, &mut OwnedPages::default()).0);
        let noted = rows.filter_map(|(_, values)| match &values[..] {
            [Value::Text(table), Value::Integer(number)] => Some((table.clone(), *number)),
            _ => None,
        });
        let in_use = NUMBERED.iter().filter_map(|name| {
            let highest = self.highest_rowid(self.tables.get(*name)?)?;
            Some(((*name).to_owned(), highest))
        });
        let mut numbers = BTreeMap::new();
        for (table, number) in noted.chain(in_use) {
            let last = numbers.entry(table).or_default();
            *last = number.max(*last);
        }
        numbers
    }

    fn highest_rowid(&self, table: &DamagedTable) -> Option<i64> {
        let nodes = table.pages.iter().filter_map(|page| self.pages.read_node(*page));
        nodes.flat_map(|node| node.cells).filter_map(|cell| cell.rowid).max()
    }
}

/// Returns the tables of a log, and all pages that belong to a tree or are free.
fn find_tables(pages: &RawPages<'_>) -> (BTreeMap<String, DamagedTable>, OwnedPages) {
    let mut owned = OwnedPages::default();
    let mut rows = read_schema(pages, &mut owned);
    let mut free = OwnedPages::default();
    if free.add_freelist(pages) {
        owned.take_all(free);
    }
    rows.extend(lost_schema(pages, &owned, &rows));
    // Tables come first, because a damaged index page may claim pages of a table.
    rows.sort_by_key(|row| row.kind != "table");
    let mut tables = BTreeMap::new();
    for SchemaRow { kind, name, root, sql } in rows {
        if root == 0 {
            continue;
        }
        let mut with_rows = owned.add_tree(pages, root);
        with_rows.sort_by_key(|page| std::cmp::Reverse(pages.age_of_page(*page)));
        if kind == "table" {
            tables.insert(name, DamagedTable { sql, pages: with_rows });
        }
    }
    (tables, owned)
}

/// Returns schema rows in lost pages, except those that `known` contains.
fn lost_schema(pages: &RawPages<'_>, owned: &OwnedPages, known: &[SchemaRow]) -> Vec<SchemaRow> {
    let lost = (2..=pages.last_page()).filter(|page| !owned.has_page(*page));
    let rows = lost.flat_map(|page| rows_of(pages, page, &mut OwnedPages::default()).0);
    let rows = rows.filter_map(|(_, values)| SchemaRow::from_values(&values));
    rows.filter(|row| known.iter().all(|known| known.name != row.name)).collect()
}
