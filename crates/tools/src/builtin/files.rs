//! What the file tools share: the workspace and the directories beside it off the async threads, their
//! errors in the words of tools, and how a write is recognised afterwards.

use std::sync::Arc;

use avocet_protocol::{Caution, Evidence, Question, ToolContext, ToolError, Verdict};
use avocet_sandbox::{Access, FileError, PROTECTED, Roots, Workspace, WorkspacePath, digest};
use avocet_supervise::blocking;
use serde_json::json;
use similar::TextDiff;

use crate::approval::{fenced, one_line};

/// The workspace and the directories beside it, as tools use them.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) roots: Arc<Roots>,
}

impl Files {
    /// Runs `work` where blocking is allowed, on the workspace alone. What it writes is marked with the trust
    /// of the call and of what it reads, and the call is told how far that may be believed.
    pub(super) async fn with<T: Send + 'static>(
        &self,
        context: &ToolContext,
        work: impl FnOnce(&Workspace) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        run(self.on_behalf(context), move |roots| work(roots.workspace())).await
    }

    /// The same on whichever directory a path is in, and on that path as it was given.
    pub(super) async fn at<T: Send + 'static>(
        &self,
        context: &ToolContext,
        path: String,
        work: impl FnOnce(&Workspace, &str) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        run(self.on_behalf(context), move |roots| work(roots.of(&path).map_err(tool_error)?, &path))
            .await
    }

    /// The same on all directories, for several paths.
    pub(super) async fn all<T: Send + 'static>(
        &self,
        context: &ToolContext,
        work: impl FnOnce(&Roots) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        run(self.on_behalf(context), work).await
    }

    /// As [`Self::with`], where no model is shown what is read, and nothing is written.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Workspace) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        run(self.roots.apart(), move |roots| work(roots.workspace())).await
    }

    /// As [`Self::at`], where no model is shown what is read, and nothing is written.
    pub(super) async fn look_at<T: Send + 'static>(
        &self,
        path: String,
        work: impl FnOnce(&Workspace, &str) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        run(self.roots.apart(), move |roots| work(roots.of(&path).map_err(tool_error)?, &path))
            .await
    }

    /// How careful the policy is with a change of these paths: a person has to allow each change of a protected one.
    pub(super) async fn caution(&self, paths: Vec<String>) -> Caution {
        self.caution_by(paths, |workspace, path| workspace.is_protected(path).then(|| path.clone()))
            .await
    }

    /// The same where `find` says which protected path would be changed with each.
    pub(super) async fn caution_by(
        &self,
        paths: Vec<String>,
        find: impl Fn(&Workspace, &WorkspacePath) -> Option<WorkspacePath> + Send + 'static,
    ) -> Caution {
        let found = run(self.roots.apart(), move |roots| {
            let found = paths.iter().find_map(|path| {
                // What cannot be resolved is not changed.
                let workspace = roots.of(path).ok()?;
                find(workspace, &workspace.resolve(path).ok()?)
            });
            Ok(found)
        });
        match found.await {
            Ok(Some(path)) => Caution::EachTime(format!(
                "git, a shell or an editor runs what {} holds, outside of the sandbox ({PROTECTED})",
                one_line(&path.to_string())
            )),
            Ok(None) => Caution::ByTrust,
            Err(error) => Caution::EachTime(format!(
                "it is not known whether these files are protected: {error}"
            )),
        }
    }

    fn on_behalf(&self, context: &ToolContext) -> Roots {
        self.roots.on_behalf(context.trust, &context.read)
    }

    /// Each path by one name, so that calls that touch the same know it.
    pub(super) fn places<const N: usize>(&self, paths: [&str; N]) -> Vec<String> {
        paths.iter().map(|path| self.roots.place(path)).collect()
    }

    /// What a description says of the directories beside the workspace in which a tool works, too: those that
    /// allow as much as it does.
    pub(super) fn also(&self, does: Access) -> String {
        let beside = self.roots.beside().filter_map(|(root, access)| match (does, access) {
            (Access::Change, Access::Read) => None,
            (Access::Read, Access::Read) => Some(format!("{} (read only)", root.display())),
            (_, Access::Change) => Some(root.display().to_string()),
        });
        match beside.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => none,
            all => format!(" It works in these directories, too, by absolute paths: {all}."),
        }
    }

    /// What a person is asked who has to allow that a file becomes what `after` says; none where that
    /// cannot be said.
    pub(super) async fn change(
        &self,
        path: String,
        after: impl FnOnce(&Workspace) -> Result<String, ToolError> + Send + 'static,
    ) -> Option<Question> {
        let shown = self.look_at(path, move |workspace, path| {
            let before = match state(workspace, &workspace.resolve(path).map_err(tool_error)?)? {
                Some(_) => read_text(workspace, path)?,
                None => String::new(),
            };
            let after = after(workspace)?;
            let name = shown(workspace, path);
            let change = TextDiff::from_lines(&before, &after);
            let change = change.unified_diff().header(&name, &name).to_string();
            Ok(fenced(&change, "diff"))
        });
        Some(Question { shown: shown.await.ok()?, scope: String::new() })
    }

    /// Whether the file is as a write would have left it, or as it was before.
    pub(super) async fn verify(&self, evidence: &Evidence) -> Verdict {
        let now = self.look_at(evidence.subject.clone(), move |workspace, subject| {
            state(workspace, &workspace.resolve(subject).map_err(tool_error)?)
        });
        verdict(evidence, now.await, "was written before a restart and is as it should be")
    }
}

