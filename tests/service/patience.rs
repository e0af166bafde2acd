//! Waits with a timeout.

use std::process::ExitStatus;
use std::time::Duration;

use avocet_tests::DaemonProcess;
use rustix::process::Signal;

/// The time after which a wait fails its test.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Returns a number that is set from outside, as by `tests/long`.
#[expect(clippy::disallowed_methods, reason = "how long, and how much, is set from outside")]
pub(crate) fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// Waits for a future, with a timeout.
#[expect(clippy::disallowed_methods, reason = "a test that waits for ever says nothing")]
pub(crate) async fn with_timeout<T>(what: &str, work: impl Future<Output = T>) -> T {
    let Ok(done) = tokio::time::timeout(PATIENCE, work).await else {
        panic!("timed out waiting for {what}");
    };
    done
}

/// Polls until a condition holds.
pub(crate) async fn until(what: &str, holds: impl AsyncFnMut() -> bool) {
    until_within(PATIENCE, what, holds).await;
}

/// Works as [`until`], with another timeout.
#[expect(clippy::disallowed_methods, reason = "a test that waits for ever says nothing")]
pub(crate) async fn until_within(
    patience: Duration,
    what: &str,
    mut holds: impl AsyncFnMut() -> bool,
) {
    let looking = async {
        while !holds().await {
            pause(LOOK_AGAIN).await;
        }
    };
    assert!(tokio::time::timeout(patience, looking).await.is_ok(), "timed out waiting for {what}");
}

/// Waits until the daemon has logged a text `times` times.
pub(crate) async fn logged(daemon: &mut DaemonProcess, text: &str, times: usize) {
    until(&format!("{times} × {text:?} in the log"), async || daemon.logged(text) >= times).await;
}

/// Waits until the daemon ends by itself. Returns its exit status and its log.
pub(crate) async fn end(mut daemon: DaemonProcess) -> (ExitStatus, String) {
    until("the daemon's end", async || daemon.ended().is_some()).await;
    daemon.wait()
}

/// Stops the daemon and waits for its end.
pub(crate) async fn stop(daemon: DaemonProcess) -> (ExitStatus, String) {
    daemon.signal(Signal::TERM);
    end(daemon).await
}

#[expect(clippy::disallowed_methods, reason = "between two looks, and over what is measured")]
pub(crate) async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}
