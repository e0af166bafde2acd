//! Lets calls run after untrusted text that a person can undo, and asks about all changes at the end
//! of the turn.
//!
//! ```text
//! prepare    places of the call; none: it is asked about before it runs
//!            copies of them; they cannot be kept: likewise
//! execute    then notes the changes
//!   ... further calls
//! review     before the answer: one question with all changes
//!              keep            they stay, marked as untrusted
//!              keep and trust  the marks are removed
//!              undo            every file gets its earlier content
//! ```
//!
//! **Only for calls that stay in the sandbox.** The tool names the places ([`Tool::undo_places`]) if the
//! call changes nothing else: unprotected files, or all that a program can write without a network. Rules
//! of the operator and of owners, and the mode `ask`, still ask before. An owner's own turn alone has this
//! way, since only owners decide about files. In an editor each change is asked about, since the editor may
//! hold the text.
//!
//! **The files keep the mark** that untrusted text gives them, whatever a person decides, unless it is
//! "Keep and trust". So what is written here lowers the trust of whoever reads it.
//!
//! **Copies belong to the conversation** (`avocet_sandbox::KeptCopies`), so nothing is lost if a turn
//! ends without its review: the next answer asks. Another conversation that wants the directory before
//! asks a person once, who can give up these copies with the approval of its call.
//!
//! [`Tool::undo_places`]: avocet_protocol::tool::Tool::undo_places

use std::fmt::Write as _;
use std::path::{Component, Path};
use std::sync::Arc;

use avocet_protocol::access::{Grant, Role, Rule};
use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::ToolName;
use avocet_protocol::model::ToolCall;
use avocet_protocol::store::{SessionWork, SessionsAtWork};
use avocet_protocol::tool::{
    Caution, HeldForCall, ToolClass, ToolContext, ToolError, UndoPlace, WaitRequest,
};
use avocet_sandbox::{
    ChangedPath, FileChange, KeepError, KeptCopies, ShownState, UndoneChanges, WorkspaceRoots,
};
use avocet_supervise::run_blocking;
use similar::TextDiff;

use super::{ToolRegistry, is_trusted};
use crate::approval::{self, one_line};
use crate::erased::CallReview;
use crate::policy::{PolicyDecision, READ};
use crate::registered::RegisteredTool;
use crate::session_grants::REVIEW;

/// Changed paths that are listed by name.
const MOST_NAMED: usize = 20;
/// Files that a person can trust at once.
const MOST_TRUSTED: usize = 20;
/// The history of a branch, which shows the messages of new commits.
const GIT_HISTORY: &str = "logs/HEAD";

/// Keeps copies for the calls of an agent, and reviews their changes.
#[derive(Debug, Clone)]
pub struct ChangeReviews {
    /// The copies of all conversations.
    pub copies: Arc<KeptCopies>,
    /// The directories of the agent.
    pub roots: Arc<WorkspaceRoots>,
    /// Tells which conversations still work.
    pub work: Arc<dyn SessionsAtWork>,
}

impl ChangeReviews {
    /// Runs `work` with the copies in a thread that may block.
    async fn run_with_copies<T: Send + 'static>(
        &self,
        session: &SessionId,
        work: impl FnOnce(&KeptCopies, &SessionId) -> Result<T, KeepError> + Send + 'static,
    ) -> Result<T, KeepError> {
        let (copies, session) = (self.copies.clone(), session.clone());
        let panicked = |error| Err(KeepError::Io(std::io::Error::other(error)));
        run_blocking(move || work(&copies, &session)).await.unwrap_or_else(panicked)
    }

    /// Returns the conversations whose unreviewed changes keep another one out of these places, if the
    /// turns of all of them have ended. Nobody is asked about their changes now.
    async fn find_ended_holders(
        &self,
        session: &SessionId,
        places: &[UndoPlace],
    ) -> Option<Vec<SessionId>> {
        let holders = self.copies.find_holders(session, places)?;
        for holder in &holders {
            match self.work.session_work(holder).await {
                Ok(SessionWork::Ended | SessionWork::Gone) => {}
                Ok(SessionWork::Open) => return None,
                Err(error) => {
                    tracing::warn!(session = %holder, %error, "cannot read if a conversation with \
                        unreviewed changes still works; its changes wait for its next answer");
                    return None;
                }
            }
        }
        Some(holders)
    }
}

