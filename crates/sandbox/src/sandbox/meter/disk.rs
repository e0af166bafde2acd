//! Measures the bytes that programs write to disk. The kernel counts for each process the bytes
//! that it made dirty, less those that it removed before they were written (proc_pid_io(5)). A
//! process has the counts of its children once it has waited for them. That misses children without
//! a waiting parent, and space that is only allocated. So the directories that programs may change
//! are measured at intervals, too, together with open files that were deleted.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};

use super::monotonic_now;
use crate::sandbox::plan::SandboxPlan;

/// Time until the first measurement of the directories; most programs have ended by then.
const FIRST: Duration = Duration::from_millis(200);
/// Minimum time from one measurement of the directories to the next.
const NEXT: Duration = Duration::from_secs(1);
/// Measuring the directories takes at most one part in `SHARE` of the time.
const SHARE: u32 = 50;
/// Bytes that each file counts for at least, even an empty one.
const LEAST: u64 = 4096;

pub(super) struct DiskMeter {
    bytes: u64,
    roots: Vec<PathBuf>,
    /// The start, by the coarse clock from which file systems take their timestamps.
    started: SystemTime,
    /// Time of the next measurement of the directories.
    next: Duration,
    /// Bytes in the directories at the first measurement, without the files made since the start.
    before: Option<u64>,
}

impl DiskMeter {
    pub(super) fn new(plan: &SandboxPlan) -> Self {
        let coarse = clock_gettime(ClockId::RealtimeCoarse);
        let seconds = coarse.tv_sec.try_into().unwrap_or_default();
        let since = Duration::new(seconds, coarse.tv_nsec.try_into().unwrap_or_default());
        Self {
            bytes: plan.limits.disk_bytes,
            roots: plan.writable_paths().map(Path::to_owned).collect(),
            started: SystemTime::UNIX_EPOCH + since,
            next: monotonic_now() + FIRST,
            before: None,
        }
    }

    /// Returns `true` if the processes have written more than the limit, or the directories have
    /// grown by more.
    pub(super) fn is_over(&mut self, processes: &[i32]) -> bool {
        let written = processes.iter().map(|process| {
            let io = fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
            written_bytes(&io)
        });
        i128::from(self.bytes) < written.sum() || self.has_grown(processes)
    }

    fn has_grown(&mut self, processes: &[i32]) -> bool {
        let began = monotonic_now();
        if began < self.next {
            return false;
        }
        let (mut old, mut new) = (0, 0);
        for root in &self.roots {
            measure_tree(root, &mut |found| {
                // A file without a known creation time counts as old.
                let is_new = found.created().is_ok_and(|made| made >= self.started);
                *(if is_new { &mut new } else { &mut old }) += bytes_on_disk(found);
            });
        }
        new += without_name(processes);
        self.next = monotonic_now() + NEXT.max(monotonic_now().saturating_sub(began) * SHARE);
        let before = *self.before.get_or_insert(old);
        (old + new).saturating_sub(before) > self.bytes
    }
}

/// Returns the bytes in proc_pid_io(5) that have gone to disk, or will go there.
fn written_bytes(io: &str) -> i128 {
    let number = |name: &str| -> i128 {
        let line = io.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.and_then(|number| number.parse().ok()).unwrap_or_default()
    };
    number("write_bytes") - number("cancelled_write_bytes")
}

/// Returns the bytes of a file, divided by its number of hard links, since all links are counted.
fn bytes_on_disk(found: &Metadata) -> u64 {
    (found.blocks() * 512).max(LEAST) / found.nlink().max(1)
}

fn measure_tree(root: &Path, add: &mut impl FnMut(&Metadata)) {
    let mut open = VecDeque::from([root.to_owned()]);
    while let Some(directory) = open.pop_front() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            if found.is_dir() {
                open.push_back(entry.path());
                // The link count of a directory counts its subdirectories, not its names.
                continue;
            }
            add(&found);
        }
    }
}

/// Returns the bytes of open files that were deleted.
fn without_name(processes: &[i32]) -> u64 {
    let mut files = BTreeMap::new();
    for process in processes {
        let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        for found in open.filter_map(|file| fs::metadata(file.path()).ok()) {
            if found.is_file() && found.nlink() == 0 {
                files.insert((found.dev(), found.ino()), found.blocks() * 512);
            }
        }
    }
    files.values().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_is_the_dirtied_less_the_cancelled_bytes() {
        let io = "rchar: 10\nwchar: 999\nsyscr: 1\nsyscw: 1\nread_bytes: 0\nwrite_bytes: 8192\n\
            cancelled_write_bytes: 4096\n";
        for (io, expected) in [(io, 4096), ("write_bytes: 7\n", 7), ("", 0)] {
            assert_eq!(written_bytes(io), expected, "{io}");
        }
    }
}
