//! The loaded configuration: the data that every part of the program reads. `places.rs` loads it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use avocet_config::{AgentProfile, ConfigDocument, ConfigSettings, UsedReferences};
use avocet_protocol::access::OwnerRule;
use avocet_protocol::model::Model;
use avocet_protocol::schedule::NewSchedule;
use avocet_sandbox::{PathProtection, RootAccess};
use avocet_store::DATABASE;

use crate::exit::{Exit, Failure};
use crate::output::print_warning;

/// The directory of the web console in the data directory.
const WEB: &str = "web";

/// The directory of the memory's files, in the data directory. A workspace would be the wrong
/// place: its files can be read in every chat, and become part of commits there.
pub(crate) const MEMORY_FILES: &str = "memory";
/// The directory in the data directory for copies of files whose changes wait for a review.
pub(crate) const KEPT_COPIES: &str = "changes";
/// The file in the data directory with the tokens of the servers.
pub(crate) const MCP_TOKENS: &str = "mcp-tokens.json";

/// The use of a configuration, which decides the references that are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigurationUse {
    /// A daemon uses everything. A reference without a value is an error.
    Everything,
    /// A request to the running daemon uses only the locations of the daemon and its data. Other
    /// references are ignored, so that the command works without the daemon's secrets.
    Daemon,
    /// A command on the log of a stopped daemon uses every reference that has a value here. Missing
    /// secrets have a placeholder, since the command sends nothing.
    Log,
    /// A check: like [`Self::Log`], but locations may have no value either.
    Check,
}

impl ConfigurationUse {
    pub(crate) fn used_references(self) -> UsedReferences {
        match self {
            Self::Everything => UsedReferences::All,
            Self::Daemon => UsedReferences::Places,
            Self::Log | Self::Check => UsedReferences::Possible,
        }
    }
}

/// A loaded configuration, and the locations that follow from it.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    pub(crate) document: ConfigDocument,
    pub(crate) settings: ConfigSettings,
    pub(crate) data_dir: PathBuf,
    /// The agents, the one of `[agents.defaults]` first.
    pub(crate) agents: Vec<Agent>,
    pub(crate) schedules: Vec<NewSchedule>,
    /// The owners' rules of `[rules]`.
    pub(crate) rules: Arc<[OwnerRule]>,
    pub(crate) socket: PathBuf,
    /// The file for the head of the audit table.
    pub(crate) head_file: PathBuf,
    /// The directory for copies at intervals; `None` if none are made.
    pub(crate) backups: Option<PathBuf>,
    pub(crate) sandbox: Sandbox,
    /// The directories of file tools beside the workspaces.
    pub(crate) roots: Vec<Root>,
    /// The directories of the system's skills.
    pub(crate) skills: Vec<PathBuf>,
    /// The fault of the file, if only its places were read.
    pub(crate) fault: Option<FileFault>,
    /// The model in place of the embedded one. Only a proof has one.
    pub(crate) stand_in: Option<Arc<dyn Model>>,
}

/// The directories that programs may read and write, beside a workspace.
#[derive(Debug, Clone)]
pub(crate) struct Sandbox {
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
    /// The paths that programs may not change, for file tools and programs alike.
    pub(crate) protection: Arc<PathProtection>,
}

/// An agent of the configuration.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    pub(crate) profile: AgentProfile,
    /// The directory that its file tools work in.
    pub(crate) workspace: PathBuf,
    pub(crate) prompt_file: Option<PathBuf>,
}

impl Configuration {
    pub(crate) fn agent_names(&self) -> Vec<String> {
        self.agents.iter().map(|agent| agent.profile.name.clone()).collect()
    }

    /// Returns the daemon's own files and directories, for file tools to avoid.
    pub(crate) fn own_paths(&self) -> Vec<PathBuf> {
        let config = self.document.path().map(Path::to_owned).into_iter();
        let last = self.document.path().and_then(|path| path.canonicalize().ok());
        let config = config.chain(last.as_deref().map(last_version));
        // These files of the data directory are listed too, because it may be the workspace.
        let log = ["", "-wal", "-shm", "-last", "-damage"]
            .map(|end| self.data_dir.join(format!("{DATABASE}{end}")));
        let memory = self.data_dir.join(MEMORY_FILES);
        let own = [self.data_dir.clone(), self.head_file.clone(), memory].into_iter();
        let prompts = self.agents.iter().filter_map(|agent| agent.prompt_file.clone());
        let web = [self.web_key(), self.web_port(), self.web_browsers(), self.data_dir.join(WEB)];
        let tokens = [self.data_dir.join(MCP_TOKENS)];
        let files = log.into_iter().chain(web).chain(tokens).chain(prompts);
        config.chain(own).chain(self.backups.clone()).chain(files).collect()
    }

    /// Returns the file with the key of the web console's tokens.
    pub(crate) fn web_key(&self) -> PathBuf {
        self.data_dir.join("web.key")
    }

    /// Returns the file with the port that the web console has opened.
    pub(crate) fn web_port(&self) -> PathBuf {
        self.data_dir.join("web.port")
    }

    /// Returns the file with the browsers that are signed in to the web console.
    pub(crate) fn web_browsers(&self) -> PathBuf {
        self.data_dir.join("web.browsers")
    }

    /// Returns the directory for uploads of the web console.
    pub(crate) fn uploads(&self) -> PathBuf {
        self.data_dir.join(WEB).join("uploads")
    }

    /// Returns the directory in which pictures are converted.
    pub(crate) fn picture_directory(&self) -> PathBuf {
        self.data_dir.join("pictures")
    }

    /// Returns the directory for files that programs upload over HTTP.
    pub(crate) fn program_files(&self) -> PathBuf {
        self.data_dir.join(WEB).join("files")
    }
}

/// A directory of `[tools] read` or `[tools] write`.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    /// Its key in the configuration.
    pub(crate) key: String,
    pub(crate) path: PathBuf,
    pub(crate) access: RootAccess,
}

/// The fault of a configuration file from which only the places of the daemon were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileFault(String);

impl FileFault {
    /// Wraps the sentence that names the fault.
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the sentence that the daemon's status has, too.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Warns the person. Prints the warning only once, because some commands connect repeatedly.
    pub(crate) fn warn(&self) {
        static WARNED: Once = Once::new();
        let Self(fault) = self;
        WARNED.call_once(|| print_warning(&format!("{fault}; the daemon uses the last good one")));
    }

    /// Returns the failure of a command without a daemon.
    pub(crate) fn failure(&self) -> Failure {
        Failure::new(Exit::Configuration, self.0.clone())
    }
}

/// The last version of a file, which saving keeps beside it.
pub(crate) fn last_version(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".before");
    name.into()
}