impl ToolRegistry {
    /// Returns the places that a call can change, if it needs no approval before it runs.
    pub(super) async fn undo_places(
        &self,
        registered: &RegisteredTool,
        call: &ToolCall,
        review: &CallReview,
        context: &ToolContext,
    ) -> Option<Vec<UndoPlace>> {
        self.reviews.as_ref()?;
        let is_of_owner = context.role == Role::Owner && !context.place.is_editor;
        let may_run = is_of_owner && !is_trusted(context) && review.caution == Caution::ByTrust;
        if !may_run || registered.description.class == ToolClass::Pure {
            return None;
        }
        let arguments = registered.validated_arguments(call).ok()?;
        registered.tool.undo_places(&arguments, context).await.ok()?
    }

    /// Keeps copies before a call. Returns what to hold until the call has ended, or the decision to ask
    /// if no copies can be kept. A call that a grant for the session covers needs none.
    pub(super) async fn keep_copies(
        &self,
        registered: &RegisteredTool,
        call: &ToolCall,
        places: Option<Vec<UndoPlace>>,
        context: &ToolContext,
    ) -> Result<Result<HeldForCall, PolicyDecision>, ToolError> {
        let nothing = Ok(Ok(HeldForCall::default()));
        let (Some(reviews), Some(places)) = (&self.reviews, places) else { return nothing };
        if self.is_granted(registered, call, context).await? {
            return nothing;
        }
        let wanted = places.clone();
        let begin =
            move |copies: &KeptCopies, session: &SessionId| copies.begin_changes(session, &wanted);
        let begun = reviews.run_with_copies(&context.session, begin).await;
        Ok(match begun {
            Ok(window) => Ok(HeldForCall(window.map(|window| window as _))),
            Err(KeepError::Busy)
                if reviews.find_ended_holders(&context.session, &places).await.is_some() =>
            {
                Err(ask_to_give_up_copies())
            }
            Err(error) => Err(ask_before(&error)),
        })
    }

    /// Returns `true` if a person has approved the call because another conversation kept its files busy.
    /// The call needs no review then, although the files are free now. The person may also have approved
    /// that a conversation whose turn has ended loses its copies. This method then forgets the copies,
    /// and the call is reviewed like any other.
    pub(super) async fn was_allowed(
        &self,
        registered: &RegisteredTool,
        call: &ToolCall,
        (allowed, places): (Option<&str>, Option<&[UndoPlace]>),
        context: &ToolContext,
    ) -> Result<bool, ToolError> {
        let (Some(reviews), Some(places)) = (self.reviews.as_ref(), places) else {
            return Ok(false);
        };
        if allowed.is_none() {
            return Ok(false);
        }
        let is_allowed = async |decision: &PolicyDecision| {
            let request = self.approval_request(registered, call, decision, context).await?;
            Ok::<_, ToolError>(request.is_some_and(|request| request.is_allowed(allowed)))
        };
        if is_allowed(&ask_to_give_up_copies()).await? {
            let holders = reviews.find_ended_holders(&context.session, places).await;
            for holder in holders.unwrap_or_default() {
                let release = |copies: &KeptCopies, holder: &SessionId| {
                    copies.release_copies(holder);
                    Ok(())
                };
                // It cannot fail, except by a panic, which is logged.
                let _released = reviews.run_with_copies(&holder, release).await;
            }
            return Ok(false);
        }
        is_allowed(&ask_before(&KeepError::Busy)).await
    }

