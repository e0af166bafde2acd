//! The file system of a cell: the system, read-only; the roots of the plan; a `/tmp`, a `/proc` and a
//! few devices of its own. Nothing else has a name in it: no home, no socket, no secret.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::sys::utsname::uname;
use nix::unistd::pivot_root;

use super::conceal::concealed;
use super::mounts::Mounts;
use super::plan::{CONFIGURATION, DEVICES, HIDDEN, Plan, SYSTEM};
use super::stage::{Fault, Walled};

/// A directory that every system has, to build in; only this namespace sees what is mounted there.
const SITE: &str = "/tmp";
/// The host, while the file system is built.
const HOST: &str = "/host";
/// What becomes the root.
const NEW: &str = "/new";
/// An empty file that nobody can read, which lies over others.
const COVER: &str = "/cover";

/// The least that the kernel takes for `pid_max`: some are reserved.
const LEAST_PIDS: u64 = 301;

/// Of `/proc`, what is covered: what it tells of the kernel, and what root writes to drivers.
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

pub(super) fn build(plan: &Plan) -> Result<(), Fault> {
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).walled("own mounts")?;
    let mounts = Mounts::of_this_process().walled("the mounts of the system")?;
    scaffold().walled("the place to build in")?;
    system(&mounts).walled("the system")?;
    let memory = plan.limits.memory_bytes;
    devices(memory).walled("the devices")?;
    processes(plan.limits.processes, memory).walled("/proc of its own")?;
    scratch("/tmp", plan.limits.file_bytes.min(memory)).walled("/tmp of its own")?;
    for root in &plan.roots {
        bind(&root.path, root.writable, &mounts)
            .map_err(|error| Fault::wall(&root.path.display().to_string(), error))?;
    }
    let concealed = concealed(plan, plan.roots.iter(), Path::new(NEW)).walled("secrets")?;
    // A directory comes before those in it, so that no mount is copied.
    for path in concealed.pinned.union(&concealed.read_only.pinned) {
        pin(path).map_err(|error| Fault::wall(&path.display().to_string(), error))?;
    }
    for path in &concealed.read_only.paths {
        let protected = unless_gone(protect(path));
        protected.map_err(|error| Fault::wall(&path.display().to_string(), error))?;
    }
    let hidden = HIDDEN.iter().map(PathBuf::from).chain(plan.hidden.clone());
    for path in hidden.chain(concealed.covered) {
        hide(&path).map_err(|error| Fault::wall(&path.display().to_string(), error))?;
    }
    enter().walled("the new root")
}

/// An empty file system with the host in a corner of it.
fn scaffold() -> nix::Result<()> {
    tmpfs(Path::new(SITE), "size=1m,mode=755")?;
    let (host, new) = (Path::new(SITE).join("host"), Path::new(SITE).join("new"));
    fs::create_dir(&host).map_err(errno)?;
    fs::create_dir(&new).map_err(errno)?;
    pivot_root(SITE, &host)?;
    nix::unistd::chdir("/")?;
    fs::write(COVER, "").map_err(errno)?;
    fs::set_permissions(COVER, fs::Permissions::from_mode(0o0)).map_err(errno)?;
    mount(Some(COVER), COVER, NONE, MsFlags::MS_BIND, NONE)?;
    restrict(Path::new(COVER), false, MsFlags::MS_NOEXEC)?;
    tmpfs(Path::new(NEW), "size=1m,mode=755")
}

fn system(mounts: &Mounts) -> nix::Result<()> {
    for path in SYSTEM.iter().chain(&CONFIGURATION).map(Path::new) {
        let Ok(found) = fs::symlink_metadata(of_host(path)) else { continue };
        if found.is_symlink() && SYSTEM.iter().any(|system| Path::new(system) == path) {
            // As where /bin is a link to usr/bin.
            symlink(fs::read_link(of_host(path)).map_err(errno)?, inside(path)).map_err(errno)?;
        } else {
            bind(path, false, mounts)?;
        }
    }
    Ok(())
}

fn devices(memory: u64) -> nix::Result<()> {
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
        symlink(target, inside(name)).map_err(errno)?;
    }
    scratch("/dev/shm", memory.min(64 << 20))
}

/// A `/proc` with the processes of the cell alone. What is in it about the whole system is read-only,
/// or covered: root writes there without any capability.
fn processes(most: u64, shared: u64) -> nix::Result<()> {
    let proc = inside("/proc");
    fs::create_dir(&proc).map_err(errno)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), &proc, Some("proc"), flags, NONE)?;
    if counts_by_namespace(&uname()?.release().to_string_lossy()) {
        // Holds for root, too, whom RLIMIT_NPROC does not bind.
        fs::write(proc.join("sys/kernel/pid_max"), most.max(LEAST_PIDS).to_string())
            .unwrap_or_default();
    }
    // Segments outlive whoever wrote to them. Before Linux 6.11 this is root's alone.
    let pages = (shared >> 12).max(1).to_string();
    fs::write(proc.join("sys/kernel/shmall"), pages).unwrap_or_default();
    for name in ["bus", "fs", "irq", "sys", "sysrq-trigger"] {
        let place = proc.join(name);
        if place.exists() {
            mount(Some(&place), &place, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)?;
            let read_only = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
            mount(NONE, &place, NONE, read_only | flags, NONE)?;
        }
    }
    for name in OF_THE_SYSTEM {
        hide(&Path::new("/proc").join(name))?;
    }
    Ok(())
}

