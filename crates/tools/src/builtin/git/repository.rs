//! Code shared by the git tools: calls git so that an untrusted repository's configuration has no
//! effect, and explains git's errors.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::tool::{Caution, ToolContext, ToolError, UndoPlace};
use avocet_sandbox::{GitPlace, GitRepository, ProgramRights, Workspace, WorkspaceRoots};

use crate::approval::one_line;
use crate::builtin::files::tool_error;
use crate::builtin::program_settings::ProgramSettings;
use crate::builtin::programs::{
    ENDING, EndedProgram, ProgramError, ProgramExit, ProgramRunner, WantedProgram, last_characters,
};

/// Bytes of output that are read.
const MAX_OUTPUT: usize = 1024 * 1024;
/// Characters of a git error that are kept.
const MAX_ERROR: usize = 1000;
/// The timeout of one git call.
const LONGEST: Duration = Duration::from_mins(2);

/// Overrides for settings with which a repository could run programs or change the output
/// (git-config(1)). The filters of a trusted repository stay: a commit without them would have
/// other contents.
const SETTINGS: [&str; 25] = [
    "advice.detachedHead=false",
    "color.ui=false",
    "commit.gpgSign=false",
    "core.alternateRefsCommand=true",
    "core.askPass=true",
    "core.editor=true",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.quotePath=false",
    "core.sshCommand=ssh",
    "credential.helper=",
    "diff.external=",
    // To inspect a submodule, git runs inside it, with the programs that its configuration names.
    "diff.ignoreSubmodules=dirty",
    "gc.auto=0",
    "http.proxy=",
    "http.sslVerify=true",
    "log.showSignature=false",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
    "push.gpgSign=false",
    "safe.directory=*",
    "sequence.editor=true",
    "submodule.recurse=false",
    // Stops git from making up an author from the system's user and host names.
    "user.useConfigOnly=true",
];

/// Environment variables that take precedence over any configuration (git(1)).
const ENVIRONMENT: [(&str, &str); 10] = [
    ("GIT_ALLOW_PROTOCOL", "file:http:https:ssh"),
    ("GIT_ASKPASS", "true"),
    ("GIT_EDITOR", "true"),
    // Fetching the missing part of a partial clone could run a program that the repository names.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_SSH_COMMAND", "ssh"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // Fixed language, because the code below matches git's messages.
    ("LANGUAGE", "C"),
    ("LC_ALL", "C.UTF-8"),
];

/// The system's git, in repositories of a workspace.
#[derive(Debug, Clone)]
pub(in crate::builtin) struct WorkspaceGit {
    programs: ProgramRunner,
    /// `true` if it may change the configuration of repositories and their protected files.
    changes: bool,
}

/// The permissions of git in one repository.
struct GitPermissions {
    rights: ProgramRights,
    /// Filters that are switched off.
    filters: Vec<String>,
}

#[derive(Debug)]
pub(super) enum GitOutcome {
    /// The output of a call that succeeded.
    Well(String),
    /// The error message of a call that failed.
    Wrong(String),
}

/// The reason why git cannot work in a directory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoGit {
    #[error("git is not installed on this system: its operator has to install it")]
    NotInstalled,
    #[error(
        "{0} is not a git repository; give the directory of one as repository, or create one there \
         with exec_shell: git init"
    )]
    NoRepository(String),
}

impl WorkspaceGit {
    pub(in crate::builtin) fn new(roots: Arc<WorkspaceRoots>, shell: ProgramSettings) -> Self {
        Self { programs: ProgramRunner::new(roots, shell), changes: false }
    }

    /// A copy for tools that change repositories.
    pub(in crate::builtin) fn with_changes(self) -> Self {
        Self { changes: true, ..self }
    }

    /// The hosts that git can connect to, if any are open to programs.
    pub(super) fn opened_hosts(&self) -> Option<String> {
        self.programs.shell.opened_hosts()
    }

    /// The time limit of a tool that makes `calls` calls of git.
    pub(super) fn time_limit(&self, calls: u32) -> Duration {
        (self.shortest_limit() + ENDING) * calls
    }