    /// Notes the paths that a call of a file tool is about to change, and renews their copies. The caller
    /// holds the result during the call.
    pub(super) async fn begin_file_change(
        &self,
        session: &SessionId,
        paths: &[String],
        class: ToolClass,
    ) -> Result<Option<FileChange<'_>>, ToolError> {
        let Some(reviews) = self.reviews.as_ref().filter(|_| class == ToolClass::Verifiable) else {
            return Ok(None);
        };
        let change = reviews.copies.note_paths(session, paths).await;
        if reviews.copies.has_copies(session) {
            let renewed = reviews.run_with_copies(session, KeptCopies::renew_copies).await;
            renewed.map_err(|error| ToolError::ExecutionFailed(error.to_string()))?;
        }
        Ok(Some(change))
    }

    /// Notes the changes of a call whose places have copies.
    pub(super) async fn note_changes(&self, session: &SessionId, paths: &[String]) {
        let Some(reviews) = self.reviews.as_ref() else { return };
        let paths = paths.to_vec();
        let left = move |copies: &KeptCopies, session: &SessionId| {
            copies.note_left_paths(session, &paths);
            Ok(())
        };
        if reviews.copies.is_watching(session) {
            // It cannot fail, except by a panic, which is logged.
            let _noted = reviews.run_with_copies(session, left).await;
        }
        if !reviews.copies.has_copies(session) {
            return;
        }
        if let Err(error) = reviews.run_with_copies(session, KeptCopies::end_changes).await {
            tracing::warn!(%session, %error, "cannot note the changes of a call; the review at the \
                end of the turn compares the files again");
        }
    }

    /// Returns the question about all changes of the conversation; `None` if there are none.
    pub(super) async fn request_review(&self, context: &ToolContext) -> Option<WaitRequest> {
        let reviews = self.reviews.as_ref()?;
        let changes = match self.list_changes(reviews, &context.session).await {
            Ok(changes) if changes.is_empty() => {
                reviews.copies.forget_copies(&context.session);
                return None;
            }
            Ok(changes) => changes,
            Err(error) => {
                tracing::error!(session = %context.session, %error, "cannot list the changes of \
                    files; the next answer of the conversation tries again");
                return None;
            }
        };
        let named = list_paths(&changes, &reviews.roots);
        let diff = draw_changes(&changes, &reviews.roots);
        let grant = grant_of_files(&changes, &reviews.roots);
        let mut request = approval::of_changes(&named, &diff, grant, self.approvals);
        if let Some(prompt) = &mut request.prompt {
            prompt.text = self.redactor.redact(&prompt.text).into_owned();
        }
        Some(request)
    }

    async fn list_changes(
        &self,
        reviews: &ChangeReviews,
        session: &SessionId,
    ) -> Result<Vec<ChangedPath>, KeepError> {
        reviews.run_with_copies(session, KeptCopies::list_changes).await
    }

    /// Ends a review: the changes stay. With the grant of the review, the files lose their marks.
    pub(super) async fn end_review_by_keeping(&self, context: &ToolContext) {
        let Some(reviews) = &self.reviews else { return };
        let is_grant = |grant: &&Grant| grant.tool.as_str() == REVIEW;
        if context.grants.iter().any(|grant| is_grant(&grant)) {
            let changes = self.list_changes(reviews, &context.session).await.unwrap_or_default();
            let wanted = grant_of_files(&changes, &reviews.roots);
            if wanted.is_some_and(|wanted| context.grants.contains(&wanted)) {
                self.trust_files(reviews, changes).await;
            }
        }
        let forget = |copies: &KeptCopies, session: &SessionId| {
            copies.forget_copies(session);
            Ok(())
        };
        // It cannot fail, except by a panic, which is logged.
        let _forgotten = reviews.run_with_copies(&context.session, forget).await;
    }

    /// Removes the marks of changed files.
    async fn trust_files(&self, reviews: &ChangeReviews, changes: Vec<ChangedPath>) {
        let roots = reviews.roots.clone();
        let trust = move || {
            let workspace = roots.workspace();
            for change in changes.iter().filter(|change| is_file(change)) {
                let given = change.root.join(&change.path).display().to_string();
                let path = workspace.resolve_path(&given);
                if let Err(error) = path.and_then(|path| workspace.mark_trusted(&path)) {
                    tracing::warn!(path = given, %error, "cannot mark a reviewed file as trusted; \
                        `avocet trust` can");
                }
            }
        };
        if let Err(error) = run_blocking(trust).await {
            tracing::error!(%error, "cannot mark reviewed files as trusted");
        }
    }

    /// Ends a review: the files get their earlier content.
    pub(super) async fn end_review_by_undoing(&self, context: &ToolContext) {
        let Some(reviews) = &self.reviews else { return };
        let session = &context.session;
        match reviews.run_with_copies(session, KeptCopies::undo_changes).await {
            Ok(UndoneChanges { restored, left, failed }) => {
                tracing::info!(%session, restored = restored.len(), "undid the changes of files");
                if !left.is_empty() {
                    tracing::warn!(%session, paths = ?left, "some files stay as they are, since they \
                        were changed again after the question");
                }
                for (path, error) in failed {
                    tracing::error!(%session, path = %path.display(), error, "cannot undo the change \
                        of a file; the copy is kept, and the next answer asks again");
                }
            }
            Err(error) => {
                tracing::error!(%session, %error, "cannot undo the changes of files; the next answer \
                    of the conversation asks again");
            }
        }
    }
}

/// Decides to ask before a call whose files cannot be kept.
fn ask_before(error: &KeepError) -> PolicyDecision {
    let why = format!("{READ}, and could not undo the call: {error}");
    PolicyDecision::new(Rule::Ask, why, false)
}

