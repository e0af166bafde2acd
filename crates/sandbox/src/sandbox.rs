//! Runs programs in a sandbox. Three stages of this program build it, and each starts the next:
//!
//! ```text
//! daemon      sends the plan; reads the output and the report
//!   |
//! supervisor  closes inherited files; user namespace; lifeline; the other namespaces;
//!   |         loopback; the socket of the proxy
//! init        the file system that programs see; meters; reaps processes; reports the end
//!   |
//! exec        its own session; limits; capabilities; no new privileges; Landlock; streams;
//!   |         the filter of system calls
//! program
//! ```
//!
//! Stages start without threads or state of the daemon, and without `unsafe`.
//!
//! **Lifeline.** Each stage reads its plan from a pipe (stage 1 from a socket), which is also its
//! lifeline. When the daemon closes its end or dies, everything in the sandbox is killed, including
//! processes that have left their process group or session.
//!
//! **The order is from the outside to the inside**, and each step gives up what the next ones do
//! not need:
//!
//! - The user namespace comes first: it gives an ordinary user the rights to make the others.
//! - The thread of the lifeline comes before the PID namespace. Afterwards the process cannot start
//!   one.
//! - Capabilities are dropped after the file system is built, which needs them.
//! - No new privileges come before Landlock and the filter, because the kernel asks for that.
//! - The filter comes last. It may refuse calls that the steps before it make, such as to send the
//!   streams of the program to the daemon.
//!
//! **Without namespaces** there is no init: the supervisor does its work, except for the file
//! system, and adopts orphans as a subreaper. Landlock and the filter then are the only layers
//! ([`Isolation::Landlock`]). Without these, too, limits and the environment are left
//! ([`Isolation::LimitsOnly`]). [`SandboxLayers`] finds out what this system provides by building
//! each sandbox around an empty program.
//!
//! **Reports.** A stage that fails, and the one that sees the program's end, write one report to
//! their standard error. The program itself never has that stream.

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
