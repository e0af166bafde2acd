//! Stage 1, the supervisor: it leaves the daemon's namespaces, and makes its own network.

use std::fs;
use std::os::fd::RawFd;

use avocet_protocol::ignore_result;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
    set_capabilities,
};

use super::init::supervise_program;
use super::network::{hand_over_listener, raise_loopback};
use super::plan::SandboxPlan;
use super::process_tree;
use super::report::{StageContext, StageError};
use super::stage::SandboxStage;

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
    if !plan.isolation.has_namespaces() {
        prctl::set_child_subreaper(true).context("reaping")?;
        return supervise_program(line, plan, process_tree::kill_below);
    }
    leave_user_namespace()?;
    // The lifeline needs a thread, which cannot start once children go to another PID namespace.
    process_tree::watch_lifeline(process_tree::kill_below)?;
    leave_namespaces().context("namespaces")?;
    raise_loopback().context("the loopback interface")?;
    if plan.proxied {
        hand_over_listener().context("the way to the proxy")?;
    }
    let mut init = SandboxStage::Init.start(line).context("stage 2")?;
    // `wait` would close the lifeline of the child. The child ends when its whole namespace is
    // dead.
    let lifeline = init.stdin.take();
    init.wait().context("stage 2")?;
    drop(lifeline);
    Ok(())
}

/// Closes files that the daemon itself was started with, and that it passed on unintentionally.
fn close_inherited() {
    let open = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    for number in numbers.filter(|number| *number > 2).collect::<Vec<_>>() {
        ignore_result(
            nix::unistd::close(number),
            "the file of the directory itself is closed already",
        );
    }
}

/// Enters a user namespace that contains only our own user.
fn leave_user_namespace() -> Result<(), StageError> {
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    unshare(CloneFlags::CLONE_NEWUSER).context("the user namespace")?;
    fs::write("/proc/self/setgroups", "deny").context("groups of the user namespace")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1")).context("user of the namespace")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
        .context("group of the namespace")?;
    keep_capabilities().context("capabilities of the namespace")
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
