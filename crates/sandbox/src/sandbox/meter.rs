//! Measures the resources of a running sandbox that the kernel leaves unlimited: bytes written to
//! disk, and, without a control group, memory that processes share.

mod disk;
mod memory;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::plan::{Isolation, SandboxPlan};
use super::process_tree;
use super::report::{SharedLimit, StageContext, StageError, StageReport};
use disk::DiskMeter;
use memory::MemoryMeter;

/// Time from one measurement to the next: shorter at the beginning, since memory is taken quickly.
const INTERVALS: [Duration; 3] =
    [Duration::from_millis(10), Duration::from_millis(30), Duration::from_millis(100)];
/// Measuring takes at most one part in `SHARE` of the time.
const SHARE: u32 = 20;

/// Measures the processes of a sandbox. Clones share their state.
#[derive(Clone)]
pub(super) struct ResourceMeter(Arc<Mutex<MeasuredUse>>);

struct MeasuredUse {
    /// With namespaces, `/proc` shows the processes of the sandbox alone.
    isolation: Isolation,
    /// `None` if a control group limits memory.
    memory: Option<MemoryMeter>,
    disk: DiskMeter,
}

impl ResourceMeter {
    pub(super) fn new(plan: &SandboxPlan) -> Self {
        let memory = plan.meters_memory.then(|| MemoryMeter::new(plan));
        let disk = DiskMeter::new(plan);
        Self(Arc::new(Mutex::new(MeasuredUse { isolation: plan.isolation, memory, disk })))
    }

    /// Starts measuring in its own thread. If a limit is exceeded, the thread reports it,
    /// calls `kill`, and ends this process.
    pub(super) fn start(&self, kill: fn()) -> Result<(), StageError> {
        let meter = self.clone();
        let measure = move || {
            let mut intervals = INTERVALS.into_iter();
            let mut interval = INTERVALS[0];
            loop {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "a stage has no clock but the system's"
                )]
                std::thread::sleep(interval);
                let before = monotonic_now();
                if let Some(limit) = meter.exceeded_limit() {
                    StageReport::Exceeded(limit).write_to(&mut std::io::stderr());
                    kill();
                    #[expect(
                        clippy::disallowed_methods,
                        reason = "nothing of this process is worth keeping"
                    )]
                    std::process::exit(1)
                }
                let spent = monotonic_now().saturating_sub(before);
                let next = intervals.next().unwrap_or(INTERVALS[INTERVALS.len() - 1]);
                interval = next.max(spent * SHARE);
            }
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "this process has no tasks, and ends with it"
        )]
        let started = std::thread::Builder::new().name("meter".to_owned()).spawn(measure);
        started.map(drop).context("the meter")
    }

    /// Returns the limit that is exceeded now, if any.
    pub(super) fn exceeded_limit(&self) -> Option<SharedLimit> {
        let mut measured = self.0.lock();
        let processes = match measured.isolation {
            Isolation::Namespaces => numbers_in_proc(),
            Isolation::Landlock | Isolation::LimitsOnly => process_tree::below_and_self(),
        };
        let is_over = measured.memory.as_ref().is_some_and(|memory| memory.is_over(&processes));
        if is_over {
            return Some(SharedLimit::Memory);
        }
        measured.disk.is_over(&processes).then_some(SharedLimit::Disk)
    }
}

fn numbers_in_proc() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the monotonic time, which ignores changes of the system's clock.
fn monotonic_now() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(
        now.tv_sec.try_into().unwrap_or_default(),
        now.tv_nsec.try_into().unwrap_or_default(),
    )
}
