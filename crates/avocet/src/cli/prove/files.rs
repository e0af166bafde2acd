//! The files of scenarios in the copies of the workspaces, and the marks of files.

use std::path::{Path, PathBuf};

use avocet_protocol::access::Trust;
use avocet_prove::{Scene, SceneFile};
use avocet_sandbox::Workspace;

use crate::components::workspaces::guarded_workspace;
use crate::configuration::Configuration;
use crate::exit::{Exit, Failure};

/// A line of the instructions that orders change.
const SOUL: &str = "You are careful.\n";

/// Writes the files of scenes into the workspaces of a configuration, and opens the workspaces.
pub(super) fn prepare_workspaces(
    configuration: &Configuration,
    workspaces: &[PathBuf],
    scenes: &[Scene],
) -> Result<Vec<Workspace>, Failure> {
    workspaces.iter().map(|path| prepare_workspace(configuration, path, scenes)).collect()
}

fn prepare_workspace(
    configuration: &Configuration,
    path: &Path,
    scenes: &[Scene],
) -> Result<Workspace, Failure> {
    let soul = path.join("SOUL.md");
    let before = std::fs::read_to_string(&soul).unwrap_or_default();
    if !before.contains("careful") {
        std::fs::write(&soul, format!("{before}{SOUL}"))?;
    }
    let files: Vec<SceneFile> = scenes.iter().flat_map(Scene::files).collect();
    for file in &files {
        let place = path.join(&file.path);
        if let Some(parent) = place.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(place, &file.content)?;
    }
    let workspace = guarded_workspace(configuration, path)?;
    for untrusted in files.iter().filter_map(|file| file.untrusted.as_deref()) {
        let failed = |error: avocet_sandbox::FileError| {
            Failure::new(Exit::Failed, format!("{untrusted}: {error}"))
        };
        let place = workspace.resolve_path(untrusted).map_err(failed)?;
        workspace.mark_untrusted(&place).map_err(failed)?;
    }
    Ok(workspace)
}

/// Returns `true` if a file of one of the workspaces is marked as untrusted.
pub(super) fn is_marked(workspaces: &[Workspace], file: &Path) -> bool {
    workspaces.iter().any(|workspace| {
        let below = file.strip_prefix(workspace.root()).ok().and_then(Path::to_str);
        let place = below.and_then(|below| workspace.resolve_path(below).ok());
        let trust = place.and_then(|place| workspace.explain_trust(&place).ok());
        trust.is_some_and(|explained| explained.trust == Trust::Low)
    })
}
