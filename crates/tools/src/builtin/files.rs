//! Code shared by the file tools: access to the workspace off the async threads, conversion of
//! errors, and detection of a write after a restart.

use std::sync::Arc;

use avocet_protocol::{Caution, Evidence, Question, ToolContext, ToolError, Verdict};
use avocet_sandbox::{
    FileError, PROTECTED, RootAccess, Workspace, WorkspacePath, WorkspaceRoots, digest_bytes,
};
use avocet_supervise::run_blocking;
use serde_json::json;
use similar::TextDiff;

use super::buffers::CallEditor;
use crate::approval::{fence_text, one_line};

/// The workspace and the extra directories beside it, as tools use them.
#[derive(Debug, Clone)]
pub(super) struct ToolFiles {
    pub(super) roots: Arc<WorkspaceRoots>,
}

impl ToolFiles {
    /// Runs `work` on the workspace, in a thread that may block. `context.read` is lowered to the
    /// trust of the data read, and writes are marked with the lower of that and the call's trust.
    pub(super) async fn run_in_workspace<T: Send + 'static>(
        &self,
        context: &ToolContext,
        work: impl FnOnce(&Workspace) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        run(self.on_behalf(context), move |roots| work(roots.workspace())).await
    }

    /// Like `Self::run_in_workspace`, but on the directory that contains `path`; `work` gets the
    /// path as given.
    pub(super) async fn run_in_root_of<T: Send + 'static>(
        &self,
        context: &ToolContext,
        path: String,
        work: impl FnOnce(&Workspace, &str) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        run(self.on_behalf(context), move |roots| {
            work(roots.root_of(&path).map_err(tool_error)?, &path)
        })
        .await
    }

    /// Like `Self::run_in_workspace`, but on all directories, for several paths.
    pub(super) async fn run_in_all_roots<T: Send + 'static>(
        &self,
        context: &ToolContext,
        work: impl FnOnce(&WorkspaceRoots) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        run(self.on_behalf(context), work).await
    }

    /// Like [`Self::run_in_workspace`], for reads that stay hidden from the model: trust is
    /// unaffected.
    pub(super) async fn look_in_workspace<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Workspace) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        run(self.roots.examine_apart(), move |roots| work(roots.workspace())).await
    }

    /// Like [`Self::run_in_root_of`], for reads that stay hidden from the model: trust is
    /// unaffected.
    pub(super) async fn look_at<T: Send + 'static>(
        &self,
        path: String,
        work: impl FnOnce(&Workspace, &str) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        run(self.roots.examine_apart(), move |roots| {
            work(roots.root_of(&path).map_err(tool_error)?, &path)
        })
        .await
    }

    /// The caution for a change of these paths. A protected path needs approval for each change.
    pub(super) async fn caution_for_change(&self, paths: Vec<String>) -> Caution {
        self.caution_by(paths, |workspace, path| workspace.is_protected(path).then(|| path.clone()))
            .await
    }

    /// Like `Self::caution_for_change`, but `find` returns the protected path that a change would
    /// affect.
    pub(super) async fn caution_by(
        &self,
        paths: Vec<String>,
        find: impl Fn(&Workspace, &WorkspacePath) -> Option<WorkspacePath> + Send + 'static,
    ) -> Caution {
        let found = run(self.roots.examine_apart(), move |roots| {
            let found = paths.iter().find_map(|path| {
                // A path that fails to resolve is skipped: the call will change nothing there.
                let workspace = roots.root_of(path).ok()?;
                find(workspace, &workspace.resolve_path(path).ok()?)
            });
            Ok(found)
        });
        match found.await {
            Ok(Some(path)) => Caution::EachTime(format!(
                "git, a shell or an editor runs the content of {}, outside of the sandbox \
                    ({PROTECTED})",
                one_line(&path.to_string())
            )),
            Ok(None) => Caution::ByTrust,
            Err(error) => Caution::EachTime(format!(
                "it is not known whether these files are protected: {error}"
            )),
        }
    }

    fn on_behalf(&self, context: &ToolContext) -> WorkspaceRoots {
        self.roots.on_behalf(context.trust, &context.read)
    }

    /// A canonical name per path, so that calls on the same file are recognised.
    pub(super) fn canonical_names<const N: usize>(&self, paths: [&str; N]) -> Vec<String> {
        paths.iter().map(|path| self.roots.canonical_name(path)).collect()
    }

    /// The sentence in a tool's description about the extra directories that allow `does`.
    pub(super) fn describe_beside(&self, does: RootAccess) -> String {
        let beside = self.roots.beside_roots().filter_map(|(root, access)| match (does, access) {
            (RootAccess::Change, RootAccess::Read) => None,
            (RootAccess::Read, RootAccess::Read) => Some(format!("{} (read only)", root.display())),
            (_, RootAccess::Change) => Some(root.display().to_string()),
        });
        match beside.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => none,
            all => format!(" Also in these directories, by absolute paths: {all}."),
        }
    }

    /// The question for approval of a change: the diff from the present text to the one that `after`
    /// makes of it. `None` if the diff cannot be made.
    pub(super) async fn question_for_change(
        &self,
        path: String,
        editor: CallEditor,
        after: impl FnOnce(&Workspace, &str) -> Result<String, ToolError> + Send + 'static,
    ) -> Option<Question> {
        let question = self.look_at(path, move |workspace, path| {
            let before = match digest_of_file(
                workspace,
                &workspace.resolve_path(path).map_err(tool_error)?,
            )? {
                Some(_) => editor.read_present(workspace, path)?.text,
                None => String::new(),
            };
            let after = after(workspace, &before)?;
            let name = shown_path(workspace, path);
            let change = TextDiff::from_lines(&before, &after);
            let change = change.unified_diff().header(&name, &name).to_string();
            Ok(Question { shown: fence_text(&change, "diff"), scope: name })
        });
        question.await.ok()
    }

    /// Compares the file with the states before and after the interrupted write.
    pub(super) async fn verify_write(&self, evidence: &Evidence) -> Verdict {
        let now = self.look_at(evidence.subject.clone(), move |workspace, subject| {
            digest_of_file(workspace, &workspace.resolve_path(subject).map_err(tool_error)?)
        });
        verdict_from_state(
            evidence,
            now.await,
            "was written before a restart and has the expected content",
        )
    }
}

