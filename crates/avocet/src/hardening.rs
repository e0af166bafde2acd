//! Prevents core dumps, and keeps other processes of the user from reading this process's memory.

use std::io;

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Turns core dumps off and makes root the owner of `/proc/PID/environ` and similar files
/// (prctl(2), PR_SET_DUMPABLE). Call this before any secret is read. Programs in the sandbox are
/// unaffected: execve(2) resets the setting.
pub(crate) fn leave_no_dumps() -> io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}
