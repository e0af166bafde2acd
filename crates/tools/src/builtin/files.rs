//! Code shared by the file tools: access to the workspace off the async threads, conversion of
//! errors, and detection of a write after a restart.

use std::sync::Arc;

use avocet_protocol::tool::{
    Caution, Evidence, Question, ToolContext, ToolError, UndoPlace, Verdict,
};
use avocet_sandbox::{
    EntryKind, FileError, PROTECTED, RootAccess, Workspace, WorkspacePath, WorkspaceRoots,
    digest_bytes,
};
use avocet_supervise::run_blocking;
use serde_json::json;
use similar::TextDiff;

use crate::approval::{fence_text, one_line};

/// The workspace and the extra directories beside it, as tools use them.
#[derive(Debug, Clone)]
pub(super) struct ToolFiles {
    pub(super) roots: Arc<WorkspaceRoots>,
}

impl ToolFiles {
    /// Runs `work` on the workspace on behalf of a call, in a thread that may block.
    pub(super) async fn run_in_workspace<T: Send + 'static>(
        &self,
        context: &ToolContext,
        work: impl FnOnce(&Workspace) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        run(self.on_behalf(context), move |roots| work(roots.workspace())).await
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

    /// The caution for a change of these paths, and of everything below them if `is_recursive`. A
    /// protected path needs approval for each change.
    pub(super) async fn caution_for_change(
        &self,
        paths: Vec<String>,
        is_recursive: bool,
    ) -> Caution {
        let found = run(self.roots.examine_apart(), move |roots| {
            let found = paths.iter().find_map(|path| {
                // A path that fails to resolve is skipped: the call will change nothing there.
                let workspace = roots.root_of(path).ok()?;
                protected_path(workspace, &workspace.resolve_path(path).ok()?, is_recursive)
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

    /// Returns the places of a change of these paths, or of everything below them if `is_recursive`.
    /// `None` if a path leads out, has instructions, or is where marks of trust cannot be kept.
    pub(super) async fn undo_places(
        &self,
        paths: Vec<String>,
        is_recursive: bool,
    ) -> Option<Vec<UndoPlace>> {
        let places = run(self.roots.examine_apart(), move |roots| {
            let place = |given: &String| {
                let workspace = roots.root_of(given).map_err(tool_error)?;
                if !workspace.keeps_marks() {
                    return Ok(None);
                }
                let path = workspace.resolve_path(given).map_err(tool_error)?;
                let strict = workspace.with_protected_instructions();
                if protected_path(&strict, &path, is_recursive).is_some() {
                    return Ok(None);
                }
                let path = path.as_path().to_owned();
                let root = workspace.root().to_owned();
                let (paths, trees) =
                    if is_recursive { (vec![], vec![path]) } else { (vec![path], vec![]) };
                Ok(Some(UndoPlace { root, paths, trees }))
            };
            paths.iter().map(place).collect::<Result<Option<Vec<_>>, ToolError>>()
        });
        // The call itself reports the error.
        places.await.unwrap_or_default()
    }

    /// The directories for a call. `context.read` is lowered to the trust of the data read, and
    /// writes are marked with the lower of that and the call's trust.
    pub(super) fn on_behalf(&self, context: &ToolContext) -> WorkspaceRoots {
        self.roots.on_behalf(context.trust, &context.read)
    }

    /// A canonical name per path, so that calls on the same file are recognised.
    pub(super) fn canonical_names(&self, paths: &[String]) -> Vec<String> {
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
}

/// Runs `work` on the directory that contains `path`, in a thread that may block. `work` gets the
/// path as given.
pub(super) async fn run_in_root_of<T: Send + 'static>(
    roots: WorkspaceRoots,
    path: String,
    work: impl FnOnce(&Workspace, &str) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    run(roots, move |roots| work(roots.root_of(&path).map_err(tool_error)?, &path)).await
}

async fn run<T: Send + 'static>(
    roots: WorkspaceRoots,
    work: impl FnOnce(&WorkspaceRoots) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    run_blocking(move || work(&roots))
        .await
        .unwrap_or_else(|panicked| Err(ToolError::ExecutionFailed(panicked.to_string())))
}

/// Returns a protected path that a change of `path` affects.
fn protected_path(
    workspace: &Workspace,
    path: &WorkspacePath,
    is_recursive: bool,
) -> Option<WorkspacePath> {
    match workspace.kind(path) {
        _ if workspace.is_protected(path) => Some(path.clone()),
        Ok(Some(EntryKind::Directory)) if is_recursive => workspace.protected_below(path).ok()?,
        _ => None,
    }
}

/// The question for approval of a change: the diff between the two texts of a file.
pub(super) fn question_for_change(
    workspace: &Workspace,
    path: &str,
    before: &str,
    after: &str,
) -> Question {
    let name = shown_path(workspace, path);
    if before == after && !after.is_empty() {
        // A difference would be empty, and show nothing of the call.
        let shown =
            format!("{} has this text already:\n\n{}", one_line(&name), fence_text(after, ""));
        return Question { shown, scope: name, shape: None };
    }
    let change = TextDiff::from_lines(before, after);
    let change = change.unified_diff().header(&name, &name).to_string();
    Question { shown: fence_text(&change, "diff"), scope: name, shape: None }
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
