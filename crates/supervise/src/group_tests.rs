use std::sync::atomic::AtomicU32;

use avocet_testkit::ManualClock;
use tokio::sync::{Notify, oneshot};

use super::*;

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn group_cancel_reaches_child_groups() {
    let root = Group::new("daemon");
    let (lanes, other) = (root.child_group("lanes"), Group::new("other"));
    root.cancel_tasks();
    assert!(lanes.cancel_token().is_cancelled());
    assert!(!other.cancel_token().is_cancelled());
}

#[tokio::test]
async fn group_finish_waits_for_tasks_and_names_unfinished_ones() {
    let clock = Arc::new(ManualClock::default());
    let group = Group::new("daemon").child_group("lanes");
    let (end, ended) = oneshot::channel::<()>();
    group.spawn("quick", async {});
    group.spawn("slow", async move { ended.await.unwrap() });

    let (late, ()) = tokio::join!(group.wait_for_tasks(clock.as_ref(), MINUTE), async {
        clock.sleeper(MINUTE).await;
        clock.advance(MINUTE);
    });
    assert_eq!(late, Err(UnfinishedTasks(vec!["daemon/lanes/slow".to_owned()])));

    end.send(()).unwrap();
    assert_eq!(group.wait_for_tasks(clock.as_ref(), MINUTE).await, Ok(()));
    assert_eq!(group.live_tasks(), Vec::<String>::new());
}

#[tokio::test]
async fn group_abort_ends_running_tasks() {
    let clock = ManualClock::default();
    let group = Group::new("daemon");
    group.spawn("endless", std::future::pending());
    group.abort_tasks();
    assert_eq!(group.wait_for_tasks(&clock, MINUTE).await, Ok(()));
}

#[tokio::test]
async fn group_panic_of_one_task_leaves_others_running() {
    let clock = ManualClock::default();
    let group = Group::new("daemon");
    group.spawn("bad", async { panic!("on purpose") });
    let (sender, receiver) = oneshot::channel();
    group.spawn("good", async move { sender.send(()).unwrap() });
    receiver.await.unwrap();
    assert_eq!(group.wait_for_tasks(&clock, MINUTE).await, Ok(()));
}

#[tokio::test]
async fn spawn_restarting_reruns_an_ended_task_after_a_delay_until_cancel() {
    let clock = Arc::new(ManualClock::default());
    let group = Group::new("daemon");
    let (runs, running) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
    let second = Duration::from_secs(1);
    let restart = RestartDelays { first: second, longest: MINUTE, healthy_after: 2 * MINUTE };
    group.spawn_restarting("channel", clock.clone(), restart, {
        let (runs, running) = (runs.clone(), running.clone());
        move || {
            let (run, running) = (runs.fetch_add(1, Ordering::SeqCst), running.clone());
            async move {
                running.notify_one();
                assert_ne!(run, 1, "the second run panics");
            }
        }
    });
    for run in 1..=4 {
        running.notified().await;
        assert_eq!(runs.load(Ordering::SeqCst), run);
        clock.sleeper(second).await;
        clock.advance(2 * MINUTE);
    }
    running.notified().await;
    group.cancel_tasks();
    assert_eq!(group.wait_for_tasks(clock.as_ref(), MINUTE).await, Ok(()));
    assert_eq!(runs.load(Ordering::SeqCst), 5);
}