async fn run<T: Send + 'static>(
    roots: Roots,
    work: impl FnOnce(&Roots) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    blocking(move || work(&roots))
        .await
        .unwrap_or_else(|panicked| Err(ToolError::ExecutionFailed(panicked.to_string())))
}

/// What has become of a call whose evidence says what was before and was to be after, where this is so
/// now; `done` says what is behind the name of what it happened to.
pub(super) fn verdict(
    evidence: &Evidence,
    now: Result<Option<String>, ToolError>,
    done: &str,
) -> Verdict {
    match now {
        Ok(now) if now.as_ref() == Some(&evidence.after) => {
            Verdict::Happened(json!(format!("{} {done}", evidence.subject)))
        }
        Ok(now) if now == evidence.before => Verdict::DidNotHappen,
        Ok(_) | Err(_) => Verdict::Unknown,
    }
}

/// What a write notes before it happens.
pub(super) fn evidence(
    workspace: &Workspace,
    given: &str,
    after: &[u8],
) -> Result<Evidence, ToolError> {
    let path = workspace.resolve(given).map_err(tool_error)?;
    let before = state(workspace, &path)?;
    workspace.can_write(&path).map_err(tool_error)?;
    Ok(Evidence { subject: path.to_string(), before, after: digest(after) })
}

/// The digest of a file, which shows nothing of it; none if it does not exist.
pub(super) fn state(
    workspace: &Workspace,
    path: &WorkspacePath,
) -> Result<Option<String>, ToolError> {
    let bytes = workspace.apart().read_if_any(path).map_err(tool_error)?;
    Ok(bytes.as_deref().map(digest))
}

/// A whole file as text.
pub(super) fn read_text(workspace: &Workspace, given: &str) -> Result<String, ToolError> {
    let path = workspace.resolve(given).map_err(tool_error)?;
    let bytes = workspace.read(&path).map_err(tool_error)?;
    let not_text =
        || ToolError::ExecutionFailed(format!("{} is not text (UTF-8)", path.as_given()));
    if bytes.contains(&0) {
        return Err(not_text());
    }
    String::from_utf8(bytes).map_err(|_| not_text())
}

/// A path in an error: resolved, and as it was given where that is written otherwise.
pub(super) fn shown(workspace: &Workspace, given: &str) -> String {
    workspace.resolve(given).map_or_else(|_| given.to_owned(), |path| path.as_given())
}

pub(super) fn write(workspace: &Workspace, given: &str, bytes: &[u8]) -> Result<(), ToolError> {
    let path = workspace.resolve(given).map_err(tool_error)?;
    workspace.write(&path, bytes).map_err(tool_error)
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub(super) fn tool_error(error: FileError) -> ToolError {
    let text = error.to_string();
    match error {
        FileError::Outside { .. } => ToolError::InvalidPath(text),
        FileError::NotFound { .. } => ToolError::FileNotFound(text),
        FileError::WrongKind { .. }
        | FileError::TooLarge { .. }
        | FileError::NotEmpty { .. }
        | FileError::Replaced { .. } => ToolError::ExecutionFailed(text),
        FileError::Secret { .. }
        | FileError::Shared { .. }
        | FileError::ReadOnly { .. }
        | FileError::Protected { .. }
        | FileError::Refused { .. } => ToolError::PermissionDenied(text),
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