    /// The caution for git in a repository: an untrusted repository might exploit git.
    pub(super) async fn caution_for_repository(&self, repository: Option<&str>) -> Caution {
        match self.find_repository(repository).await {
            Ok(GitRepository { untrusted: Some(path), .. }) => Caution::Because(format!(
                "{} of this repository is untrusted; its filters and hooks do not run (`avocet \
                    trust --believe` marks it as trusted)",
                one_line(&path)
            )),
            // A lookup error appears again when the tool runs.
            Ok(_) | Err(_) => self.programs.shell.caution_by_isolation(),
        }
    }

    /// See [`Tool::undo_places`](avocet_protocol::tool::Tool::undo_places).
    pub(super) fn undo_places(&self) -> Option<Vec<UndoPlace>> {
        self.programs.undo_places()
    }

    /// The repository that git would use.
    async fn find_repository(&self, repository: Option<&str>) -> Result<GitRepository, ToolError> {
        let given = repository.unwrap_or_default().to_owned();
        let look = move |workspace: &Workspace| {
            let path = workspace.resolve_path(&given).map_err(tool_error)?;
            workspace.find_repository(&path).map_err(tool_error)
        };
        self.programs.tool_files().look_in_workspace(look).await
    }

    /// The permissions of git. If the repository, or one below it, is untrusted, git may start no
    /// other program.
    async fn permissions_in(
        &self,
        repository: Option<&str>,
        arguments: &[&str],
    ) -> Result<GitPermissions, ToolError> {
        let GitRepository { untrusted, untrusted_below, place, filters } =
            self.find_repository(repository).await?;
        let has = |command: &str| arguments.contains(&command);
        // A push runs only git's own programs and reads no files of the working tree.
        let is_push = has("push");
        match (untrusted, untrusted_below) {
            (Some(_), _) if !is_push => {
                Ok(GitPermissions { rights: ProgramRights::Alone, filters })
            }
            (None, Some(_)) if filters.is_empty() && !is_push => {
                Ok(GitPermissions { rights: ProgramRights::Alone, filters })
            }
            (None, Some(path)) if has("add") || has("commit") => {
                Err(ToolError::ExecutionFailed(format!(
                    "{path} is untrusted, and git would run the programs that it names, because it \
                        is below a repository with its own filters. Move it out of the repository, \
                        or ask the user to check it and to run avocet trust --believe"
                )))
            }
            _ if self.changes => {
                let rights = place.into_iter().filter(GitPlace::is_text).collect();
                Ok(GitPermissions { rights: ProgramRights::Git(rights), filters: Vec::new() })
            }
            _ => Ok(GitPermissions { rights: ProgramRights::Ordinary, filters: Vec::new() }),
        }
    }

    /// Runs git in a repository. A non-zero exit is an error.
    pub(super) async fn run(
        &self,
        repository: Option<&str>,
        arguments: &[&str],
        context: &ToolContext,
    ) -> Result<String, ToolError> {
        match self.run_git(repository, arguments, context).await? {
            GitOutcome::Well(text) => Ok(text),
            GitOutcome::Wrong(why) => Err(failed_command(arguments, &why)),
        }
    }

    /// Runs git in a repository. A non-zero exit is `GitOutcome::Wrong`.
    pub(super) async fn run_git(
        &self,
        repository: Option<&str>,
        arguments: &[&str],
        context: &ToolContext,
    ) -> Result<GitOutcome, ToolError> {
        let asked = self.try_git(repository, arguments, context).await?;
        asked.map_err(|no_git| ToolError::ExecutionFailed(no_git.to_string()))
    }

