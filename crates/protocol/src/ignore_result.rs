//! Throws a result away, with the reason at the place.

/// Ignores a result. `reason` says in plain English why its error needs no reaction: it is for the
/// reader of the code.
///
/// The function logs nothing. Some of its callers are the log itself, which would write a line about
/// each of its lines. Others run between `fork` and `exec`, where no log is open. An error that an
/// operator should see has a log line at its place instead of this call.
pub fn ignore_result<T, E>(result: Result<T, E>, reason: &'static str) {
    let _ = reason;
    drop(result);
}
