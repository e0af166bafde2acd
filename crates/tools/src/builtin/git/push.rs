//! `git_push`: pushes the commits of a branch to a remote.

use async_trait::async_trait;
use avocet_protocol::tool::{
    Caution, Description, Question, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::parse::{self, is_elsewhere, without_credentials};
use super::repository::{GitOutcome, WorkspaceGit, check_ref, failed_command, receive_command};
use crate::builtin::programs::code_block;

const DEFAULT_REMOTE: &str = "origin";
/// Commits that the approval prompt lists.
const SHOWN_COMMITS: usize = 20;
/// Messages of git and ssh (in lower case) that mean the network is unreachable.
const NO_NETWORK: [&str; 10] = [
    "[sandbox] hosts does not",
    "connect tunnel failed",
    "from proxy after connect",
    "could not resolve host",
    "could not resolve hostname",
    "could not connect to server",
    "failed to connect to",
    "network is unreachable",
    "socket",
    "name resolution",
];

#[derive(Debug)]
pub(in crate::builtin) struct GitPush(pub(in crate::builtin) WorkspaceGit);

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::builtin) struct GitPushArguments {
    /// Directory of the repository. Default: the root.
    #[schemars(extend("x-aliases" = ["repo", "repo_path"]))]
    repository: Option<String>,
    /// Default: origin.
    remote: Option<String>,
    /// Default: the current one.
    branch: Option<String>,
    set_upstream: Option<bool>,
}

/// The commit to push and its destination.
struct PushTarget {
    remote: String,
    branch: String,
    /// The branch's commit, by its full id.
    commit: String,
    /// Without credentials.
    url: String,
    /// `true` if all URLs of the remote lead to other machines.
    is_elsewhere: bool,
}

#[async_trait]
impl Tool for GitPush {
    type Arguments = GitPushArguments;

    fn describe(&self) -> Description {
        let reached = match self.0.opened_hosts() {
            None => "There is no network: only remotes in the workspace.".to_owned(),
            Some(hosts) => {
                format!("Reaches remotes in the workspace, and by https these hosts: {hosts}.")
            }
        };
        let text = format!(
            "Push a branch to the branch of the same name, never by force. The user is asked first. \
                {reached}"
        );
        let described = Description::new("git_push", ToolClass::Effect, text).in_group("git");
        Description { time_limit: self.0.time_limit(5), ..described }
    }

    async fn execute(
        &self,
        arguments: GitPushArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let PushTarget { remote, branch, commit, url, is_elsewhere } =
            self.push_target(&arguments, context).await?;
        let refs = format!("{commit}:refs/heads/{branch}");
        let mut words = vec!["push", "--porcelain", "--no-verify", "--no-signed"];
        // Leave out tags and submodules, and run no program that the repository names.
        words.extend(["--no-follow-tags", "--no-recurse-submodules"]);
        // Other machines know only the plain name; on this machine, use our own settings.
        let receiver = if is_elsewhere { "git-receive-pack".to_owned() } else { receive_command() };
        let receiver = format!("--receive-pack={receiver}");
        words.push(&receiver);
        words.extend([remote.as_str(), &refs]);
        match self.0.run_git(arguments.repository.as_deref(), &words, context).await? {
            GitOutcome::Well(text) => {
                if arguments.set_upstream.unwrap_or(false) {
                    // A push by commit id sets no upstream.
                    let upstream = format!("--set-upstream-to={remote}/{branch}");
                    let words = ["branch", "--quiet", &upstream, &branch];
                    self.0.run(arguments.repository.as_deref(), &words, context).await?;
                }
                let result = parse::parse_push(&text).unwrap_or("pushed");
                Ok(json!({ "remote": remote, "url": url, "branch": branch, "result": result })
                    .into())
            }
            GitOutcome::Wrong(why) => Err(refused_push(&words, &why, &url)),
        }
    }

    async fn caution(&self, _arguments: &GitPushArguments, _context: &ToolContext) -> Caution {
        Caution::Always
    }

    async fn question(
        &self,
        arguments: &GitPushArguments,
        context: &ToolContext,
    ) -> Option<Question> {
        let target = self.push_target(arguments, context).await.ok()?;
        let count = format!("--max-count={}", SHOWN_COMMITS + 1);
        let branch = format!("refs/heads/{}", target.branch);
        let known = format!("--remotes={}", target.remote);
        let words = ["log", "--format=%h %s", &count, &branch, "--not", &known, "--"];
        let commits = self.0.run(arguments.repository.as_deref(), &words, context).await.ok()?;
        Some(push_question(&target, &commits))
    }
}

/// The approval prompt for a push of these commits, one per line.
fn push_question(
    PushTarget { remote, branch, commit, url, .. }: &PushTarget,
    commits: &str,
) -> Question {
    let mut lines: Vec<&str> = commits.lines().collect();
    if lines.len() > SHOWN_COMMITS {
        lines.truncate(SHOWN_COMMITS);
        lines.push("… and more");
    }
    let commits = if lines.is_empty() {
        "No commits that the remote lacks, as far as known.".to_owned()
    } else {
        format!("The commits:\n\n{}", code_block(&lines.join("\n")))
    };
    let target = code_block(&format!("{branch} -> {remote} {url}\nat {commit}"));
    let shown = format!("Push a branch to a remote:\n\n{target}\n\n{commits}");
    Question { shown, scope: format!("{branch} to {remote} {url}"), shape: None }
}

