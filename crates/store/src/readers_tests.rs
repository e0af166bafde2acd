use std::sync::Barrier;

use avocet_supervise::Group;

use super::*;
use crate::schema::create_database;

fn names_of_threads(group: &Group) -> Vec<String> {
    let mut names = group.live_tasks();
    names.sort();
    names
}

/// Each of the two reads goes on only when the other one runs.
#[tokio::test]
async fn second_reader_starts_with_the_first_read_that_would_wait() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("avocet.db");
    create_database(&path).unwrap();
    let group = Group::new("test");
    let pool = ReaderPool::start(&path, &group).unwrap();
    let count = |db: Db<'_>| db.query_one("SELECT count(*) FROM turns", (), |row| row.get(0));
    for _ in 0..3 {
        assert_eq!(pool.read(count).await, Ok(0));
    }
    assert_eq!(names_of_threads(&group), ["test/store-reader-0"]);

    let both = Arc::new(Barrier::new(2));
    let meet = |both: &Arc<Barrier>| {
        let both = both.clone();
        move |_: Db<'_>| {
            both.wait();
            Ok(())
        }
    };
    let (first, second) = tokio::join!(pool.read(meet(&both)), pool.read(meet(&both)));
    assert_eq!((first, second), (Ok(()), Ok(())));
    assert_eq!(names_of_threads(&group), ["test/store-reader-0", "test/store-reader-1"]);
}
