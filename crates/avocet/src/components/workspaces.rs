//! The workspaces of all agents, and the directories beside them, each opened once.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use avocet_config::{AgentProfile, DEFAULT, DEFAULTS};
use avocet_protocol::chat::SessionId;
use avocet_protocol::daemon::Live;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{Jobs, Turns};
use avocet_protocol::tool::{Files, FilesError, Workspaces};
use avocet_sandbox::{RootAccess, Workspace, WorkspaceRoots, digest_bytes};
use avocet_session::{BySession, SessionBinding};
use avocet_skills::{FixedSkills, SHIPPED, ShippedSkill, SkillCatalogue};
use avocet_tools::WorkspaceFiles;
use parking_lot::Mutex;

use crate::components::roots;
use crate::configuration::Root;
use crate::configuration::{Agent, Configuration};
use crate::environment::home_directory;
use crate::exit::{Exit, Failure};

/// The directory in the data directory with one file for each workspace in which some untrusted
/// content could not be marked.
const UNMARKED: &str = "foreign";

/// A workspace, for tools and for access by paths.
#[derive(Debug, Clone)]
pub(crate) struct OpenWorkspace {
    pub(crate) roots: Arc<WorkspaceRoots>,
    pub(crate) files: Arc<WorkspaceFiles>,
    pub(crate) skills: Arc<SkillCatalogue>,
}

/// The workspaces, and the choice of one for a turn.
#[derive(Debug)]
pub(crate) struct AgentWorkspaces {
    /// Those of the agents, and directories that jobs have named since.
    opened: Mutex<BTreeMap<PathBuf, OpenWorkspace>>,
    of_agents: Live<WorkspacesOfAgents>,
    opener: WorkspaceOpener,
    logs: WorkspaceLogs,
}

/// The directories of the agents.
#[derive(Debug)]
struct WorkspacesOfAgents {
    of: BySession<PathBuf>,
    by_name: BTreeMap<String, PathBuf>,
}

impl WorkspacesOfAgents {
    fn new(agents: &[Agent]) -> Result<Self, Failure> {
        let by_name = agents
            .iter()
            .map(|agent| (agent.profile.name.clone(), agent.workspace.clone()))
            .collect();
        let mut of =
            agents.iter().map(|agent| (session_binding(&agent.profile), agent.workspace.clone()));
        let (_, default) = of.next().ok_or_else(|| {
            Failure::new(Exit::Configuration, "there is no agent; add [agents.defaults]")
        })?;
        Ok(Self { of: BySession::new(default, of.collect()), by_name })
    }
}

/// The ports that tell in which directory a turn works.
#[derive(Debug, Clone)]
pub(crate) struct WorkspaceLogs {
    pub(crate) turns: Arc<dyn Turns>,
    pub(crate) jobs: Arc<dyn Jobs>,
}

/// Opens a directory as a workspace.
#[derive(Debug)]
struct WorkspaceOpener {
    configuration: Configuration,
    beside: Vec<Workspace>,
    fixed: Arc<FixedSkills>,
}

impl WorkspaceOpener {
    fn open(&self, path: &Path) -> Result<OpenWorkspace, Failure> {
        let workspace = guarded_workspace(&self.configuration, path)?;
        if !workspace.keeps_marks() {
            tracing::warn!(
                workspace = %path.display(),
                "its file system has no extended attributes: as soon as untrusted content is \
                    written there, all of its files are untrusted"
            );
        }
        let roots = Arc::new(WorkspaceRoots::new(workspace, self.beside.clone()));
        let files = Arc::new(WorkspaceFiles::new(roots.clone()));
        let skills = Arc::new(SkillCatalogue::new(files.clone(), self.fixed.clone()));
        Ok(OpenWorkspace { roots, files, skills })
    }
}

