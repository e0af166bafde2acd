//! The file system of a sandbox: the system, read-only; the roots of the plan; and a `/tmp`, a
//! `/proc` and a few devices of its own. Everything else is absent: homes, sockets, secrets.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use avocet_protocol::ignore_result;
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::utsname::uname;
use nix::unistd::pivot_root;
use rustix::fs::{StatVfsMountFlags, statvfs};

use super::conceal::find_concealed_paths;
use super::mounts::MountTable;
use super::plan::{CONFIGURATION, DEVICES, HIDDEN, SYSTEM_PATHS, SandboxPlan};
use super::report::{StageContext, StageError};

/// A directory that every system has, in which the file system is built. Only this namespace sees
/// the mounts there.
const SITE: &str = "/tmp";
/// The root of the host, while the file system is built.
const HOST: &str = "/host";
/// The directory that becomes the root.
const NEW: &str = "/new";
/// An empty, unreadable file that is mounted over others.
const COVER: &str = "/cover";

/// The smallest `pid_max` that the kernel accepts; some numbers are reserved.
const LEAST_PIDS: u64 = 301;

/// Covered entries of `/proc`: information about the kernel, and files by which root writes to
/// drivers.
const OF_THE_SYSTEM: [&str; 17] = [
    "acpi",
    "asound",
    "driver",
    "dynamic_debug",
    "kallsyms",
    "kcore",
    "key-users",
    "keys",
    "kmsg",
    "kpagecgroup",
    "kpagecount",
    "kpageflags",
    "latency_stats",
    "mtrr",
    "sched_debug",
    "scsi",
    "timer_list",
];

const NONE: Option<&Path> = None;

pub(super) fn build_root(plan: &SandboxPlan) -> Result<(), StageError> {
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).context("own mounts")?;
    let mounts = MountTable::of_this_process().context("the mounts of the system")?;
    mount_scaffold().context("the place to build in")?;
    mount_system(&mounts).context("the system")?;
    let memory = plan.limits.memory_bytes;
    mount_devices(memory).context("the devices")?;
    mount_processes(plan.limits.processes, memory).context("/proc of its own")?;
    mount_scratch("/tmp", plan.limits.file_bytes.min(memory)).context("/tmp of its own")?;
    for root in &plan.roots {
        let access = if root.writable { MsFlags::empty() } else { MsFlags::MS_RDONLY };
        bind_path(&root.path, access, &mounts)
            .map_err(|error| StageError::from_layer(&root.path.display().to_string(), error))?;
    }
    let concealed =
        find_concealed_paths(plan, plan.roots.iter(), Path::new(NEW)).context("secrets")?;
    // A directory comes before its subdirectories, so that no mount is copied.
    for path in concealed.pinned.union(&concealed.read_only.pinned) {
        pin_directory(path)
            .map_err(|error| StageError::from_layer(&path.display().to_string(), error))?;
    }
    for path in &concealed.read_only.paths {
        let protected = unless_gone(protect_path(path));
        protected.map_err(|error| StageError::from_layer(&path.display().to_string(), error))?;
    }
    let hidden = HIDDEN.iter().map(PathBuf::from).chain(plan.hidden.clone());
    for path in hidden.chain(concealed.covered) {
        hide_path(&path)
            .map_err(|error| StageError::from_layer(&path.display().to_string(), error))?;
    }
    enter_root().context("the new root")
}

/// Builds an empty file system with the host in a corner of it.
fn mount_scaffold() -> nix::Result<()> {
    mount_tmpfs(Path::new(SITE), "size=1m,mode=755")?;
    let (host, new) = (Path::new(SITE).join("host"), Path::new(SITE).join("new"));
    fs::create_dir(&host).map_err(errno_of)?;
    fs::create_dir(&new).map_err(errno_of)?;
    pivot_root(SITE, &host)?;
    nix::unistd::chdir("/")?;
    fs::write(COVER, "").map_err(errno_of)?;
    fs::set_permissions(COVER, fs::Permissions::from_mode(0o0)).map_err(errno_of)?;
    mount(Some(COVER), COVER, NONE, MsFlags::MS_BIND, NONE)?;
    restrict_mount(Path::new(COVER), MsFlags::MS_RDONLY | MsFlags::MS_NOEXEC)?;
    mount_tmpfs(Path::new(NEW), "size=1m,mode=755")
}

