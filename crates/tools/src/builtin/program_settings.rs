//! The operator's settings for programs.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::tool::Caution;
use avocet_sandbox::{Isolation, ProgramSandbox};

use super::background::BackgroundPrograms;

/// The operator's settings for programs.
#[derive(Debug, Clone)]
pub struct ProgramSettings {
    /// The sandbox that commands run in.
    pub sandbox: Arc<ProgramSandbox>,
    /// The longest timeout of a command in the foreground.
    pub longest: Duration,
    /// The permitted programs, `*` for any characters. Empty permits all.
    pub commands: Vec<String>,
    /// Programs that run in the background.
    pub background: Arc<BackgroundPrograms>,
    /// Runs the operator's own commands, without sandbox layers.
    pub outside: Arc<ProgramSandbox>,
}

impl ProgramSettings {
    /// A command without a sandbox always needs approval.
    pub(super) fn caution_by_isolation(&self) -> Caution {
        match self.sandbox.isolation {
            Isolation::Namespaces | Isolation::Landlock => Caution::ByTrust,
            Isolation::LimitsOnly => Caution::Always,
        }
    }

    /// Returns `true` if nothing that a program does leaves the sandbox.
    pub(super) fn keeps_programs_inside(&self) -> bool {
        self.sandbox.isolation == Isolation::Namespaces && self.sandbox.opened_hosts().is_none()
    }

    /// The hosts that programs can connect to, if any are open to them.
    pub(super) fn opened_hosts(&self) -> Option<String> {
        self.sandbox.opened_hosts().map(|proxy| proxy.hosts_text())
    }
}
