//! Measures memory that processes share. The limit of a process (`RLIMIT_DATA`) does not count it:
//! mappings without a file, segments of System V, and files in `/tmp` and `/dev/shm`, which are in
//! memory.

use std::fs;

use nix::sys::statvfs::statvfs;

use crate::sandbox::plan::{Isolation, SandboxPlan};

/// File systems in memory, which only a sandbox with namespaces has.
const IN_MEMORY: [&str; 2] = ["/tmp", "/dev/shm"];
/// The kernel's names of shared mappings without a file.
const WITHOUT_FILE: [&str; 2] = ["/dev/zero (deleted)", "/memfd:"];

/// The limit of the private memory of one process plus the shared memory of all.
pub(super) struct MemoryMeter {
    bytes: u64,
    isolation: Isolation,
}

impl MemoryMeter {
    pub(super) fn new(plan: &SandboxPlan) -> Self {
        Self { bytes: plan.limits.memory_bytes, isolation: plan.isolation }
    }

    /// Returns `true` if the largest process and all shared memory together exceed the limit.
    pub(super) fn is_over(&self, processes: &[i32]) -> bool {
        let (mut largest, mut mapped) = (0, 0);
        let mut sharing = Vec::new();
        for process in processes {
            let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
            largest = largest.max(parse_kilobytes(&status, "RssAnon").unwrap_or_default());
            // A page is counted once for each process that maps it.
            let shared = parse_kilobytes(&status, "RssShmem").unwrap_or_default();
            if shared > 0 {
                mapped += shared;
                sharing.push((process, shared));
            }
        }
        let in_files = self.in_files();
        if largest + in_files + mapped <= self.bytes {
            return false;
        }
        let without_file = sharing.into_iter().map(|(process, shared)| {
            // Only root can read this file of a process that has made itself unreadable.
            let maps = fs::read_to_string(format!("/proc/{process}/smaps"));
            maps.map_or(shared, |maps| share_without_file(&maps))
        });
        largest + in_files + without_file.sum::<u64>() > self.bytes
    }

    /// Returns the bytes of files and segments in memory.
    fn in_files(&self) -> u64 {
        if !self.isolation.has_namespaces() {
            // Without namespaces a program has neither.
            return 0;
        }
        let used = IN_MEMORY.iter().filter_map(|path| statvfs(*path).ok()).map(|found| {
            found.blocks().saturating_sub(found.blocks_free()).saturating_mul(found.fragment_size())
        });
        let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
        used.sum::<u64>() + segments_in_memory(&segments)
    }
}

/// Sums up the last two columns of proc_sysvipc(5): bytes in memory and bytes swapped out.
fn segments_in_memory(table: &str) -> u64 {
    let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
    let number = |field: &&str| field.parse::<u64>().unwrap_or_default();
    rows.map(|row| row.iter().rev().take(2).map(number).sum::<u64>()).sum()
}

/// Returns the process's share of those mappings in proc_pid_smaps(5) that are shared and without a
/// file.
fn share_without_file(maps: &str) -> u64 {
    let (mut counts, mut share) = (false, 0);
    for line in maps.lines() {
        // A mapping begins with its addresses in hexadecimal; its properties follow as `Name:
        // value`.
        let is_mapping =
            line.split_once(' ').is_some_and(|(addresses, _)| !addresses.ends_with(':'));
        if is_mapping {
            counts = WITHOUT_FILE.iter().any(|name| line.contains(name));
        } else if counts {
            share += parse_kilobytes(line, "Pss").unwrap_or_default();
        }
    }
    share
}

/// Returns the bytes of a line such as `RssShmem:      512 kB` in a file of `/proc`.
fn parse_kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number = line.trim_start_matches(':').split_whitespace().next()?;
    number.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_without_file_counts_shared_mappings_that_have_no_file() {
        let maps = "7f1-7f2 rw-s 00000000 00:01 2052 /dev/zero (deleted)\n\
            Size:               1024 kB\nPss:                 300 kB\nPss_Dirty:           200 kB\n\
            7f3-7f4 rw-s 00000000 00:01 9 /SYSV00000000 (deleted)\nPss:                 700 kB\n\
            7f5-7f6 rw-p 00000000 00:00 0\nPss:                 50 kB\n\
            7f7-7f8 rw-s 00000000 00:1a 3 /memfd:x (deleted)\nPss:                 4 kB\n\
            7f9-7fa rw-s 00000000 00:1b 4 /dev/shm/x\nPss:                 9 kB\n";
        assert_eq!(share_without_file(maps), 304 << 10);
    }

    #[test]
    fn segments_in_memory_counts_resident_and_swapped_bytes() {
        let table = "       key      shmid perms       size  cpid  lpid nattch   uid   gid  cuid  cgid atime dtime ctime rss swap\n\
            0 1 1600 67108864 2 2 1 0 0 0 0 0 0 0 4096 0\n0 2 1600 67108864 2 2 1 0 0 0 0 0 0 0 8192 1024\n";
        assert_eq!(segments_in_memory(table), 4096 + 8192 + 1024);
    }
}
