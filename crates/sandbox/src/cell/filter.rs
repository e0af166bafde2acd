//! Which system calls a program has: those that programs need, and none that reaches around the other
//! walls or into the depths of the kernel.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

/// The last system call that is known here (Linux 6.18, `listns`): a newer one is none, so that libraries
/// fall back to those that the filter understands.
const LAST: c_long = 470;

/// Refused: other processes, namespaces and mounts, kernel modules and keys, time, and what has been
/// the way into the kernel again and again.
const REFUSED: &[c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_name_to_handle_at,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
];

/// Flags of `clone` with which a namespace is made.
const NAMESPACES: [i32; 8] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWTIME,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// Applies the filters, for good. Without a network namespace of its own the program has no sockets but
/// connected pairs.
pub(super) fn apply(has_network_namespace: bool) -> Result<(), Box<dyn std::error::Error>> {
    // The stricter of both decides.
    apply_filter(&known()?)?;
    apply_filter(&refusals(has_network_namespace)?)?;
    Ok(())
}

/// Whatever is not known is not there, and `clone3`, whose flags no filter can read. Also keeps out
/// the numbers of the x32 ABI.
fn known() -> Result<BpfProgram, Box<dyn std::error::Error>> {
    let numbers = (0..=LAST).filter(|number| *number != libc::SYS_clone3);
    let rules = numbers.map(|number| (number, Vec::new())).collect();
    let (allow, absent) =
        (SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS.cast_unsigned()));
    Ok(SeccompFilter::new(rules, absent, allow, std::env::consts::ARCH.try_into()?)?.try_into()?)
}

fn refusals(has_network_namespace: bool) -> Result<BpfProgram, Box<dyn std::error::Error>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|number| (*number, Vec::new())).collect();
    let of_namespaces = NAMESPACES.into_iter().map(|flag| {
        let flag = u64::from(flag.cast_unsigned());
        rule(&[(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), flag)])
    });
    rules.insert(libc::SYS_clone, of_namespaces.collect::<Result<_, _>>()?);
    // Writing into the terminal that the daemon may have been started from.
    let of_terminals = [libc::TIOCSTI, libc::TIOCLINUX]
        .map(|request| rule(&[(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request)]));
    rules.insert(libc::SYS_ioctl, of_terminals.into_iter().collect::<Result<_, _>>()?);
    let families: &[i32] = match has_network_namespace {
        true => &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
        false => &[],
    };
    let others: Vec<_> = families
        .iter()
        .map(|family| {
            let family = u64::from(family.cast_unsigned());
            (0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
        })
        .collect();
    let other_families = if others.is_empty() { Vec::new() } else { vec![rule(&others)?] };
    rules.insert(libc::SYS_socket, other_families);
    let (allow, refuse) = (SeccompAction::Allow, SeccompAction::Errno(libc::EPERM.cast_unsigned()));
    Ok(SeccompFilter::new(rules, allow, refuse, std::env::consts::ARCH.try_into()?)?.try_into()?)
}

/// Arguments that all have to be so.
fn rule(
    conditions: &[(u8, SeccompCmpArgLen, SeccompCmpOp, u64)],
) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = conditions.iter().map(|(argument, width, compare, value)| {
        SeccompCondition::new(*argument, width.clone(), compare.clone(), *value)
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}
