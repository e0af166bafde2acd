use super::*;

#[test]
fn check_room_refuses_a_copy_that_would_fill_the_disk() {
    let directory = tempfile::TempDir::new().unwrap();
    let to = directory.path().join("copy.db");
    check_room(1, &to).unwrap();
    let refused = check_room(u64::MAX / 2, &to).unwrap_err();
    assert!(matches!(refused, CopyError::NoRoom { .. }), "{refused}");
    assert!(refused.to_string().contains("free some space"), "{refused}");
}

#[test]
fn open_unchanging_accepts_a_path_with_special_characters_of_a_url() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("a b?c#d%41é.db");
    Connection::open(&path).unwrap().execute("CREATE TABLE t (c)", ()).unwrap();
    let opened = open_unchanging(&path).unwrap();
    let tables: i64 =
        opened.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0)).unwrap();
    assert_eq!(tables, 1);
}
