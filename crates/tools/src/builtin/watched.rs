//! Watches a program while it runs, and reports to the model.

use std::path::PathBuf;

use avocet_protocol::access::Trust;
use avocet_sandbox::{
    ProgramRights, ProgramSandbox, ProtectedChanges, ProtectionGuard, ReachedHosts, SandboxOutput,
    WatchedProgram, Workspace,
};
use avocet_supervise::run_blocking;
use serde_json::{Map, Value};

/// Paths that are listed at most.
const SHOWN: usize = 10;
/// Error messages of programs for a path that is read-only or must keep its name.
const REFUSALS: [&str; 2] = ["Read-only file system", "Device or resource busy"];

/// Notes about a program, besides its output.
#[derive(Debug, Clone, Default)]
pub(super) struct ProgramNotes {
    /// The hosts that it connected to.
    pub(super) reached: Vec<String>,
    /// Files that it left at protected paths, with the action taken.
    pub(super) aside: Vec<String>,
    /// Protected paths that were read-only, if the program complained about one.
    pub(super) read_only: Vec<PathBuf>,
}

impl ProgramNotes {
    pub(super) fn add_to(self, result: &mut Map<String, Value>) {
        let Self { reached, mut aside, read_only } = self;
        if !reached.is_empty() {
            result.insert("reached".to_owned(), reached.into());
        }
        if !aside.is_empty() {
            let more = aside.len().saturating_sub(SHOWN);
            aside.truncate(SHOWN);
            aside.extend((more > 0).then(|| format!("and {more} more")));
            result.insert("set_aside".to_owned(), aside.into());
            let why = "The content of these files would be run outside of the sandbox, by git, a \
                shell or an editor. The user can check them and rename them back; write_file asks \
                the user first.";
            result.insert("set_aside_because".to_owned(), why.into());
        }
        if !read_only.is_empty() {
            let paths: Vec<String> =
                read_only.iter().map(|path| path.display().to_string()).collect();
            let why = format!(
                "These paths are read-only for programs, because their content is run outside of \
                    the sandbox: {}. To change them, use write_file or delete_file, which ask the \
                    user. For files that git itself writes, use a command of only git.",
                paths.join(", ")
            );
            result.insert("read_only".to_owned(), why.into());
        }
    }
}

/// The read-only paths, if the output suggests that one of them was refused.
pub(super) fn refused_paths(output: &str, read_only: Vec<PathBuf>) -> Vec<PathBuf> {
    if REFUSALS.iter().any(|refusal| output.contains(refusal)) { read_only } else { Vec::new() }
}

/// Watches a program's reads and its changes at protected paths. Settle or drop this once all
/// processes of the program have ended.
#[derive(Debug)]
pub(super) struct ProgramWatch {
    watch: WatchedProgram,
    guard: ProtectionGuard,
}

impl ProgramWatch {
    /// Begins to watch; call it before the program starts. This blocks.
    pub(super) fn new(
        sandbox: &ProgramSandbox,
        rights: &ProgramRights,
        workspace: &Workspace,
    ) -> Self {
        Self { guard: sandbox.guard_protected_paths(rights), watch: workspace.watch_program() }
    }

    /// The lowest trust level of the data that it has read so far.
    pub(super) fn least_trust(&self) -> Trust {
        self.watch.least_trust()
    }

    /// Lowers the trust if the output shows an odd name of an untrusted file.
    pub(super) fn note_output(&self, output: &SandboxOutput) {
        self.watch.note_output(|| output.to_text());
    }

    pub(super) fn reached_hosts(&self) -> ReachedHosts {
        self.watch.reached_hosts()
    }

    /// Protected paths that are read-only for the program.
    pub(super) fn read_only(&self) -> Vec<PathBuf> {
        self.guard.read_only().take(SHOWN).collect()
    }

    /// Returns the trust level of the program's output, and the files that were set aside.
    pub(super) async fn settle_changes(self) -> (Trust, Vec<String>) {
        let settle = move || {
            // Set files aside first, so that they get their trust mark too.
            let ProtectedChanges { aside, kept } = self.guard.settle_changes();
            (self.watch.settle_but(&kept), aside)
        };
        run_blocking(settle).await.unwrap_or((Trust::Low, Vec::new()))
    }
}
