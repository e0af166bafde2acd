//! Trees of pages: a table, an index, or the schema.

use std::collections::HashSet;

use rusqlite::types::Value;

use super::page::{RawPages, TreeNode};

const SCHEMA_ROOT: u32 = 1;

/// Pages known to belong to a tree, the freelist or a long row, so that each page is read only
/// once.
#[derive(Debug, Default)]
pub(crate) struct OwnedPages {
    pages: HashSet<u32>,
    /// Number of unreadable pages in trees.
    pub(crate) unreadable: usize,
}

impl OwnedPages {
    /// Adds a page; returns `false` if it was added before.
    pub(crate) fn take_page(&mut self, page: u32) -> bool {
        self.pages.insert(page)
    }

    pub(crate) fn has_page(&self, page: u32) -> bool {
        self.pages.contains(&page)
    }

    pub(crate) fn take_all(&mut self, other: Self) {
        self.pages.extend(other.pages);
    }

    /// Adds all pages of a tree, and returns those that contain rows. Skips unreadable pages.
    pub(crate) fn add_tree(&mut self, pages: &RawPages<'_>, root: u32) -> Vec<u32> {
        let mut with_rows = Vec::new();
        let mut next = vec![root];
        while let Some(number) = next.pop() {
            if number == 0 || number > pages.last_page() || !self.take_page(number) {
                self.unreadable += 1;
                continue;
            }
            let Some(node) = pages.read_node(number) else {
                self.unreadable += 1;
                // The page may belong to something else.
                self.pages.remove(&number);
                continue;
            };
            let TreeNode { children, cells, .. } = node;
            next.extend(children);
            if !cells.is_empty() {
                with_rows.push(number);
            }
        }
        with_rows
    }

    /// Adds the free pages, which hold deleted rows. Returns `false` if the freelist is broken.
    pub(crate) fn add_freelist(&mut self, pages: &RawPages<'_>) -> bool {
        let Some(first) = pages.read_page(1) else { return false };
        let (Some(mut trunk), Some(count)) = (super::be_u32(&first, 32), super::be_u32(&first, 36))
        else {
            return false;
        };
        let mut found = 0;
        while trunk != 0 {
            let Some(page) = pages.read_page(trunk).filter(|_| self.take_page(trunk)) else {
                return false;
            };
            found += 1;
            let leaves = super::be_u32(&page, 4).unwrap_or(u32::MAX) as usize;
            if leaves > page.len() / 4 - 2 {
                return false;
            }
            for leaf in 0..leaves {
                let Some(leaf) = super::be_u32(&page, 8 + 4 * leaf) else { return false };
                if !self.take_page(leaf) {
                    return false;
                }
                found += 1;
            }
            trunk = super::be_u32(&page, 0).unwrap_or(0);
        }
        found == count
    }
}

/// A row of the schema (`sqlite_schema`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchemaRow {
    /// `table`, `index`, `trigger` or `view`.
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) root: u32,
    /// The CREATE statement; empty for an index that SQLite made by itself.
    pub(crate) sql: String,
}

impl SchemaRow {
    pub(crate) fn from_values(values: &[Value]) -> Option<Self> {
        let [Value::Text(kind), Value::Text(name), Value::Text(_), root, sql] = values else {
            return None;
        };
        let root = match root {
            Value::Integer(root) => u32::try_from(*root).ok()?,
            Value::Null => 0,
            _ => return None,
        };
        let sql = match sql {
            Value::Text(sql) => sql.clone(),
            Value::Null => String::new(),
            _ => return None,
        };
        let known = ["table", "index", "trigger", "view"].contains(&kind.as_str());
        known.then(|| Self { kind: kind.clone(), name: name.clone(), root, sql })
    }
}

/// Returns the readable rows of the schema.
pub(crate) fn read_schema(pages: &RawPages<'_>, owned: &mut OwnedPages) -> Vec<SchemaRow> {
    let with_rows = owned.add_tree(pages, SCHEMA_ROOT);
    let rows = with_rows.into_iter().flat_map(|page| rows_of(pages, page, owned).0);
    rows.filter_map(|(_, values)| SchemaRow::from_values(&values)).collect()
}

/// A row with its rowid, if its tree has rowids.
pub(crate) type RawRow = (Option<i64>, Vec<Value>);

/// Returns the rows of a page and the number of its unreadable rows. Adds overflow pages of long
/// rows to `owned`.
pub(crate) fn rows_of(
    pages: &RawPages<'_>,
    page: u32,
    owned: &mut OwnedPages,
) -> (Vec<RawRow>, usize) {
    let Some(TreeNode { cells, mut broken, .. }) = pages.read_node(page) else {
        return (Vec::new(), 0);
    };
    let mut rows = Vec::new();
    for cell in cells {
        let mut passed = Vec::new();
        match pages.row_values(&cell, |number| passed.push(number)) {
            Some(values) => {
                for number in passed {
                    owned.take_page(number);
                }
                rows.push((cell.rowid, values));
            }
            None => broken += 1,
        }
    }
    (rows, broken)
}
