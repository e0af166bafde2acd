//! The filter of system calls. It allows the calls that programs need, and refuses those that
//! bypass the other sandbox layers or reach deep into the kernel.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use super::plan::{Isolation, ProgramRights, SandboxPlan};

/// The last system call that this filter knows (Linux 6.18, `listns`). Newer ones are reported as
/// missing, so that libraries fall back to known ones.
const LAST: c_long = 470;

/// Puts a character into the input of a terminal (ioctl_tty(2)). The type in `libc` depends on the
/// C library.
const TIOCSTI: u64 = 0x5412;
/// Pastes the selection of a console, among other requests (ioctl_console(2)).
const TIOCLINUX: u64 = 0x541C;

/// Refused: calls for other processes, namespaces, mounts, kernel modules, keys and time, and calls
/// through which the kernel was attacked again and again.
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

/// Calls that are also refused without namespaces. They reach objects outside of the sandbox by
/// names other than paths, or in ways that Landlock does not cover (owners by path, watches on
/// directories).
/// Setting times by path stays allowed, because unpacking an archive needs it.
const ELSEWHERE: &[c_long] = &[
    libc::SYS_fchownat,
    libc::SYS_inotify_add_watch,
    libc::SYS_migrate_pages,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgctl,
    libc::SYS_msgget,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_semctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmget,
    FILE_SETATTR,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
];

/// Reported as missing although the kernel has them; programs do without them on older kernels. The
/// filter cannot read the flags of `clone3` and the modes of `openat2`, which are in memory. The
/// memory of files without a name escapes all limits.
const ABSENT: [c_long; 4] =
    [libc::SYS_clone3, libc::SYS_memfd_create, libc::SYS_memfd_secret, libc::SYS_openat2];

/// Extended attributes hold the trust of the files of a workspace, so the filter refuses changes of
/// them. The calls fail as on a file system without attributes.
const ATTRIBUTES: [c_long; 8] = [
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_setxattr,
    SETXATTRAT,
    REMOVEXATTRAT,
];

// From <asm-generic/unistd.h>; the same on all architectures.
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const FILE_SETATTR: c_long = 469;

/// Flags of `clone` that make a namespace.
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

/// Applies the filters permanently. Without namespaces of its own, the program gets connected pairs
/// as its only sockets, and can change only its own objects.
pub(super) fn apply_filters(plan: &SandboxPlan) -> Result<(), Box<dyn std::error::Error>> {
    // If several filters apply, the strictest one decides.
    apply_filter(&known_calls_filter()?)?;
    apply_filter(&refusals_filter(plan.isolation)?)?;
    apply_filter(&attributes_filter()?)?;
    apply_filter(&large_mappings(plan.limits.memory_bytes)?)?;
    if plan.rights == ProgramRights::Alone {
        apply_filter(&no_execution()?)?;
    }
    Ok(())
}

/// A filter that reports unknown system calls as missing. It also keeps out the numbers of the x32
/// ABI.
fn known_calls_filter() -> Result<BpfProgram, Box<dyn std::error::Error>> {
    let numbers = (0..=LAST).filter(|number| !ABSENT.contains(number));
    let rules = numbers.map(|number| (number, Vec::new())).collect();
    let (allow, absent) =
        (SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS.cast_unsigned()));
    Ok(SeccompFilter::new(rules, absent, allow, std::env::consts::ARCH.try_into()?)?.try_into()?)
}

fn attributes_filter() -> Result<BpfProgram, Box<dyn std::error::Error>> {
    let rules = ATTRIBUTES.into_iter().map(|number| (number, Vec::new())).collect();
    let (allow, absent) =
        (SeccompAction::Allow, SeccompAction::Errno(libc::EOPNOTSUPP.cast_unsigned()));
    Ok(SeccompFilter::new(rules, allow, absent, std::env::consts::ARCH.try_into()?)?.try_into()?)
}