fn mount_system(mounts: &MountTable) -> nix::Result<()> {
    for path in SYSTEM_PATHS.iter().chain(&CONFIGURATION).map(Path::new) {
        let Ok(found) = fs::symlink_metadata(of_host(path)) else { continue };
        if found.is_symlink() && SYSTEM_PATHS.iter().any(|system| Path::new(system) == path) {
            // On some systems `/bin` is a link to `usr/bin`.
            symlink(fs::read_link(of_host(path)).map_err(errno_of)?, inside_new_root(path))
                .map_err(errno_of)?;
        } else {
            bind_path(path, MsFlags::MS_RDONLY, mounts)?;
        }
    }
    Ok(())
}

fn mount_devices(memory: u64) -> nix::Result<()> {
    for device in DEVICES.map(Path::new) {
        let place = make_place(device)?;
        mount(Some(&of_host(device)), &place, NONE, MsFlags::MS_BIND, NONE)?;
    }
    for (name, target) in [
        ("/dev/fd", "/proc/self/fd"),
        ("/dev/stdin", "/proc/self/fd/0"),
        ("/dev/stdout", "/proc/self/fd/1"),
        ("/dev/stderr", "/proc/self/fd/2"),
    ] {
        symlink(target, inside_new_root(name)).map_err(errno_of)?;
    }
    mount_scratch("/dev/shm", memory.min(64 << 20))
}

/// Mounts a `/proc` with the processes of the sandbox alone. Entries about the whole system are
/// read-only or covered, because root can write there without any capability.
fn mount_processes(most: u64, shared: u64) -> nix::Result<()> {
    let proc = inside_new_root("/proc");
    fs::create_dir(&proc).map_err(errno_of)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), &proc, Some("proc"), flags, NONE)?;
    if counts_by_namespace(&uname()?.release().to_string_lossy()) {
        // This binds root, too, unlike `RLIMIT_NPROC`.
        ignore_result(
            fs::write(proc.join("sys/kernel/pid_max"), most.max(LEAST_PIDS).to_string()),
            "`RLIMIT_NPROC` and the control group limit the processes, too",
        );
    }
    // Segments outlive their writers.
    let pages = (shared >> 12).max(1).to_string();
    ignore_result(
        fs::write(proc.join("sys/kernel/shmall"), pages),
        "before Linux 6.11 only root may set this limit",
    );
    for name in ["bus", "fs", "irq", "sys", "sysrq-trigger"] {
        let place = proc.join(name);
        if place.exists() {
            mount(Some(&place), &place, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)?;
            let read_only = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
            mount(NONE, &place, NONE, read_only | flags, NONE)?;
        }
    }
    for name in OF_THE_SYSTEM {
        hide_path(&Path::new("/proc").join(name))?;
    }
    Ok(())
}

/// Returns `true` if `pid_max` belongs to a PID namespace (Linux 6.14). Before, it belongs to the
/// whole system, and root would change that from here.
fn counts_by_namespace(release: &str) -> bool {
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or_default());
    (numbers.next(), numbers.next()) >= (Some(6), Some(14))
}

/// Mounts an empty directory that everybody can write to, and that is gone afterwards.
fn mount_scratch(path: &str, bytes: u64) -> nix::Result<()> {
    let place = inside_new_root(path);
    fs::create_dir_all(&place).map_err(errno_of)?;
    mount_tmpfs(&place, &format!("size={bytes},mode=1777"))
}

/// Shows a path of the host at the same place, with the mounts below it. `access` is `MS_RDONLY` or
/// empty. A missing path is skipped.
fn bind_path(path: &Path, access: MsFlags, mounts: &MountTable) -> nix::Result<()> {
    let source = of_host(path);
    if !source.exists() {
        return Ok(());
    }
    let place = make_place(path)?;
    mount(Some(&source), &place, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)?;
    restrict_mount(&place, access | flags_to_keep(&place)?)?;
    for (below, had) in mounts.mounts_below(path) {
        match restrict_mount(&inside_new_root(below), access | had) {
            // Another mount covers this one and hides its path.
            Err(Errno::EINVAL | Errno::ENOENT | Errno::ENOTDIR) => {}
            restricted => restricted?,
        }
    }
    Ok(())
}

