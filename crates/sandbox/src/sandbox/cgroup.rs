//! The control group of a sandbox: limits for all of its processes together.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use avocet_protocol::ignore_result;
use parking_lot::Mutex;

use super::mounts::unescape_field;
use super::plan::SandboxLimits;

/// The controllers that a group needs.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];
/// The group that the daemon itself moves into: a group with limited subgroups may contain no
/// processes of its own (cgroup-v2, "No Internal Process Constraint").
const DAEMON: &str = "daemon";
/// The name of a sandbox's group, before a number. A start of the daemon removes groups of this
/// name, also those of earlier versions.
const GROUP: &str = "cell-";
/// Processes and threads of our own stages in a sandbox.
const STAGES: u64 = 8;

/// Control groups for sandboxes, below the group that systemd has delegated to this process
/// (`Delegate=`).
#[derive(Debug)]
pub struct CgroupParent {
    place: PathBuf,
    next: AtomicU64,
    /// Groups with processes that were still dying when the sandbox ended.
    dying: Arc<Mutex<Vec<PathBuf>>>,
}

/// The reason why there is no control group for sandboxes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCgroups {
    /// This process sees no cgroup of version 2.
    #[error("this system has no cgroup version 2")]
    Unknown,
    /// The group belongs to another process.
    #[error("{0} is not delegated to Avocet")]
    NotOurs(PathBuf),
    /// The group is delegated, but lacks a controller.
    #[error("{0} cannot limit memory and processes: it has only {1:?}")]
    Weak(PathBuf, String),
    /// Reading or dividing the delegated group failed.
    #[error("{0}: {1}")]
    Failed(PathBuf, String),
}

impl CgroupParent {
    /// Returns the group of this process if systemd has delegated it. Only reads.
    ///
    /// # Errors
    /// [`NoCgroups`] if the group belongs to another process or lacks a controller.
    pub fn find_delegated() -> Result<Self, NoCgroups> {
        let place = Self::find_own_group().ok_or(NoCgroups::Unknown)?;
        // systemd.resource-control(5): the attribute exists since systemd 251, for ordinary users,
        // too.
        let mut mark = [0_u8; 8];
        let marked = rustix::fs::getxattr(&place, "user.delegate", &mut mark[..]);
        if marked.map(|length| &mark[..length]) != Ok(b"1") {
            return Err(NoCgroups::NotOurs(place));
        }
        Self::try_from_path(place)
    }

    fn find_own_group() -> Option<PathBuf> {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        find_group_path(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
    }

    fn try_from_path(place: PathBuf) -> Result<Self, NoCgroups> {
        let has = fs::read_to_string(place.join("cgroup.controllers"))
            .map_err(|error| NoCgroups::Failed(place.clone(), error.to_string()))?;
        if !CONTROLLERS.iter().all(|one| has.split_whitespace().any(|other| *one == other)) {
            return Err(NoCgroups::Weak(place, has.trim().to_owned()));
        }
        Ok(Self { place, next: AtomicU64::new(0), dying: Arc::default() })
    }

    /// Moves this process into a group beside those of the sandboxes, so that they can be limited.
    /// Call this once, while this process is alone in its group.
    ///
    /// # Errors
    /// [`NoCgroups::Failed`] if the system refuses.
    pub fn move_daemon_aside(self) -> Result<Self, NoCgroups> {
        let divide = || {
            self.remove_leftover_groups()?;
            let daemon = self.place.join(DAEMON);
            make_group(&daemon)?;
            write_kernel_file(&daemon, "cgroup.procs", &std::process::id().to_string())?;
            let wanted = CONTROLLERS.map(|one| format!("+{one}")).join(" ");
            write_kernel_file(&self.place, "cgroup.subtree_control", &wanted)
        };
        match divide() {
            Ok(()) => Ok(self),
            Err(error) => Err(NoCgroups::Failed(self.place, error.to_string())),
        }
    }

    /// Removes the groups that a killed daemon has left.
    fn remove_leftover_groups(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.place)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(GROUP) {
                drop(self.group_at(entry.path()));
            }
        }
        Ok(())
    }

    pub(super) fn create_group(&self, limits: SandboxLimits) -> io::Result<SandboxCgroup> {
        self.dying.lock().retain(|place| fs::remove_dir(place).is_err() && place.exists());
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let place = self.place.join(format!("{GROUP}{number}"));
            match fs::create_dir(&place) {
                // This group could not be removed earlier, and its events are those of another
                // sandbox.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(name_path(&place, &error)),
                Ok(()) => {
                    let group = self.group_at(place);
                    group.write_limits(limits)?;
                    return Ok(group);
                }
            }
        }
    }

    fn group_at(&self, place: PathBuf) -> SandboxCgroup {
        SandboxCgroup { place, dying: self.dying.clone() }
    }
}

