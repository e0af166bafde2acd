//! What the stages of a cell are told.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::protection::Kind;

/// What a program may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellLimits {
    /// Processes and threads at the same time. Holds for ordinary users, and for root where the
    /// kernel counts by PID namespace (Linux 6.14) or the cell has a control group.
    pub processes: u64,
    /// Bytes of memory. With a control group, all processes together. Without one, what one process has for itself and
    /// what all of them share: shared mappings, segments, and files in `/tmp` and `/dev/shm`.
    pub memory_bytes: u64,
    /// Bytes that all processes together may write to disk, less what they remove before it is written; and bytes by
    /// which the directories that they may change may grow.
    pub disk_bytes: u64,
    /// Bytes that one file may have, and all files in `/tmp` together.
    pub file_bytes: u64,
    /// Files that one process may have open.
    pub open_files: u64,
    /// Seconds of processor time that one process may take.
    pub cpu_seconds: u64,
}

impl Default for CellLimits {
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

/// A directory or file of the host that is seen in a cell, at the same path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Root {
    pub(crate) path: PathBuf,
    pub(crate) writable: bool,
}

/// The rights of a program beside those that all have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rights {
    /// Any program. Protected paths are read-only.
    #[default]
    Ordinary,
    /// git, which may change the configuration of these repositories and the protected files in them. Hooks stay
    /// read-only.
    Git(Vec<GitPlace>),
    /// A program that cannot execute any other one.
    Alone,
}

/// A repository in which git may change protected paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitPlace {
    /// The directory whose files are checked out; `None` for a bare repository.
    pub worktree: Option<PathBuf>,
    /// Directories with configuration: of the worktree and of the whole repository.
    pub git_dirs: Vec<PathBuf>,
}

impl GitPlace {
    /// Whether its paths can be written down for the stages: others get no rights of their own.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.worktree.iter().chain(&self.git_dirs).all(|path| path.to_str().is_some())
    }
}

impl Rights {
    pub(crate) fn may_change(&self, path: &Path, kind: Kind) -> bool {
        let Self::Git(places) = self else { return false };
        places.iter().any(|GitPlace { worktree, git_dirs }| match kind {
            Kind::Config | Kind::Link => {
                git_dirs.iter().any(|directory| path.starts_with(directory))
            }
            Kind::Other => worktree.as_ref().is_some_and(|worktree| path.starts_with(worktree)),
            Kind::Hooks => false,
        })
    }
}

/// What runs in a cell, and behind which walls. One line of JSON on the standard input of each stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The program and its arguments.
    pub(crate) program: Vec<String>,
    /// Where it runs: below one of the roots.
    pub(crate) directory: PathBuf,
    /// All of its environment.
    pub(crate) environment: Vec<(String, String)>,
    /// What it sees beside the system.
    pub(crate) roots: Vec<Root>,
    /// What it does not see below the roots.
    pub(crate) hidden: Vec<PathBuf>,
    /// Patterns of files that are shown although they have the names of secrets; `None` if all secrets are shown.
    pub(crate) secrets_but: Option<Vec<String>>,
    /// Patterns of protected paths.
    pub(crate) protected: Vec<String>,
    pub(crate) rights: Rights,
    pub(crate) limits: CellLimits,
    /// Whether memory is measured, because no control group limits it.
    pub(crate) meters_memory: bool,
    /// Whether the kernel gives namespaces.
    pub(crate) namespaces: bool,
    /// Whether programs find a proxy in their network.
    pub(crate) proxied: bool,
    /// Whether there are walls at all, or limits alone.
    pub(crate) walled: bool,
}

/// Of the system: programs and libraries, without which nothing runs. What is missing is passed over.
pub(crate) const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// Of the system's configuration: what programs read to find libraries, names, certificates and the
/// time. Nothing of it is secret; the rest of `/etc` is not there.
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

/// Of what is seen of the system: where programs that are not of the system keep their configuration.
pub(crate) const HIDDEN: [&str; 1] = ["/usr/local/etc"];

/// Devices without which scripts break; none of them reaches anything.
pub(crate) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Files of the kernel that programs look at where there is no `/proc` of their own: none of them is
/// about a process.
pub(crate) const OF_THE_KERNEL: [&str; 6] = [
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/uptime",
];

impl Plan {
    /// Everything that can be read.
    pub(crate) fn readable(&self) -> impl Iterator<Item = &Path> {
        let of_the_system = SYSTEM.iter().chain(&CONFIGURATION).map(Path::new);
        of_the_system.chain(self.roots.iter().map(|root| root.path.as_path()))
    }

    /// Everything that can be written to.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().filter(|root| root.writable).map(|root| root.path.as_path())
    }
}