/// Whether `pid_max` is that of a PID namespace (Linux 6.14): before, it is that of the whole system, which
/// root would change from here.
fn counts_by_namespace(release: &str) -> bool {
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or_default());
    (numbers.next(), numbers.next()) >= (Some(6), Some(14))
}

/// An empty directory that everybody can write to, and that is gone afterwards.
fn scratch(path: &str, bytes: u64) -> nix::Result<()> {
    let place = inside(path);
    fs::create_dir_all(&place).map_err(errno)?;
    tmpfs(&place, &format!("size={bytes},mode=1777"))
}

/// Shows a path of the host at the same place, with what is mounted below it; one that is not there is not
/// shown.
fn bind(path: &Path, writable: bool, mounts: &Mounts) -> nix::Result<()> {
    let source = of_host(path);
    if !source.exists() {
        return Ok(());
    }
    let place = make_place(path)?;
    mount(Some(&source), &place, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)?;
    restrict(&place, writable, kept(statvfs(&place)?.flags()))?;
    for (below, had) in mounts.below(path) {
        match restrict(&inside(below), writable, had) {
            // Another one lies over it, and it has no name.
            Err(Errno::EINVAL | Errno::ENOENT | Errno::ENOTDIR) => {}
            restricted => restricted?,
        }
    }
    Ok(())
}

/// Takes from a mount what it is not to have; of what it had, it keeps what a namespace may not take from it.
fn restrict(place: &Path, writable: bool, had: MsFlags) -> nix::Result<()> {
    let mut flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    flags |= had;
    if !writable {
        flags |= MsFlags::MS_RDONLY;
    }
    mount(NONE, place, NONE, flags, NONE)
}

fn kept(found: FsFlags) -> MsFlags {
    let of = [
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
        (FsFlags::ST_RDONLY, MsFlags::MS_RDONLY),
    ];
    of.into_iter().filter(|(had, _)| found.contains(*had)).map(|(_, keep)| keep).collect()
}

/// Keeps a directory below a root where it is, if it is there: what is mounted has its name for good.
fn pin(path: &Path) -> nix::Result<()> {
    let place = inside(path);
    let pinned = mount(Some(&place), &place, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE);
    unless_gone(pinned)
}

/// Makes a path below a root read-only, if it is there.
fn protect(path: &Path) -> nix::Result<()> {
    let place = inside(path);
    mount(Some(&place), &place, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)?;
    restrict(&place, false, kept(statvfs(&place)?.flags()))
}

/// Covers a path below a root, if it is there.
fn hide(path: &Path) -> nix::Result<()> {
    let place = inside(path);
    let covered = match fs::symlink_metadata(&place) {
        Ok(found) if found.is_dir() => {
            mount(Some("none"), &place, Some("tmpfs"), MsFlags::MS_RDONLY, Some("size=4k"))
        }
        Ok(_) => mount(Some(COVER), &place, NONE, MsFlags::MS_BIND, NONE),
        Err(_) => Ok(()),
    };
    unless_gone(covered)
}

/// Whoever works in the same workspace may have removed it just now.
fn unless_gone(done: nix::Result<()>) -> nix::Result<()> {
    done.or_else(|error| if error == Errno::ENOENT { Ok(()) } else { Err(error) })
}

/// The new root takes the place of the old one, which nobody can reach any more, and is read-only.
fn enter() -> nix::Result<()> {
    nix::unistd::chdir(NEW)?;
    pivot_root(".", ".")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    nix::unistd::chdir("/")?;
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | MsFlags::MS_NOSUID;
    mount(NONE, "/", NONE, flags | MsFlags::MS_NODEV, NONE)
}

/// Something to mount on, of the kind of what is at this path of the host.
fn make_place(path: &Path) -> nix::Result<PathBuf> {
    let place = inside(path);
    let found = fs::metadata(of_host(path)).map_err(errno)?;
    if found.is_dir() {
        fs::create_dir_all(&place).map_err(errno)?;
    } else {
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).map_err(errno)?;
        }
        fs::write(&place, "").map_err(errno)?;
        fs::set_permissions(&place, fs::Permissions::from_mode(0o444)).map_err(errno)?;
    }
    Ok(place)
}

fn tmpfs(place: &Path, options: &str) -> nix::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), place, Some("tmpfs"), flags, Some(options))
}

fn of_host(path: impl AsRef<Path>) -> PathBuf {
    below(HOST, path.as_ref())
}

fn inside(path: impl AsRef<Path>) -> PathBuf {
    below(NEW, path.as_ref())
}

fn below(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands it over")]
fn errno(error: std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO))
}

#[cfg(test)]
#[path = "root_tests.rs"]
mod tests;
