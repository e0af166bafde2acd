//! Pages and their cells ("B-tree Pages").

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rusqlite::types::Value;

use super::record::{read_values, read_varint};
use super::wal::WalFile;
use super::{be_u16, be_u32};

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Page sizes of our databases: of new ones, and of those that versions before schema 10 made.
const OUR_SIZES: [usize; 2] = [1024, 4096];
/// Maximum number of pages that are looked at to find the page size.
const SAMPLE: u64 = 10_000;
/// Bytes of the header of a B-tree page.
const NODE_HEADER: usize = 8;
/// Bytes of the smallest page without its reserved bytes.
const LEAST_USABLE: usize = 480;

/// The pages of a database file, some replaced by newer versions from its `-wal`.
#[derive(Debug)]
pub(crate) struct RawPages<'w> {
    /// `None` if the file is missing.
    file: Option<File>,
    size: usize,
    usable: usize,
    /// Number of whole pages in the file.
    in_file: u32,
    /// Schema version in the file's header.
    version: Option<u32>,
    newer: HashMap<u32, usize>,
    wal: Option<&'w WalFile>,
}

/// Returns the page size of a file without a readable header. If pages are large, few of the places
/// at which small ones would begin look like the beginning of a page.
fn probable_size(file: &File, length: u64) -> usize {
    let share = |size: usize| {
        let pages = (length / size as u64).clamp(1, SAMPLE);
        let begins = (0..pages).filter(|page| {
            let mut header = [0; NODE_HEADER];
            let read = file.read_exact_at(&mut header, page * size as u64);
            read.is_ok() && is_node_header(&header, size)
        });
        begins.count() as f64 / pages as f64
    };
    let [small, large] = OUR_SIZES;
    if share(small) > share(large) / 2.0 { small } else { large }
}

fn is_node_header(header: &[u8; NODE_HEADER], size: usize) -> bool {
    let is_kind = matches!(header[0], 2 | 5 | 10 | 13);
    let [free, cells, content] = [1, 3, 5].map(|at| be_u16(header, at).unwrap_or(usize::MAX));
    is_kind && free < size && cells * 2 + NODE_HEADER <= size && content <= size
}

/// The type of a B-tree page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    TableLeaf,
    TableInterior,
    IndexLeaf,
    IndexInterior,
}

/// A page of a B-tree.
#[derive(Debug)]
pub(crate) struct TreeNode {
    pub(crate) kind: NodeKind,
    /// Numbers of the pages below this one.
    pub(crate) children: Vec<u32>,
    /// Rows in this page; always empty for an interior page of a table.
    pub(crate) cells: Vec<RawCell>,
    /// Number of unreadable cells.
    pub(crate) broken: usize,
}

/// A row as stored in a page.
#[derive(Debug)]
pub(crate) struct RawCell {
    /// `None` in a tree without rowids.
    pub(crate) rowid: Option<i64>,
    size: usize,
    local: Vec<u8>,
    overflow: Option<u32>,
}