/// Restricts a mount. `flags` has to include those that the mount had, because a namespace may not
/// remove them.
fn restrict_mount(place: &Path, flags: MsFlags) -> nix::Result<()> {
    let always = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(NONE, place, NONE, always | flags, NONE)
}

/// Returns the flags of the mount at a place that [`restrict_mount`] has to include. `rustix` knows
/// all of them with each C library.
fn flags_to_keep(place: &Path) -> nix::Result<MsFlags> {
    let found = statvfs(place).map_err(|error| Errno::from_raw(error.raw_os_error()))?.f_flag;
    let of = [
        (StatVfsMountFlags::NOEXEC, MsFlags::MS_NOEXEC),
        (StatVfsMountFlags::NOATIME, MsFlags::MS_NOATIME),
        (StatVfsMountFlags::NODIRATIME, MsFlags::MS_NODIRATIME),
        (StatVfsMountFlags::RELATIME, MsFlags::MS_RELATIME),
        (StatVfsMountFlags::RDONLY, MsFlags::MS_RDONLY),
    ];
    Ok(of.into_iter().filter(|(had, _)| found.contains(*had)).map(|(_, keep)| keep).collect())
}

/// Keeps an existing directory below a root in its place: a mount point cannot be renamed.
fn pin_directory(path: &Path) -> nix::Result<()> {
    let place = inside_new_root(path);
    let pinned = mount(Some(&place), &place, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE);
    unless_gone(pinned)
}

/// Makes a path below a root read-only. Fails with `ENOENT` if the path is gone.
fn protect_path(path: &Path) -> nix::Result<()> {
    let place = inside_new_root(path);
    mount(Some(&place), &place, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)?;
    restrict_mount(&place, MsFlags::MS_RDONLY | flags_to_keep(&place)?)
}

/// Covers a path below a root, if it exists.
fn hide_path(path: &Path) -> nix::Result<()> {
    let place = inside_new_root(path);
    let covered = match fs::symlink_metadata(&place) {
        Ok(found) if found.is_dir() => {
            mount(Some("none"), &place, Some("tmpfs"), MsFlags::MS_RDONLY, Some("size=4k"))
        }
        Ok(_) => mount(Some(COVER), &place, NONE, MsFlags::MS_BIND, NONE),
        Err(_) => Ok(()),
    };
    unless_gone(covered)
}

/// Ignores `ENOENT`: another process in the same workspace may have removed the path just now.
fn unless_gone(done: nix::Result<()>) -> nix::Result<()> {
    done.or_else(|error| if error == Errno::ENOENT { Ok(()) } else { Err(error) })
}

/// Replaces the old root by the new one, which is read-only. The old root becomes unreachable.
fn enter_root() -> nix::Result<()> {
    nix::unistd::chdir(NEW)?;
    pivot_root(".", ".")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    nix::unistd::chdir("/")?;
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | MsFlags::MS_NOSUID;
    mount(NONE, "/", NONE, flags | MsFlags::MS_NODEV, NONE)
}

/// Makes a mount point for this path of the host: a directory or a file.
fn make_place(path: &Path) -> nix::Result<PathBuf> {
    let place = inside_new_root(path);
    let found = fs::metadata(of_host(path)).map_err(errno_of)?;
    if found.is_dir() {
        fs::create_dir_all(&place).map_err(errno_of)?;
    } else {
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).map_err(errno_of)?;
        }
        fs::write(&place, "").map_err(errno_of)?;
        fs::set_permissions(&place, fs::Permissions::from_mode(0o444)).map_err(errno_of)?;
    }
    Ok(place)
}

fn mount_tmpfs(place: &Path, options: &str) -> nix::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), place, Some("tmpfs"), flags, Some(options))
}

fn of_host(path: impl AsRef<Path>) -> PathBuf {
    path_below(HOST, path.as_ref())
}

fn inside_new_root(path: impl AsRef<Path>) -> PathBuf {
    path_below(NEW, path.as_ref())
}

fn path_below(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands it over")]
fn errno_of(error: std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO))
}

#[cfg(test)]
#[path = "root_tests.rs"]
mod tests;
