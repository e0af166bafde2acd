//! Fail points: named places where a test can make the process die, as if by `kill -9`, or hang.

/// A place where a test can kill the process or block the thread. Does nothing without the feature
/// `fail-points`.
#[inline]
pub fn pass_fail_point(name: &str, moment: FailMoment) {
    #[cfg(feature = "fail-points")]
    armed::pass_armed(name, moment);
    #[cfg(not(feature = "fail-points"))]
    let (_, _) = (name, moment);
}

/// Like [`pass_fail_point`], in a task. A task that hangs leaves its thread to other tasks.
#[inline]
#[cfg_attr(
    not(feature = "fail-points"),
    expect(clippy::unused_async, reason = "it waits only where it is held up")
)]
pub async fn pass_in_task(name: &str, moment: FailMoment) {
    #[cfg(feature = "fail-points")]
    armed::pass_in_task(name, moment).await;
    #[cfg(not(feature = "fail-points"))]
    let (_, _) = (name, moment);
}

/// The side of the named operation that a fail point is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailMoment {
    /// The operation has not begun.
    Before,
    /// The operation is complete, but its result has not been reported.
    After,
}

#[cfg(feature = "fail-points")]
pub use armed::arm_fail_point;

#[cfg(feature = "fail-points")]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    use rustix::process::{Signal, getpid, kill_process};

    use super::FailMoment;

    #[derive(Clone, Copy)]
    enum FailAction {
        Die,
        Hang,
    }

    struct FailPoint {
        name: String,
        moment: FailMoment,
        passes_left: AtomicU32,
        action: FailAction,
    }

    static ARMED: OnceLock<FailPoint> = OnceLock::new();

    /// Arms one fail point for the life of the process: `settle:before` dies at the first pass,
    /// `settle:after:3` at the third, `settle:before:1:hang` hangs at the first.
    ///
    /// # Errors
    /// The text describes the format of a fail point.
    pub fn arm_fail_point(text: &str) -> Result<(), String> {
        let point = parse_fail_point(text).ok_or_else(|| {
            format!("fail point {text:?} is not NAME:before or NAME:after[:PASS[:hang]]")
        })?;
        ARMED.set(point).map_err(|_| "a fail point is armed already".to_owned())
    }

    fn parse_fail_point(text: &str) -> Option<FailPoint> {
        let mut parts = text.split(':');
        let name = parts.next().filter(|name| !name.is_empty())?.to_owned();
        let moment = match parts.next()? {
            "before" => FailMoment::Before,
            "after" => FailMoment::After,
            _ => return None,
        };
        let passes = parts.next().map_or(Some(1), |count| count.parse().ok())?;
        let action = match parts.next() {
            None => FailAction::Die,
            Some("hang") => FailAction::Hang,
            Some(_) => return None,
        };
        let passes_left = AtomicU32::new(passes);
        parts.next().is_none().then_some(FailPoint { name, moment, passes_left, action })
    }

    pub(super) fn pass_armed(name: &str, moment: FailMoment) {
        match due_action(name, moment) {
            None => {}
            Some(FailAction::Die) => kill_self(),
            Some(FailAction::Hang) => loop {
                std::thread::park();
            },
        }
    }

    pub(super) async fn pass_in_task(name: &str, moment: FailMoment) {
        match due_action(name, moment) {
            None => {}
            Some(FailAction::Die) => kill_self(),
            Some(FailAction::Hang) => std::future::pending().await,
        }
    }

    fn due_action(name: &str, moment: FailMoment) -> Option<FailAction> {
        let point = ARMED.get().filter(|point| point.name == name && point.moment == moment)?;
        (point.passes_left.fetch_sub(1, Ordering::Relaxed) == 1).then_some(point.action)
    }

    fn kill_self() {
        match kill_process(getpid(), Signal::KILL) {
            Ok(()) => unreachable!("nothing runs after SIGKILL"),
            Err(error) => panic!("a process may kill itself: {error}"),
        }
    }
}