impl<'w> RawPages<'w> {
    /// Opens a database file. A missing file has zero pages.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = match File::open(path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut header = [0; 100];
        let whole = file.as_ref().is_some_and(|file| file.read_exact_at(&mut header, 0).is_ok());
        let known = whole && header.starts_with(MAGIC);
        let named = match be_u16(&header, 16) {
            Some(1) => 65_536,
            Some(size) => size,
            None => 0,
        };
        let fits = known && named.is_power_of_two() && named >= 512;
        let length = file.as_ref().map_or(Ok(0), |file| file.metadata().map(|data| data.len()))?;
        let size = match &file {
            _ if fits => named,
            Some(file) => probable_size(file, length),
            None => OUR_SIZES[0],
        };
        let reserved = if fits { usize::from(header[20]) } else { 0 };
        let usable = if size - reserved < LEAST_USABLE { size } else { size - reserved };
        let in_file = u32::try_from(length / size as u64).unwrap_or(u32::MAX);
        let version = known.then(|| be_u32(&header, 60)).flatten();
        Ok(Self { file, size, usable, in_file, version, newer: HashMap::new(), wal: None })
    }

    /// Returns the schema version (`user_version`); `None` if the header is unreadable.
    pub(crate) fn schema_version(&self) -> Option<u32> {
        let Some(page) = self.newer.contains_key(&1).then(|| self.read_page(1)).flatten() else {
            return self.version;
        };
        page.starts_with(MAGIC).then(|| be_u32(&page, 60)).flatten()
    }

    /// Returns the page size in bytes.
    pub(crate) fn page_size(&self) -> usize {
        self.size
    }

    /// Puts these frames of the `-wal` over the file; later frames win.
    pub(crate) fn put_over(&mut self, wal: &'w WalFile, frames: impl IntoIterator<Item = usize>) {
        for frame in frames {
            if let Some(page) = wal.page_of(frame) {
                self.newer.insert(page, frame);
            }
        }
        self.wal = Some(wal);
    }

    /// Returns the number of the last page.
    pub(crate) fn last_page(&self) -> u32 {
        self.newer.keys().copied().fold(self.in_file, u32::max)
    }

    /// Returns the age rank of a page: 0 in the file, higher in later frames of the `-wal`.
    pub(crate) fn age_of_page(&self, number: u32) -> usize {
        self.newer.get(&number).map_or(0, |frame| frame + 1)
    }

    /// Returns the bytes of a page. The first page is number 1.
    pub(crate) fn read_page(&self, number: u32) -> Option<Vec<u8>> {
        if let (Some(frame), Some(wal)) = (self.newer.get(&number), self.wal) {
            return wal.frame_content(*frame);
        }
        let mut page = vec![0; self.size];
        let at = u64::from(number.checked_sub(1)?) * self.size as u64;
        self.file.as_ref()?.read_exact_at(&mut page, at).ok()?;
        Some(page)
    }

    /// Reads a page as part of a B-tree; `None` for any other page.
    pub(crate) fn read_node(&self, number: u32) -> Option<TreeNode> {
        let page = self.read_page(number)?;
        let page = page.get(..self.usable)?;
        let header = if number == 1 { 100 } else { 0 };
        let (kind, length) = match page.get(header)? {
            0x0d => (NodeKind::TableLeaf, 8),
            0x05 => (NodeKind::TableInterior, 12),
            0x0a => (NodeKind::IndexLeaf, 8),
            0x02 => (NodeKind::IndexInterior, 12),
            _ => return None,
        };
        let count = be_u16(page, header + 3)?;
        let pointers = header + length;
        let content = pointers + 2 * count;
        let mut node = TreeNode { kind, children: Vec::new(), cells: Vec::new(), broken: 0 };
        // A page with more cells than can fit holds something else.
        page.get(pointers..content)?;
        for pointer in 0..count {
            let at = be_u16(page, pointers + 2 * pointer).filter(|at| *at >= content);
            let cell =
                at.and_then(|at| page.get(at..)).and_then(|bytes| self.read_cell(kind, bytes));
            match cell {
                None => node.broken += 1,
                Some((child, cell)) => {
                    node.children.extend(child);
                    node.cells.extend(cell);
                }
            }
        }
        if matches!(kind, NodeKind::TableInterior | NodeKind::IndexInterior) {
            node.children.extend(be_u32(page, header + 8));
        }
        Some(node)
    }

    fn read_cell(&self, kind: NodeKind, bytes: &[u8]) -> Option<(Option<u32>, Option<RawCell>)> {
        match kind {
            NodeKind::TableInterior => Some((Some(be_u32(bytes, 0)?), None)),
            NodeKind::IndexInterior => {
                let cell = self.index_cell(bytes.get(4..)?)?;
                Some((Some(be_u32(bytes, 0)?), Some(cell)))
            }
            NodeKind::IndexLeaf => Some((None, Some(self.index_cell(bytes)?))),
            NodeKind::TableLeaf => {
                let (size, taken) = read_varint(bytes)?;
                let (rowid, more) = read_varint(bytes.get(taken..)?)?;
                let rest = bytes.get(taken + more..)?;
                Some((None, Some(self.read_local(size, rest, Some(rowid))?)))
            }
        }
    }

    fn index_cell(&self, bytes: &[u8]) -> Option<RawCell> {
        let (size, taken) = read_varint(bytes)?;
        self.read_local(size, bytes.get(taken..)?, None)
    }

    /// Reads the part of a payload that lies in this page ("Cell Payload Overflow Pages").
    fn read_local(&self, size: i64, bytes: &[u8], rowid: Option<i64>) -> Option<RawCell> {
        let size = usize::try_from(size).ok()?;
        let usable = self.usable;
        let most = if rowid.is_some() { usable - 35 } else { (usable - 12) * 64 / 255 - 23 };
        if size <= most {
            let local = bytes.get(..size)?.to_vec();
            return Some(RawCell { rowid, size, local, overflow: None });
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let fitting = least + (size - least) % (usable - 4);
        let length = if fitting <= most { fitting } else { least };
        let local = bytes.get(..length)?.to_vec();
        Some(RawCell { rowid, size, local, overflow: Some(be_u32(bytes, length)?) })
    }

    /// Returns the values of a row. Calls `passed` for each overflow page of the row.
    pub(crate) fn row_values(
        &self,
        cell: &RawCell,
        mut passed: impl FnMut(u32),
    ) -> Option<Vec<Value>> {
        let mut payload = cell.local.clone();
        let mut next = cell.overflow;
        while payload.len() < cell.size {
            let number = next.filter(|number| *number > 1)?;
            let page = self.read_page(number)?;
            passed(number);
            let missing = (cell.size - payload.len()).min(self.usable - 4);
            payload.extend_from_slice(page.get(4..4 + missing)?);
            next = be_u32(&page, 0);
        }
        read_values(&payload)
    }
}
