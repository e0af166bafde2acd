//! The plan of a sandbox, which the daemon sends to its stages.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::protection::ProtectedKind;

/// The protection around a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Isolation {
    /// Namespaces, and the other layers if they are available.
    Namespaces,
    /// Landlock and the filter of system calls alone.
    Landlock,
    /// Limits, an environment and its own session, without a sandbox layer: the program can
    /// reach everything that the daemon's user can reach.
    LimitsOnly,
}

impl Isolation {
    pub(crate) fn has_namespaces(self) -> bool {
        self == Self::Namespaces
    }

    pub(crate) fn has_layers(self) -> bool {
        self != Self::LimitsOnly
    }
}

/// The resources that a program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// Processes and threads at the same time. Applies to ordinary users, and to root if the kernel
    /// counts by PID namespace (Linux 6.14) or the sandbox has a control group.
    pub processes: u64,
    /// Bytes of memory. With a control group, the limit of all processes together. Without one, the
    /// limit of one process's private memory plus the shared memory of all: shared mappings,
    /// segments, and files in `/tmp` and `/dev/shm`.
    pub memory_bytes: u64,
    /// Bytes that all processes together may write to disk, less those that they remove before they
    /// are written. Also the bytes by which the writable directories may grow.
    pub disk_bytes: u64,
    /// Bytes of one file, and of all files in `/tmp` together.
    pub file_bytes: u64,
    /// Files that one process may have open.
    pub open_files: u64,
    /// Seconds of processor time that one process may take.
    pub cpu_seconds: u64,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        const GIB: u64 = 1 << 30;
        Self {
            processes: 512,
            memory_bytes: 4 * GIB,
            disk_bytes: 10 * GIB,
            file_bytes: GIB,
            open_files: 1024,
            cpu_seconds: 600,
        }
    }
}

/// A directory or file of the host that is visible in a sandbox, at the same path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SandboxRoot {
    pub(crate) path: PathBuf,
    pub(crate) writable: bool,
}

/// The rights of a program beyond those of all programs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProgramRights {
    /// Any program. Protected paths are read-only.
    #[default]
    Ordinary,
    /// git, which may change the configuration of these repositories and the protected files in
    /// them. Hooks stay read-only.
    Git(Vec<GitPlace>),
    /// A program that cannot execute another one.
    Alone,
}

/// A repository in which git may change protected paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitPlace {
    /// The directory of the checked-out files; `None` for a bare repository.
    pub worktree: Option<PathBuf>,
    /// Directories with configuration: of the worktree and of the whole repository.
    pub git_dirs: Vec<PathBuf>,
}

impl GitPlace {
    /// Returns `true` if all paths are UTF-8. Other paths do not fit into a plan.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.worktree.iter().chain(&self.git_dirs).all(|path| path.to_str().is_some())
    }
}

impl ProgramRights {
    pub(crate) fn may_change(&self, path: &Path, kind: ProtectedKind) -> bool {
        let Self::Git(places) = self else { return false };
        places.iter().any(|GitPlace { worktree, git_dirs }| match kind {
            ProtectedKind::Config | ProtectedKind::Link => {
                git_dirs.iter().any(|directory| path.starts_with(directory))
            }
            ProtectedKind::Other => {
                worktree.as_ref().is_some_and(|worktree| path.starts_with(worktree))
            }
            ProtectedKind::Hooks => false,
        })
    }
}

/// A program and its sandbox. Each stage reads this as one line of JSON from standard input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SandboxPlan {
    /// The program and its arguments.
    pub(crate) program: Vec<String>,
    /// The working directory, below one of the roots.
    pub(crate) directory: PathBuf,
    /// The whole environment of the program.
    pub(crate) environment: Vec<(String, String)>,
    /// Visible paths beside the system.
    pub(crate) roots: Vec<SandboxRoot>,
    /// Invisible paths below the roots.
    pub(crate) hidden: Vec<PathBuf>,
    /// Patterns of files that are shown although they have the names of secrets; `None` if all
    /// secrets are shown.
    pub(crate) secrets_but: Option<Vec<String>>,
    /// Patterns of protected paths.
    pub(crate) protected: Vec<String>,
    pub(crate) rights: ProgramRights,
    pub(crate) limits: SandboxLimits,
    /// `true` if memory is measured, in place of a control group.
    pub(crate) meters_memory: bool,
    pub(crate) isolation: Isolation,
    /// `true` if programs find a proxy in their network.
    pub(crate) proxied: bool,
    /// `true` if the daemon gets the program's three standard streams, through the standard output
    /// of the stages, which is then a socket. Otherwise the program has no input, and both of its
    /// outputs are the standard output of the stages.
    pub(crate) streamed: bool,
}

/// Visible paths of the system: the programs and libraries that everything needs. Missing ones are
/// skipped.
pub const SYSTEM_PATHS: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// Visible files of the system's configuration, which programs read to find libraries, names,
/// certificates and the time. All of them are public; the rest of `/etc` is invisible.
pub(crate) const CONFIGURATION: [&str; 26] = [
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/profile",
    "/etc/protocols",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
];

/// Hidden parts of the visible system, in which additional programs keep their configuration.
pub(crate) const HIDDEN: [&str; 1] = ["/usr/local/etc"];

/// Harmless devices that scripts need.
pub(crate) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Files of the kernel that programs read if they lack a `/proc` of their own. They tell nothing
/// about processes.
pub(crate) const OF_THE_KERNEL: [&str; 6] = [
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/uptime",
];

impl SandboxPlan {
    pub(crate) fn readable_paths(&self) -> impl Iterator<Item = &Path> {
        let of_the_system = SYSTEM_PATHS.iter().chain(&CONFIGURATION).map(Path::new);
        of_the_system.chain(self.roots.iter().map(|root| root.path.as_path()))
    }

    pub(crate) fn writable_paths(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().filter(|root| root.writable).map(|root| root.path.as_path())
    }
}
