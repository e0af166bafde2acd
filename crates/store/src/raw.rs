//! Reads a database file and its `-wal` without SQLite: facts needed before SQLite opens them, and
//! data that SQLite refuses to read. Formats: "Database File Format" and "WAL-mode File Format" on
//! sqlite.org.
//!
//! Any byte may be damaged. Damaged bytes give `None`, but never a panic or an endless loop.

mod page;
mod record;
mod tree;
mod wal;

pub(crate) use page::{NodeKind, RawPages};
pub(crate) use tree::{OwnedPages, RawRow, SchemaRow, read_schema, rows_of};
pub(crate) use wal::{FoundWal, WalFile};

/// Reads a big-endian integer at an offset.
fn be_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    four.try_into().ok().map(u32::from_be_bytes)
}

/// Reads a big-endian integer at an offset.
fn be_u16(bytes: &[u8], at: usize) -> Option<usize> {
    let two = bytes.get(at..at.checked_add(2)?)?;
    two.try_into().ok().map(|two| usize::from(u16::from_be_bytes(two)))
}

#[cfg(test)]
#[path = "raw_tests.rs"]
mod tests;
