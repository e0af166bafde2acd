//! The schema and its versions.

use std::path::Path;

use avocet_text::index_text;
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use crate::OpenError;
use crate::error::{store_error, unusable_path};
use crate::files::{NEW, make_private, put_in_place, with_suffix};
use crate::tx::Db;

/// The complete schema of the last version, for new databases.
const SCHEMA: &str = include_str!("schema.sql");

/// The scripts that bring a database from each version to the next, beginning with version 1.
pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/2.sql"),
    include_str!("migrations/3.sql"),
    include_str!("migrations/4.sql"),
    include_str!("migrations/5.sql"),
    include_str!("migrations/6.sql"),
    include_str!("migrations/7.sql"),
    include_str!("migrations/8.sql"),
    include_str!("migrations/9.sql"),
    include_str!("migrations/10.sql"),
    include_str!("migrations/11.sql"),
    include_str!("migrations/12.sql"),
    include_str!("migrations/13.sql"),
    include_str!("migrations/14.sql"),
    include_str!("migrations/15.sql"),
    include_str!("migrations/16.sql"),
    include_str!("migrations/17.sql"),
    include_str!("migrations/18.sql"),
    include_str!("migrations/19.sql"),
    include_str!("migrations/20.sql"),
    include_str!("migrations/21.sql"),
    include_str!("migrations/22.sql"),
    include_str!("migrations/23.sql"),
    include_str!("migrations/24.sql"),
    include_str!("migrations/25.sql"),
    include_str!("migrations/26.sql"),
    include_str!("migrations/27.sql"),
    include_str!("migrations/28.sql"),
    include_str!("migrations/29.sql"),
    include_str!("migrations/30.sql"),
];

/// The complete schema of version 1.
const FIRST_SCHEMA: &str = include_str!("migrations/schema_v1.sql");

/// Returns the version after all these scripts.
pub(crate) fn last_version(migrations: &[&str]) -> usize {
    migrations.len() + 1
}

pub(crate) fn newest_version() -> usize {
    last_version(MIGRATIONS)
}

/// `AVOC` as bytes, in the header of the file (SQLite's `application_id`).
pub(crate) const APPLICATION_ID: i32 = 0x4156_4F43;

/// Bytes of a page of a new database. A transaction writes each changed page as a whole, and a turn
/// changes a few bytes in each of 27 pages. With SQLite's 4,096 bytes, it writes four times as
/// much.
pub(crate) const PAGE_BYTES: u32 = 1024;

/// Creates a database under a temporary name and renames it when it is complete, so that a file
/// with the right name is always complete.
pub(crate) fn create_database(path: &Path) -> Result<(), OpenError> {
    let new = with_suffix(path, NEW);
    drop(make_database(&new, newest_version())?);
    put_in_place(&new, path)
}

/// Creates an empty database with the schema of this version.
pub(crate) fn make_database(path: &Path, version: usize) -> Result<Connection, OpenError> {
    make_private(path).map_err(|error| unusable_path(path, error))?;
    let scripts = if version == newest_version() {
        vec![SCHEMA]
    } else {
        [&[FIRST_SCHEMA], &MIGRATIONS[..version - 1]].concat()
    };
    let make = || {
        let mut connection = Connection::open(path)?;
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        run_scripts(&mut connection, &scripts, version)?;
        Ok(connection)
    };
    make().map_err(|error| store_error(path, &error).into())
}

/// Removes the comments of a script. SQLite keeps the text of the schema as it is given, and each
/// connection parses all of it.
fn without_comments(script: &str) -> String {
    let mut kept = String::with_capacity(script.len());
    for line in script.lines() {
        let is_comment = |at: &usize| line[..*at].matches('\'').count() % 2 == 0;
        let end = line.match_indices("--").map(|(at, _)| at).find(is_comment);
        let line = line[..end.unwrap_or(line.len())].trim_end();
        if !line.is_empty() {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Fails if another version wrote the database.
pub(crate) fn check_version(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let known = newest_version();
    match version_below(connection, path, known)? {
        found if found < known => Err(OpenError::Older { path: path.to_owned(), found, known }),
        _ => Ok(()),
    }
}

/// Returns the version of a database; fails if it is newer than `known`.
pub(crate) fn version_below(
    connection: &Connection,
    path: &Path,
    known: usize,
) -> Result<usize, OpenError> {
    let db = Db { connection, path };
    let found: i64 = db.query_one("PRAGMA user_version", (), |row| row.get(0))?;
    usize::try_from(found).ok().filter(|version| (1..=known).contains(version)).ok_or_else(|| {
        let known = i64::try_from(known).unwrap_or(i64::MAX);
        OpenError::Newer { path: path.to_owned(), found, known }
    })
}

/// Runs all scripts in one transaction and sets the version.
pub(crate) fn run_scripts(
    connection: &mut Connection,
    scripts: &[&str],
    version: usize,
) -> rusqlite::Result<()> {
    // For the conversion of texts.
    connection.create_scalar_function("index_text", 1, FunctionFlags::SQLITE_UTF8, |context| {
        Ok(index_text(&context.get::<String>(0)?))
    })?;
    let transaction = connection.transaction()?;
    // A migration may recreate a table to which others refer.
    transaction.pragma_update(None, "defer_foreign_keys", true)?;
    for script in scripts {
        transaction.execute_batch(&without_comments(script))?;
    }
    transaction.pragma_update(None, "user_version", version)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_comments_keeps_statements_and_texts() {
        let script = "-- A table.\nCREATE TABLE a (\n    b TEXT, -- its name\n\n    c TEXT DEFAULT '--' -- two\n);\n";
        let kept = "CREATE TABLE a (\n    b TEXT,\n    c TEXT DEFAULT '--'\n);\n";
        assert_eq!(without_comments(script), kept);
    }

    /// Each connection parses this text.
    #[test]
    fn new_database_keeps_no_comment() {
        let directory = tempfile::tempdir().unwrap();
        let made = make_database(&directory.path().join("a.db"), newest_version()).unwrap();
        let sql = "SELECT group_concat(sql, ';') FROM sqlite_schema";
        let text: String = made.query_row(sql, (), |row| row.get(0)).unwrap();
        assert!(!text.contains("--"), "{text}");
        assert!(SCHEMA.contains("--"));
    }
}