/// A filter that keeps a program with `ProgramRights::Alone` from executing another one. It refuses
/// `execve`, which C libraries use for that; the program itself is started by `execveat`.
fn no_execution() -> Result<BpfProgram, Box<dyn std::error::Error>> {
    let rules = BTreeMap::from([(libc::SYS_execve, Vec::new())]);
    let (allow, refuse) =
        (SeccompAction::Allow, SeccompAction::Errno(libc::EACCES.cast_unsigned()));
    Ok(SeccompFilter::new(rules, allow, refuse, std::env::consts::ARCH.try_into()?)?.try_into()?)
}

/// A filter that refuses shared mappings without a file above the memory limit. Otherwise only the
/// meter would see them, and only at its next measurement.
fn large_mappings(most: u64) -> Result<BpfProgram, Box<dyn std::error::Error>> {
    const LENGTH: u8 = 1;
    const FLAGS: u8 = 3;
    let shared = bits_are_set(FLAGS, (libc::MAP_SHARED | libc::MAP_ANONYMOUS).cast_unsigned());
    let large = rule_for_all(&[(LENGTH, SeccompCmpArgLen::Qword, SeccompCmpOp::Gt, most), shared])?;
    let rules = BTreeMap::from([(libc::SYS_mmap, vec![large])]);
    let (allow, no_memory) =
        (SeccompAction::Allow, SeccompAction::Errno(libc::ENOMEM.cast_unsigned()));
    Ok(SeccompFilter::new(rules, allow, no_memory, std::env::consts::ARCH.try_into()?)?
        .try_into()?)
}

fn refusals_filter(isolation: Isolation) -> Result<BpfProgram, Box<dyn std::error::Error>> {
    let has_namespaces = isolation.has_namespaces();
    let elsewhere = if has_namespaces { &[] } else { ELSEWHERE };
    let mut rules: SyscallRules =
        REFUSED.iter().chain(elsewhere).map(|number| (*number, Vec::new())).collect();
    let of_namespaces = NAMESPACES.into_iter().map(|flag| rule_for_bits(0, flag.cast_unsigned()));
    rules.insert(libc::SYS_clone, of_namespaces.collect::<Result<_, _>>()?);
    // These requests write into the terminal that the daemon may have been started from.
    let of_terminals = [TIOCSTI, TIOCLINUX]
        .map(|request| rule_for_all(&[(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request)]));
    rules.insert(libc::SYS_ioctl, of_terminals.into_iter().collect::<Result<_, _>>()?);
    let families: &[i32] = if has_namespaces {
        &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]
    } else {
        &[]
    };
    let others: Vec<_> = families.iter().map(|family| other_than(0, *family)).collect();
    let other_families = if others.is_empty() { Vec::new() } else { vec![rule_for_all(&others)?] };
    rules.insert(libc::SYS_socket, other_families);
    rules.insert(libc::SYS_socketpair, vec![rule_for_all(&[other_than(0, libc::AF_UNIX)])?]);
    refuse_other_users(&mut rules)?;
    if !has_namespaces {
        refuse_elsewhere(&mut rules)?;
    }
    let (allow, refuse) = (SeccompAction::Allow, SeccompAction::Errno(libc::EPERM.cast_unsigned()));
    Ok(SeccompFilter::new(rules, allow, refuse, std::env::consts::ARCH.try_into()?)?.try_into()?)
}

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refuses the setuid and setgid bits. The sandbox ignores these bits, but outside such a file runs
/// as its owner or group.
fn refuse_other_users(rules: &mut SyscallRules) -> Result<(), seccompiler::BackendError> {
    const BITS: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];
    for (number, mode) in [
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (libc::SYS_fchmodat2, 2),
        (libc::SYS_mkdirat, 2),
        (libc::SYS_mknodat, 2),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_chmod, 1),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_creat, 1),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mkdir, 1),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mknod, 1),
    ] {
        let refused = BITS.into_iter().map(|bit| rule_for_all(&[bits_are_set(mode, bit)]));
        rules.insert(number, refused.collect::<Result<_, _>>()?);
    }
    // The mode counts only if a file is made; otherwise the argument holds any value.
    for (number, flags) in [
        (libc::SYS_openat, 2),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, 1),
    ] {
        let making = [libc::O_CREAT, libc::O_TMPFILE].map(i32::cast_unsigned);
        let refused = making.into_iter().flat_map(|making| {
            BITS.map(|bit| {
                rule_for_all(&[bits_are_set(flags, making), bits_are_set(flags + 1, bit)])
            })
        });
        rules.insert(number, refused.collect::<Result<_, _>>()?);
    }
    Ok(())
}

