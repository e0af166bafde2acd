//! The frame of the file tools. A file tool is a [`FileWork`]: its names, its arguments and its work
//! on one directory. The frame makes the whole tool of it.
//!
//! ```text
//! describe   names the further directories; calls that only read run side by side
//! paths      one name per path, so that a write waits for a read of the same file
//! caution    each change of a protected path needs an approval
//! places     of a change, whose copies are kept after untrusted text
//! prepare    FileWork::collect_evidence  in the directory of the first path, with the trust of the call
//! execute    FileWork::run               likewise; it stops with the call
//! question   FileWork::make_question     likewise, but the model reads nothing of it
//! verify     FileWork::read_state        compared with the evidence
//! ```
//!
//! The work runs in a thread that may block. It gets the directory as a [`Workspace`], which refuses
//! paths that lead out, secret files and links, and keeps the trust of what is read and written.

use std::fmt;
use std::marker::PhantomData;

use async_trait::async_trait;
use avocet_protocol::access::Trust;
use avocet_protocol::tool::{
    Caution, Description, Evidence, Question, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
    UndoPlace, Verdict,
};
use avocet_sandbox::{RootAccess, Workspace, WorkspaceRoots};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::BuiltinParts;
use super::buffers::{CallEditor, EditorBuffers};
use super::files::{ToolFiles, digest_of_file, run_in_root_of, tool_error, verdict_from_state};

/// The part of a file tool that no other has.
pub(super) trait FileWork: fmt::Debug + Send + Sync + 'static {
    /// See [`Tool::Arguments`].
    type Arguments: Clone + DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// The name of the tool.
    const NAME: &'static str;
    /// [`ToolClass::Pure`] or [`ToolClass::Verifiable`].
    const CLASS: ToolClass;
    /// Text for the model, without the further directories.
    const TEXT: &'static str;
    /// See [`Description::group`].
    const GROUP: &'static str = "files";
    /// See [`Description::output`].
    const OUTPUT: usize = Description::MOST_OUTPUT;
    /// `true` if the tool works in the workspace alone, not in the directories beside it.
    const WORKSPACE_ONLY: bool = false;
    /// The end of a sentence about the subject of the evidence, if an interrupted call took effect.
    const HAPPENED: &'static str = "was written before a restart and has the expected content";

    /// Returns the paths that a call reads or changes, as given. The first one decides in which
    /// directory the call works.
    fn list_paths(arguments: &Self::Arguments) -> Vec<String>;

    /// Returns `true` if a call changes everything below its paths, too.
    fn is_recursive(arguments: &Self::Arguments) -> bool {
        let _ = arguments;
        false
    }

    /// Only for verifiable tools: see [`Tool::prepare`].
    fn collect_evidence(
        call: &FileCall<'_>,
        arguments: &Self::Arguments,
    ) -> Result<Option<Evidence>, ToolError> {
        let (_, _) = (call, arguments);
        Ok(None)
    }

    /// Runs one call and returns its result.
    fn run(call: &FileCall<'_>, arguments: &Self::Arguments) -> Result<Value, ToolError>;

    /// Only for verifiable tools: returns the present state of the subject of the evidence, to
    /// compare with the states in it.
    fn read_state(workspace: &Workspace, subject: &str) -> Result<Option<String>, ToolError> {
        digest_of_file(workspace, &workspace.resolve_path(subject).map_err(tool_error)?)
    }

    /// See [`Tool::question`]. After an error, the question shows the arguments.
    fn make_question(
        call: &FileCall<'_>,
        arguments: &Self::Arguments,
    ) -> Result<Option<Question>, ToolError> {
        let (_, _) = (call, arguments);
        Ok(None)
    }
}

/// One call, in the directory that it works in.
pub(super) struct FileCall<'a> {
    pub(super) workspace: &'a Workspace,
    /// The first path of the call, as given.
    pub(super) path: &'a str,
    pub(super) editor: CallEditor,
    /// The trust level of the call, and so of everything that it writes.
    pub(super) trust: Trust,
    stop: CancellationToken,
}

impl FileCall<'_> {
    /// Returns the present text of the file; an empty text if there is no file.
    pub(super) fn read_text_if_any(&self) -> Result<String, ToolError> {
        let path = self.workspace.resolve_path(self.path).map_err(tool_error)?;
        Ok(match digest_of_file(self.workspace, &path)? {
            Some(_) => self.editor.read_present(self.workspace, self.path)?.text,
            None => String::new(),
        })
    }

    /// Returns `true` once the result of the call is no longer needed.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }
}

