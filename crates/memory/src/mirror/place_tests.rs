use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn place() -> (tempfile::TempDir, FilePlace) {
    let directory = tempfile::tempdir().unwrap();
    let place = FilePlace::from_scope(&directory.path().join("memory"), &MemoryScope::Everyone);
    (directory, place)
}

fn names(place: &FilePlace) -> Vec<String> {
    let names = fs::read_dir(&place.directory).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn file_name_is_readable_safe_and_unique() {
    let long = format!("chat a:b:{}", "c".repeat(150));
    let table = [
        ("everyone", "everyone.md"),
        ("person telegram:main:7", "person_telegram_main_7.md"),
        ("chat telegram:main:-100", "chat_telegram_main_-100.md"),
        ("person irc:main:a b", "person_irc_main_a_b.md"),
    ];
    for (scope, expected) in table {
        assert_eq!(file_name(&scope.parse().unwrap()), expected);
    }
    let mut all = BTreeSet::new();
    let others =
        ["person a:b:C", "person a:b:c", "person a:b_c:d", "person a:b:c_d", "person a:b:é", &long];
    for scope in others {
        let name = file_name(&scope.parse().unwrap());
        assert!(name.len() < 120 && name.is_ascii(), "{name}");
        assert!(
            name.chars().all(|c| c.is_ascii_lowercase() || "_-.0123456789".contains(c)),
            "{name}"
        );
        assert!(all.insert(name), "{scope}");
    }
}

#[test]
fn read_refuses_everything_but_a_file_of_limited_size() {
    let (_directory, place) = place();
    assert_eq!(place.read(), Ok(None));
    fs::create_dir(&place.directory).unwrap();
    let path = place.file_path();
    fs::write(place.directory.join("target"), "secret").unwrap();
    symlink("target", &path).unwrap();
    assert_eq!(place.read(), Err(FileFault::NotAFile));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(place.read(), Err(FileFault::NotAFile));
    fs::remove_dir(&path).unwrap();
    File::create(&path).unwrap().set_len(MOST_BYTES + 1).unwrap();
    assert_eq!(place.read(), Err(FileFault::TooLarge(MOST_BYTES + 1)));
    fs::write(&path, "text").unwrap();
    assert_eq!(place.read().unwrap().unwrap().bytes, b"text");
}

#[test]
fn link_in_place_of_the_directory_is_refused() {
    let (directory, place) = place();
    let elsewhere = directory.path().join("workspace");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, &place.directory).unwrap();
    assert!(matches!(place.read(), Err(FileFault::Io(_))));
    assert!(matches!(place.replace_content(None, b"x"), Err(FileFault::Io(_))));
    assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 0);
}

#[test]
fn replace_makes_a_private_file_and_leaves_no_other() {
    let (_directory, place) = place();
    for text in ["one", "two"] {
        let before = place.read().unwrap();
        let ReplacedFile::Done(stamp) =
            place.replace_content(before.as_ref(), text.as_bytes()).unwrap()
        else {
            panic!("{text}")
        };
        assert_eq!(place.current_stamp(), Some(stamp));
        assert_eq!(fs::read_to_string(place.file_path()).unwrap(), text);
        assert_eq!(names(&place), ["everyone.md"]);
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&place.directory), mode(&place.file_path())), (0o700, 0o600));
}

/// A content that the program has not read is never lost: it stays beside the file.
#[test]
fn replace_keeps_a_content_that_was_saved_meanwhile() {
    let (_directory, place) = place();
    assert!(matches!(place.replace_content(None, b"old").unwrap(), ReplacedFile::Done(_)));
    let before = place.read().unwrap();
    fs::write(place.file_path(), "saved meanwhile").unwrap();
    assert!(matches!(place.replace_content(None, b"new").unwrap(), ReplacedFile::Displaced));
    assert_eq!(fs::read_to_string(place.file_path()).unwrap(), "saved meanwhile");
    assert!(matches!(
        place.replace_content(before.as_ref(), b"new").unwrap(),
        ReplacedFile::Displaced
    ));
    assert_eq!(fs::read_to_string(place.file_path()).unwrap(), "new");
    assert_eq!(place.read_other().unwrap().unwrap().bytes, b"saved meanwhile");
    let kept = place.keep_other().unwrap();
    assert_eq!(kept.file_name().unwrap(), "everyone.md.kept-1");
    assert_eq!(fs::read_to_string(kept).unwrap(), "saved meanwhile");

    let before = place.read().unwrap();
    fs::remove_file(place.file_path()).unwrap();
    assert!(matches!(
        place.replace_content(before.as_ref(), b"newer").unwrap(),
        ReplacedFile::Displaced
    ));
    assert_eq!(names(&place), ["everyone.md.kept-1"]);
}
