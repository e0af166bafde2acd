//! `apply_patch`: changes several files at once, all of them or none.

use std::collections::BTreeMap;

use avocet_protocol::access::Trust;
use avocet_protocol::tool::{Evidence, Question, ToolClass, ToolError};
use avocet_sandbox::{RemoveMode, Workspace, digest_bytes};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::buffers::{CallEditor, PresentText, SavedText, TextSource, shown_in_editor};
use super::file_tool::{FileCall, FileWork};
use super::files::{digest_of_file, read_text, tool_error};
use crate::approval::fence_text;
use crate::patch::{FileChange, FilePatch, PatchHunk, apply_hunks, parse_patch};

#[derive(Debug)]
pub(super) struct ApplyPatch;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct ApplyPatchArguments {
    /// For each file --- a/path and +++ b/path (/dev/null: no file), then hunks @@ -1,3 +1,4 @@.
    #[schemars(extend("x-aliases" = ["diff", "input"]))]
    patch: String,
}

/// A file before and after the patch.
#[derive(Debug)]
struct StagedFile {
    before: Option<FileText>,
    after: Option<FileText>,
    /// The origin of the text before the patch.
    source: TextSource,
}

/// The text of a file and its trust level.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileText {
    text: String,
    trust: Trust,
}

/// The result of a patch before it is written to disk.
#[derive(Debug, Default)]
struct StagedPatch {
    /// Keyed by the file's path, relative to the root.
    files: BTreeMap<String, StagedFile>,
    /// The report to the model, one line per file.
    report: Vec<String>,
    editor: CallEditor,
    /// `true` if a file is written through the editor.
    is_through_editor: bool,
}

impl FileWork for ApplyPatch {
    type Arguments = ApplyPatchArguments;

    const NAME: &'static str = "apply_patch";
    const CLASS: ToolClass = ToolClass::Verifiable;
    const TEXT: &'static str = "Change files with a unified diff, all or nothing. Context lines must \
        match exactly.";
    const WORKSPACE_ONLY: bool = true;
    const HAPPENED: &'static str = "\nwere patched before a restart and have the expected content";

    fn list_paths(arguments: &ApplyPatchArguments) -> Vec<String> {
        let files = parse_patch(&arguments.patch).unwrap_or_default();
        let both = files.iter().flat_map(|file| [file.change.old_path(), file.change.new_path()]);
        both.flatten().map(str::to_owned).collect()
    }

    fn collect_evidence(
        call: &FileCall<'_>,
        arguments: &ApplyPatchArguments,
    ) -> Result<Option<Evidence>, ToolError> {
        Ok(Some(StagedPatch::apply_in_memory(call, &arguments.patch)?.stage_evidence()))
    }

    fn run(call: &FileCall<'_>, arguments: &ApplyPatchArguments) -> Result<Value, ToolError> {
        let stage = StagedPatch::apply_in_memory(call, &arguments.patch)?;
        let notes = stage.write(call.workspace)?;
        Ok([stage.report, notes].concat().join("\n").into())
    }

    fn read_state(workspace: &Workspace, subject: &str) -> Result<Option<String>, ToolError> {
        let states = subject.lines().map(|given| {
            let path = workspace.resolve_path(given).map_err(tool_error)?;
            Ok((given.to_owned(), digest_of_file(workspace, &path)?))
        });
        Ok(Some(of_all(states.collect::<Result<Vec<_>, ToolError>>()?)))
    }

    fn make_question(
        _: &FileCall<'_>,
        arguments: &ApplyPatchArguments,
    ) -> Result<Option<Question>, ToolError> {
        let shown = fence_text(&arguments.patch, "diff");
        Ok(Some(Question { shown, scope: String::new(), shape: None }))
    }
}

impl StagedPatch {
    /// Applies a patch to the current files in memory. Nothing is written.
    fn apply_in_memory(call: &FileCall<'_>, patch: &str) -> Result<Self, ToolError> {
        let files = parse_patch(patch)
            .map_err(|error| ToolError::InvalidArgs(format!("patch: {error}")))?;
        let mut stage = Self { editor: call.editor.clone(), ..Self::default() };
        for file in &files {
            stage.stage_file(call.workspace, file, call.trust)?;
        }
        let text = |text: &Option<FileText>| text.as_ref().map(|it| it.text.clone());
        stage.files.retain(|_, file| text(&file.before) != text(&file.after));
        if stage.files.is_empty() {
            Err(ToolError::InvalidArgs("the patch changes nothing".to_owned()))
        } else {
            Ok(stage)
        }
    }

    fn stage_file(
        &mut self,
        workspace: &Workspace,
        file: &FilePatch,
        trust: Trust,
    ) -> Result<(), ToolError> {
        let FilePatch { change, hunks } = file;
        let old = match change.old_path() {
            None => FileText { text: String::new(), trust },
            Some(path) => match self.staged_file(workspace, path)?.after.clone() {
                Some(text) => text,
                None => return Err(absent_file(workspace, path)),
            },
        };
        let (new, offsets) = apply_change(change, &old.text, hunks)?;
        let new = FileText { text: new, trust: old.trust.min(trust) };
        let is_new_place = change.old_path() != change.new_path();
        if let Some(path) = change.new_path().filter(|_| is_new_place)
            && self.staged_file(workspace, path)?.after.is_some()
        {
            return Err(failed_patch(format!("{path} exists already")));
        }
        if let Some(path) = change.old_path() {
            self.staged_file(workspace, path)?.after = None;
        }
        if let Some(path) = change.new_path() {
            self.staged_file(workspace, path)?.after = Some(new);
        }
        self.report.push(match change {
            FileChange::Create(path) => format!("made {path}"),
            FileChange::Delete(path) => format!("deleted {path}"),
            FileChange::Modify(path) => format!("changed {path}{offsets}"),
            FileChange::Rename { from, to } => format!("renamed {from} to {to}{offsets}"),
        });
        Ok(())
    }

