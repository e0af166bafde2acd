//! Stage 3, exec: it gives up its rights, and becomes the program.

use std::convert::Infallible;
use std::ffi::{CString, NulError};
use std::fs;
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use avocet_protocol::ignore_result;
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope, path_beneath_rules,
};
use nix::fcntl::AtFlags;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{AccessFlags, access, dup2_stderr, dup2_stdin, dup2_stdout, execveat};
use rustix::fs::{OFlags, open};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits,
};

use super::conceal::find_concealed_paths;
use super::filter;
use super::plan::{
    DEVICES, HIDDEN, Isolation, OF_THE_KERNEL, ProgramRights, SandboxLimits, SandboxPlan,
};
use super::report::{StageContext, StageError, StageReport};
use super::streams::{ProgramEnds, hand_over_streams};

/// The newest Landlock version that this code knows. An older kernel provides a part of it.
const LANDLOCK: ABI = ABI::V7;
/// The oldest version that confines a program without namespaces (Linux 6.12). Earlier ones let
/// programs send signals to outside processes and, before Linux 6.2, `truncate` outside files.
const LEAST: ABI = ABI::V6;

pub(super) fn run(plan: &SandboxPlan) -> Result<(), StageError> {
    nix::unistd::setsid().context("a session of its own")?;
    let changed = std::env::set_current_dir(&plan.directory);
    changed.map_err(|error| program_fault(plan, &error))?;
    // If memory is short, the program is killed first: the stages have to report, and the daemon
    // has to live.
    ignore_result(
        fs::write("/proc/self/oom_score_adj", "500"),
        "a system that forbids it chooses by itself what it kills first",
    );
    set_limits(plan.limits).context("limits")?;
    if plan.isolation == Isolation::Landlock {
        // The filter lets programs set only modes that give rights to the owner alone. New files
        // get such modes, too.
        umask(Mode::from_bits_truncate(0o077));
    }
    drop_capabilities(plan.isolation).context("capabilities")?;
    rustix::thread::set_no_new_privs(true).context("no new privileges")?;
    if plan.isolation.has_layers() {
        restrict_paths(plan)?;
    }
    // Stages report on standard error, which the program must not have.
    let report = std::io::stderr().as_fd().try_clone_to_owned().context("the report")?;
    // The filter may refuse to send streams.
    let streams = if plan.streamed { hand_over_streams() } else { ProgramEnds::output_only() };
    let streams = streams.context("the streams")?;
    let [name, arguments @ ..] = &plan.program[..] else {
        return Err(StageError(StageReport::Program("there is no program to run".to_owned())));
    };
    // The lookup has to come first, while programs can still be executed.
    let alone =
        (plan.rights == ProgramRights::Alone).then(|| find_program(plan, name)).transpose()?;
    if plan.isolation.has_layers() {
        filter::apply_filters(plan).context("the system call filter")?;
    }
    let failed = match alone {
        Some(program) => become_alone(plan, &program, &streams),
        None => Command::new(name)
            .args(arguments)
            .env_clear()
            .envs(plan.environment.iter().map(|(name, value)| (name, value)))
            .stdin(streams.stdin)
            .stdout(streams.stdout)
            .stderr(streams.stderr)
            .exec(),
    };
    let StageError(fault) = program_fault(plan, &failed);
    fault.write_to(&mut fs::File::from(report));
    Ok(())
}

/// Opens a program found in `PATH`.
fn find_program(plan: &SandboxPlan, name: &str) -> Result<OwnedFd, StageError> {
    let path = plan.environment.iter().find(|(name, _)| name == "PATH");
    let directories = path.map_or("", |(_, path)| path.as_str()).split(':').map(Path::new);
    let mut places = directories.map(|directory| directory.join(name));
    let found = places.find(|place| access(place, AccessFlags::X_OK).is_ok() && place.is_file());
    let found = found.ok_or_else(|| program_fault(plan, &ErrorKind::NotFound.into()))?;
    open(&found, OFlags::PATH | OFlags::CLOEXEC, rustix::fs::Mode::empty())
        .map_err(|error| program_fault(plan, &error.into()))
}

