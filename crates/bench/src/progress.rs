//! The progress of the measurements, for the user.

/// Prints the current measurement for the user.
pub(crate) fn progress(what: &str) {
    eprintln!("measuring {what} ...");
}
