//! Moves a damaged database, or the remaining files of a missing one, aside, and refuses to start
//! until a person decides.
//!
//! A marker file records the open decision. It is written before files are moved. These remove it:
//! `--start-empty`, `avocet restore`, `avocet recover`, and a start that finds a whole database
//! back in its place.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::StoreError;
use serde::{Deserialize, Serialize};

use crate::error::unusable_path;
use crate::files::{sync_directory, with_suffix};
use crate::last::LastTransaction;
use crate::tx::{Db, Result};
use crate::{OpenError, schema};

const MARKER: &str = "-damage";
const ASIDE: &str = ".damaged-";

/// Damage for which a person's decision is still open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UndecidedDamage {
    /// Description of the fault.
    pub(crate) found: String,
    /// Time of discovery, as text.
    pub(crate) at: String,
    /// New name of the moved database; `None` if all files are lost. Its `-wal` and `-shm` have
    /// this name with their suffixes.
    moved: Option<String>,
    /// Commands from which the reader of the marker file can choose.
    to_decide: String,
}

impl UndecidedDamage {
    pub(crate) fn new(found: String, moved: Option<&Path>, now: Timestamp) -> Self {
        let to_decide = "avocet recover, avocet restore FILE, avocet run --start-empty, or put a whole database \
            back in its place";
        let name = moved.and_then(Path::file_name);
        let moved = name.map(|name| name.to_string_lossy().into_owned());
        Self { found, at: format_date(now), moved, to_decide: to_decide.to_owned() }
    }

    /// Path of the moved database; `None` if all files are lost.
    pub(crate) fn moved_path(&self, database: &Path) -> Option<PathBuf> {
        self.moved.as_ref().map(|name| database.with_file_name(name))
    }

    /// Reads the marker of a database; `None` if there is none.
    pub(crate) fn read(database: &Path) -> io::Result<Option<Self>> {
        let bytes = match fs::read(with_suffix(database, MARKER)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        if let Ok(damage) = serde_json::from_slice(&bytes) {
            return Ok(Some(damage));
        }
        let found =
            "it was found damaged before, and the note about the damage cannot be read".to_owned();
        let moved = newest_aside(database)?;
        Ok(Some(Self {
            at: "unknown".to_owned(),
            ..Self::new(found, moved.as_deref(), Timestamp(0))
        }))
    }

    /// Writes the marker and syncs it to disk.
    pub(crate) fn write(&self, database: &Path) -> Result<(), OpenError> {
        let (path, new) = (with_suffix(database, MARKER), with_suffix(database, "-damage.new"));
        let unusable = |error| unusable_path(&path, error);
        let text = serde_json::to_string_pretty(self).map_err(|error| unusable(error.into()))?;
        let write = || {
            let mut options = File::options();
            let options = options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = options.open(&new)?;
            writeln!(file, "{text}")?;
            file.sync_all()?;
            fs::rename(&new, &path)
        };
        write().map_err(unusable)?;
        sync_directory(&path)
    }

    /// Removes the marker after a person has decided.
    pub(crate) fn remove_marker(database: &Path) -> Result<(), OpenError> {
        let path = with_suffix(database, MARKER);
        match fs::remove_file(&path) {
            Ok(()) => sync_directory(&path),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(unusable_path(&path, error)),
        }
    }

    fn into_error(self, path: &Path) -> OpenError {
        let left = what_is_left(self.moved_path(path).as_deref());
        let Self { found, at, .. } = self;
        OpenError::Undecided { path: path.to_owned(), found, at, left }
    }
}

/// Returns the fault in the file's header, if any. Reads without SQLite, which takes a file that is
/// too short for an empty database and discards its `-wal`.
pub(crate) fn find_in_header(path: &Path) -> io::Result<Option<&'static str>> {
    // "The Database Header" of SQLite's file format: magic at 0, application id at 68.
    let mut header = Vec::with_capacity(100);
    File::open(path)?.take(100).read_to_end(&mut header)?;
    Ok(match (header.get(..16), header.get(68..72)) {
        (Some(b"SQLite format 3\0"), Some(id)) if id == schema::APPLICATION_ID.to_be_bytes() => {
            None
        }
        (Some(b"SQLite format 3\0"), Some(_)) => Some("it is not an Avocet database"),
        _ => Some("it has no SQLite header"),
    })
}

/// Returns `true` if a marker says that the database was damaged.
pub(crate) fn has_marker(database: &Path) -> bool {
    with_suffix(database, MARKER).exists()
}

/// Returns the fault that SQLite's quick check finds, if any.
pub(crate) fn find_damage(db: Db<'_>) -> Result<Option<String>> {
    run_check(db, "PRAGMA quick_check(1)")
}

/// Runs the full check, which also compares indices with their tables, on a database of any size.
pub(crate) fn find_thoroughly(db: Db<'_>) -> Result<Option<String>> {
    run_check(db, "PRAGMA integrity_check(1)")
}

fn run_check(db: Db<'_>, pragma: &str) -> Result<Option<String>> {
    match db.query_one(pragma, (), |row| row.get::<_, String>(0)) {
        Ok(word) if word == "ok" => Ok(None),
        // Only the last line holds the fault; the first one may just name the database.
        Ok(fault) => Ok(Some(fault.lines().last().unwrap_or(&fault).to_owned())),
        // A damaged full-text index makes the check itself fail.
        Err(StoreError::Damaged { detail, .. } | StoreError::Internal(detail)) => Ok(Some(detail)),
        Err(error) => Err(error),
    }
}

