use tempfile::TempDir;

use super::*;

#[test]
fn found_tells_a_changed_unit_from_an_outdated_one() {
    let directory = TempDir::new().unwrap();
    let unit =
        UnitFile { path: directory.path().join("user/avocet.service"), text: mark_text("new\n") };
    assert_eq!(unit.found().unwrap(), FoundUnit::Missing);
    assert_eq!(unit.write(FoundUnit::Missing).unwrap(), None);
    assert_eq!(unit.found().unwrap(), FoundUnit::Same);
    let table = [
        (mark_text("old\n"), FoundUnit::Outdated),
        (OF_USER.to_owned(), FoundUnit::Outdated),
        (OF_SYSTEM.to_owned(), FoundUnit::Outdated),
        (format!("{}# mine\n", mark_text("old\n")), FoundUnit::Changed),
        (OF_USER.replace("5min", "9min"), FoundUnit::Changed),
        (String::new(), FoundUnit::Changed),
    ];
    for (text, expected) in table {
        fs::write(&unit.path, &text).unwrap();
        assert_eq!(unit.found().unwrap(), expected, "{text}");
    }
}

#[test]
fn write_keeps_a_changed_unit_beside_the_new_one() {
    let directory = TempDir::new().unwrap();
    let unit = UnitFile { path: directory.path().join("avocet.service"), text: mark_text("new\n") };
    fs::write(&unit.path, "mine\n").unwrap();
    let kept = unit.write(FoundUnit::Changed).unwrap().unwrap();
    assert_eq!(kept, directory.path().join("avocet.service.before"));
    assert_eq!(fs::read_to_string(kept).unwrap(), "mine\n");
    assert_eq!(fs::read_to_string(&unit.path).unwrap(), unit.text);
    let mode = fs::metadata(&unit.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "no other file is left");
}

#[test]
fn with_command_replaces_one_line_of_each_shipped_unit() {
    for unit in [OF_SYSTEM, OF_USER] {
        let changed = with_command(unit, "ExecStart=/bin/avocet run");
        let lines = || changed.lines().zip(unit.lines());
        let different: Vec<_> = lines().filter(|(new, old)| new != old).collect();
        assert!(matches!(different[..], [("ExecStart=/bin/avocet run", _)]), "{different:?}");
        assert_eq!(changed.lines().count(), unit.lines().count());
    }
}

#[test]
fn quoted_refuses_characters_with_a_meaning() {
    assert_eq!(quote_path(Path::new("/opt/avocet")).unwrap(), "/opt/avocet");
    assert_eq!(quote_path(Path::new("/opt/my avocet")).unwrap(), "\"/opt/my avocet\"");
    for path in ["/a\"b", "/a$b", "/a%b", "/a\\b", "/a\nb", "/a'b"] {
        assert!(quote_path(Path::new(path)).is_err(), "{path:?}");
    }
}

#[test]
fn check_visible_in_unit_refuses_paths_that_the_unit_closes() {
    for path in ["/home/ann/.cargo/bin/avocet", "/root/avocet", "/tmp/avocet"] {
        assert!(check_visible_in_unit(Path::new(path)).is_err(), "{path}");
    }
    for path in ["/usr/local/bin/avocet", "/homes/avocet"] {
        assert!(check_visible_in_unit(Path::new(path)).is_ok(), "{path}");
    }
}
