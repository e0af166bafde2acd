//! Runs programs in a sandbox. Three stages of this program build it, and each starts the next:
//!
//! 1. the *supervisor* leaves the namespaces of the daemon;
//! 2. *init* builds the file system that programs see, and reaps processes;
//! 3. *exec* gives up every right and becomes the program.
//!
//! Stages start without threads or state of the daemon, and without `unsafe`.
//!
//! Each stage reads its plan from a pipe (stage 1 from a socket). That pipe is also its lifeline.
//! When the daemon closes its end or dies, everything in the sandbox is killed, including processes
//! that have left their process group or session.

mod cgroup;
mod conceal;
mod descriptors;
mod exec;
mod filter;
mod init;
mod launch;
mod layers;
mod meter;
mod mounts;
mod network;
mod output;
mod plan;
mod process_tree;
mod protect;
mod report;
mod request;
mod root;
mod run_stage;
mod stage;
mod streams;
mod supervisor;

pub use cgroup::{CgroupParent, NoCgroups};
pub use launch::ProgramSandbox;
pub use layers::SandboxLayers;
pub use network::{ProgramProxy, ReachedHosts};
pub use output::SandboxOutput;
pub use plan::{GitPlace, Isolation, ProgramRights, SYSTEM_PATHS, SandboxLimits};
pub use request::{ProgramEnd, ProgramRequest, ProgramResult, SandboxError};
pub use run_stage::run_stage;
pub use streams::ProgramStreams;