/// Moves a damaged database and its `-wal` and `-shm` to a name that contains the time.
pub(crate) fn move_aside(path: &Path, detail: String, now: Timestamp) -> OpenError {
    let moved = free_name(path, ASIDE, now);
    let move_it = || {
        UndecidedDamage::new(detail.clone(), Some(&moved), now).write(path)?;
        move_pieces(path, &moved)
    };
    match move_it() {
        Ok(()) => OpenError::Damaged { path: path.to_owned(), detail, moved },
        Err(error) => error,
    }
}

/// Returns an unused name beside the database.
pub(crate) fn free_name(path: &Path, infix: &str, now: Timestamp) -> PathBuf {
    let is_free = |name: &PathBuf| {
        ["", "-wal", "-shm"].iter().all(|suffix| !with_suffix(name, suffix).exists())
    };
    let mut name = with_suffix(path, &format!("{infix}{}", now.0));
    for further in 2.. {
        if is_free(&name) {
            break;
        }
        name = with_suffix(path, &format!("{infix}{}.{further}", now.0));
    }
    name
}

/// Moves the database first: a later start finds a lone `-wal` and moves it too.
pub(crate) fn move_pieces(path: &Path, moved: &Path) -> Result<(), OpenError> {
    for suffix in ["", "-wal", "-shm"] {
        let (from, to) = (with_suffix(path, suffix), with_suffix(moved, suffix));
        match fs::rename(&from, &to) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(unusable_path(&from, error));
            }
            _ => {}
        }
    }
    sync_directory(path)
}

/// Checks a place without a database. Fails if a database was there before, because then a person
/// has to decide; `start_empty` is such a decision.
pub(crate) fn check_empty_place(
    path: &Path,
    start_empty: bool,
    now: Timestamp,
) -> Result<(), OpenError> {
    let Some(damage) = find_at_empty_place(path, now)? else { return Ok(()) };
    damage.write(path)?;
    // Files that a crash kept from being moved, or that are left beside a missing database.
    let moved = damage.moved_path(path).filter(|moved| !would_overwrite(path, moved));
    move_pieces(path, &moved.unwrap_or_else(|| free_name(path, ASIDE, now)))?;
    if start_empty {
        return LastTransaction::remove_file(path).map_err(|error| unusable_path(path, error));
    }
    Err(damage.into_error(path))
}

/// Does the check of [`check_empty_place`] for commands that only read: it writes and moves
/// nothing.
pub(crate) fn look_at_empty_place(path: &Path) -> Result<(), OpenError> {
    let unusable = |error| unusable_path(path, error);
    if let Some(damage) = UndecidedDamage::read(path).map_err(unusable)? {
        return Err(damage.into_error(path));
    }
    let Some(DatabaseTrace { found, left }) = find_trace(path).map_err(unusable)? else {
        return Ok(());
    };
    let (path, at) = (path.to_owned(), "just now".to_owned());
    Err(OpenError::Undecided { path, found, at, left: what_is_left(left.as_deref()) })
}

fn find_at_empty_place(path: &Path, now: Timestamp) -> Result<Option<UndecidedDamage>, OpenError> {
    let unusable = |error| unusable_path(path, error);
    if let Some(damage) = UndecidedDamage::read(path).map_err(unusable)? {
        return Ok(Some(damage));
    }
    let found = find_trace(path).map_err(unusable)?;
    Ok(found.map(|DatabaseTrace { found, left }| {
        let beside = ["-wal", "-shm"].iter().any(|suffix| with_suffix(path, suffix).exists());
        let moved = if beside { Some(free_name(path, ASIDE, now)) } else { left };
        UndecidedDamage::new(found, moved.as_deref(), now)
    }))
}

fn would_overwrite(path: &Path, moved: &Path) -> bool {
    let both = |suffix: &&str| [path, moved].iter().all(|path| with_suffix(path, suffix).exists());
    ["", "-wal", "-shm"].iter().any(both)
}

/// Evidence that a database existed, for a place without database and marker.
struct DatabaseTrace {
    found: String,
    /// A file left of the database, if any.
    left: Option<PathBuf>,
}

fn find_trace(path: &Path) -> io::Result<Option<DatabaseTrace>> {
    for suffix in ["-wal", "-shm"] {
        let left = with_suffix(path, suffix);
        if left.try_exists()? {
            return Ok(Some(DatabaseTrace {
                found: format!("it is gone, but not its {suffix}"),
                left: Some(left),
            }));
        }
    }
    if let Some(left) = newest_aside(path)? {
        return Ok(Some(DatabaseTrace {
            found: "it was damaged before".to_owned(),
            left: Some(left),
        }));
    }
    Ok(LastTransaction::read(path).map(|last| {
        let found = format!("it is gone; its last transaction was on {}", format_date(last.at));
        DatabaseTrace { found, left: None }
    }))
}

fn what_is_left(left: Option<&Path>) -> String {
    match left {
        Some(left) => format!("The remaining files: {}", left.display()),
        None => "No file of it is left".to_owned(),
    }
}

/// Returns the newest database that was moved aside.
pub(crate) fn newest_aside(path: &Path) -> io::Result<Option<PathBuf>> {
    let Some(directory) = path.parent() else { return Ok(None) };
    let prefix = with_suffix(path, ASIDE);
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let mut newest = None;
    for entry in entries {
        let found = entry?.path();
        let name = found.as_os_str().as_encoded_bytes();
        let is_database = !name.ends_with(b"-wal") && !name.ends_with(b"-shm");
        if is_database && name.starts_with(prefix.as_os_str().as_encoded_bytes()) {
            newest = newest.max(Some(found));
        }
    }
    Ok(newest)
}

/// Formats a moment for people: to the second, in UTC.
pub(crate) fn format_date(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(moment) => moment.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => at.0.to_string(),
    }
}