    /// Like [`WorkspaceGit::run_git`], but tells apart why git cannot work there at all.
    pub(super) async fn try_git(
        &self,
        repository: Option<&str>,
        arguments: &[&str],
        context: &ToolContext,
    ) -> Result<Result<GitOutcome, NoGit>, ToolError> {
        self.programs.check_allowed("git")?;
        let directory =
            self.programs.directory_path(repository.map(str::to_owned), context).await?;
        let GitPermissions { rights, filters } = self.permissions_in(repository, arguments).await?;
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let program = ["git", "--no-pager", "--literal-pathspecs"].into_iter();
        let proxy = self.programs.shell.sandbox.proxy_url().map(|url| format!("http.proxy={url}"));
        let settings = settings.chain(proxy.iter().flat_map(|setting| ["-c", setting.as_str()]));
        let program = program.chain(settings).chain(arguments.iter().copied());
        let mut environment: Vec<(String, String)> =
            ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        // Repositories above the workspace are ignored.
        let above = self.programs.workspace_root().parent().map(|path| path.display().to_string());
        environment.push(("GIT_CEILING_DIRECTORIES".to_owned(), above.unwrap_or_default()));
        environment.extend(without_filters(&filters));
        let wanted = WantedProgram {
            program: program.map(str::to_owned).collect(),
            directory,
            environment,
            limit: self.shortest_limit(),
            output: MAX_OUTPUT,
            rights,
        };
        let EndedProgram { end, output, notes: _ } = match self.programs.run(wanted, context).await
        {
            Ok(done) => done,
            Err(ProgramError::Missing(_)) => return Ok(Err(NoGit::NotInstalled)),
            Err(ProgramError::Other(error)) => return Err(error),
        };
        let text = output.to_text();
        if end == ProgramExit::Code(0) {
            return Ok(Ok(GitOutcome::Well(text)));
        }
        if text.contains("not a git repository") {
            let place = repository.filter(|place| !place.is_empty()).unwrap_or("the workspace");
            return Ok(Err(NoGit::NoRepository(place.to_owned())));
        }
        Ok(Ok(GitOutcome::Wrong(text)))
    }

    fn shortest_limit(&self) -> Duration {
        self.programs.shell.longest.min(LONGEST)
    }
}

/// Settings that switch filters off, for any characters in filter names (git-config(1),
/// `GIT_CONFIG_COUNT`).
fn without_filters(filters: &[String]) -> Vec<(String, String)> {
    const OFF: [(&str, &str); 4] =
        [("clean", ""), ("process", ""), ("smudge", ""), ("required", "false")];
    let settings = filters.iter().flat_map(|filter| {
        OFF.map(|(name, value)| (format!("filter.{filter}.{name}"), value.to_owned()))
    });
    let settings: Vec<_> = settings.collect();
    let count = ("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string());
    let pairs = settings.into_iter().enumerate().flat_map(|(at, (key, value))| {
        [(format!("GIT_CONFIG_KEY_{at}"), key), (format!("GIT_CONFIG_VALUE_{at}"), value)]
    });
    [count].into_iter().chain(pairs).collect()
}

/// The shell command that receives a push to a remote on this machine. It has the same overrides,
/// so the receiving repository's configuration cannot run programs either.
pub(super) fn receive_command() -> String {
    let settings = SETTINGS.map(|setting| format!("-c '{setting}'")).join(" ");
    format!("git {settings} receive-pack")
}

/// An error that names the git command.
pub(super) fn failed_command(arguments: &[&str], why: &str) -> ToolError {
    let why = last_characters(why.trim(), MAX_ERROR);
    let command = arguments.iter().find(|word| !word.starts_with('-') && !word.contains('='));
    let command = command.copied().unwrap_or_default();
    ToolError::ExecutionFailed(format!("git {command}: {why}"))
}

/// Rejects a name that git would read as an option.
pub(super) fn check_name(what: &str, name: &str) -> Result<(), ToolError> {
    let wrong = match name {
        "" => "is empty",
        name if name.starts_with('-') => "begins with -, which a name must not",
        name if name.contains(char::is_control) => "contains control characters",
        _ => return Ok(()),
    };
    Err(ToolError::InvalidArgs(format!("{what} {name:?} {wrong}")))
}

/// Rejects an invalid branch or remote name (git-check-ref-format(1)). git would read it as a
/// pattern, as several names or as another name.
pub(super) fn check_ref(what: &str, name: &str) -> Result<(), ToolError> {
    check_name(what, name)?;
    let has =
        ["..", "*", "?", "[", ":", "^", "~", "\\", " "].into_iter().find(|no| name.contains(no));
    match has {
        Some(no) => {
            let why = format!("{what} {name:?} contains '{no}', which is not allowed in a {what}");
            Err(ToolError::InvalidArgs(why))
        }
        None => Ok(()),
    }
}
