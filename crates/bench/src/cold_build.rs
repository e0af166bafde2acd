//! A build of the release into a new directory, as a newcomer does it.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::clock::{now, sleep};
use crate::figures::FigureLog;
use crate::homes::Bench;
use crate::process::{Process, memory_of_group};
use crate::rows;

const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl Bench<'_> {
    /// Measures time, CPU time and the largest memory of a build.
    pub(crate) async fn cold_build(&self, figures: &mut FigureLog) -> Result<()> {
        let target = tempfile::Builder::new().prefix("bench-build-").tempdir_in(&self.below)?;
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
        let mut command = Command::new("cargo");
        command.args(["build", "--release", "--locked", "--quiet", "-p", "avocet"]);
        command.arg("--manifest-path").arg(manifest).arg("--target-dir").arg(target.path());
        // The compilers are in the group of cargo.
        command.process_group(0);
        let (began, cpu) = (now(), Process::this().cpu_with_children()?);
        let mut cargo = command.spawn().context("cargo cannot be started")?;
        let (status, largest) = watch_memory(&mut cargo).await?;
        ensure!(status.success(), "cargo build ended with {status}");
        let cpu = Process::this().cpu_with_children()?.saturating_sub(cpu);
        figures.add(rows::COLD_BUILD, began.elapsed().as_secs_f64() / 60.0);
        figures.add(rows::COLD_BUILD_CPU, cpu.as_secs_f64());
        figures.add(rows::COLD_BUILD_MEMORY, largest as f64 / 1e9);
        let program = target.path().join("release/avocet");
        figures.add(rows::RELEASE_SIZE, fs::metadata(program)?.len() as f64 / 1e6);
        Ok(())
    }
}

/// Waits for the end. Returns the largest resident memory of the group, in bytes.
async fn watch_memory(child: &mut Child) -> Result<(ExitStatus, u64)> {
    let mut largest = 0;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, largest));
        }
        largest = largest.max(memory_of_group(child.id())?);
        sleep(LOOK_AGAIN).await;
    }
}
