use std::fs;

use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;

use super::*;

/// Makes rows with values of every kind and length.
fn make(connection: &Connection) {
    connection
        .execute_batch(
            "CREATE TABLE plain (id INTEGER PRIMARY KEY, number, text, blob);
             CREATE TABLE keyed (a TEXT, number INTEGER, b TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID;
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
             INSERT INTO plain (id, number, text, blob) SELECT i * i - 5,
                 CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN 0 WHEN 2 THEN 1 WHEN 3 THEN i * 1.5
                     WHEN 4 THEN -i WHEN 5 THEN 1 << (i % 63) ELSE -(1 << (i % 63)) END,
                 substr(replace(hex(zeroblob(i * 20)), '0', 'é'), 1, i * 37), randomblob(i % 50) FROM n;
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
             INSERT INTO keyed SELECT 'a' || i, i, substr(hex(zeroblob(i * 20)), 1, i * 31) FROM n;",
        )
        .unwrap();
}

fn read(connection: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map((), |row| (0..columns).map(|at| row.get(at)).collect()).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Reads the rows of a table without SQLite and returns them in SQLite's order.
fn raw(pages: &RawPages<'_>, table: &str) -> Vec<Vec<Value>> {
    let mut owned = OwnedPages::default();
    let rows = read_schema(pages, &mut owned);
    let root = rows.iter().find(|row| row.name == table).unwrap().root;
    let mut found = Vec::new();
    for page in owned.add_tree(pages, root) {
        let (rows, broken) = rows_of(pages, page, &mut owned);
        assert_eq!(broken, 0);
        for (rowid, mut values) in rows {
            if let Some(rowid) = rowid {
                values[0] = Value::Integer(rowid);
            }
            found.push(values);
        }
    }
    assert_eq!(owned.unreadable, 0);
    found.sort_by_key(|values| format!("{:?}", values[0]));
    found
}

fn assert_same(pages: &RawPages<'_>, connection: &Connection) {
    // Tables without rowid store the key first.
    for (table, sql) in
        [("plain", "SELECT * FROM plain"), ("keyed", "SELECT a, b, number FROM keyed")]
    {
        let mut expected = read(connection, sql);
        expected.sort_by_key(|values| format!("{:?}", values[0]));
        assert_eq!(raw(pages, table), expected, "{table}");
    }
}

#[test]
fn raw_pages_contain_the_rows_that_sqlite_reads() {
    for size in [512, 1024, 4096, 65_536] {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("db");
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "page_size", size).unwrap();
        make(&connection);
        let pages = RawPages::open(&path).unwrap();
        assert_eq!(pages.page_size(), size);
        assert_same(&pages, &connection);
    }
}

#[test]
fn page_size_of_our_databases_is_found_without_the_header() {
    for size in [1024, 4096] {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("db");
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "page_size", size).unwrap();
        make(&connection);
        drop(connection);
        let mut bytes = fs::read(&path).unwrap();
        bytes[..100].fill(0);
        fs::write(&path, &bytes).unwrap();
        assert_eq!(RawPages::open(&path).unwrap().page_size(), size);
    }
}

#[test]
fn raw_wal_frames_contain_the_rows_that_sqlite_reads() {
    let directory = TempDir::new().unwrap();
    let (path, wal) = (directory.path().join("db"), directory.path().join("db-wal"));
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    make(&connection);
    connection.execute("DELETE FROM plain WHERE id % 3 = 0", ()).unwrap();
    let read = || match WalFile::read(&wal).unwrap() {
        FoundWal::Wal(wal) => wal,
        other => panic!("{other:?}"),
    };
    let whole = read();
    assert!(!whole.is_broken());
    let mut pages = RawPages::open(&path).unwrap();
    pages.put_over(&whole, whole.read_by_sqlite());
    assert_same(&pages, &connection);

    // One flipped bit in a middle frame: SQLite stops there, but later frames can still be read.
    let bytes = fs::read(&wal).unwrap();
    let frames = whole.read_by_sqlite().count();
    let mut broken = bytes.clone();
    broken[32 + (24 + 4096) * (frames / 2) + 500] ^= 1;
    fs::write(&wal, &broken).unwrap();
    let found = read();
    assert!(found.is_broken() && found.read_by_sqlite().count() <= frames / 2);
    assert_eq!((found.readable_frames().count(), found.count_unreadable()), (frames - 1, 1));

    // Without the header, SQLite ignores every frame.
    let mut headless = bytes;
    headless[..32].fill(0);
    fs::write(&wal, &headless).unwrap();
    assert!(matches!(WalFile::read(&wal), Ok(FoundWal::Headless)));
    let found = WalFile::read_headless(&wal, 4096).unwrap();
    assert!(found.readable_frames().count() >= frames - 1);
}

/// Reading random damage must end without a panic.
#[test]
fn raw_read_of_damaged_pages_ends_without_a_panic() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("db");
    let connection = Connection::open(&path).unwrap();
    make(&connection);
    drop(connection);
    let bytes = fs::read(&path).unwrap();
    let mut seed = 7_u64;
    let mut random = |limit: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % limit
    };
    for _ in 0..300 {
        let mut damaged = bytes.clone();
        for _ in 0..40 {
            let at = random(damaged.len());
            damaged[at] = random(256) as u8;
        }
        // Damage page headers as well, which hold the trees together.
        for _ in 0..10 {
            let at = random(damaged.len() / 4096) * 4096 + random(16);
            damaged[at] = random(16) as u8;
        }
        fs::write(&path, &damaged).unwrap();
        let pages = RawPages::open(&path).unwrap();
        let mut owned = OwnedPages::default();
        for row in read_schema(&pages, &mut owned) {
            for page in owned.add_tree(&pages, row.root) {
                rows_of(&pages, page, &mut owned);
            }
        }
        owned.add_freelist(&pages);
        for page in 0..pages.last_page() + 2 {
            rows_of(&pages, page, &mut owned);
        }
    }
}
