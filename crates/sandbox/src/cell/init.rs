//! The second stage: the first process of its PID namespace. It builds the file system that
//! programs see, starts the last stage, and reaps processes.

use nix::errno::Errno;
use nix::sys::wait::{WaitStatus, wait};

use super::meter::Meter;
use super::plan::SandboxPlan;
use super::root;
use super::stage::{Stage, StageError, StageReport, Walled, tell};
use super::tree;

pub(super) fn run(line: &str, plan: &SandboxPlan) -> Result<(), StageError> {
    nix::unistd::sethostname("cell").walled("the name of the host")?;
    root::build(plan)?;
    // The kernel kills the namespace together with its first process.
    hold(line, plan, || ())
}

/// Starts the last stage, measures its resource use, waits for its end, reaps its orphans, and
/// reports. `kill` kills the remaining processes.
pub(super) fn hold(line: &str, plan: &SandboxPlan, kill: fn()) -> Result<(), StageError> {
    let meter = Meter::new(plan);
    let program = Stage::Exec.start(line).walled("the last stage")?;
    tree::leash(kill)?;
    meter.start(kill)?;
    let id = i32::try_from(program.id()).unwrap_or_default();
    let report = loop {
        match wait() {
            Ok(WaitStatus::Exited(pid, code)) if pid.as_raw() == id => {
                // A program may have ended before the meter saw its last writes.
                break meter.over().map_or(StageReport::Code(code), StageReport::Over);
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid.as_raw() == id => {
                break StageReport::Signal(signal as i32);
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(StageError::wall("waiting for the program", error)),
        }
    };
    kill();
    tell(&mut std::io::stderr(), &report);
    Ok(())
}
