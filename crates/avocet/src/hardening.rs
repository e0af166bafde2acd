//! What the process does not leave behind: core dumps, and a memory that others of its user may read.

use std::io;

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// No core dumps, and `/proc/PID/environ` and the like are root's (prctl(2), PR_SET_DUMPABLE). Comes before
/// any secret is read. Programs in cells are not touched: they begin anew with execve(2).
pub(crate) fn leave_no_dumps() -> io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}
