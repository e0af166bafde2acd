//! Migrations. The first step is a copy of the database in a file beside it.

use std::path::Path;

use rusqlite::Connection;

use crate::OpenError;
use crate::copy::write_copy;
use crate::error::store_error;
use crate::files::{PART, put_in_place, with_suffix};
use crate::schema::{last_version, run_scripts, version_below};

/// Copies the database and then migrates it to the last version.
pub(crate) fn migrate_log(
    connection: &mut Connection,
    path: &Path,
    migrations: &[&str],
) -> Result<(), OpenError> {
    let last = last_version(migrations);
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
    let brought = run_scripts(connection, &migrations[from - 1..], last_version(migrations));
    brought.map_err(|error| store_error(path, &error).into())
}
