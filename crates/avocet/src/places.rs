//! Where things are: the configuration, the data directory, the socket, the workspace. The only
//! place that reads the environment and the working directory.

use std::path::{Path, PathBuf};

use avocet_config::{Document, Profile, Settings, profiles};
use avocet_sandbox::Access;
use avocet_store::DATABASE;

use crate::cli::Global;
use crate::exit::{Exit, Failure};
use crate::roots::{Others, Root};
use crate::{redaction, registry};

/// A configuration that has been read, and the places that follow from it.
#[derive(Debug)]
pub(crate) struct Configuration {
    pub(crate) document: Document,
    pub(crate) settings: Settings,
    pub(crate) data_dir: PathBuf,
    /// The agents, the one of `[agents.defaults]` first.
    pub(crate) agents: Vec<Agent>,
    pub(crate) socket: PathBuf,
    /// Where the head of the audit table is noted.
    pub(crate) head_file: PathBuf,
    pub(crate) sandbox: Sandbox,
    /// Where file tools work beside the workspaces.
    pub(crate) roots: Vec<Root>,
}

/// Where programs may read and write, beside a workspace.
#[derive(Debug)]
pub(crate) struct Sandbox {
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
}

/// An agent of the configuration.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) profile: Profile,
    /// The directory that its file tools work in.
    pub(crate) workspace: PathBuf,
}

#[expect(clippy::disallowed_methods, reason = "the binary reads the environment and hands it in")]
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// What programs that the agent runs find in their environment: nothing of ours but where programs
/// are, the language and the time zone.
pub(crate) fn program_environment() -> Vec<(String, String)> {
    let ours = ["LANG", "LC_ALL", "LC_CTYPE", "PATH", "TZ"];
    let of_ours = ours.iter().filter_map(|name| Some(((*name).to_owned(), environment(name)?)));
    let own = [("HOME", "/tmp"), ("TERM", "dumb"), ("TMPDIR", "/tmp")];
    // Where cargo is rustup's, it looks for its toolchains in the home that programs do not have.
    let home = environment("HOME").map(|home| format!("{home}/.rustup"));
    let toolchains = environment("RUSTUP_HOME").or(home);
    let toolchains = toolchains.map(|path| ("RUSTUP_HOME".to_owned(), path));
    of_ours
        .chain(toolchains)
        .chain(own.map(|(name, value)| (name.to_owned(), value.to_owned())))
        .collect()
}

impl Configuration {
    /// Reads the configuration and checks all of it, components included. Directories that it names are looked at
    /// where they are opened: without them there is still much to be seen and said.
    pub(crate) fn load(global: &Global) -> Result<Self, Failure> {
        let document = match config_path(global) {
            Some(path) => Document::read(&path, &environment)?,
            None => Document::empty(),
        };
        redaction::learn(document.secrets());
        let settings: Settings = document.table("")?;
        registry::check(&document, &settings)?;
        let base = document.path().and_then(Path::parent).map(Path::to_owned);
        let resolve = |path: &Path| resolve(base.as_deref(), path);
        let data_dir = match &settings.data_dir {
            Some(path) => resolve(path)?,
            None => default_data_dir()?,
        };
        let agent = |profile: Profile| {
            let workspace = match &profile.agent.workspace {
                Some(path) => resolve(path)?,
                None => data_dir.join("workspace"),
            };
            Ok(Agent { profile, workspace })
        };
        let agents: Result<_, Failure> = profiles(&document)?.into_iter().map(agent).collect();
        let agents = agents?;
        let socket = match &settings.gateway.socket {
            Some(path) => resolve(path)?,
            None => data_dir.join("run/avocet.sock"),
        };
        let head_file = match &settings.audit.head_file {
            Some(path) => resolve(path)?,
            None => default_head_file(&data_dir),
        };
        let all = |paths: &[PathBuf]| {
            paths.iter().map(|path| resolve(path)).collect::<Result<Vec<_>, Failure>>()
        };
        let sandbox =
            Sandbox { read: all(&settings.sandbox.read)?, write: all(&settings.sandbox.write)? };
        let roots = [
            ("read", &settings.tools.read, Access::Read),
            ("write", &settings.tools.write, Access::Change),
        ];
        let root = |(key, paths, access): (_, &Vec<PathBuf>, _)| {
            let named = all(paths)?.into_iter().enumerate();
            let root = |(place, path)| Root { key: format!("tools.{key}[{place}]"), path, access };
            Ok(named.map(root).collect::<Vec<_>>())
        };
        let roots = roots.into_iter().map(root).collect::<Result<Vec<_>, Failure>>()?.concat();
        Ok(Self { document, settings, data_dir, agents, socket, head_file, sandbox, roots })
    }