/// A file tool: the frame around `W`.
#[derive(Debug)]
pub(super) struct FileTool<W> {
    files: ToolFiles,
    buffers: EditorBuffers,
    work: PhantomData<W>,
}

impl<W: FileWork> FileTool<W> {
    pub(super) fn new(work: W, parts: &BuiltinParts) -> Self {
        Self::with_files(work, ToolFiles { roots: parts.roots.clone() }, EditorBuffers::new(parts))
    }

    pub(super) fn with_files(_: W, files: ToolFiles, buffers: EditorBuffers) -> Self {
        Self { files, buffers, work: PhantomData }
    }

    /// Runs `work` in the directory of the call.
    async fn run_in_directory<T: Send + 'static>(
        &self,
        roots: WorkspaceRoots,
        arguments: W::Arguments,
        context: &ToolContext,
        work: fn(&FileCall<'_>, &W::Arguments) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        // A child token with a guard: a timeout drops this future, and the guard then stops the
        // work.
        let stop = context.cancel.child_token();
        let _dropped = stop.clone().drop_guard();
        let (editor, trust) = (self.buffers.editor_for(context), context.trust);
        let first =
            if W::WORKSPACE_ONLY { None } else { W::list_paths(&arguments).into_iter().next() };
        run_in_root_of(roots, first.unwrap_or_default(), move |workspace, path| {
            work(&FileCall { workspace, path, editor, trust, stop }, &arguments)
        })
        .await
    }
}

#[async_trait]
impl<W: FileWork> Tool for FileTool<W> {
    type Arguments = W::Arguments;

    fn describe(&self) -> Description {
        let description =
            Description::new(W::NAME, W::CLASS, W::TEXT).in_group(W::GROUP).at_most(W::OUTPUT);
        let is_pure = W::CLASS == ToolClass::Pure;
        let description = if is_pure { description.parallel() } else { description };
        let access = if is_pure { RootAccess::Read } else { RootAccess::Change };
        if W::WORKSPACE_ONLY {
            description
        } else {
            description.and(&self.files.describe_beside(access))
        }
    }

    async fn caution(&self, arguments: &W::Arguments, _: &ToolContext) -> Caution {
        if W::CLASS == ToolClass::Pure {
            return Caution::ByTrust;
        }
        let paths = W::list_paths(arguments);
        self.files.caution_for_change(paths, W::is_recursive(arguments)).await
    }

    async fn undo_places(
        &self,
        arguments: &W::Arguments,
        _: &ToolContext,
    ) -> Option<Vec<UndoPlace>> {
        let paths = W::list_paths(arguments);
        self.files.undo_places(paths, W::is_recursive(arguments)).await
    }

    fn paths(&self, arguments: &W::Arguments) -> Vec<String> {
        self.files.canonical_names(&W::list_paths(arguments))
    }

    async fn prepare(
        &self,
        arguments: &W::Arguments,
        context: &ToolContext,
    ) -> Result<Option<Evidence>, ToolError> {
        if W::CLASS == ToolClass::Pure {
            return Ok(None);
        }
        let roots = self.files.on_behalf(context);
        self.run_in_directory(roots, arguments.clone(), context, W::collect_evidence).await
    }

    async fn execute(
        &self,
        arguments: W::Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let roots = self.files.on_behalf(context);
        Ok(self.run_in_directory(roots, arguments, context, W::run).await?.into())
    }

    async fn question(&self, arguments: &W::Arguments, context: &ToolContext) -> Option<Question> {
        let roots = self.files.roots.examine_apart();
        let question = self.run_in_directory(roots, arguments.clone(), context, W::make_question);
        question.await.ok().flatten()
    }

    async fn verify(&self, evidence: &Evidence) -> Verdict {
        let subject = evidence.subject.clone();
        let path = if W::WORKSPACE_ONLY { String::new() } else { subject.clone() };
        let roots = self.files.roots.examine_apart();
        let now =
            run_in_root_of(roots, path, move |workspace, _| W::read_state(workspace, &subject));
        verdict_from_state(evidence, now.await, W::HAPPENED)
    }
}
