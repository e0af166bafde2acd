//! Trees of pages: a table, an index, or the schema.

use std::collections::HashSet;

use rusqlite::types::Value;

use super::page::{Node, Pages};

/// The first page of the schema's tree.
const SCHEMA_ROOT: u32 = 1;

/// The pages that a tree, the freelist or a long row has, so that none is read twice.
#[derive(Debug, Default)]
pub(crate) struct Owned {
    pages: HashSet<u32>,
    /// Pages that a tree names and that hold nothing readable.
    pub(crate) unreadable: usize,
}

impl Owned {
    /// Takes a page; `false` if it was taken before.
    pub(crate) fn take(&mut self, page: u32) -> bool {
        self.pages.insert(page)
    }

    pub(crate) fn has(&self, page: u32) -> bool {
        self.pages.contains(&page)
    }

    /// Takes what another one has.
    pub(crate) fn take_all(&mut self, other: Self) {
        self.pages.extend(other.pages);
    }

    /// The pages of a tree that hold rows, and takes all of its pages. What cannot be read is left out.
    pub(crate) fn tree(&mut self, pages: &Pages<'_>, root: u32) -> Vec<u32> {
        let mut with_rows = Vec::new();
        let mut next = vec![root];
        while let Some(number) = next.pop() {
            if number == 0 || number > pages.last() || !self.take(number) {
                self.unreadable += 1;
                continue;
            }
            let Some(node) = pages.node(number) else {
                self.unreadable += 1;
                // Something else may own it.
                self.pages.remove(&number);
                continue;
            };
            let Node { children, cells, .. } = node;
            next.extend(children);
            if !cells.is_empty() {
                with_rows.push(number);
            }
        }
        with_rows
    }

    /// Takes the pages that are free: they hold rows that were deleted. `false` if the list is broken.
    pub(crate) fn freelist(&mut self, pages: &Pages<'_>) -> bool {
        let Some(first) = pages.page(1) else { return false };
        let (Some(mut trunk), Some(count)) = (super::be_u32(&first, 32), super::be_u32(&first, 36))
        else {
            return false;
        };
        let mut found = 0;
        while trunk != 0 {
            let Some(page) = pages.page(trunk).filter(|_| self.take(trunk)) else { return false };
            found += 1;
            let leaves = super::be_u32(&page, 4).unwrap_or(u32::MAX) as usize;
            if leaves > page.len() / 4 - 2 {
                return false;
            }
            for leaf in 0..leaves {
                let Some(leaf) = super::be_u32(&page, 8 + 4 * leaf) else { return false };
                if !self.take(leaf) {
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
    /// The statement that makes it; empty for an index that SQLite made by itself.
    pub(crate) sql: String,
}

impl SchemaRow {
    pub(crate) fn of(values: &[Value]) -> Option<Self> {
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

/// What the schema says, as far as it can be read.
pub(crate) fn schema(pages: &Pages<'_>, owned: &mut Owned) -> Vec<SchemaRow> {
    let with_rows = owned.tree(pages, SCHEMA_ROOT);
    let rows = with_rows.into_iter().flat_map(|page| rows_of(pages, page, owned).0);
    rows.filter_map(|(_, values)| SchemaRow::of(&values)).collect()
}

/// A row with its rowid, if its tree has rowids.
pub(crate) type Row = (Option<i64>, Vec<Value>);

/// The rows of a page, and how many of its rows cannot be read. Takes the pages that long rows lie in.
pub(crate) fn rows_of(pages: &Pages<'_>, page: u32, owned: &mut Owned) -> (Vec<Row>, usize) {
    let Some(Node { cells, mut broken, .. }) = pages.node(page) else { return (Vec::new(), 0) };
    let mut rows = Vec::new();
    for cell in cells {
        let mut passed = Vec::new();
        match pages.values(&cell, |number| passed.push(number)) {
            Some(values) => {
                for number in passed {
                    owned.take(number);
                }
                rows.push((cell.rowid, values));
            }
            None => broken += 1,
        }
    }
    (rows, broken)
}
