use tempfile::TempDir;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

/// A place in a directory that every user can enter.
fn place(directory: &TempDir, group: Option<u32>) -> SocketPlace {
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    let group = group.map(|gid| SocketGroup { name: "avocet-clients".to_owned(), gid });
    SocketPlace { path: directory.path().join("run/avocet.sock"), group }
}

/// The group of this process, which may give files to it.
fn own_group() -> u32 {
    rustix::process::getegid().as_raw()
}

#[tokio::test]
async fn listen_creates_a_private_socket_and_refuses_an_unsafe_path() {
    let directory = TempDir::new().unwrap();
    let private = place(&directory, None);
    drop(private.listen().unwrap());
    assert_eq!((mode(private.directory()), mode(&private.path)), (0o700, 0o600));

    let open = directory.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o750)).unwrap();
    for group in [None, Some(own_group())] {
        let place = SocketPlace { path: open.join("avocet.sock"), ..place(&directory, group) };
        let error = place.listen().unwrap_err().to_string();
        assert!(error.contains("is open to others (mode 750); chmod 700 it"), "{error}");
    }
    let long = directory.path().join("x".repeat(100)).join("avocet.sock");
    let error = SocketPlace { path: long, group: None }.listen().unwrap_err().to_string();
    assert!(error.contains("at most 107 are possible"), "{error}");
}

#[tokio::test]
async fn listen_with_a_group_opens_the_socket_to_it_alone() {
    let directory = TempDir::new().unwrap();
    let shared = place(&directory, Some(own_group()));
    for start in ["first", "second"] {
        drop(shared.listen().unwrap());
        for (path, expected) in [(shared.directory(), 0o710), (&shared.path, 0o660)] {
            assert_eq!(mode(path), expected, "{start}: {}", path.display());
            assert_eq!(fs::metadata(path).unwrap().gid(), own_group(), "{start}");
        }
    }
    // The directory of another group, and one that is still open after the group was removed.
    for group in [Some(own_group() + 1), None] {
        let error = place(&directory, group).listen().unwrap_err().to_string();
        assert!(error.contains("is open to others (mode 710)"), "{error}");
    }
}

#[tokio::test]
async fn listen_with_a_group_names_a_directory_that_the_group_cannot_enter() {
    let directory = TempDir::new().unwrap();
    let mut shared = place(&directory, Some(own_group()));
    let closed = directory.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    shared.path = closed.join("run/avocet.sock");
    let error = shared.listen().unwrap_err().to_string();
    let closed = closed.canonicalize().unwrap();
    assert_eq!(
        error,
        format!(
            "members of the group avocet-clients cannot enter {}; set a socket in a directory that \
             they can reach, such as /run/avocet/avocet.sock: [gateway] socket",
            closed.display()
        )
    );
    fs::set_permissions(&closed, Permissions::from_mode(0o710)).unwrap();
    shared.listen().unwrap();
}

#[tokio::test]
async fn listen_replaces_a_leftover_socket_and_refuses_one_in_use() {
    let directory = TempDir::new().unwrap();
    let place = place(&directory, None);
    drop(place.listen().unwrap());
    assert!(place.path.exists());
    let _listener = place.listen().unwrap();
    let error = place.listen().unwrap_err().to_string();
    assert!(error.starts_with("another process listens on "), "{error}");
}
