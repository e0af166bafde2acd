//! The first stage, the supervisor: it leaves the daemon's namespaces, and makes a network of its
//! own.

use std::fs;
use std::os::fd::RawFd;

use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
    set_capabilities,
};

use super::init::hold;
use super::network::{hand_over_listener, raise_loopback};
use super::plan::SandboxPlan;
use super::stage::{Stage, StageError, Walled};
use super::tree;

/// The capabilities to build the file system, to give up rights, and to measure processes that have
/// made themselves unreadable.
const NEEDED: [CapabilitySet; 4] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SETPCAP,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::SYS_RESOURCE,
];

pub(super) fn run(line: &str, plan: &SandboxPlan) -> Result<(), StageError> {
    close_inherited();
    if !plan.namespaces {
        prctl::set_child_subreaper(true).walled("reaping")?;
        return hold(line, plan, tree::kill_below);
    }
    leave_user_namespace()?;
    // The lifeline needs a thread, which cannot start once children go to another PID namespace.
    tree::leash(tree::kill_below)?;
    leave_namespaces().walled("namespaces")?;
    raise_loopback().walled("the loopback interface")?;
    if plan.proxied {
        hand_over_listener().walled("the way to the proxy")?;
    }
    let mut init = Stage::Init.start(line).walled("the second stage")?;
    // `wait` would close the lifeline of the child. The child ends when its whole namespace is
    // dead.
    let leash = init.stdin.take();
    init.wait().walled("the second stage")?;
    drop(leash);
    Ok(())
}

/// Closes files that the daemon itself was started with, and that it passed on unintentionally.
fn close_inherited() {
    let open = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    for number in numbers.filter(|number| *number > 2).collect::<Vec<_>>() {
        // The file of the directory itself is closed already.
        nix::unistd::close(number).unwrap_or_default();
    }
}

/// Enters a user namespace that contains only our own user.
fn leave_user_namespace() -> Result<(), StageError> {
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    unshare(CloneFlags::CLONE_NEWUSER).walled("the user namespace")?;
    fs::write("/proc/self/setgroups", "deny").walled("groups of the user namespace")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1")).walled("user of the namespace")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
        .walled("group of the namespace")?;
    keep_capabilities().walled("capabilities of the namespace")
}

fn leave_namespaces() -> nix::Result<()> {
    unshare(
        CloneFlags::CLONE_NEWNS
            | CloneFlags::CLONE_NEWPID
            | CloneFlags::CLONE_NEWNET
            | CloneFlags::CLONE_NEWIPC
            | CloneFlags::CLONE_NEWUTS,
    )
}

/// Keeps the needed capabilities: the next stage is another program of an ordinary user, and gets
/// only ambient ones.
fn keep_capabilities() -> rustix::io::Result<()> {
    let CapabilitySets { effective, permitted, .. } = capabilities(None)?;
    let inheritable = NEEDED.into_iter().collect();
    set_capabilities(None, CapabilitySets { effective, permitted, inheritable })?;
    NEEDED.into_iter().try_for_each(|one| configure_capability_in_ambient_set(one, true))
}
