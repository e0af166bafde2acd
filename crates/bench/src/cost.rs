//! The cost of turns: resources of the daemon before and after them.

use std::time::Duration;

use anyhow::Result;

use crate::daemon::DaemonProcess;
use crate::figures::FigureLog;
use crate::load::Loaded;
use crate::process::{Process, ThreadSwitches};
use crate::units::millis;

/// Speed and cost of turns. The cost is the average of one turn.
#[derive(Debug)]
pub(crate) struct TurnCost {
    pub(crate) speed: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p95_ms: f64,
    /// CPU time of the daemon.
    pub(crate) cpu_ms: f64,
    /// CPU time of the load generator, without the model fake.
    pub(crate) bench_cpu_ms: f64,
    pub(crate) switches: f64,
}

impl TurnCost {
    pub(crate) fn add_to(&self, figures: &mut FigureLog, prefix: &str) {
        figures.add(format!("{prefix}.speed"), self.speed);
        figures.add(format!("{prefix}.p50_ms"), self.p50_ms);
        figures.add(format!("{prefix}.p95_ms"), self.p95_ms);
        figures.add(format!("{prefix}.cpu_ms"), self.cpu_ms);
    }
}

/// The resources used so far.
pub(crate) struct Spent {
    cpu: Duration,
    bench_cpu: Duration,
    switches: ThreadSwitches,
}

impl Spent {
    pub(crate) fn read(daemon: &DaemonProcess) -> Result<Self> {
        let process = daemon.process();
        let (bench_cpu, switches) = (Process::this().cpu()?, process.switches()?);
        Ok(Self { cpu: process.cpu()?, bench_cpu, switches })
    }

    /// Returns the resources used since then, per turn.
    pub(crate) fn each_since(&self, daemon: &DaemonProcess, loaded: &Loaded) -> Result<TurnCost> {
        let now = Self::read(daemon)?;
        let Loaded { latencies, took } = loaded;
        let turns = latencies.count().max(1) as f64;
        Ok(TurnCost {
            speed: latencies.count() as f64 / took.as_secs_f64().max(f64::MIN_POSITIVE),
            p50_ms: millis(latencies.percentile(50)),
            p95_ms: millis(latencies.percentile(95)),
            cpu_ms: millis(now.cpu.saturating_sub(self.cpu)) / turns,
            bench_cpu_ms: millis(now.bench_cpu.saturating_sub(self.bench_cpu)) / turns,
            switches: now.switches.since(&self.switches).all() as f64 / turns,
        })
    }
}
