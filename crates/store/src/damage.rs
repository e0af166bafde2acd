//! A damaged database is moved aside with its -wal and -shm; it is never silently started empty.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use avocet_protocol::{StoreError, Timestamp};

use crate::migrate::with_suffix;
use crate::tx::{Db, Result};
use crate::{OpenError, migrate};

/// Databases larger than this are not read through at every start; their pages are checked as they
/// are used.
const CHECK_UP_TO: u64 = 256 * 1024 * 1024;

/// What is wrong with the file's header, if anything. Looked at without SQLite, which takes a
/// file that is too short for an empty database and throws its -wal away.
pub(crate) fn find_in_header(path: &Path) -> io::Result<Option<&'static str>> {
    // "The Database Header" of SQLite's file format: magic at 0, application id at 68.
    let mut header = Vec::with_capacity(100);
    fs::File::open(path)?.take(100).read_to_end(&mut header)?;
    Ok(match (header.get(..16), header.get(68..72)) {
        (Some(b"SQLite format 3\0"), Some(id)) if id == migrate::APPLICATION_ID.to_be_bytes() => {
            None
        }
        (Some(b"SQLite format 3\0"), Some(_)) => Some("it is not an Avocet database"),
        _ => Some("it has no SQLite header"),
    })
}

/// What is wrong with the rest of the database, if anything.
pub(crate) fn find(db: Db<'_>) -> Result<Option<String>> {
    if fs::metadata(db.path).is_ok_and(|file| file.len() > CHECK_UP_TO) {
        return Ok(None);
    }
    match db.one("PRAGMA quick_check(1)", (), |row| row.get::<_, String>(0)) {
        Ok(word) if word == "ok" => Ok(None),
        // Its first line only names the database.
        Ok(fault) => Ok(Some(fault.lines().last().unwrap_or(&fault).to_owned())),
        Err(StoreError::Damaged { detail, .. }) => Ok(Some(detail)),
        Err(error) => Err(error),
    }
}

/// Moves the database and what belongs to it to a name with the time in it.
pub(crate) fn move_aside(path: &Path, now: Timestamp) -> Result<PathBuf, OpenError> {
    let moved = with_suffix(path, &format!(".damaged-{}", now.0));
    // The database first: a -wal that is left alone is found and follows at the next start.
    for suffix in ["", "-wal", "-shm"] {
        let (from, to) = (with_suffix(path, suffix), with_suffix(&moved, suffix));
        match fs::rename(&from, &to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(OpenError::Directory { path: from, error });
            }
            _ => {}
        }
    }
    Ok(moved)
}

/// Where there is no database but a damaged one beside it, a person has to decide.
pub(crate) fn refuse_silent_start(path: &Path, start_empty: bool) -> Result<(), OpenError> {
    let Some(directory) = path.parent().filter(|_| !start_empty) else { return Ok(()) };
    let unusable = |error| OpenError::Directory { path: directory.to_owned(), error };
    let prefix = with_suffix(path, ".damaged-");
    let mut newest = None;
    for entry in fs::read_dir(directory).map_err(unusable)? {
        let found = entry.map_err(unusable)?.path();
        let name = found.as_os_str().as_encoded_bytes();
        let is_database = !name.ends_with(b"-wal") && !name.ends_with(b"-shm");
        if is_database && name.starts_with(prefix.as_os_str().as_encoded_bytes()) {
            newest = newest.max(Some(found));
        }
    }
    match newest {
        None => Ok(()),
        Some(moved) => Err(OpenError::MovedAside { path: path.to_owned(), moved }),
    }
}

/// A -wal whose database is gone is moved aside: SQLite would write what it holds into the next
/// database of that name.
pub(crate) fn refuse_foreign_wal(path: &Path, now: Timestamp) -> Result<(), OpenError> {
    if fs::metadata(with_suffix(path, "-wal")).is_ok_and(|wal| wal.len() > 0) {
        let moved = move_aside(path, now)?;
        let detail = "it is gone, but not its -wal".to_owned();
        return Err(OpenError::Damaged { path: path.to_owned(), detail, moved });
    }
    Ok(())
}
