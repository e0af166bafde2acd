use std::time::Duration;

use avocet_testkit::ManualClock;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};

use super::*;

#[tokio::test]
async fn keyed_wake_during_a_run_causes_one_more_run() {
    let keyed = Arc::new(KeyedWork::new(Group::new("test")));
    let (ran, go) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Semaphore::new(0)));
    let wake = |key: &'static str| {
        let (ran, go) = (ran.clone(), go.clone());
        keyed.wake(key, move |key| {
            let (ran, go) = (ran.clone(), go.clone());
            async move {
                go.acquire().await.unwrap().forget();
                ran.lock().push(key);
            }
        });
    };
    wake("a");
    wake("b");
    assert_eq!(keyed.len(), 2);
    wake("a");
    wake("a");
    go.add_permits(10);
    keyed.group().wait_for_tasks(&ManualClock::default(), Duration::from_secs(1)).await.unwrap();
    let mut ran = ran.lock().clone();
    ran.sort_unstable();
    assert_eq!(ran, ["a", "a", "b"], "many wake-ups are one more run");
    assert!(keyed.is_empty());
}

#[tokio::test]
async fn keyed_wake_if_idle_runs_once_and_then_the_work_of_wake_ups_meanwhile() {
    let keyed = Arc::new(KeyedWork::new(Group::new("test")));
    let (ran, go) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
    let work = |what: &'static str| {
        let ran = ran.clone();
        move |_: &str| {
            let ran = ran.clone();
            async move { ran.lock().push(what) }
        }
    };
    let first = || {
        let (ran, go) = (ran.clone(), go.clone());
        async move {
            go.notified().await;
            ran.lock().push("first");
        }
    };
    assert!(!keyed.is_running(&"a"));
    assert!(keyed.wake_if_idle("a", first(), work("work")));
    assert!(keyed.is_running(&"a"));
    assert!(!keyed.wake_if_idle("a", first(), work("never")), "the key is not idle");
    keyed.wake("a", work("never"));
    go.notify_one();
    keyed.group().wait_for_tasks(&ManualClock::default(), Duration::from_secs(1)).await.unwrap();
    assert_eq!(*ran.lock(), ["first", "work"]);
    assert!(keyed.is_empty());
}

#[tokio::test]
async fn keyed_wake_runs_a_key_again_after_a_panic() {
    let keyed = Arc::new(KeyedWork::new(Group::new("test")));
    let ended = Arc::new(Notify::new());
    keyed.wake("a", |_| async { panic!("on purpose") });
    while !keyed.is_empty() {
        tokio::task::yield_now().await;
    }
    let told = ended.clone();
    keyed.wake("a", move |_| {
        let told = told.clone();
        async move { told.notify_one() }
    });
    ended.notified().await;
}
