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
    /// What programs of any agent may change.
    writable: Vec<PathBuf>,
}

impl Shells {
    /// Finds out which walls this system gives.
    pub(crate) async fn probe(configuration: &Configuration, clock: &Arc<dyn Clock>) -> Self {
        const MEGABYTE: u64 = 1024 * 1024;
        let sandbox = &configuration.settings.sandbox;
        let cell = Cell {
            program: OURSELVES.into(),
            namespaces: true,
            writable: real(&configuration.sandbox.write),
            readable: real(&configuration.sandbox.read),
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
        let config = configuration.document.path().map(Path::to_owned).into_iter();
        let Configuration { data_dir, socket, head_file, .. } = configuration;
        let places = [data_dir, socket, head_file].map(PathBuf::clone);
        let own: Vec<PathBuf> = config.chain(places).collect();
        let workspaces = configuration.agents.iter().map(|agent| agent.workspace.clone());
        let workspaces: Vec<PathBuf> = workspaces.collect();
        Self {
            writable: [real(&workspaces), cell.writable.clone()].concat(),
            cell: behind(&walls, cell),
            longest: Duration::from_secs(sandbox.timeout_seconds),
            commands: sandbox.commands.clone(),
            own: [real(&own), own].concat(),
        }
    }

    /// The shell of a workspace; none where no walls hold.
    pub(crate) fn of(&self, workspace: &Path) -> Option<Shell> {
        let cell = self.cell.as_ref()?;
        let writable = [&[workspace.to_owned()], &cell.writable[..]].concat();
        if let Some((path, why)) = self.unsafe_place(&writable, &cell.readable) {
            let (path, workspace) = (path.display(), workspace.display());
            tracing::warn!(%workspace, %path, why, "exec_shell is off");
            return None;
        }
        let cell = Arc::new(Cell { writable, ..cell.clone() });
        Some(Shell { cell, longest: self.longest, commands: self.commands.clone() })
    }

    /// What would be no wall: a program can move and replace whatever is below a directory that it may
    /// change, and hide what it is from the next.
    fn unsafe_place<'a>(
        &'a self,
        writable: &'a [PathBuf],
        readable: &'a [PathBuf],
    ) -> Option<(&'a Path, &'static str)> {
        let seen = || writable.iter().chain(readable);
        let own = self.own.iter().find(|path| seen().any(|root| path.starts_with(root)));
        let swapped = seen()
            .find(|path| self.writable.iter().any(|root| *path != root && path.starts_with(root)));
        let of = |path: &'a PathBuf, why| (path.as_path(), why);
        own.map(|path| of(path, "programs could read this of the daemon: choose another workspace"))
            .or_else(|| {
                swapped.map(|path| {
                    of(path, "it is below another directory that programs may change: name the upper one only")
                })
            })
    }
}

/// Where these paths lead, through links; those that are not there stay as they are.
fn real(paths: &[PathBuf]) -> Vec<PathBuf> {
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    paths.iter().map(real).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_shell_where_a_program_could_reach_or_replace_what_is_not_its_own() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let shells = Shells {
            cell: None,
            longest: Duration::ZERO,
            commands: Vec::new(),
            own: paths(&["/home/me/.config/avocet.toml", "/data"]),
            writable: paths(&["/data/workspace", "/srv/a", "/srv/a/b", "/out"]),
        };
        let table: [(&[&str], &[&str], bool); 8] = [
            (&["/data/workspace"], &[], true),
            (&["/data/workspace", "/out"], &["/home/me/.cargo"], true),
            (&["/home/me"], &[], false),
            (&["/srv/a"], &["/home"], false),
            (&["/data"], &[], false),
            (&["/srv/a"], &[], true),
            (&["/srv/a/b"], &[], false),
            (&["/srv/a"], &["/out/x"], false),
        ];
        for (writable, readable, is_safe) in table {
            let (writable, readable) = (paths(writable), paths(readable));
            let found = shells.unsafe_place(&writable, &readable);
            assert_eq!(found.is_none(), is_safe, "{writable:?} {readable:?}: {found:?}");
        }
    }
}
