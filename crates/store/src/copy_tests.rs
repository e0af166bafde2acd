use super::*;

#[test]
fn a_copy_that_would_fill_the_disk_is_refused() {
    let directory = tempfile::TempDir::new().unwrap();
    let to = directory.path().join("copy.db");
    check_room(1, &to).unwrap();
    let refused = check_room(u64::MAX / 2, &to).unwrap_err();
    assert!(matches!(refused, CopyError::NoRoom { .. }), "{refused}");
    assert!(refused.to_string().contains("free some space"), "{refused}");
}

#[test]
fn a_name_with_signs_of_its_own_in_a_url_is_opened() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("a b?c#d%41é.db");
    Connection::open(&path).unwrap().execute("CREATE TABLE t (c)", ()).unwrap();
    let opened = open_unchanging(&path).unwrap();
    let tables: i64 =
        opened.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0)).unwrap();
    assert_eq!(tables, 1);
}
