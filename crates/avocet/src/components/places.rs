//! Loads the configuration, and finds the data directory, the socket and the workspaces.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use avocet_config::{AgentProfile, ConfigDocument, ConfigSettings, PLACES, read_profiles};
use avocet_protocol::access::OwnerRule;
use avocet_sandbox::{PathProtection, RootAccess};

use crate::components::prompt_file::OperatorPrompt;
use crate::components::roots::Others;
use crate::components::{clients, consolidation, models, policy, roots, schedules};
use crate::configuration::{Agent, Configuration, ConfigurationUse, Root, Sandbox};
use crate::context::{CommandContext, Global};
use crate::environment::{from_configuration, home_directory, read_variable};
use crate::exit::{Exit, Failure};
use crate::{logging, redaction, registry};

/// The system's directory that programs see without a setting.
const SEEN: &str = "/usr";

impl Configuration {
    /// Reads the configuration and checks the used parts, components included. The directories of
    /// `[tools]` are checked when they are opened, since other commands work without them.
    pub(crate) fn load(context: &CommandContext, uses: ConfigurationUse) -> Result<Self, Failure> {
        let document = match config_path(&context.cli) {
            Some(path) => ConfigDocument::read(&path, &read_variable, uses.used_references())?,
            None => ConfigDocument::empty(),
        };
        redaction::learn_secrets(document.secrets());
        Self::from_document(context, document, uses)
    }

    /// Checks the used parts of a document, as [`Self::load`] does with the file.
    pub(crate) fn from_document(
        context: &CommandContext,
        document: ConfigDocument,
        uses: ConfigurationUse,
    ) -> Result<Self, Failure> {
        if uses != ConfigurationUse::Check
            && let Some(one) =
                document.unresolved_values().iter().find(|one| PLACES.contains(&&*one.key))
        {
            return Err(one.error.clone().into());
        }
        let settings: ConfigSettings = document.table("")?;
        settings
            .check()
            .map_err(|(key, error)| document.error_at(key, format!("`{key}`: {error}")))?;
        logging::check_log(&document, &settings.log)?;
        registry::check_components(&document, &settings)?;
        models::check_models(&document, &settings)?;
        clients::check_clients(&document, &settings)?;
        consolidation::check_times(&document, &settings, context.clock.now())?;
        policy::check_names(&document, &settings, &registry::tool_names(context)?)?;
        let resolve = |path: &Path| from_configuration(&document, path);
        let data_dir = match &settings.data_dir {
            Some(path) => resolve(path)?,
            None => default_data_dir()?,
        };
        if data_dir.exists() && !data_dir.is_dir() {
            let message = format!(
                "`data_dir`: {} is not a directory; name a directory, or a path that does not exist",
                data_dir.display()
            );
            return Err(document.error_at("data_dir", message).into());
        }
        let agents = read_agents(&document, &data_dir)?;
        let schedules =
            schedules::configured_schedules(&document, &settings, &agents, context.clock.now())?;
        let rules = read_rules(&document, &settings, &agents)?;
        let socket = match &settings.gateway.socket {
            Some(path) => resolve(path)?,
            None => data_dir.join("run/avocet.sock"),
        };
        let head_file = match &settings.audit.head_file {
            Some(path) => resolve(path)?,
            None => default_head_file(&data_dir),
        };
        let backups = settings.backup.directory.as_deref().map(resolve).transpose()?;
        let mut sandbox = read_sandbox(&document, &settings)?;
        let mut roots = tool_roots(&document, "read", &settings.tools.read, RootAccess::Read)?;
        roots.extend(tool_roots(&document, "write", &settings.tools.write, RootAccess::Change)?);
        let skills = read_skills(&document, &settings, &agents, &sandbox, &roots)?;
        let unseen = |path: &&PathBuf| !path.starts_with(SEEN) && path.is_dir();
        sandbox.read.extend(skills.iter().filter(unseen).cloned());
        check_prompt_files(&document, uses, &agents, &changeable_paths(&agents, &sandbox, &roots))?;
        let workspaces = agents.iter().map(|agent| &agent.workspace);
        let beside = roots.iter().map(|root| &root.path);
        let reachable = workspaces.chain(beside).chain(&sandbox.read).chain(&sandbox.write);
        roots::check_channels(&document, &reachable.collect::<Vec<_>>())?;
        Ok(Self {
            document,
            settings,
            data_dir,
            agents,
            schedules,
            rules,
            socket,
            head_file,
            backups,
            sandbox,
            roots,
            skills,
            fault: None,
            stand_in: None,
        })
    }

    /// Returns the paths that directories beside the workspaces must not overlap.
    pub(crate) fn other_paths(&self) -> Others<'_> {
        let config = self.document.path().into_iter();
        let own = [&self.data_dir, &self.socket, &self.head_file].map(PathBuf::as_path);
        Others {
            home: home_directory(),
            workspaces: self.agents.iter().map(|agent| agent.workspace.as_path()).collect(),
            own: config.chain(own).chain(self.backups.as_deref()).collect(),
            program: std::env::current_exe().ok(),
            writable: &self.sandbox.write,
        }
    }
}

/// Returns the agents with their workspaces, which are checked.
fn read_agents(document: &ConfigDocument, data_dir: &Path) -> Result<Vec<Agent>, Failure> {
    let agent = |profile: AgentProfile| {
        let workspace = match &profile.agent.workspace {
            Some(path) => from_configuration(document, path)?,
            None => data_dir.join("workspace"),
        };
        roots::check_workspace(document, &profile.name, &workspace, home_directory().as_deref())?;
        let prompt_file = profile.agent.prompt_file.as_deref();
        let prompt_file = prompt_file.map(|path| from_configuration(document, path)).transpose()?;
        Ok(Agent { profile, workspace, prompt_file })
    };
    read_profiles(document)?.into_iter().map(agent).collect()
}