/// Becomes a program that cannot execute another one. Returns only on failure, with the error.
fn become_alone(plan: &SandboxPlan, program: &OwnedFd, streams: &ProgramEnds) -> std::io::Error {
    let texts = |texts: &mut dyn Iterator<Item = String>| -> Result<Vec<CString>, NulError> {
        texts.map(CString::new).collect()
    };
    let become_it = || -> std::io::Result<Infallible> {
        let arguments = texts(&mut plan.program.iter().cloned())?;
        let pairs = plan.environment.iter().map(|(name, value)| format!("{name}={value}"));
        let environment = texts(&mut { pairs })?;
        dup2_stdin(&streams.stdin)?;
        dup2_stdout(&streams.stdout)?;
        dup2_stderr(&streams.stderr)?;
        Ok(execveat(program, c"", &arguments, &environment, AtFlags::AT_EMPTY_PATH)?)
    };
    match become_it() {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

fn program_fault(plan: &SandboxPlan, error: &std::io::Error) -> StageError {
    let name = plan.program.first().map_or("", String::as_str);
    StageError(match error.kind() {
        ErrorKind::NotFound => StageReport::NoProgram(name.to_owned()),
        _ => StageReport::Program(format!("{name} cannot be run: {error}")),
    })
}

/// Address space that programs reserve beside the memory that they write to, in bytes. V8 takes 10
/// GiB around the memory of one WebAssembly module (measured: Node 12 GiB in all, 1 GiB without).
/// Java adapts to the available space.
const RESERVED: u64 = 16 << 30;

fn set_limits(limits: SandboxLimits) -> nix::Result<()> {
    for (resource, most) in [
        // This bounds shared memory, which `RLIMIT_DATA` leaves out.
        (Resource::RLIMIT_AS, limits.memory_bytes.saturating_add(RESERVED)),
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_CPU, limits.cpu_seconds),
        (Resource::RLIMIT_DATA, limits.memory_bytes),
        (Resource::RLIMIT_FSIZE, limits.file_bytes),
        (Resource::RLIMIT_MEMLOCK, 64 << 10),
        (Resource::RLIMIT_NOFILE, limits.open_files),
        (Resource::RLIMIT_NPROC, limits.processes),
    ] {
        setrlimit(resource, most, most)?;
    }
    Ok(())
}

/// Gives up every capability, for this process and the program that it becomes, even for root.
fn drop_capabilities(isolation: Isolation) -> rustix::io::Result<()> {
    clear_ambient_capability_set()?;
    let may = rustix::thread::capabilities(None)?.effective.contains(CapabilitySet::SETPCAP);
    if isolation.has_namespaces() || may {
        let bits = CapabilitiesSecureBits::NO_ROOT | CapabilitiesSecureBits::NO_ROOT_LOCKED;
        set_capabilities_secure_bits(bits)?;
        for capability in CapabilitySet::all() {
            match remove_capability_from_bounding_set(capability) {
                // The kernel does not know this capability.
                Err(rustix::io::Errno::INVAL) | Ok(()) => {}
                Err(error) => return Err(error),
            }
        }
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

/// Applies Landlock. With namespaces it is the second layer around files, processes and sockets.
/// Without them it is the first one, and all of it is required.
fn restrict_paths(plan: &SandboxPlan) -> Result<(), StageError> {
    let mut hidden: Vec<PathBuf> = HIDDEN.iter().map(PathBuf::from).collect();
    hidden.extend_from_slice(&plan.hidden);
    if !plan.isolation.has_namespaces() {
        // Landlock grants rights to whole directories. In writable directories secrets stay
        // visible: hiding them would also stop programs from making files beside them.
        let read = plan.roots.iter().filter(|root| !root.writable);
        hidden.extend(find_concealed_paths(plan, read, Path::new("/")).context("secrets")?.covered);
    }
    restrict_with_landlock(plan, &hidden).context("Landlock")
}

fn restrict_with_landlock(
    plan: &SandboxPlan,
    hidden: &[PathBuf],
) -> Result<(), landlock::RulesetError> {
    let has_namespaces = plan.isolation.has_namespaces();
    let (abi, level) = if has_namespaces {
        (LANDLOCK, CompatLevel::BestEffort)
    } else {
        (LEAST, CompatLevel::HardRequirement)
    };
    let all = AccessFs::from_all(abi);
    let read = AccessFs::from_read(abi);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
    let mut ruleset = Ruleset::default()
        .set_compatibility(level)
        .handle_access(all)?
        .scope(Scope::from_all(abi))?;
    if !has_namespaces {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
    }
    let created = ruleset.create()?.set_compatibility(CompatLevel::BestEffort);
    let created = if has_namespaces {
        // The root contains only readable paths.
        created
            .add_rules(path_beneath_rules(["/"], read))?
            .add_rules(path_beneath_rules(["/tmp", "/dev/shm"], all))?
            .add_rules(path_beneath_rules(plan.writable_paths(), all))?
    } else {
        created
            .add_rules(path_beneath_rules(without_hidden(hidden, plan.readable_paths()), read))?
            .add_rules(path_beneath_rules(without_hidden(hidden, plan.writable_paths()), all))?
            .add_rules(path_beneath_rules(OF_THE_KERNEL, AccessFs::ReadFile))?
    };
    created.add_rules(path_beneath_rules(DEVICES, device))?.restrict_self()?;
    Ok(())
}

/// Returns these paths without the hidden ones below them. Landlock cannot take a right back, so a
/// directory with a hidden path in it is replaced by its other entries.
fn without_hidden<'a>(hidden: &[PathBuf], paths: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    let hidden: Vec<_> = hidden.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    let paths = paths.filter_map(|path| fs::canonicalize(path).ok());
    paths.flat_map(|path| split_around_hidden(path, &hidden)).collect()
}

fn split_around_hidden(path: PathBuf, hidden: &[PathBuf]) -> Vec<PathBuf> {
    if hidden.iter().any(|one| path.starts_with(one)) {
        return Vec::new();
    }
    if !hidden.iter().any(|one| one.starts_with(&path)) {
        return vec![path];
    }
    let entries = fs::read_dir(&path).into_iter().flatten().flatten();
    // A rule for a link would open its target.
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    entries.flat_map(|entry| split_around_hidden(entry.path(), hidden)).collect()
}