/// Decides to ask before a call in a directory with unreviewed changes of a conversation whose turn has
/// ended.
fn ask_to_give_up_copies() -> PolicyDecision {
    let why = format!(
        "{READ}, and changes of a stopped conversation in the same directory were not reviewed; if \
            you allow this call, those changes stay, marked as untrusted, and can no longer be undone"
    );
    PolicyDecision::new(Rule::Ask, why, true)
}

/// Returns the grant of a person who trusts the changed files; `None` if they are too many, or if
/// something else than files was changed.
fn grant_of_files(changes: &[ChangedPath], roots: &WorkspaceRoots) -> Option<Grant> {
    let is_of_workspace = |change: &&ChangedPath| change.root == roots.workspace().root();
    let trusted: Vec<&ChangedPath> =
        changes.iter().filter(|one| is_file(one)).filter(is_of_workspace).collect();
    if trusted.is_empty() || trusted.len() > MOST_TRUSTED || changes.iter().any(is_of_git) {
        return None;
    }
    let files: Vec<String> = trusted.iter().map(|one| one.path.display().to_string()).collect();
    // The scope has a file in each line.
    if files.iter().any(|file| file.contains(['\n', '\r'])) {
        return None;
    }
    Some(Grant { tool: ToolName::parse(REVIEW).ok()?, scope: files.join("\n") })
}

fn is_file(change: &ChangedPath) -> bool {
    matches!(change.after, ShownState::Text(_) | ShownState::Bytes(..))
}

/// Returns `true` for a path of the data of a repository.
fn is_of_git(change: &ChangedPath) -> bool {
    change.path.components().any(|part| part == Component::Normal(".git".as_ref()))
}

/// Lists the changed paths in words, one in each line.
fn list_paths(changes: &[ChangedPath], roots: &WorkspaceRoots) -> String {
    let (git, plain): (Vec<_>, Vec<_>) = changes.iter().partition(|change| is_of_git(change));
    let mut lines: Vec<String> = Vec::new();
    for change in plain.iter().take(MOST_NAMED) {
        let what = match (&change.before, &change.after) {
            (ShownState::Absent, ShownState::Directory) => "new directory",
            (ShownState::Absent, _) => "new",
            (_, ShownState::Absent) => "removed",
            (_, _) => "changed",
        };
        lines.push(format!("- {}: {what}", one_line(&shown_path(change, roots))));
    }
    if plain.len() > MOST_NAMED {
        lines.push(format!("- and {} more", plain.len() - MOST_NAMED));
    }
    if !git.is_empty() {
        lines.push(format!("- the git repository: {} files of its data", git.len()));
    }
    lines.join("\n")
}

/// Draws the changes as a whole, as a unified diff.
fn draw_changes(changes: &[ChangedPath], roots: &WorkspaceRoots) -> String {
    let mut drawn = String::new();
    let is_shown = |change: &&ChangedPath| !is_of_git(change) || change.path.ends_with(GIT_HISTORY);
    for change in changes.iter().filter(is_shown) {
        let name = shown_path(change, roots);
        let texts = (text_of(&change.before), text_of(&change.after));
        match texts {
            (Some(before), Some(after)) if before != after => {
                let diff = TextDiff::from_lines(before, after);
                drawn.push_str(&diff.unified_diff().header(&name, &name).to_string());
            }
            _ => {
                let states = (describe_state(&change.before), describe_state(&change.after));
                // Writing to a string cannot fail.
                let _written = writeln!(drawn, "{name}: {} -> {}", states.0, states.1);
            }
        }
    }
    drawn
}

/// Returns the text of a state; that of a missing file is empty.
fn text_of(state: &ShownState) -> Option<&str> {
    match state {
        ShownState::Absent => Some(""),
        ShownState::Text(text) => Some(text),
        ShownState::Directory | ShownState::Link(_) | ShownState::Bytes(..) => None,
    }
}

fn describe_state(state: &ShownState) -> String {
    match state {
        ShownState::Absent => "nothing".to_owned(),
        ShownState::Directory => "a directory".to_owned(),
        ShownState::Link(target) => format!("a link to {target}"),
        ShownState::Text(text) if text.is_empty() => "an empty file".to_owned(),
        ShownState::Text(text) => format!("a file of {} bytes", text.len()),
        ShownState::Bytes(bytes, digest) => format!("{bytes} bytes, SHA-256 {digest}..."),
    }
}

/// Returns a changed path for people: from the workspace, or absolute.
fn shown_path(change: &ChangedPath, roots: &WorkspaceRoots) -> String {
    if change.root == roots.workspace().root() {
        change.path.display().to_string()
    } else {
        Path::new(&change.root).join(&change.path).display().to_string()
    }
}
