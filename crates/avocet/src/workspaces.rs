//! The workspaces of all agents, and the directories beside them, each opened once.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::{Files, FilesError, TurnId, Turns, Workspaces};
use avocet_sandbox::{Roots, Workspace, digest};
use avocet_session::BySession;
use avocet_skills::{FixedSkills, SHIPPED, ShippedSkill, SkillCatalogue};
use avocet_tools::WorkspaceFiles;

use crate::exit::{Exit, Failure};
use crate::places::{Agent, Configuration};
use crate::roots::{self, Root};

/// The directory in the data directory with one file for each workspace in which some untrusted
/// content could not be marked.
const UNMARKED: &str = "foreign";

/// A workspace, for tools and for access by paths.
#[derive(Debug, Clone)]
pub(crate) struct OpenWorkspace {
    pub(crate) roots: Arc<Roots>,
    pub(crate) files: Arc<WorkspaceFiles>,
    pub(crate) skills: Arc<SkillCatalogue>,
}

/// The workspaces, and the choice of one for a turn.
#[derive(Debug)]
pub(crate) struct AgentWorkspaces {
    opened: BTreeMap<PathBuf, OpenWorkspace>,
    of: BySession<PathBuf>,
    by_name: BTreeMap<String, PathBuf>,
    turns: Arc<dyn Turns>,
}

impl AgentWorkspaces {
    /// Opens the workspaces of all agents. The first agent answers all sessions without one of
    /// their own.
    pub(crate) fn open(
        configuration: &Configuration,
        turns: Arc<dyn Turns>,
    ) -> Result<Self, Failure> {
        let agents = &configuration.agents;
        let beside = open_roots(configuration)?;
        let fixed = Arc::new(fixed_skills(configuration));
        fixed.warn();
        let mut opened = BTreeMap::new();
        for Agent { workspace: path, .. } in agents {
            if !opened.contains_key(path) {
                let workspace = guarded(configuration, path)?;
                if !workspace.marks() {
                    tracing::warn!(
                        workspace = %path.display(),
                        "its file system has no extended attributes: as soon as untrusted content \
                            is written there, all of its files are untrusted"
                    );
                }
                let roots = Arc::new(Roots::new(workspace, beside.clone()));
                let files = Arc::new(WorkspaceFiles::new(roots.clone()));
                let skills = Arc::new(SkillCatalogue::new(files.clone(), fixed.clone()));
                opened.insert(path.clone(), OpenWorkspace { roots, files, skills });
            }
        }
        let by_name = agents
            .iter()
            .map(|agent| (agent.profile.name.clone(), agent.workspace.clone()))
            .collect();
        let mut of =
            agents.iter().map(|agent| (agent.profile.sessions.clone(), agent.workspace.clone()));
        let (_, default) = of.next().ok_or_else(|| {
            Failure::new(Exit::Configuration, "there is no agent; add [agents.defaults]")
        })?;
        Ok(Self { opened, of: BySession::new(default, of.collect()), by_name, turns })
    }

    /// Returns the workspace in this directory.
    pub(crate) fn at(&self, path: &Path) -> Result<&OpenWorkspace, Failure> {
        let missing = || format!("{} is not the workspace of an agent", path.display());
        self.opened.get(path).ok_or_else(|| Failure::new(Exit::Failed, missing()))
    }
}

/// Reads the skills of the system and of the program.
pub(crate) fn fixed_skills(configuration: &Configuration) -> FixedSkills {
    let shipped: &[ShippedSkill] =
        if configuration.settings.skills.shipped { &SHIPPED } else { &[] };
    FixedSkills::read(&configuration.skills, shipped)
}

/// Opens the directories beside the workspaces, each once for all agents, with their secret files closed.
pub(crate) fn open_roots(configuration: &Configuration) -> Result<Vec<Workspace>, Failure> {
    let Configuration { document, settings, roots, .. } = configuration;
    let places = roots::check(document, roots, &configuration.others())?;
    let own = configuration.own();
    let open = |(Root { path, access, .. }, place): (&Root, PathBuf)| {
        let failed = |message: String| Failure::new(Exit::Configuration, message);
        // Open it by its configured name, because its files may be named so, too.
        let opened = Workspace::beside(path, *access)?;
        if opened.root() != place {
            let (path, place) = (path.display(), place.display());
            return Err(failed(format!(
                "{path} resolved to {place} before and resolves elsewhere now; try again"
            )));
        }
        if let Some(warning) = roots::unmarked(*access, opened.marks()) {
            tracing::warn!(directory = %path.display(), "{warning}");
        }
        opened
            .protecting(configuration.sandbox.protection.clone())
            .guarded(&settings.tools.secret_files, &own)
            .map_err(|error| failed(error.to_string()))
    };
    roots.iter().zip(places).map(open).collect()
}

/// Opens a workspace whose secret files stay closed, except those that the operator opens.
pub(crate) fn guarded(configuration: &Configuration, path: &Path) -> Result<Workspace, Failure> {
    let Configuration { settings, data_dir, .. } = configuration;
    let guarded =
        Workspace::open(path)?.guarded(&settings.tools.secret_files, &configuration.own());
    let guarded = guarded.map_err(|error| Failure::new(Exit::Configuration, error.to_string()))?;
    let name = digest(guarded.root().as_os_str().as_bytes());
    let guarded = guarded.protecting(configuration.sandbox.protection.clone());
    Ok(guarded.remembering(data_dir.join(UNMARKED).join(name)))
}

#[async_trait]
impl Workspaces for AgentWorkspaces {
    /// Returns the workspace of the turn's agent: the one chosen for its session, else that of the
    /// session at the root.
    async fn of(&self, turn: Option<TurnId>) -> Result<Arc<dyn Files>, FilesError> {
        let mut path = self.of.default();
        if let Some(turn) = turn {
            let lineage = self.turns.lineage(turn).await;
            let lineage =
                lineage.map_err(|error| FilesError(format!("the log cannot be read: {error}")))?;
            let chosen = lineage.first().and_then(|turn| turn.agent.as_ref());
            path = match (chosen, lineage.last()) {
                (Some(name), _) => self.by_name.get(name).ok_or_else(|| {
                    FilesError(format!("the profile [agents.{name}] is not configured any more"))
                })?,
                (None, Some(root)) => self.of.of(&root.session),
                (None, None) => path,
            };
        }
        let opened = self.at(path).map_err(|failure| FilesError(failure.error.to_string()))?;
        Ok(opened.files.clone())
    }
}