    /// What directories beside the workspaces have to be apart from.
    pub(crate) fn others(&self) -> Others<'_> {
        let config = self.document.path().into_iter();
        let own = [&self.data_dir, &self.socket, &self.head_file].map(PathBuf::as_path);
        Others {
            home: home(),
            workspaces: self.agents.iter().map(|agent| agent.workspace.as_path()).collect(),
            own: config.chain(own).collect(),
            program: std::env::current_exe().ok(),
            writable: &self.sandbox.write,
        }
    }

    /// The files and directories that are the daemon's own, wherever file tools find them.
    pub(crate) fn own(&self) -> Vec<PathBuf> {
        let config = self.document.path().map(Path::to_owned).into_iter();
        // They are named for the case that the data directory is the workspace.
        let log = ["", "-wal", "-shm"].map(|end| self.data_dir.join(format!("{DATABASE}{end}")));
        config.chain([self.data_dir.clone(), self.head_file.clone()]).chain(log).collect()
    }
}

/// The file that was named, or the one in the usual place if it is there.
fn config_path(global: &Global) -> Option<PathBuf> {
    if let Some(path) = &global.config {
        return Some(path.clone());
    }
    if let Some(path) = environment("AVOCET_CONFIG") {
        return Some(path.into());
    }
    let directory = environment("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| home().map(|home| home.join(".config")))?;
    Some(directory.join("avocet/config.toml")).filter(|path| path.exists())
}

/// systemd's `StateDirectory=`, or `avocet` in the user's state directory (XDG Base Directory
/// Specification).
fn default_data_dir() -> Result<PathBuf, Failure> {
    if let Some(directory) = environment("STATE_DIRECTORY") {
        return Ok(directory.into());
    }
    let state = environment("XDG_STATE_HOME")
        .map(PathBuf::from)
        .or_else(|| home().map(|home| home.join(".local/state")));
    state.map(|state| state.join("avocet")).ok_or_else(|| {
        let message =
            "there is no home directory to keep data in; set data_dir in the configuration";
        Failure::new(Exit::Configuration, message)
    })
}

/// systemd's `LogsDirectory=`, or beside the data directory: who can change the one need not be able to
/// change the other.
fn default_head_file(data_dir: &Path) -> PathBuf {
    if let Some(directory) = environment("LOGS_DIRECTORY") {
        return PathBuf::from(directory).join("audit-head");
    }
    let mut path = data_dir.as_os_str().to_owned();
    path.push(".audit-head");
    path.into()
}

fn home() -> Option<PathBuf> {
    environment("HOME").map(PathBuf::from)
}

/// Paths in a file are relative to the file; `~/` is the home directory.
#[expect(clippy::disallowed_methods, reason = "the binary reads the working directory")]
fn resolve(base: Option<&Path>, path: &Path) -> Result<PathBuf, Failure> {
    if let Ok(below) = path.strip_prefix("~") {
        let home = home().ok_or_else(|| {
            let message = format!("{}: there is no home directory", path.display());
            Failure::new(Exit::Configuration, message)
        })?;
        return Ok(home.join(below));
    }
    let base = base.unwrap_or(Path::new(""));
    Ok(std::env::current_dir()?.join(base).join(path))
}

/// A path of the command line, from the working directory.
pub(crate) fn given(path: &Path) -> Result<PathBuf, Failure> {
    resolve(None, path)
}

/// Whether colours are wanted (no-color.org).
pub(crate) fn wants_colour() -> bool {
    environment("NO_COLOR").is_none() && environment("TERM").is_none_or(|term| term != "dumb")
}