impl GitPush {
    async fn push_target(
        &self,
        arguments: &GitPushArguments,
        context: &ToolContext,
    ) -> Result<PushTarget, ToolError> {
        let repository = arguments.repository.as_deref();
        let remote = arguments.remote.as_deref().unwrap_or(DEFAULT_REMOTE);
        check_ref("remote", remote)?;
        let get = ["remote", "get-url", "--push", "--all", remote];
        let url = match self.0.run_git(repository, &get, context).await? {
            GitOutcome::Well(urls) => urls,
            GitOutcome::Wrong(_) => {
                return Err(ToolError::ExecutionFailed(format!(
                    "there is no remote {remote}; exec_shell has git remote -v, and git remote add"
                )));
            }
        };
        let is_elsewhere = url.lines().all(is_elsewhere);
        let Some(urls) = url.lines().map(without_credentials).collect::<Option<Vec<_>>>() else {
            return Err(ToolError::ExecutionFailed(format!(
                "the URL of the remote {remote} has ?, # or \\ before its path: it is not clear which \
                 host it means. The user has to set another (git remote set-url)"
            )));
        };
        let branch = match &arguments.branch {
            Some(branch) => branch.clone(),
            None => {
                let current = ["branch", "--show-current"];
                self.0.run(repository, &current, context).await?.trim().to_owned()
            }
        };
        if branch.is_empty() {
            let why = "no branch is checked out here; give branch";
            return Err(ToolError::InvalidArgs(why.to_owned()));
        }
        check_ref("branch", &branch)?;
        // Push this commit, even if the branch moves in the meantime.
        let name = format!("refs/heads/{branch}^{{commit}}");
        let commit =
            match self.0.run_git(repository, &["rev-parse", "--verify", &name], context).await? {
                GitOutcome::Well(commit) => commit.trim().to_owned(),
                GitOutcome::Wrong(_) => {
                    return Err(ToolError::ExecutionFailed(format!(
                        "there is no branch {branch} here"
                    )));
                }
            };
        let (remote, url) = (remote.to_owned(), urls.join(", "));
        Ok(PushTarget { remote, branch, commit, url, is_elsewhere })
    }
}

fn refused_push(words: &[&str], why: &str, url: &str) -> ToolError {
    let said = why.to_lowercase();
    if NO_NETWORK.iter().any(|words| said.contains(words)) {
        return ToolError::ExecutionFailed(format!(
            "{url} cannot be reached: programs reach only the hosts in [sandbox] hosts of the \
                configuration, and have no ssh. Ask the user to push the branch, or to add the host"
        ));
    }
    match parse::parse_push(why) {
        Some(result) if result.contains("fetch first") || result.contains("non-fast-forward") => {
            ToolError::ExecutionFailed(format!(
                "{result}: the remote has commits that this branch does not have. Fetch and merge \
                 them first (exec_shell: git pull)"
            ))
        }
        _ => failed_command(words, why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_shows_the_remote_url_and_the_commits_of_a_push() {
        let target = PushTarget {
            remote: "origin".to_owned(),
            branch: "main".to_owned(),
            commit: "0123abc".to_owned(),
            url: "https://example.org/r.git".to_owned(),
            is_elsewhere: true,
        };
        let asked = push_question(&target, "1a fix shutdown\n2b more\n");
        assert_eq!(
            asked.shown,
            "Push a branch to a remote:\n\n```\nmain -> origin https://example.org/r.git\nat \
                0123abc\n```\n\n\
             The commits:\n\n```\n1a fix shutdown\n2b more\n```"
        );
        assert_eq!(asked.scope, "main to origin https://example.org/r.git");
        let many = push_question(&target, &"1a x\n".repeat(21)).shown;
        assert_eq!((many.matches("1a x").count(), many.matches("… and more").count()), (20, 1));
        let none = push_question(&target, "").shown;
        assert!(none.contains("No commits that the remote lacks, as far as known"), "{none}");
    }

    #[test]
    fn refused_push_explains_the_cause_and_the_next_step() {
        for (said, meant) in [
            ("ssh: Could not resolve hostname example.org: x", "programs reach only the hosts"),
            (
                "fatal: unable to access 'u': Failed to connect to 127.0.0.1 port 9",
                "programs reach only the hosts",
            ),
            (
                "fatal: unable to access 'u': CONNECT tunnel failed, response 403",
                "[sandbox] hosts of the configuration",
            ),
            ("!\ta:b\t[rejected] (non-fast-forward)\n", "does not have. Fetch and merge"),
            ("fatal: something else", "git push: fatal: something else"),
        ] {
            let error = refused_push(&["push"], said, "u").to_string();
            assert!(error.contains(meant), "{error}");
        }
    }
}
