//! Ids that are never given to another row.
//!
//! People, programs and other rows remember ids: `/resend 7`, a button, a position in the events. So an
//! id stays used after its row was removed. There are two ways to keep that:
//!
//! ```text
//! tables of a turn   turns, inbound, outbox, usage, events     highest id + 1, but above `last_numbers`
//! other tables       AUTOINCREMENT                             `sqlite_sequence`
//! ```
//!
//! `AUTOINCREMENT` writes `sqlite_sequence` for each new row: one more page in each transaction, as
//! each adds an event. `last_numbers` is written only when a removal takes the highest id of a table,
//! which a trigger notes. The view `next_TABLE` has the id of the next row, and each `INSERT` into one
//! of these tables takes it from there. An `INSERT` without an id would give a removed id again.

use crate::tx::{Db, Result, Tx};

/// The tables with a row in `last_numbers` and a view `next_TABLE`.
pub(crate) const NUMBERED: [&str; 5] = ["turns", "inbound", "outbox", "usage", "events"];

/// Takes the next id of a table without inserting a row. `table` is not from outside.
pub(crate) fn reserve_number(tx: &Tx<'_>, table: &str) -> Result<i64> {
    let number = last_number(tx.db, table)? + 1;
    set_last_number(tx, table, number)?;
    Ok(number)
}

/// Returns the highest id of a table that was ever used or reserved; 0 if there was none.
pub(crate) fn last_number(db: Db<'_>, table: &str) -> Result<i64> {
    if NUMBERED.contains(&table) {
        return db.query_one(&format!("SELECT id - 1 FROM next_{table}"), (), |row| row.get(0));
    }
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = ?1";
    Ok(db.query_row(sql, [table], |row| row.get(0))?.unwrap_or_default())
}

/// Lets the ids of a table continue behind `number`, which is not below its last one.
pub(crate) fn set_last_number(tx: &Tx<'_>, table: &str, number: i64) -> Result<()> {
    let (numbers, column) = if NUMBERED.contains(&table) {
        ("last_numbers", "number")
    } else {
        // Applications may change this table ("SQLite Autoincrement").
        ("sqlite_sequence", "seq")
    };
    let update = format!("UPDATE {numbers} SET {column} = ?2 WHERE name = ?1");
    if tx.change_rows(&update, (table, number))? == 0 {
        let insert = format!("INSERT INTO {numbers} (name, {column}) VALUES (?1, ?2)");
        tx.insert(&insert, (table, number))?;
    }
    Ok(())
}

/// Returns all tables whose ids are never given to another row.
pub(crate) fn numbered_tables(db: Db<'_>) -> Result<Vec<String>> {
    db.query_rows(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%' \
         UNION ALL SELECT name FROM last_numbers",
        (),
        |row| row.get(0),
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::schema::{make_database, newest_version};
    use crate::tx::Db;

    /// Adds the texts of all files below a directory, without migrations and tests.
    fn add_sources(directory: &Path, texts: &mut Vec<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if !path.ends_with("migrations") && !path.ends_with("testing") {
                    add_sources(&path, texts);
                }
            } else if !path.to_string_lossy().ends_with("_tests.rs") {
                texts.push(std::fs::read_to_string(&path).unwrap());
            }
        }
    }

    #[test]
    fn each_insert_into_a_numbered_table_names_the_id() {
        let mut texts = Vec::new();
        add_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut texts);
        let mut found = 0;
        for table in NUMBERED {
            let insert = format!("INSERT INTO {table} (");
            for columns in texts.iter().flat_map(|text| text.split(&insert).skip(1)) {
                let first = columns.split([',', ')']).next().unwrap();
                assert!(["id", "seq"].contains(&first), "{insert}{first}");
                found += 1;
            }
        }
        assert!(found > 20, "{found}");
    }

    #[test]
    fn last_number_stays_when_rows_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let connection = make_database(&path, newest_version()).unwrap();
        connection.pragma_update(None, "foreign_keys", false).unwrap();
        let db = Db { connection: &connection, path: &path };
        connection
            .execute_batch(
                "INSERT INTO sessions (id, used_at) VALUES ('s', 1);
                 INSERT INTO turns (id, session, state, started_at) \
                     SELECT value, 's', 'done', 1 FROM json_each('[1, 2, 3]');
                 INSERT INTO inbound (id, session, channel, account, chat, key, sender, kind, content, removed, \
                     state, outcome, received_at) SELECT value, 's', 'c', 'a', 'c', value, 'u', 'text', '{}', 0, \
                     'done', 'replied', 1 FROM json_each('[1, 2, 3]');
                 INSERT INTO outbox (id, channel, account, chat, ordinal, chunk, source, content, state, \
                     created_at) SELECT value, 'c', 'a', 'c', 0, 0, 'reply', '{}', 'sent', 1 \
                     FROM json_each('[1, 2, 3]');
                 INSERT INTO usage (id, at, purpose, model, input, cached, cache_written, output) \
                     SELECT value, 1, 'answer', 'm', 1, 1, 1, 1 FROM json_each('[1, 2, 3]');",
            )
            .unwrap();
        for table in NUMBERED {
            let id = if table == "events" { "seq" } else { "id" };
            let highest = last_number(db, table).unwrap();
            assert!(highest >= 3, "{table}");
            for removed in [format!("{id} = 1"), format!("{id} > 2"), "true".to_owned()] {
                connection.execute(&format!("DELETE FROM {table} WHERE {removed}"), ()).unwrap();
                assert_eq!(last_number(db, table), Ok(highest), "{table} without {removed}");
            }
        }
    }
}