    /// The state of a file after the parts of the patch that were applied so far.
    fn staged_file(
        &mut self,
        workspace: &Workspace,
        given: &str,
    ) -> Result<&mut StagedFile, ToolError> {
        let path = workspace.resolve_path(given).map_err(tool_error)?;
        let key = path.to_string();
        if !self.files.contains_key(&key) {
            // `apart` counts trust separately: this file must not lower that of the others.
            let apart = workspace.examine_apart();
            let is_there = apart.read_if_any(&path).map_err(tool_error)?.is_some();
            let before = is_there.then(|| self.editor.read_present(&apart, given)).transpose()?;
            let source = before.as_ref().map_or(TextSource::Disk, |before| before.source);
            let before = before.map(|PresentText { text, .. }| text);
            let before = before.map(|text| FileText { text, trust: apart.least_read() });
            workspace.note_shown(apart.least_read());
            self.is_through_editor |= self.editor.is_writer(workspace, given, source)?;
            // Reject links and pipes now, before any file is written.
            workspace.can_write(&path).map_err(tool_error)?;
            self.files.insert(key.clone(), StagedFile { after: before.clone(), before, source });
        }
        self.files.get_mut(&key).ok_or_else(|| failed_patch(format!("{given} is not staged")))
    }

    fn stage_evidence(&self) -> Evidence {
        let states = |of: fn(&StagedFile) -> &Option<FileText>| {
            let states = self.files.iter().map(|(path, file)| {
                (path.clone(), of(file).as_ref().map(|it| digest_bytes(it.text.as_bytes())))
            });
            of_all(states.collect())
        };
        let before = states(|file| &file.before);
        Evidence {
            subject: self.files.keys().cloned().collect::<Vec<_>>().join("\n"),
            before: Some(if self.is_through_editor { shown_in_editor() } else { before }),
            after: states(|file| &file.after),
        }
    }

    /// Writes all files, then removes the deleted ones, so that a renamed file always exists under
    /// one name. If a write fails, the files already changed are restored. Returns notes for the
    /// model.
    fn write(&self, workspace: &Workspace) -> Result<Vec<String>, ToolError> {
        let mut notes = Vec::new();
        let mut done: Vec<(&str, &StagedFile)> = Vec::new();
        let (stay, go): (Vec<_>, Vec<_>) =
            self.files.iter().partition(|(_, file)| file.after.is_some());
        for (path, file) in stay.into_iter().chain(go) {
            let error = match self.write_file(workspace, path, file.after.as_ref(), file.source) {
                Ok(saved) => {
                    let note = saved.report_note();
                    notes.extend((!note.is_empty()).then(|| format!("{path}{note}")));
                    done.push((path, file));
                    continue;
                }
                Err(error) => error,
            };
            let mut kept = Vec::new();
            for (path, file) in done.into_iter().rev() {
                if let Err(error) =
                    self.write_file(workspace, path, file.before.as_ref(), file.source)
                {
                    kept.push(format!("{path} is changed and could not be put back: {error}"));
                }
            }
            let outcome =
                if kept.is_empty() { "nothing is changed".to_owned() } else { kept.join("; ") };
            return Err(failed_patch(format!("{error}; {outcome}")));
        }
        Ok(notes)
    }

    /// Writes a file, or removes it if `text` is `None`.
    fn write_file(
        &self,
        workspace: &Workspace,
        given: &str,
        text: Option<&FileText>,
        source: TextSource,
    ) -> Result<SavedText, ToolError> {
        if let Some(FileText { text, trust }) = text {
            return self.editor.write_text(workspace, given, text, source, Some(*trust));
        }
        let path = workspace.resolve_path(given).map_err(tool_error)?;
        let removed = workspace.remove_entry(&path, RemoveMode::Single);
        removed.map(|_| SavedText::AsWritten).map_err(tool_error)
    }
}

/// Returns a file's text after its hunks, and a note on hunks that matched at other lines.
fn apply_change(
    change: &FileChange,
    old: &str,
    hunks: &[PatchHunk],
) -> Result<(String, String), ToolError> {
    let path = change.new_path().or(change.old_path()).unwrap_or_default();
    let applied = apply_hunks(old, hunks).map_err(|error| {
        failed_patch(format!(
            "{path}: {error}. Nothing is changed; read the file again with read_file"
        ))
    })?;
    if matches!(change, FileChange::Delete(_)) && !hunks.is_empty() && !applied.text.is_empty() {
        return Err(failed_patch(format!(
            "{path}: the patch deletes it and does not remove all of its lines; nothing is changed"
        )));
    }
    let offsets = applied.moved.iter().map(|(number, by)| {
        let (way, by) =
            if *by < 0 { ("up", by.unsigned_abs()) } else { ("down", by.unsigned_abs()) };
        format!(
            "; hunk {number} applied {by} {} further {way}",
            if by == 1 { "line" } else { "lines" }
        )
    });
    Ok((applied.text, offsets.collect()))
}

/// One digest over the states of several files.
fn of_all(states: Vec<(String, Option<String>)>) -> String {
    let lines =
        states.into_iter().map(|(path, state)| format!("{path}\t{}\n", state.unwrap_or_default()));
    digest_bytes(lines.collect::<String>().as_bytes())
}

fn absent_file(workspace: &Workspace, given: &str) -> ToolError {
    match read_text(workspace, given) {
        Err(error) => error,
        Ok(_) => failed_patch(format!("{given} is deleted or renamed earlier in the patch")),
    }
}

fn failed_patch(what: String) -> ToolError {
    ToolError::ExecutionFailed(what)
}
