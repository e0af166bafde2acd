//! Fail points: named places where a test build can be told to die, as if by `kill -9`.

/// A place that a test can kill the process at. Does nothing without the feature `fail-points`.
#[inline]
pub fn pass(name: &str, moment: Moment) {
    #[cfg(feature = "fail-points")]
    armed::pass(name, moment);
    #[cfg(not(feature = "fail-points"))]
    let (_, _) = (name, moment);
}

/// On which side of what the place is named after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Nothing of it has happened.
    Before,
    /// All of it has happened, and nobody has been told.
    After,
}

#[cfg(feature = "fail-points")]
pub use armed::arm;

#[cfg(feature = "fail-points")]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    use rustix::process::{Signal, getpid, kill_process};

    use super::Moment;

    struct FailPoint {
        name: String,
        moment: Moment,
        passes_left: AtomicU32,
    }

    static ARMED: OnceLock<FailPoint> = OnceLock::new();

    /// Arms one fail point for the life of the process: `settle:before` dies at the first pass,
    /// `settle:after:3` at the third.
    ///
    /// # Errors
    /// The text says what a fail point looks like.
    pub fn arm(text: &str) -> Result<(), String> {
        let mut parts = text.split(':');
        let name = parts.next().filter(|name| !name.is_empty());
        let moment = match parts.next() {
            Some("before") => Some(Moment::Before),
            Some("after") => Some(Moment::After),
            _ => None,
        };
        let passes = parts.next().map_or(Some(1), |count| count.parse().ok());
        let (Some(name), Some(moment), Some(passes)) = (name, moment, passes) else {
            return Err(format!("fail point {text:?} is not NAME:before or NAME:after[:PASS]"));
        };
        ARMED
            .set(FailPoint { name: name.to_owned(), moment, passes_left: AtomicU32::new(passes) })
            .map_err(|_| "a fail point is armed already".to_owned())
    }

    pub(super) fn pass(name: &str, moment: Moment) {
        let Some(point) = ARMED.get().filter(|point| point.name == name && point.moment == moment)
        else {
            return;
        };
        if point.passes_left.fetch_sub(1, Ordering::Relaxed) == 1 {
            match kill_process(getpid(), Signal::KILL) {
                Ok(()) => unreachable!("nothing runs after SIGKILL"),
                Err(error) => panic!("a process may kill itself: {error}"),
            }
        }
    }
}
