use tempfile::TempDir;

use super::*;

fn last(boot: &str) -> LastTransaction {
    let (id, boot) = ("a".repeat(32), boot.to_owned());
    let (at, pages) = (Timestamp(1_767_225_600_000), PageState::Checked);
    LastTransaction { id, epoch: 3, position: 1_000_000, synced: 7, at, boot, pages }
}

#[test]
fn last_read_returns_the_written_note_and_ignores_a_damaged_one() {
    let directory = TempDir::new().unwrap();
    let database = directory.path().join("avocet.db");
    assert_eq!(LastTransaction::read(&database), None);
    let mut file = LastFile::begin_file(&database, last("boot")).unwrap();
    assert_eq!(LastTransaction::read(&database), Some(last("boot")));
    file.note_commit(1_000_001, false, Timestamp(5));
    let found = LastTransaction::read(&database).unwrap();
    assert_eq!((found.position, found.synced, found.at), (1_000_001, 7, Timestamp(5)));
    file.note_commit(1_000_002, true, Timestamp(6));
    assert_eq!(LastTransaction::read(&database).unwrap().synced, 1_000_002);
    // A shorter text must overwrite all of a longer one.
    LastFile::begin_file(&database, LastTransaction { position: 1, synced: 1, ..last("") })
        .unwrap();
    assert_eq!(
        LastTransaction::read(&database),
        Some(LastTransaction { position: 1, synced: 1, ..last("") })
    );
    for pages in [PageState::Unchecked, PageState::Suspect, PageState::Checked] {
        file.page_state().set_state(pages);
        file.note_synced();
        assert_eq!(LastTransaction::read(&database).unwrap().pages, pages);
    }
    fs::write(directory.path().join("avocet.db-last"), "a 1 2 3 4 boot  \n").unwrap();
    assert_eq!(
        LastTransaction::read(&database).unwrap().pages,
        PageState::Unchecked,
        "of an older version"
    );
    for damaged in ["", "a b c", "a 1 2 3", "\0\0\0\0"] {
        fs::write(directory.path().join("avocet.db-last"), damaged).unwrap();
        assert_eq!(LastTransaction::read(&database), None, "{damaged:?}");
    }
    LastTransaction::remove_file(&database).unwrap();
    LastTransaction::remove_file(&database).unwrap();
}

#[test]
fn last_expected_counts_only_synced_transactions_after_another_boot() {
    assert_eq!(last("another").expected_position(), 7);
    assert_eq!(last("").expected_position(), 7, "a system without a boot id");
    assert_eq!(last(&boot_id()).expected_position(), 1_000_000);
}
