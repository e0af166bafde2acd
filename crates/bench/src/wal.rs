//! The write-ahead log of SQLite ("WAL-mode File Format" in its documentation).

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::Result;

const HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;

/// The used part of a WAL file. Behind it may be frames of an earlier use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WalEnd {
    /// Random number that changes with each new use of the file.
    salt: u64,
    bytes: u64,
}

impl WalEnd {
    pub(crate) fn read(wal: &Path) -> Result<Self> {
        let mut file = File::open(wal)?;
        let mut header = [0; HEADER as usize];
        file.read_exact(&mut header)?;
        let frame = u64::from(number(&header, 8)) + FRAME_HEADER;
        let salt = salt(&header, 16);
        let mut bytes = HEADER;
        let mut frame_header = [0; FRAME_HEADER as usize];
        loop {
            file.seek(SeekFrom::Start(bytes))?;
            if file.read_exact(&mut frame_header).is_err() || self::salt(&frame_header, 8) != salt {
                return Ok(Self { salt, bytes });
            }
            bytes += frame;
        }
    }

    /// Returns the bytes that were written since then. `None` if the file was used anew meanwhile.
    pub(crate) fn since(self, before: Self) -> Option<u64> {
        (self.salt == before.salt).then(|| self.bytes.checked_sub(before.bytes))?
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |number, &byte| number << 8 | u32::from(byte))
}

fn salt(bytes: &[u8], at: usize) -> u64 {
    u64::from(number(bytes, at)) << 32 | u64::from(number(bytes, at + 4))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn wal_end_counts_pages_until_the_file_is_used_anew() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("a.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; CREATE TABLE t (c); INSERT INTO t VALUES (1)",
            )
            .unwrap();
        let end = || WalEnd::read(&directory.path().join("a.db-wal")).unwrap();
        let first = end();
        connection.execute_batch("INSERT INTO t VALUES (2)").unwrap();
        assert_eq!(end().since(first), Some(4096 + FRAME_HEADER));
        connection
            .execute_batch("PRAGMA wal_checkpoint(RESTART); INSERT INTO t VALUES (3)")
            .unwrap();
        assert_eq!(end().since(first), None);
        assert_eq!(end().bytes, HEADER + 4096 + FRAME_HEADER);
    }
}
