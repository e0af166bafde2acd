use futures_util::FutureExt;

use super::*;

fn paths(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

#[tokio::test]
async fn take_waits_for_calls_on_the_same_paths() {
    use ToolClass::{Effect, Pure, Verifiable};
    type Case = (&'static [&'static str], ToolClass, &'static [&'static str], ToolClass, bool);
    let table: &[Case] = &[
        (&["a"], Verifiable, &["a"], Verifiable, true),
        (&["a"], Pure, &["a"], Pure, false),
        (&["a"], Pure, &["a"], Effect, true),
        (&["a"], Verifiable, &["b"], Verifiable, false),
        (&["a"], Verifiable, &["a/b/c"], Pure, true),
        (&["a/b"], Pure, &["a"], Verifiable, true),
        (&["a/b"], Verifiable, &["a/bc"], Verifiable, false),
        (&["./A//b/"], Verifiable, &["a/x/../b"], Verifiable, true),
        (&[], Effect, &["a"], Verifiable, false),
        (&[""], Effect, &["a"], Verifiable, true),
        (&["a", "b"], Verifiable, &["c", "b"], Verifiable, true),
    ];
    for (one, class, other, of_other, waits) in table {
        let used = Arc::new(PathLocks::default());
        let taken = used.lock_paths(&paths(one), *class).await;
        let other_paths = paths(other);
        let mut next = Box::pin(used.lock_paths(&other_paths, *of_other));
        assert_eq!(next.as_mut().now_or_never().is_none(), *waits, "{one:?} {other:?}");
        drop(taken);
        if *waits {
            next.await;
        }
        assert!(used.used.lock().len() <= 1);
    }
}

#[tokio::test]
async fn take_serves_every_waiting_call() {
    let used = Arc::new(PathLocks::default());
    let wanted = paths(&["a"]);
    let first = used.lock_paths(&wanted, ToolClass::Effect).await;
    let mut waiting: Vec<_> =
        (0..3).map(|_| Box::pin(used.lock_paths(&wanted, ToolClass::Effect))).collect();
    for next in &mut waiting {
        assert!(next.as_mut().now_or_never().is_none());
    }
    drop(first);
    for next in waiting {
        drop(next.await);
    }
}
