//! Copies of programs that tests run.

use std::io;
use std::path::Path;
use std::process::Command;

/// Copies a program, with its mode, so that it can be run at once. `cp` writes the copy: a process that
/// another thread starts meanwhile would inherit our open file, and the system runs no file that a
/// process has open for writing (ETXTBSY, `execve(2)`).
///
/// # Errors
/// [`io::Error`] if there is no `cp`, or if it cannot copy.
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let made =
        Command::new("cp").args(["-p", "--"]).arg(from.as_ref()).arg(to.as_ref()).output()?;
    if made.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&made.stderr).into_owned()))
}
