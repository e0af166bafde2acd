//! The machine of the measurements, and the work of other programs on it.

use std::fmt;
use std::fs;
use std::path::Path;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::clock::now;
use crate::disk::file_system;
use crate::process::{Process, cpu_of_all, field};
use crate::units::plural;

/// The class of a machine, without names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MachineClass {
    pub(crate) processors: usize,
    pub(crate) architecture: String,
    pub(crate) memory_bytes: u64,
    pub(crate) kernel: String,
    pub(crate) file_system: String,
}

impl MachineClass {
    /// Reads the class of this machine, with the file system of a directory.
    pub(crate) fn read(directory: &Path) -> Result<Self> {
        let memory = fs::read_to_string("/proc/meminfo")?;
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
        let version: Vec<&str> = kernel.trim().split(['.', '-']).take(2).collect();
        Ok(Self {
            processors: available_parallelism()?.get(),
            architecture: std::env::consts::ARCH.to_owned(),
            memory_bytes: field(&memory, "MemTotal").unwrap_or(0) * 1024,
            kernel: version.join("."),
            file_system: file_system(directory)?,
        })
    }
}

impl fmt::Display for MachineClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processors, architecture, memory_bytes, kernel, file_system } = self;
        let gibibytes = *memory_bytes as f64 / f64::from(1 << 30);
        write!(
            f,
            "{} ({architecture}), {gibibytes:.0} GiB of memory, Linux {kernel}, {file_system}",
            plural(*processors, "processor")
        )
    }
}

/// CPU time since the start of the measurements, of all processes and of ours.
#[derive(Debug)]
pub(crate) struct OtherWork {
    began: Instant,
    all: Duration,
    ours: Duration,
}

impl OtherWork {
    pub(crate) fn begin() -> Result<Self> {
        let ours = Process::this().cpu_with_children()?;
        Ok(Self { began: now(), all: cpu_of_all()?, ours })
    }

    /// Returns the share of the processors that other processes used, in percent.
    pub(crate) fn percent(&self) -> Result<f64> {
        let Self { began, all, ours } = Self::begin()?;
        let others = (all - self.all).saturating_sub(ours - self.ours);
        let there_was = (began - self.began) * u32::try_from(available_parallelism()?.get())?;
        Ok(100.0 * others.as_secs_f64() / there_was.as_secs_f64())
    }
}