impl AgentWorkspaces {
    /// Opens the workspaces of all agents. The first agent answers all sessions without one of
    /// their own.
    pub(crate) fn open(
        configuration: &Configuration,
        logs: WorkspaceLogs,
    ) -> Result<Self, Failure> {
        let agents = &configuration.agents;
        let beside = open_roots(configuration)?;
        let fixed = Arc::new(fixed_skills(configuration));
        fixed.warn_unusable();
        let opener = WorkspaceOpener { configuration: configuration.clone(), beside, fixed };
        let mut opened = BTreeMap::new();
        for Agent { workspace: path, .. } in agents {
            if !opened.contains_key(path) {
                opened.insert(path.clone(), opener.open(path)?);
            }
        }
        let of_agents = Live::new(WorkspacesOfAgents::new(agents)?);
        Ok(Self { opened: Mutex::new(opened), of_agents, opener, logs })
    }

    /// Takes the agents of a changed configuration.
    pub(crate) fn choose(&self, agents: &[Agent]) -> Result<(), Failure> {
        self.of_agents.replace(WorkspacesOfAgents::new(agents)?);
        Ok(())
    }

    /// Returns the directory of the agent that answers a session.
    pub(crate) fn path_of(&self, session: &SessionId) -> PathBuf {
        self.of_agents.now().of.select_for(session, None).clone()
    }

    /// Returns the workspace in this directory. The directory of a job is opened at its first use.
    ///
    /// # Errors
    /// [`Failure`] if the directory cannot be opened, is the whole home, or overlaps with the
    /// directory of a channel.
    pub(crate) fn open_directory(&self, path: &Path) -> Result<OpenWorkspace, Failure> {
        let mut opened = self.opened.lock();
        if let Some(known) = opened.get(path) {
            return Ok(known.clone());
        }
        let path = path.to_owned();
        check_job_directory(&self.opener.configuration, &path)?;
        let workspace = self.opener.open(&path)?;
        opened.insert(path, workspace.clone());
        Ok(workspace)
    }
}

/// Refuses a directory for a job that would give the agent the files of the system, of other
/// programs, of the daemon or of a channel.
pub(crate) fn check_job_directory(
    configuration: &Configuration,
    path: &PathBuf,
) -> Result<(), Failure> {
    let refuse = |why: &str| Failure::new(Exit::Failed, format!("{} {why}", path.display()));
    if !path.is_absolute() {
        return Err(refuse("is not an absolute path"));
    }
    if !path.is_dir() {
        return Err(refuse("is no directory"));
    }
    if roots::contains_home(path, home_directory().as_deref()) {
        return Err(refuse("contains a whole home, with the files of other programs"));
    }
    let place = roots::real_path(path);
    if roots::KERNEL.iter().any(|kernel| place.starts_with(kernel)) {
        return Err(refuse("belongs to the kernel"));
    }
    let mut workspaces =
        configuration.agents.iter().map(|agent| roots::real_path(&agent.workspace));
    let is_shared = workspaces.any(|workspace| place.starts_with(workspace));
    let own = configuration.own_paths();
    if !is_shared && own.iter().any(|own| place.starts_with(roots::real_path(own))) {
        return Err(refuse("belongs to the daemon itself"));
    }
    roots::check_channels(&configuration.document, &[path])
}

/// Returns the absolute path of a directory that an owner names in a chat. A chat reaches less than
/// the command line: only the workspaces of agents and the directories that agents may change.
pub(crate) fn named_in_chat(
    configuration: &Configuration,
    directory: &str,
) -> Result<String, Failure> {
    let refuse = |why: &str| Failure::new(Exit::Failed, why.to_owned());
    let path = match directory.strip_prefix("~/").zip(home_directory()) {
        Some((below, home)) => home.join(below),
        None => PathBuf::from(directory),
    };
    let path = path.canonicalize().map_err(|error| refuse(&error.to_string()))?;
    let workspaces = configuration.agents.iter().map(|agent| &agent.workspace);
    let roots = configuration.roots.iter().filter(|root| root.access == RootAccess::Change);
    let mut open = workspaces.chain(roots.map(|root| &root.path));
    if !open.any(|root| path.starts_with(roots::real_path(root))) {
        return Err(refuse(
            "it is outside of the agents' workspaces and of [tools] write; add it there, or use \
                avocet job submit --workspace",
        ));
    }
    path.into_os_string().into_string().map_err(|_| refuse("its name is not UTF-8"))
}

