//! Migrations. The first step is a copy of the database in a file beside it.

use std::path::Path;

use rusqlite::Connection;

use crate::OpenError;
use crate::copy::write_copy;
use crate::error::store_error;
use crate::files::{PART, put_in_place, with_suffix};
use crate::schema::{apply, last, version_below};

/// Copies the database and then migrates it to the last version.
pub(crate) fn migrate(
    connection: &mut Connection,
    path: &Path,
    migrations: &[&str],
) -> Result<(), OpenError> {
    let last = last(migrations);
    let found = version_below(connection, path, last)?;
    if found == last {
        return Ok(());
    }
    let copy = with_suffix(path, &format!(".before-v{last}"));
    tracing::info!(from = found, to = last, copy = %copy.display(), "migrating the log");
    let part = with_suffix(&copy, PART);
    write_copy(connection, &part)?;
    put_in_place(&part, &copy)?;
    bring_up(connection, path, found, migrations)
}

/// Migrates without a copy.
pub(crate) fn bring_up(
    connection: &mut Connection,
    path: &Path,
    from: usize,
    migrations: &[&str],
) -> Result<(), OpenError> {
    let brought = apply(connection, &migrations[from - 1..], last(migrations));
    brought.map_err(|error| store_error(path, &error).into())
}
