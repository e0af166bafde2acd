//! Runs programs in a sandbox. Three stages of our own program build it, and each starts the next:
//! the *supervisor* (`warden`) leaves the namespaces of the daemon, *init* builds the file system
//! that programs see and reaps processes, *exec* gives up every right and becomes the program.
//! Stages start without threads or state of the daemon, and without `unsafe`.
//!
//! Each stage reads its plan from a pipe (the first stage from a socket). That pipe is also its
//! lifeline: when the daemon closes its end, dies or is killed, everything in the sandbox is
//! killed, including processes that have left their process group or session.

mod cgroup;
mod conceal;
mod exec;
mod filter;
mod init;
mod launch;
mod meter;
mod mounts;
mod network;
mod output;
mod plan;
mod protect;
mod root;
mod stage;
mod tree;
mod walls;
mod warden;

pub use cgroup::{Cgroups, NoCgroups};
pub use launch::{Cell, CellError, ProgramEnd, ProgramRequest, ProgramResult};
pub use network::{Proxy, Reached};
pub use output::Output;
pub use plan::{CellLimits, GitPlace, Rights};
pub use stage::run_stage;
pub use walls::{Behind, Walls};
