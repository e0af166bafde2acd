//! Directories that other users can read or change are refused, until their mode is corrected.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use avocet_protocol::channel::{Channel, Health, SendError};
use avocet_protocol::chat::{Content, Delivery};
use avocet_protocol::daemon::CheckState;
use avocet_protocol::ids::DeliveryId;
use rustix::fs::{Gid, Uid, chown};
use rustix::process::geteuid;

use crate::World;

/// Makes the directory in a form that is to be refused.
type Make = fn(&World);

fn set_mode(world: &World, mode: u32) {
    fs::set_permissions(world.path(""), Permissions::from_mode(mode)).unwrap();
}

fn make(world: &World, mode: u32) {
    fs::create_dir(world.path("")).unwrap();
    set_mode(world, mode);
}

#[tokio::test(flavor = "multi_thread")]
async fn directory_of_others_is_refused_with_the_command_that_corrects_it() {
    let table: [(Make, &str); 7] = [
        (
            |world| make(world, 0o770),
            "has mode 0770, so that other users have access to it; run: chmod 700 ",
        ),
        (|world| make(world, 0o707), "has mode 0707"),
        (|world| make(world, 0o755), "has mode 0755"),
        (
            |world| {
                make(world, 0o700);
                if geteuid().is_root() {
                    chown(world.path(""), Some(Uid::from_raw(65534)), None::<Gid>).unwrap();
                } else {
                    set_mode(world, 0o777);
                }
            },
            if geteuid().is_root() {
                "belongs to user 65534, and the daemon runs as user 0; run: chown 0 "
            } else {
                "has mode 0777"
            },
        ),
        (|world| fs::write(world.home.path().join("files"), "").unwrap(), "is not a directory"),
        (
            |world| {
                fs::create_dir(world.home.path().join("real")).unwrap();
                symlink("real", world.home.path().join("files")).unwrap();
            },
            "is not a directory",
        ),
        (
            |world| {
                make(world, 0o700);
                symlink("/tmp", world.path("inbox")).unwrap();
            },
            "inbox is not a directory",
        ),
    ];
    for (make, error) in table {
        let world = World::new();
        make(&world);
        let refused = world.run().await.unwrap().unwrap_err().to_string();
        assert!(refused.contains(error), "{error}: {refused}");
        let Health::Down(why) = world.directory.health() else { panic!("{error}: it is up") };
        assert!(why.contains(error), "{error}: {why}");
        assert!(world.bus.moves().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn directory_that_is_opened_to_others_later_is_refused_until_it_is_closed() {
    let world = World::new();
    let running = world.start().await;
    set_mode(&world, 0o777);
    world.put("a.txt", "from anyone");
    let chat = "directory:main:files".parse().unwrap();
    let one = Delivery::new(DeliveryId(1), chat, Content::text("a secret"));
    let failed = world.directory.deliver(&one).await.unwrap_err();
    assert!(matches!(failed, SendError::Failed(error) if error.contains("chmod 700")));
    world.clock.advance(crate::POLL);
    running.await.unwrap().unwrap_err();
    assert_eq!(world.names("inbox"), ["a.txt"]);
    assert!(world.names("outbox").is_empty());

    set_mode(&world, 0o700);
    let _running = world.start().await;
    assert_eq!(world.bus.taken(1).await.len(), 1);
    assert!(world.directory.deliver(&one).await.is_ok());
    assert_eq!(world.directory.health(), Health::Up);
}

#[tokio::test(flavor = "multi_thread")]
async fn probe_checks_the_directory_and_changes_nothing() {
    let world = World::new();
    let state = async || {
        let checks = world.directory.probe().await;
        assert_eq!((checks.len(), checks[0].name.as_str()), (1, "directory:main"));
        (checks[0].state, checks[0].says.clone())
    };
    let (missing, says) = state().await;
    assert_eq!(missing, CheckState::Good, "{says}");
    assert!(says.ends_with(" is created when the daemon starts"), "{says}");
    assert!(!world.path("").exists());
    make(&world, 0o750);
    let (open, says) = state().await;
    assert!(open == CheckState::Bad && says.contains("has mode 0750"), "{says}");
    set_mode(&world, 0o700);
    assert_eq!(state().await.0, CheckState::Good);
    assert!(world.names("").is_empty());
    fs::remove_dir(world.path("")).unwrap();
    symlink("missing", world.home.path().join("files")).unwrap();
    let (link, says) = state().await;
    assert!(link == CheckState::Bad && says.ends_with("is not a directory"), "{says}");
}
