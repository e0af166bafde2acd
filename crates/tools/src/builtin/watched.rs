//! A program that is watched while it runs, and what a model is told of that.

use std::path::PathBuf;

use avocet_protocol::Trust;
use avocet_sandbox::{Cell, Guard, Guarded, Reached, Rights, Watch, Workspace};
use avocet_supervise::blocking;
use serde_json::{Map, Value};

/// Paths that are told of at once.
const SHOWN: usize = 10;
/// What programs print where a path is read-only, or has to keep its name.
const REFUSALS: [&str; 2] = ["Read-only file system", "Device or resource busy"];

/// What is told of a program beside its output.
#[derive(Debug, Clone, Default)]
pub(super) struct Notes {
    /// The hosts that it has reached.
    pub(super) reached: Vec<String>,
    /// What it has left at protected paths, and what became of that.
    pub(super) aside: Vec<String>,
    /// Protected paths that it found read-only, if it complained about that.
    pub(super) read_only: Vec<PathBuf>,
}

impl Notes {
    /// Adds them to the result of a program.
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
            let why = "What these files hold would be run outside of the sandbox, by git, a shell or an editor. The \
                user can look at them and give them their names back; write_file asks the user first.";
            result.insert("set_aside_because".to_owned(), why.into());
        }
        if !read_only.is_empty() {
            let paths: Vec<String> =
                read_only.iter().map(|path| path.display().to_string()).collect();
            let why = format!(
                "These paths are read-only for programs, because what they hold is run outside of the sandbox: {}. To \
                 change them, use write_file or delete_file, which ask the user, or for what git writes itself a \
                 command of nothing but git.",
                paths.join(", ")
            );
            result.insert("read_only".to_owned(), why.into());
        }
    }
}

/// The read-only paths, if a program seems to have been refused one of them.
pub(super) fn refused(output: &str, read_only: Vec<PathBuf>) -> Vec<PathBuf> {
    match REFUSALS.iter().any(|refusal| output.contains(refusal)) {
        true => read_only,
        false => Vec::new(),
    }
}

/// A program that is watched: what it reads, and what it does at protected paths. Settled, or dropped, once nothing of
/// it is left.
#[derive(Debug)]
pub(super) struct Watched {
    watch: Watch,
    guard: Guard,
}

impl Watched {
    /// Watches a program that starts after this. This blocks.
    pub(super) fn new(cell: &Cell, rights: &Rights, workspace: &Workspace) -> Self {
        Self { guard: cell.guard(rights), watch: workspace.watch() }
    }

    /// The least trust of what it has read so far.
    pub(super) fn least(&self) -> Trust {
        self.watch.least()
    }

    pub(super) fn reached(&self) -> Reached {
        self.watch.reached()
    }

    /// Protected paths that the program finds read-only.
    pub(super) fn read_only(&self) -> Vec<PathBuf> {
        self.guard.read_only().take(SHOWN).collect()
    }

    /// Returns the trust of what it has printed, and what was set aside.
    pub(super) async fn settle(self) -> (Trust, Vec<String>) {
        let settle = move || {
            // What is set aside is marked, too.
            let Guarded { aside, kept } = self.guard.settle();
            (self.watch.settle_but(&kept), aside)
        };
        blocking(settle).await.unwrap_or((Trust::Low, Vec::new()))
    }
}
