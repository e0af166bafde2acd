//! Stage 2, init: the first process of its PID namespace. It builds the file system that programs
//! see, starts stage 3, and reaps processes.

use nix::errno::Errno;
use nix::sys::wait::{WaitStatus, wait};

use super::meter::ResourceMeter;
use super::plan::SandboxPlan;
use super::process_tree;
use super::report::{StageContext, StageError, StageReport};
use super::root;
use super::stage::SandboxStage;

pub(super) fn run(line: &str, plan: &SandboxPlan) -> Result<(), StageError> {
    nix::unistd::sethostname("cell").context("the name of the host")?;
    root::build_root(plan)?;
    // The kernel kills the namespace together with its first process.
    supervise_program(line, plan, || ())
}

/// Starts stage 3, measures its resource use, waits for its end, reaps its orphans, and reports.
/// `kill` kills the remaining processes.
pub(super) fn supervise_program(
    line: &str,
    plan: &SandboxPlan,
    kill: fn(),
) -> Result<(), StageError> {
    let meter = ResourceMeter::new(plan);
    let program = SandboxStage::Exec.start(line).context("stage 3")?;
    process_tree::watch_lifeline(kill)?;
    meter.start(kill)?;
    let id = i32::try_from(program.id()).unwrap_or_default();
    let report = loop {
        match wait() {
            Ok(WaitStatus::Exited(pid, code)) if pid.as_raw() == id => {
                // A program may have ended before the meter saw its last writes.
                break meter
                    .exceeded_limit()
                    .map_or(StageReport::Code(code), StageReport::Exceeded);
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid.as_raw() == id => {
                break StageReport::Signal(signal as i32);
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(StageError::from_layer("waiting for the program", error)),
        }
    };
    kill();
    report.write_to(&mut std::io::stderr());
    Ok(())
}