async fn run<T: Send + 'static>(
    roots: WorkspaceRoots,
    work: impl FnOnce(&WorkspaceRoots) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    run_blocking(move || work(&roots))
        .await
        .unwrap_or_else(|panicked| Err(ToolError::ExecutionFailed(panicked.to_string())))
}

/// Tells from `evidence` and the current state if an interrupted call took effect. `done` completes
/// the sentence after the subject's name.
pub(super) fn verdict_from_state(
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

/// The evidence that a write records before it happens.
pub(super) fn evidence_of_write(
    workspace: &Workspace,
    given: &str,
    after: &[u8],
) -> Result<Evidence, ToolError> {
    let path = workspace.resolve_path(given).map_err(tool_error)?;
    let before = digest_of_file(workspace, &path)?;
    workspace.can_write(&path).map_err(tool_error)?;
    Ok(Evidence { subject: path.to_string(), before, after: digest_bytes(after) })
}

/// The digest of a file, which reveals none of its text. `None` if the file does not exist.
pub(super) fn digest_of_file(
    workspace: &Workspace,
    path: &WorkspacePath,
) -> Result<Option<String>, ToolError> {
    let bytes = workspace.examine_apart().read_if_any(path).map_err(tool_error)?;
    Ok(bytes.as_deref().map(digest_bytes))
}

/// Reads a whole file as UTF-8 text.
pub(super) fn read_text(workspace: &Workspace, given: &str) -> Result<String, ToolError> {
    let path = workspace.resolve_path(given).map_err(tool_error)?;
    let bytes = workspace.read(&path).map_err(tool_error)?;
    let not_text =
        || ToolError::ExecutionFailed(format!("{} is not text (UTF-8)", path.as_given()));
    if bytes.contains(&0) {
        return Err(not_text());
    }
    String::from_utf8(bytes).map_err(|_| not_text())
}

/// A path for an error message: resolved, with the given spelling if that differs.
pub(super) fn shown_path(workspace: &Workspace, given: &str) -> String {
    workspace.resolve_path(given).map_or_else(|_| given.to_owned(), |path| path.as_given())
}

pub(super) fn write(workspace: &Workspace, given: &str, bytes: &[u8]) -> Result<(), ToolError> {
    let path = workspace.resolve_path(given).map_err(tool_error)?;
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
