//! The file format of the cases.

use std::path::Path;

use avocet_sandbox::{Isolation, SandboxLimits};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EscapeCorpus {
    /// The content of `attempt.py` in the workspace.
    #[serde(default)]
    pub(crate) attempt: String,
    pub(crate) case: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) script: String,
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    pub(crate) only: Option<SandboxKind>,
    #[serde(default)]
    pub(crate) why: String,
    #[serde(default)]
    pub(crate) ends: Ends,
    pub(crate) load: Option<ResourceLoad>,
    pub(crate) prints: Option<String>,
}

/// The kinds of sandboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SandboxKind {
    Namespaces,
    /// With namespaces, and a way to hosts.
    #[serde(skip)]
    Opened,
    Landlock,
}

impl SandboxKind {
    pub(crate) fn has_namespaces(self) -> bool {
        self != Self::Landlock
    }

    pub(crate) fn isolation(self) -> Isolation {
        match self {
            Self::Namespaces | Self::Opened => Isolation::Namespaces,
            Self::Landlock => Isolation::Landlock,
        }
    }
}

/// The expected end of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ends {
    #[default]
    Itself,
    TimedOut,
    Signal,
    Any,
}

/// The resource that a case uses up, which is limited therefore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResourceLoad {
    Time,
    Forks,
    Memory,
    /// Memory that is reserved only.
    Segments,
    /// Memory that processes share.
    Shared,
    Processor,
    Disk,
    /// Bytes that all processes write together.
    Written,
    Open,
}

impl ResourceLoad {
    /// Returns `true` if the case could harm the machine without its limit.
    pub(crate) fn is_heavy(self) -> bool {
        matches!(self, Self::Forks | Self::Memory)
    }

    pub(crate) fn limits(self) -> SandboxLimits {
        let mut limits = SandboxLimits::default();
        match self {
            Self::Time => {}
            Self::Forks => limits.processes = 64,
            Self::Memory | Self::Segments => limits.memory_bytes = 256 << 20,
            Self::Shared => limits.memory_bytes = 128 << 20,
            Self::Processor => limits.cpu_seconds = 1,
            Self::Disk => limits.file_bytes = 8 << 20,
            Self::Written => limits.disk_bytes = 64 << 20,
            Self::Open => limits.open_files = 64,
        }
        limits
    }
}

impl EscapeCorpus {
    pub(crate) fn read(text: &str) -> Self {
        let corpus: Self = toml::from_str(text).unwrap();
        for case in &corpus.case {
            assert_eq!(case.only.is_some(), !case.why.is_empty(), "{}: only, and why", case.name);
        }
        corpus
    }
}

impl Case {
    /// Returns the first program that this system lacks.
    pub(crate) fn missing(&self, path: &str) -> Option<&str> {
        let found = |name: &str| path.split(':').any(|one| Path::new(one).join(name).exists());
        self.needs.iter().map(String::as_str).find(|name| !found(name))
    }
}