/// Returns the sessions that have a profile. `avocet acp` names the profile in the id of a session.
pub(crate) fn session_binding(profile: &AgentProfile) -> SessionBinding {
    let sessions = profile.sessions.iter().cloned();
    #[cfg(feature = "acp")]
    let sessions = sessions.chain([avocet_acp::session_pattern(&profile.name)]);
    let sessions = sessions.collect();
    SessionBinding { sessions, people: profile.people.clone() }
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
    let places = roots::check_roots(document, roots, &configuration.other_paths())?;
    let own = configuration.own_paths();
    let open = |(Root { path, access, .. }, place): (&Root, PathBuf)| {
        let failed = |message: String| Failure::new(Exit::Configuration, message);
        // Open it by its configured name, because its files may be named so, too.
        let opened = Workspace::open_beside(path, *access)?;
        if opened.root() != place {
            let (path, place) = (path.display(), place.display());
            return Err(failed(format!(
                "{path} resolved to {place} before and resolves elsewhere now; try again"
            )));
        }
        if let Some(warning) = roots::unmarked_warning(*access, opened.keeps_marks()) {
            tracing::warn!(directory = %path.display(), "{warning}");
        }
        opened
            .with_protection(configuration.sandbox.protection.clone())
            .with_secret_rules(&settings.tools.secret_files, &own)
            .map_err(|error| failed(error.to_string()))
    };
    roots.iter().zip(places).map(open).collect()
}

/// Opens a workspace whose secret files stay closed, except those that the operator opens.
pub(crate) fn guarded_workspace(
    configuration: &Configuration,
    path: &Path,
) -> Result<Workspace, Failure> {
    let Configuration { settings, data_dir, .. } = configuration;
    let guarded = Workspace::open(path)?
        .with_secret_rules(&settings.tools.secret_files, &configuration.own_paths());
    let guarded = guarded.map_err(|error| Failure::new(Exit::Configuration, error.to_string()))?;
    let name = digest_bytes(guarded.root().as_os_str().as_bytes());
    let guarded = guarded.with_protection(configuration.sandbox.protection.clone());
    Ok(guarded.with_unmarked_note(data_dir.join(UNMARKED).join(name)))
}

#[async_trait]
impl Workspaces for AgentWorkspaces {
    /// Returns the workspace of the turn's agent: the one chosen for its session, else that of the
    /// session at the root.
    async fn find_workspace(&self, turn: Option<TurnId>) -> Result<Arc<dyn Files>, FilesError> {
        let of_agents = self.of_agents.now();
        let mut path = of_agents.of.default();
        if let Some(turn) = turn {
            let unread = |error| FilesError(format!("the log cannot be read: {error}"));
            let lineage = self.logs.turns.lineage(turn).await.map_err(unread)?;
            if let Some(root) = lineage.last()
                && let Some(rules) =
                    self.logs.jobs.job_rules(&root.session).await.map_err(unread)?
                && let Some(directory) = rules.workspace
            {
                return self.files_at(Path::new(&directory));
            }
            let chosen = lineage.first().and_then(|turn| turn.agent.as_ref());
            path = match (chosen, lineage.last()) {
                (Some(name), _) => of_agents.named(name).ok_or_else(|| {
                    FilesError(format!("the profile [agents.{name}] is not configured any more"))
                })?,
                (None, Some(root)) => of_agents.of.select_for(&root.session, root.person.as_ref()),
                (None, None) => path,
            };
        }
        self.files_at(path)
    }
}

impl WorkspacesOfAgents {
    fn named(&self, name: &str) -> Option<&PathBuf> {
        // The log of an older version names the default profile so.
        let name = if name == DEFAULTS { DEFAULT } else { name };
        self.by_name.get(name)
    }
}

impl AgentWorkspaces {
    fn files_at(&self, path: &Path) -> Result<Arc<dyn Files>, FilesError> {
        let opened =
            self.open_directory(path).map_err(|failure| FilesError(failure.error.to_string()))?;
        Ok(opened.files)
    }
}

/// Opens the directories that the configuration names. Missing workspaces are left out, because the
/// daemon makes them.
pub(crate) fn check_directories(configuration: &Configuration) -> Result<(), Failure> {
    for agent in configuration.agents.iter().filter(|agent| agent.workspace.exists()) {
        guarded_workspace(configuration, &agent.workspace)?;
    }
    open_roots(configuration).map(drop)
}