/// Refuses, without namespaces, those uses of common system calls that affect other processes and
/// users.
fn refuse_elsewhere(rules: &mut SyscallRules) -> Result<(), seccompiler::BackendError> {
    const KIND: u64 = 0xf;
    // The first argument is the process, and 0 means the calling one.
    for number in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setscheduler,
    ] {
        rules.insert(number, vec![rule_for_all(&[other_than(0, 0)])?]);
    }
    // The same for calls in which the first argument tells the meaning of the second one: a
    // process, a group, or a user.
    for (number, process) in [(libc::SYS_ioprio_set, 1), (libc::SYS_setpriority, 0)] {
        let (others, another) = (other_than(0, process), other_than(1, 0));
        rules.insert(number, vec![rule_for_all(&[others])?, rule_for_all(&[another])?]);
    }
    // A datagram socket of a pair can send to any other socket.
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
        let masked = SeccompCmpOp::MaskedEq(KIND);
        let pair = (1, SeccompCmpArgLen::Dword, masked, u64::from(kind.cast_unsigned()));
        rules.entry(libc::SYS_socketpair).or_default().push(rule_for_all(&[pair])?);
    }
    refuse_modes(rules)
}

/// Restricts modes, which Landlock leaves open. A path may lead anywhere, so a mode set by path
/// must give the right to read and write to the owner alone. Files are then neither exposed to
/// others nor closed to their owner. On an open file, write access for everybody is refused.
fn refuse_modes(rules: &mut SyscallRules) -> Result<(), seccompiler::BackendError> {
    let refused = |argument, most: u32, least: u32| {
        let single = (0..12).map(|bit| 1_u32 << bit);
        let missing = single.clone().filter(move |bit| least & bit != 0).map(move |bit| {
            let masked = SeccompCmpOp::MaskedEq(u64::from(bit));
            rule_for_all(&[(argument, SeccompCmpArgLen::Dword, masked, 0)])
        });
        let surplus =
            single.filter(move |bit| most & bit == 0).map(move |bit| rule_for_bits(argument, bit));
        surplus.chain(missing).collect::<Result<Vec<_>, _>>()
    };
    rules.insert(libc::SYS_fchmod, refused(1, 0o0775, 0o400)?);
    rules.insert(libc::SYS_fchmodat, refused(2, 0o0700, 0o600)?);
    rules.insert(libc::SYS_fchmodat2, refused(2, 0o0700, 0o600)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_chmod, refused(1, 0o0700, 0o600)?);
    Ok(())
}

/// A rule for an argument with all of these bits.
fn rule_for_bits(argument: u8, bits: u32) -> Result<SeccompRule, seccompiler::BackendError> {
    rule_for_all(&[bits_are_set(argument, bits)])
}

fn bits_are_set(argument: u8, bits: u32) -> (u8, SeccompCmpArgLen, SeccompCmpOp, u64) {
    let masked = SeccompCmpOp::MaskedEq(u64::from(bits));
    (argument, SeccompCmpArgLen::Dword, masked, u64::from(bits))
}

/// A condition for an argument with another value.
fn other_than(argument: u8, value: i32) -> (u8, SeccompCmpArgLen, SeccompCmpOp, u64) {
    let value = u64::from(value.cast_unsigned());
    (argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

/// A rule for arguments that meet all of these conditions.
fn rule_for_all(
    conditions: &[(u8, SeccompCmpArgLen, SeccompCmpOp, u64)],
) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = conditions.iter().map(|(argument, width, compare, value)| {
        SeccompCondition::new(*argument, width.clone(), compare.clone(), *value)
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}
