//! The note about an erasure beside the log, by which the next start can finish it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{remove_copies, remove_if_there};
use crate::error::unusable_path;
use crate::files::{DATABASE, NEW, make_private, put_in_place, with_suffix};
use crate::tx::{Db, Result};
use crate::{OpenError, connect};

const SUFFIX: &str = "-erase";

/// The content of the note.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EraseNote {
    /// The hash of the audit row that proves the erasure.
    pub(super) proof: String,
    /// The files to remove.
    pub(super) files: Vec<PathBuf>,
}

impl EraseNote {
    pub(super) fn write(&self, path: &Path) -> Result<(), OpenError> {
        let note = with_suffix(path, SUFFIX);
        let new = with_suffix(&note, NEW);
        let write = || -> io::Result<()> {
            make_private(&new)?;
            fs::write(&new, serde_json::to_vec(self)?)
        };
        write().map_err(|error| unusable_path(&new, error))?;
        put_in_place(&new, &note)
    }

    fn read(path: &Path) -> Result<Option<Self>, OpenError> {
        let note = with_suffix(path, SUFFIX);
        match fs::read(&note) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| unusable_path(&note, error.into())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unusable_path(&note, error)),
        }
    }
}

/// Finishes an erasure that a crash interrupted after the swap, and forgets one that it interrupted
/// before. Called with the lock of the data directory, before the log is opened.
pub(crate) fn finish_erasure(path: &Path) -> Result<(), OpenError> {
    let Some(EraseNote { proof, files }) = EraseNote::read(path)? else { return Ok(()) };
    if is_swapped(path, &proof)? {
        for file in &files {
            remove_if_there(file)?;
        }
        for copy in copies_before_migrations(path) {
            remove_if_there(&copy)?;
        }
        tracing::info!(files = files.len(), "the erasure in the log is finished");
    } else {
        tracing::warn!("an erasure was interrupted before it began; nothing was erased, repeat it");
    }
    remove_copies(path);
    remove_if_there(&with_suffix(path, SUFFIX))
}

fn is_swapped(path: &Path, proof: &str) -> Result<bool, OpenError> {
    if !path.exists() {
        return Ok(false);
    }
    let connection = connect::read_only(path)?;
    let db = Db { connection: &connection, path };
    let found = db.query_row("SELECT 1 FROM audit WHERE hash = ?1", [proof], |_| Ok(()))?;
    Ok(found.is_some())
}

/// Returns the copies that migrations made of older versions. They have the erased texts too.
fn copies_before_migrations(path: &Path) -> Vec<PathBuf> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_copy = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with(&format!("{DATABASE}.before-v"))
    };
    entries.filter(is_copy).map(|entry| entry.path()).collect()
}
