//! Walks the files of a workspace, sorted by path. Skips symlinks and everything that `.gitignore`
//! and `.ignore` exclude.

use std::path::Path;
use std::rc::Rc;

use avocet_protocol::tool::ToolError;
use avocet_sandbox::{DirectoryEntry, EntryKind, FileError, Workspace, WorkspacePath};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::files::tool_error;

/// Files with ignore rules. Within one directory, the last one takes precedence.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// The largest ignore file that is read, in bytes.
const MAX_IGNORE_BYTES: u64 = 256 * 1024;

#[derive(Debug)]
pub(super) struct WorkspaceWalk {
    /// With its own record of trust: names count only if the caller shows them to the model.
    workspace: Workspace,
    hidden: bool,
    open: Vec<WalkEntry>,
    /// Number of secret files that were skipped.
    pub(super) secrets: usize,
}

#[derive(Debug)]
struct WalkEntry {
    path: WorkspacePath,
    is_directory: bool,
    rules: Option<Rc<IgnoreRules>>,
}

/// The ignore rules of a directory and its parents.
#[derive(Debug)]
struct IgnoreRules {
    own: Vec<Gitignore>,
    above: Option<Rc<IgnoreRules>>,
}

impl WorkspaceWalk {
    /// Walks the files below a directory, or the single file `start`. Hidden files only if
    /// `hidden`.
    ///
    /// # Errors
    /// [`ToolError`] if `start` does not exist.
    pub(super) fn new(
        workspace: &Workspace,
        start: WorkspacePath,
        hidden: bool,
    ) -> Result<Self, ToolError> {
        let workspace = workspace.examine_apart();
        let is_directory = match workspace.list_entries(&start) {
            Ok(_) => true,
            Err(FileError::WrongKind { .. }) => false,
            Err(error) => return Err(tool_error(error)),
        };
        let mut rules = None;
        if let (true, Some(parent)) = (is_directory, start.as_path().parent()) {
            let above = parent.ancestors().collect::<Vec<_>>();
            for directory in above.into_iter().rev() {
                let path = workspace.resolve_path(&directory.display().to_string());
                rules = with_rules(&workspace, &path.map_err(tool_error)?, rules);
            }
        }
        let open = vec![WalkEntry { path: start, is_directory, rules }];
        Ok(Self { workspace, hidden, open, secrets: 0 })
    }

    /// Queues the entries of a directory, in order. A directory that has disappeared is skipped.
    fn enter_directory(&mut self, directory: &WalkEntry) {
        let entries = self.workspace.list_entries(&directory.path).unwrap_or_default();
        let rules = with_rules(&self.workspace, &directory.path, directory.rules.clone());
        let mut entries: Vec<&DirectoryEntry> = entries.iter().collect();
        entries.sort_by(|one, other| other.name.cmp(&one.name));
        for DirectoryEntry { name, kind } in entries {
            let path = directory.path.join_name(name);
            let is_directory = *kind == EntryKind::Directory;
            let is_hidden = name.starts_with('.') && !self.hidden;
            if name == ".git" || is_hidden || is_ignored(&rules, path.as_path(), is_directory) {
                continue;
            }
            match kind {
                EntryKind::Directory | EntryKind::File(_) => {
                    self.open.push(WalkEntry { path, is_directory, rules: rules.clone() });
                }
                EntryKind::Secret => self.secrets += 1,
                EntryKind::Link | EntryKind::Other => {}
            }
        }
    }
}

impl Iterator for WorkspaceWalk {
    /// A file, or `None` for a directory, so that the caller can stop in between.
    type Item = Option<WorkspacePath>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.open.pop()?;
        if found.is_directory {
            self.enter_directory(&found);
            return Some(None);
        }
        Some(Some(found.path))
    }
}

/// The ignore rules of a directory, followed by those of its parents.
fn with_rules(
    workspace: &Workspace,
    directory: &WorkspacePath,
    above: Option<Rc<IgnoreRules>>,
) -> Option<Rc<IgnoreRules>> {
    let own = IGNORE_FILES.iter().rev().filter_map(|name| {
        let bytes = workspace.read_up_to(&directory.join_name(name), MAX_IGNORE_BYTES).ok()?;
        let mut builder = GitignoreBuilder::new(directory.as_path());
        for line in String::from_utf8_lossy(&bytes).lines().filter(|line| is_sane_glob(line)) {
            if let Err(error) = builder.add_line(None, line) {
                tracing::debug!(%directory, %error, "a line of {name} is not a pattern");
            }
        }
        builder.build().ok()
    });
    let own: Vec<Gitignore> = own.collect();
    if own.is_empty() { above } else { Some(Rc::new(IgnoreRules { own, above })) }
}

/// Returns `true` if a pattern is reasonably simple. Deeply nested braces overflow the stack of the
/// glob compiler.
pub(super) fn is_sane_glob(pattern: &str) -> bool {
    pattern.len() <= 1000 && pattern.matches('{').count() <= 16
}

/// Returns `true` if the nearest matching rule excludes the path.
fn is_ignored(rules: &Option<Rc<IgnoreRules>>, path: &Path, is_directory: bool) -> bool {
    let mut rules = rules.as_ref();
    while let Some(IgnoreRules { own, above }) = rules.map(AsRef::as_ref) {
        for rule in own {
            let matched = rule.matched(path, is_directory);
            if !matched.is_none() {
                return matched.is_ignore();
            }
        }
        rules = above.as_ref();
    }
    false
}
