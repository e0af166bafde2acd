//! Figures of a process from proc(5).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::io::Errno;

/// The id of a running process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process(pub(crate) u32);

/// Memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryUse {
    /// Resident memory, with mapped files.
    pub(crate) rss: u64,
    /// Resident memory without files: heaps and stacks.
    pub(crate) anonymous: u64,
}

/// Context switches of a thread, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ContextSwitches {
    /// Number of times that a thread has gone to sleep. Each sleep ends with a wake-up.
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
}

/// Context switches of each thread so far, by thread id.
#[derive(Debug, Default)]
pub(crate) struct ThreadSwitches(BTreeMap<String, ContextSwitches>);

impl ThreadSwitches {
    /// Returns the switches since then. Those of a thread that has ended meanwhile are lost.
    pub(crate) fn since(&self, before: &Self) -> ContextSwitches {
        let mut sum = ContextSwitches::default();
        for (thread, now) in &self.0 {
            let then = before.0.get(thread).copied().unwrap_or_default();
            sum.voluntary += now.voluntary.saturating_sub(then.voluntary);
            sum.involuntary += now.involuntary.saturating_sub(then.involuntary);
        }
        sum
    }
}

impl ContextSwitches {
    pub(crate) fn all(self) -> u64 {
        self.voluntary + self.involuntary
    }
}

impl Process {
    pub(crate) fn this() -> Self {
        Self(std::process::id())
    }

    /// CPU time so far, in user and in system mode, also of threads that have ended.
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
        memory(&self.read("status")?).context("status has no VmRSS or RssAnon")
    }

    /// Reads the context switches of all threads that run now.
    pub(crate) fn switches(self) -> Result<ThreadSwitches> {
        let mut threads = ThreadSwitches::default();
        for thread in fs::read_dir(format!("/proc/{}/task", self.0))? {
            let thread = thread?;
            match fs::read_to_string(thread.path().join("status")) {
                Ok(status) => {
                    let id = thread.file_name().to_string_lossy().into_owned();
                    threads.0.insert(id, switches(&status));
                }
                Err(error) if is_ended(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(threads)
    }

    fn read(self, name: &str) -> Result<String> {
        let path = format!("/proc/{}/{name}", self.0);
        fs::read_to_string(&path).with_context(|| format!("{path} cannot be read"))
    }
}

/// Returns `true` if a thread ended before its file was opened (`NotFound`), or between the opening
/// and the reading (`ESRCH`).
fn is_ended(error: &io::Error) -> bool {
    let gone = Errno::SRCH.raw_os_error();
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(gone)
}

/// CPU time that all processors together have used so far, for all processes.
pub(crate) fn cpu_of_all() -> Result<Duration> {
    let stat = fs::read_to_string("/proc/stat")?;
    busy(&stat).context("/proc/stat has no line for all processors")
}

/// Returns the resident memory of all processes of a process group, in bytes.
pub(crate) fn memory_of_group(group: u32) -> Result<u64> {
    let mut sum = 0;
    for process in fs::read_dir("/proc")? {
        let directory = process?.path();
        // A file that cannot be read is of no process, or of one that has ended.
        let read = |name: &str| fs::read_to_string(directory.join(name)).unwrap_or_default();
        if group_of(&read("stat")) == Some(group) {
            sum += memory(&read("status")).map_or(0, |memory| memory.rss);
        }
    }
    Ok(sum)
}

/// Parses the process group: field 5.
fn group_of(stat: &str) -> Option<u32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(2)?.parse().ok()
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

fn memory(status: &str) -> Option<MemoryUse> {
    let (rss, anonymous) = (field(status, "VmRSS")?, field(status, "RssAnon")?);
    Some(MemoryUse { rss: rss * 1024, anonymous: anonymous * 1024 })
}

fn switches(status: &str) -> ContextSwitches {
    let of = |name: &str| field(status, name).unwrap_or(0);
    ContextSwitches {
        voluntary: of("voluntary_ctxt_switches"),
        involuntary: of("nonvoluntary_ctxt_switches"),
    }
}

/// Parses the number in a line `name: number unit`.
pub(crate) fn field(text: &str, name: &str) -> Option<u64> {
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned);
    text.lines().find_map(value)?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn times_are_found_behind_any_name() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 100 0 0 0 25 17 3 4 20 0 3 0 100 0 0";
        assert_eq!(cpu(stat), Some([420, 70].map(Duration::from_millis)));
        assert_eq!(cpu("7 (a) S 1 7"), None);
    }

    #[test]
    fn memory_of_a_group_counts_its_processes_only() {
        assert_eq!(group_of("7 (a ) b) S 1 70 7 0"), Some(70));
        assert_eq!(group_of("7 (a) S"), None);
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        assert!(memory_of_group(group_of(&own).unwrap()).unwrap() > 0);
        assert_eq!(memory_of_group(u32::MAX).unwrap(), 0);
    }

    #[test]
    fn idling_is_no_work() {
        let stat = "cpu  1 2 3 1000 1000 4 5 6 7 8\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(busy(stat), Some(Duration::from_millis(210)));
        assert_eq!(busy("intr 7"), None);
    }

    #[test]
    fn memory_is_in_kibibytes() {
        let status = "Name:\ta\nVmHWM:\t   9 kB\nVmRSS:\t   12 kB\nRssAnon:\t   7 kB\n";
        let expected = MemoryUse { rss: 12 * 1024, anonymous: 7 * 1024 };
        assert_eq!(memory(status), Some(expected));
        assert_eq!(memory("Name:\ta\n"), None);
    }

    #[test]
    fn switches_since_count_new_threads_and_forget_ended_ones() {
        let of = |threads: &[(&str, u64)]| {
            let switches = |&(id, voluntary): &(&str, u64)| {
                (id.to_owned(), ContextSwitches { voluntary, involuntary: 1 })
            };
            ThreadSwitches(threads.iter().map(switches).collect())
        };
        let (before, after) = (of(&[("1", 10), ("2", 50)]), of(&[("1", 15), ("3", 7)]));
        let expected = ContextSwitches { voluntary: 12, involuntary: 1 };
        assert_eq!(after.since(&before), expected);
        assert_eq!(expected.all(), 13);
    }

    #[test]
    fn switches_leave_out_threads_that_end_while_they_are_read() {
        let status = std::thread::scope(|scope| {
            let thread = scope.spawn(|| fs::File::open("/proc/thread-self/status").unwrap());
            thread.join().unwrap()
        });
        // The kernel removes an ended thread a moment after it can be joined.
        let mut byte = [0];
        let error = loop {
            if let Err(error) = status.read_at(&mut byte, 0) {
                break error;
            }
            std::thread::yield_now();
        };
        assert!(is_ended(&error), "{error}");
        let missing = fs::read_to_string("/proc/self/task/0/status").unwrap_err();
        assert!(is_ended(&missing) && !is_ended(&io::ErrorKind::PermissionDenied.into()));
    }

    #[test]
    fn this_process_can_be_read() {
        let this = Process::this();
        assert!(this.memory().unwrap().rss > 0);
        assert!(this.cpu().unwrap() <= cpu_of_all().unwrap());
        assert!(!this.switches().unwrap().0.is_empty());
    }
}