fn read_sandbox(document: &ConfigDocument, settings: &ConfigSettings) -> Result<Sandbox, Failure> {
    let all = |paths: &[PathBuf]| {
        let paths = paths.iter().map(|path| from_configuration(document, path));
        paths.collect::<Result<Vec<_>, Failure>>()
    };
    let protection = PathProtection::new(&settings.sandbox.protected)
        .map_err(|error| document.error_at("sandbox.protected", error.to_string()))?;
    let (read, write) = (all(&settings.sandbox.read)?, all(&settings.sandbox.write)?);
    Ok(Sandbox { read, write, protection: protection.into() })
}

/// Returns the directories of the system's skills. The agent must not be able to change them,
/// because their files are trusted.
fn read_skills(
    document: &ConfigDocument,
    settings: &ConfigSettings,
    agents: &[Agent],
    sandbox: &Sandbox,
    roots: &[Root],
) -> Result<Vec<PathBuf>, Failure> {
    let paths = settings.skills.paths.iter().map(|path| from_configuration(document, path));
    let paths = paths.collect::<Result<Vec<_>, Failure>>()?;
    roots::check_skills(document, &paths, &changeable_paths(agents, sandbox, roots))?;
    Ok(paths)
}

/// Returns the directories that agents can change.
fn changeable_paths<'a>(
    agents: &'a [Agent],
    sandbox: &'a Sandbox,
    roots: &'a [Root],
) -> Vec<&'a PathBuf> {
    let changeable = roots.iter().filter(|root| root.access == RootAccess::Change);
    let changeable = changeable.map(|root| &root.path).chain(&sandbox.write);
    changeable.chain(agents.iter().map(|agent| &agent.workspace)).collect()
}

/// Refuses a file with a prompt that agents can change. The daemon does not start without such a
/// file.
fn check_prompt_files(
    document: &ConfigDocument,
    uses: ConfigurationUse,
    agents: &[Agent],
    changeable: &[&PathBuf],
) -> Result<(), Failure> {
    for agent in agents {
        let Some(path) = &agent.prompt_file else { continue };
        let key = agent.profile.path("prompt_file");
        roots::check_prompt_file(document, &key, path, changeable)?;
        if matches!(uses, ConfigurationUse::Everything | ConfigurationUse::Check)
            && let Some(file) = OperatorPrompt::from_agent(agent)
        {
            file.check(document)?;
        }
    }
    Ok(())
}

/// Returns the owners' rules of `[rules]`.
fn read_rules(
    document: &ConfigDocument,
    settings: &ConfigSettings,
    agents: &[Agent],
) -> Result<Arc<[OwnerRule]>, Failure> {
    let names: Vec<String> = agents.iter().map(|agent| agent.profile.name.clone()).collect();
    let rules = settings.rules.read_rules(&names);
    Ok(rules.map_err(|(key, fault)| document.error_at(&key, format!("`{key}`: {fault}")))?.into())
}

/// Returns the directories of the list `key` in `[tools]`.
fn tool_roots(
    document: &ConfigDocument,
    key: &str,
    paths: &[PathBuf],
    access: RootAccess,
) -> Result<Vec<Root>, Failure> {
    let root = |(place, path): (usize, &PathBuf)| {
        let path = from_configuration(document, path)?;
        Ok(Root { key: format!("tools.{key}[{place}]"), path, access })
    };
    paths.iter().enumerate().map(root).collect()
}

/// Returns the named file, or the one in the usual place if it exists.
pub(crate) fn config_path(global: &Global) -> Option<PathBuf> {
    let is_named = global.config.is_some() || read_variable("AVOCET_CONFIG").is_some();
    config_place(global).filter(|path| is_named || path.exists())
}

/// Returns the named file, or the usual place; `None` without a home directory.
pub(crate) fn config_place(global: &Global) -> Option<PathBuf> {
    if let Some(path) = &global.config {
        return Some(path.clone());
    }
    if let Some(path) = read_variable("AVOCET_CONFIG") {
        return Some(path.into());
    }
    let directory = read_variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| home_directory().map(|home| home.join(".config")))?;
    Some(directory.join("avocet/config.toml"))
}

/// Returns systemd's `StateDirectory=`, or `avocet` in the user's state directory (XDG Base
/// Directory Specification).
fn default_data_dir() -> Result<PathBuf, Failure> {
    if let Some(directory) = read_variable("STATE_DIRECTORY") {
        return Ok(directory.into());
    }
    let state = read_variable("XDG_STATE_HOME")
        .map(PathBuf::from)
        .or_else(|| home_directory().map(|home| home.join(".local/state")));
    state.map(|state| state.join("avocet")).ok_or_else(|| {
        let message =
            "there is no home directory to keep data in; set data_dir in the configuration";
        Failure::new(Exit::Configuration, message)
    })
}

/// Returns a file in systemd's `LogsDirectory=`, or beside the data directory. Write access to the
/// data directory need not include the file.
fn default_head_file(data_dir: &Path) -> PathBuf {
    if let Some(directory) = read_variable("LOGS_DIRECTORY") {
        return PathBuf::from(directory).join("audit-head");
    }
    let mut path = data_dir.as_os_str().to_owned();
    path.push(".audit-head");
    path.into()
}