/// The group of a sandbox. Dropping it kills its processes.
#[derive(Debug)]
pub(super) struct SandboxCgroup {
    place: PathBuf,
    dying: Arc<Mutex<Vec<PathBuf>>>,
}

impl SandboxCgroup {
    fn write_limits(&self, limits: SandboxLimits) -> io::Result<()> {
        write_kernel_file(&self.place, "memory.max", &limits.memory_bytes.to_string())?;
        write_kernel_file(
            &self.place,
            "pids.max",
            &limits.processes.saturating_add(STAGES).to_string(),
        )?;
        match write_kernel_file(&self.place, "memory.swap.max", "0") {
            // A system without swap.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            put => put,
        }
    }

    /// Adds a process. Call this before the process starts others.
    pub(super) fn add_process(&self, process: u32) -> io::Result<()> {
        write_kernel_file(&self.place, "cgroup.procs", &process.to_string())
    }

    /// Returns `true` if a process of the group was killed because the memory was used up.
    pub(super) fn is_out_of_memory(&self) -> bool {
        let events = fs::read_to_string(self.place.join("memory.events")).unwrap_or_default();
        let mut killed = events.lines().filter_map(|line| line.strip_prefix("oom_kill "));
        killed.any(|number| number != "0")
    }
}

impl Drop for SandboxCgroup {
    fn drop(&mut self) {
        ignore_result(
            write_kernel_file(&self.place, "cgroup.kill", "1"),
            "Linux before 5.14 lacks this file; there the lifeline alone kills the processes",
        );
        if fs::remove_dir(&self.place).is_err() && self.place.exists() {
            // Processes may take a moment to die; then the group is removed when the next sandbox
            // is made.
            let mut dying = self.dying.lock();
            dying.push(self.place.clone());
        }
    }
}

fn make_group(place: &Path) -> io::Result<()> {
    match fs::create_dir(place) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(name_path(place, &error)),
        _ => Ok(()),
    }
}

/// Writes to an existing file of the kernel.
fn write_kernel_file(place: &Path, file: &str, value: &str) -> io::Result<()> {
    let path = place.join(file);
    let written = fs::File::options()
        .write(true)
        .open(&path)
        .and_then(|mut file| io::Write::write_all(&mut file, value.as_bytes()));
    written.map_err(|error| name_path(&path, &error))
}

fn name_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Returns the path of a process's group in the file system: proc_pid_mountinfo(5), cgroups(7).
fn find_group_path(groups: &str, mounts: &str) -> Option<PathBuf> {
    let group = Path::new(groups.lines().find_map(|line| line.strip_prefix("0::"))?);
    mounts.lines().find_map(|line| {
        let (about, kind) = line.split_once(" - ")?;
        if kind.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = about.split(' ').skip(3).map(|field| unescape_field(field.as_bytes()));
        let (root, place) = (fields.next()?, fields.next()?);
        Some(place.join(group.strip_prefix(root).ok()?))
    })
}

#[cfg(test)]
#[path = "cgroup_tests.rs"]
mod tests;
