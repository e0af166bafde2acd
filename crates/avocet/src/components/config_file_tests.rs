use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn replace_keeps_the_mode_the_link_and_the_last_version() {
    let home = TempDir::new().unwrap();
    let (file, link) = (home.path().join("real.toml"), home.path().join("link.toml"));
    write(&file, "old", 0o640);
    symlink(&file, &link).unwrap();
    for (path, last, new) in [(&file, "old", "one"), (&link, "one", "two")] {
        let target = Target::resolve(path).unwrap();
        target.replace(last.as_bytes(), new.as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), new);
        assert_eq!(fs::read_to_string(last_version(&file)).unwrap(), last);
        assert_eq!((mode(&file), mode(&last_version(&file))), (0o640, 0o640));
        assert!(link.is_symlink());
    }
    let names = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.count(), 3, "no temporary file is left");
}

#[test]
fn replace_of_a_missing_file_makes_a_private_one_with_its_directory() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("avocet/config.toml");
    assert_eq!(read(&file).unwrap(), b"");
    Target::resolve(&file).unwrap().replace(b"", b"new").unwrap();
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file)), ("new", 0o600));
    assert!(!last_version(&file).exists());
}

#[test]
fn target_refuses_what_cannot_be_replaced_with_the_reason() {
    let home = TempDir::new().unwrap();
    let at = |name: &str| home.path().join(name);
    write(&at("read-only"), "", 0o444);
    symlink(at("nowhere"), at("dangling")).unwrap();
    fs::create_dir(at("directory")).unwrap();
    let table = [
        ("read-only", "it is read-only (mode 444)"),
        ("dangling", "No such file"),
        ("directory", "it is not a regular file"),
        ("read-only/below", "Not a directory"),
    ];
    for (name, expected) in table {
        let why = Target::resolve(&at(name)).err().unwrap();
        assert!(why.contains(expected), "{name}: {why}");
    }
    let error = unwritable_error(Path::new("/etc/avocet/config.toml"), "why").to_string();
    for part in ["cannot write /etc/avocet/config.toml: why", "ReadWritePaths=/etc/avocet"] {
        assert!(error.contains(part), "{error}");
    }
}
