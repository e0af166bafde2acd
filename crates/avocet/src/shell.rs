//! The walls around programs that the agent runs: found out at the start, the same for all agents.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::Clock;
use avocet_sandbox::{Cell, CellLimits, Walls};
use avocet_tools::Shell;

use crate::places::{Configuration, program_environment};

/// Our own program, also after its file was replaced.
const OURSELVES: &str = "/proc/self/exe";

/// How programs are run, if walls hold here.
#[derive(Debug)]
pub(crate) struct Shells {
    /// A cell without a workspace.
    cell: Option<Cell>,
    longest: Duration,
    commands: Vec<String>,
    /// What is the daemon's own.
    own: Vec<PathBuf>,
}

impl Shells {
    /// Finds out which walls this system gives.
    pub(crate) async fn probe(configuration: &Configuration, clock: &Arc<dyn Clock>) -> Self {
        const MEGABYTE: u64 = 1024 * 1024;
        let sandbox = &configuration.settings.sandbox;
        let cell = Cell {
            program: OURSELVES.into(),
            namespaces: true,
            writable: configuration.sandbox.write.clone(),
            readable: configuration.sandbox.read.clone(),
            hidden: Vec::new(),
            environment: program_environment(),
            limits: CellLimits {
                processes: sandbox.max_processes,
                memory_bytes: sandbox.max_memory_megabytes.saturating_mul(MEGABYTE),
                cpu_seconds: sandbox.timeout_seconds,
                ..CellLimits::default()
            },
            clock: clock.clone(),
        };
        let walls = Walls::probe(&cell).await;
        let config = configuration.document.path().map(Path::to_owned);
        Self {
            cell: behind(&walls, cell),
            longest: Duration::from_secs(sandbox.timeout_seconds),
            commands: sandbox.commands.clone(),
            own: config.into_iter().chain([configuration.data_dir.clone()]).collect(),
        }
    }

    /// The shell of a workspace; none where no walls hold.
    pub(crate) fn of(&self, workspace: &Path) -> Option<Shell> {
        let cell = self.cell.as_ref()?;
        let writable = [&[workspace.to_owned()], &cell.writable[..]].concat();
        let is_seen = |path: &&PathBuf| {
            let mut seen = writable.iter().chain(&cell.readable);
            seen.any(|root| path.starts_with(root))
        };
        let hidden: Vec<PathBuf> = self.own.iter().filter(is_seen).cloned().collect();
        if let (false, Some(path)) = (cell.namespaces, hidden.first()) {
            let path = path.display();
            tracing::warn!(%path, "exec_shell is off: programs could read this, and it cannot be \
                hidden without namespaces; choose another workspace");
            return None;
        }
        let cell = Arc::new(Cell { writable, hidden, ..cell.clone() });
        Some(Shell { cell, longest: self.longest, commands: self.commands.clone() })
    }
}

/// The cell behind the best walls that hold; none if none does.
fn behind(walls: &Walls, cell: Cell) -> Option<Cell> {
    match (&walls.namespaces, &walls.landlock) {
        (Ok(()), _) => Some(cell),
        (Err(why), Ok(())) => {
            tracing::warn!(why, "no namespaces here: programs run behind Landlock alone");
            Some(Cell { namespaces: false, ..cell })
        }
        (Err(why), Err(also)) => {
            tracing::warn!(why, also, "exec_shell is off: this system gives no walls for programs");
            None
        }
    }
}
