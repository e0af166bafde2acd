//! Figures of a process from proc(5).

use std::fs;
use std::io;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

/// The id of a running process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process(pub(crate) u32);

/// Memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct MemoryUse {
    /// Resident memory, with all shared pages.
    pub(crate) rss: u64,
    /// The same, but each shared page is divided by the number of its processes.
    pub(crate) pss: u64,
}

impl Process {
    pub(crate) fn this() -> Self {
        Self(std::process::id())
    }

    /// CPU time so far, in user and in system mode.
    pub(crate) fn cpu(self) -> Result<Duration> {
        let [own, _children] = cpu(&self.read("stat")?).context("stat has no times")?;
        Ok(own)
    }

    /// CPU time so far, with that of child processes that have ended and were waited for.
    pub(crate) fn cpu_with_children(self) -> Result<Duration> {
        let [own, children] = cpu(&self.read("stat")?).context("stat has no times")?;
        Ok(own + children)
    }

    pub(crate) fn memory(self) -> Result<MemoryUse> {
        let found = memory(&self.read("status")?, &self.read("smaps_rollup")?);
        found.context("status has no VmRSS, or smaps_rollup no Pss")
    }

    /// Bytes that the process has had written to the disk so far.
    pub(crate) fn written(self) -> Result<u64> {
        field(&self.read("io")?, "write_bytes").context("io has no write_bytes")
    }

    /// Number of times that the threads have gone to sleep so far. Each sleep ends with a wake-up.
    pub(crate) fn wake_ups(self) -> Result<u64> {
        let mut sum = 0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.0))? {
            match fs::read_to_string(thread?.path().join("status")) {
                Ok(status) => sum += field(&status, "voluntary_ctxt_switches").unwrap_or(0),
                // The thread has ended meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(sum)
    }

    fn read(self, name: &str) -> Result<String> {
        let path = format!("/proc/{}/{name}", self.0);
        fs::read_to_string(&path).with_context(|| format!("{path} cannot be read"))
    }
}

/// CPU time that all processors together have used so far, for all processes.
pub(crate) fn cpu_of_all() -> Result<Duration> {
    let stat = fs::read_to_string("/proc/stat")?;
    busy(&stat).context("/proc/stat has no line for all processors")
}

/// Parses utime, stime, cutime and cstime: fields 14 to 17. The program's name, field 2, is in
/// brackets and may contain anything.
fn cpu(stat: &str) -> Option<[Duration; 2]> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let mut user_and_system = || Some(ticks(fields.next()?)? + ticks(fields.next()?)?);
    Some([user_and_system()?, user_and_system()?])
}

/// Sums all columns except idle and iowait, fields 4 and 5 of the first line. Guest time is part of
/// user time.
fn busy(stat: &str) -> Option<Duration> {
    let fields: Vec<&str> = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().collect();
    let working = fields.iter().take(8).enumerate().filter(|(place, _)| !matches!(place, 3 | 4));
    working.map(|(_, field)| ticks(field)).sum()
}

/// USER_HZ is 100 on Linux.
fn ticks(field: &str) -> Option<Duration> {
    field.parse().ok().map(|ticks: u64| Duration::from_millis(10 * ticks))
}

fn memory(status: &str, smaps_rollup: &str) -> Option<MemoryUse> {
    let (rss, pss) = (field(status, "VmRSS")?, field(smaps_rollup, "Pss")?);
    Some(MemoryUse { rss: rss * 1024, pss: pss * 1024 })
}

/// Parses the number in a line `name: number unit`.
fn field(text: &str, name: &str) -> Option<u64> {
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned);
    text.lines().find_map(value)?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_any_name() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 100 0 0 0 25 17 3 4 20 0 3 0 100 0 0";
        assert_eq!(cpu(stat), Some([420, 70].map(Duration::from_millis)));
        assert_eq!(cpu("7 (a) S 1 7"), None);
    }

    #[test]
    fn idling_is_no_work() {
        let stat = "cpu  1 2 3 1000 1000 4 5 6 7 8\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(busy(stat), Some(Duration::from_millis(210)));
        assert_eq!(busy("intr 7"), None);
    }

    #[test]
    fn memory_is_in_kibibytes() {
        let status = "Name:\ta\nVmHWM:\t   9 kB\nVmRSS:\t   12 kB\n";
        let smaps =
            "00-ff ---p 00000000 00:00 0 [rollup]\nRss: 12 kB\nPss:  7 kB\nPss_Dirty: 1 kB\n";
        assert_eq!(memory(status, smaps), Some(MemoryUse { rss: 12 * 1024, pss: 7 * 1024 }));
        assert_eq!(memory(smaps, status), None);
    }

    #[test]
    fn this_process_can_be_read() {
        let this = Process::this();
        assert!(this.memory().unwrap().rss > 0);
        assert!(this.cpu().unwrap() <= cpu_of_all().unwrap());
        assert!(this.written().is_ok() && this.wake_ups().is_ok());
    }
}
