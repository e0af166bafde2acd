//! The file system of a cell: the system, read-only; the roots of the plan; a `/tmp`, a `/proc` and a
//! few devices of its own. Nothing else has a name in it: no home, no socket, no secret.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::sys::utsname::uname;
use nix::unistd::pivot_root;

use super::plan::{CONFIGURATION, DEVICES, HIDDEN, Plan, SYSTEM};
use super::stage::{Fault, Walled};

/// A directory that every system has, to build in; only this namespace sees what is mounted there.
const SITE: &str = "/tmp";
/// The host, while the file system is built.
const HOST: &str = "/host";
/// What becomes the root.
const NEW: &str = "/new";

/// The least that the kernel takes for `pid_max`: some are reserved.
const LEAST_PIDS: u64 = 301;

const NONE: Option<&Path> = None;

pub(super) fn build(plan: &Plan) -> Result<(), Fault> {
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).walled("own mounts")?;
    scaffold().walled("the place to build in")?;
    system().walled("the system")?;
    devices().walled("the devices")?;
    processes(plan.limits.processes).walled("/proc of its own")?;
    scratch("/tmp", plan.limits.file_bytes).walled("/tmp of its own")?;
    for root in &plan.roots {
        bind(&root.path, root.writable)
            .map_err(|error| Fault::wall(&root.path.display().to_string(), error))?;
    }
    let hidden = HIDDEN.iter().map(Path::new).chain(plan.hidden.iter().map(PathBuf::as_path));
    for path in hidden {
        hide(path).map_err(|error| Fault::wall(&path.display().to_string(), error))?;
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
    tmpfs(Path::new(NEW), "size=1m,mode=755")
}

fn system() -> nix::Result<()> {
    for path in SYSTEM.iter().chain(&CONFIGURATION).map(Path::new) {
        let Ok(found) = fs::symlink_metadata(of_host(path)) else { continue };
        if found.is_symlink() && SYSTEM.iter().any(|system| Path::new(system) == path) {
            // As where /bin is a link to usr/bin.
            symlink(fs::read_link(of_host(path)).map_err(errno)?, inside(path)).map_err(errno)?;
        } else {
            bind(path, false)?;
        }
    }
    Ok(())
}

fn devices() -> nix::Result<()> {
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
    scratch("/dev/shm", 64 << 20)
}

/// A `/proc` with the processes of the cell alone. What is in it about the whole system is read-only,
/// or covered: root writes there without any capability.
fn processes(most: u64) -> nix::Result<()> {
    let proc = inside("/proc");
    fs::create_dir(&proc).map_err(errno)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), &proc, Some("proc"), flags, NONE)?;
    if counts_by_namespace(&uname()?.release().to_string_lossy()) {
        // Holds for root, too, whom RLIMIT_NPROC does not bind.
        fs::write(proc.join("sys/kernel/pid_max"), most.max(LEAST_PIDS).to_string())
            .unwrap_or_default();
    }
    for name in ["bus", "fs", "irq", "sys", "sysrq-trigger"] {
        let place = proc.join(name);
        if place.exists() {
            mount(Some(&place), &place, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)?;
            let read_only = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
            mount(NONE, &place, NONE, read_only | flags, NONE)?;
        }
    }
    for name in ["kcore", "keys", "key-users", "sched_debug", "timer_list", "kallsyms", "kmsg"] {
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

/// Shows a path of the host at the same place; one that is not there is not shown.
fn bind(path: &Path, writable: bool) -> nix::Result<()> {
    let source = of_host(path);
    if !source.exists() {
        return Ok(());
    }
    let place = make_place(path)?;
    mount(Some(&source), &place, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)?;
    // What is locked by the namespace that it comes from has to stay.
    let found = statvfs(&place)?.flags();
    let mut flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    for (had, keep) in [
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ] {
        flags.set(keep, found.contains(had));
    }
    flags.set(MsFlags::MS_RDONLY, !writable || found.contains(FsFlags::ST_RDONLY));
    mount(NONE, &place, NONE, flags, NONE)
}

/// Covers a path below a root, if it is there.
fn hide(path: &Path) -> nix::Result<()> {
    let place = inside(path);
    match fs::symlink_metadata(&place) {
        Ok(found) if found.is_dir() => {
            mount(Some("none"), &place, Some("tmpfs"), MsFlags::MS_RDONLY, Some("size=4k"))
        }
        Ok(_) => mount(Some(&of_host("/dev/null")), &place, NONE, MsFlags::MS_BIND, NONE),
        Err(_) => Ok(()),
    }
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
fn errno(error: std::io::Error) -> nix::errno::Errno {
    nix::errno::Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO))
}

#[cfg(test)]
#[path = "root_tests.rs"]
mod tests;
