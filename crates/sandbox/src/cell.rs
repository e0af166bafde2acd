//! Programs behind walls. A cell is made by three stages of our own program, each of which builds its
//! walls and starts the next: the *warden* leaves the namespaces of the daemon, *init* builds the
//! file system that is seen and reaps, *exec* gives up every right and becomes the program. No stage
//! has threads or state of the daemon, and none needs `unsafe`.
//!
//! Each stage holds the pipe (the first one a socket) on which it was given its plan as a leash: when the daemon lets go of
//! it, dies, or is killed, everything in the cell is killed with it, also what has left its process
//! group or session.

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
pub use launch::{Cell, CellError, Ended, Order, Ran};
pub use network::{Proxy, Reached};
pub use output::Output;
pub use plan::{CellLimits, GitPlace, Rights};
pub use stage::run_stage;
pub use walls::{Behind, Walls};
