//! The files of a workspace one by one, through its own handle: sorted by path, links not followed,
//! without what `.gitignore` and `.ignore` leave out.

use std::path::Path;
use std::rc::Rc;

use avocet_protocol::ToolError;
use avocet_sandbox::{Entry, EntryKind, FileError, Workspace, WorkspacePath};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::files::tool_error;

/// Files that say what is left out; of the same directory, the last goes before the first.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// The largest of them that is read, in bytes.
const MAX_IGNORE_BYTES: u64 = 256 * 1024;

/// What of a workspace is walked.
#[derive(Debug)]
pub(super) struct Walk {
    /// Names are looked at, and shown by whoever walks.
    workspace: Workspace,
    hidden: bool,
    open: Vec<Found>,
    /// Secrets that were passed over.
    pub(super) secrets: usize,
}

#[derive(Debug)]
struct Found {
    path: WorkspacePath,
    is_directory: bool,
    rules: Option<Rc<Rules>>,
}

/// What is left out in a directory, and in those above it.
#[derive(Debug)]
struct Rules {
    own: Vec<Gitignore>,
    above: Option<Rc<Rules>>,
}

impl Walk {
    /// The files below a directory, or the file itself; hidden ones only if that is wanted.
    ///
    /// # Errors
    /// [`ToolError`] if nothing is there.
    pub(super) fn new(
        workspace: &Workspace,
        start: WorkspacePath,
        hidden: bool,
    ) -> Result<Self, ToolError> {
        let workspace = workspace.apart();
        let is_directory = match workspace.list(&start) {
            Ok(_) => true,
            Err(FileError::WrongKind { .. }) => false,
            Err(error) => return Err(tool_error(error)),
        };
        let mut rules = None;
        if let (true, Some(parent)) = (is_directory, start.as_path().parent()) {
            let above = parent.ancestors().collect::<Vec<_>>();
            for directory in above.into_iter().rev() {
                let path = workspace.resolve(&directory.display().to_string());
                rules = with_rules(&workspace, &path.map_err(tool_error)?, rules);
            }
        }
        let open = vec![Found { path: start, is_directory, rules }];
        Ok(Self { workspace, hidden, open, secrets: 0 })
    }

    /// Puts what is in a directory in front, in order. What has gone meanwhile is passed over.
    fn enter(&mut self, directory: &Found) {
        let entries = self.workspace.list(&directory.path).unwrap_or_default();
        let rules = with_rules(&self.workspace, &directory.path, directory.rules.clone());
        let mut entries: Vec<&Entry> = entries.iter().collect();
        entries.sort_by(|one, other| other.name.cmp(&one.name));
        for Entry { name, kind } in entries {
            let path = directory.path.join(name);
            let is_directory = *kind == EntryKind::Directory;
            let is_hidden = name.starts_with('.') && !self.hidden;
            if name == ".git" || is_hidden || is_ignored(&rules, path.as_path(), is_directory) {
                continue;
            }
            match kind {
                EntryKind::Directory | EntryKind::File(_) => {
                    self.open.push(Found { path, is_directory, rules: rules.clone() });
                }
                EntryKind::Secret => self.secrets += 1,
                EntryKind::Link | EntryKind::Other => {}
            }
        }
    }
}

impl Iterator for Walk {
    /// A file; none where a directory was entered, so that whoever walks can stop.
    type Item = Option<WorkspacePath>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.open.pop()?;
        if found.is_directory {
            self.enter(&found);
            return Some(None);
        }
        Some(Some(found.path))
    }
}

/// The rules of a directory, in front of those above.
fn with_rules(
    workspace: &Workspace,
    directory: &WorkspacePath,
    above: Option<Rc<Rules>>,
) -> Option<Rc<Rules>> {
    let own = IGNORE_FILES.iter().rev().filter_map(|name| {
        let bytes = workspace.read_up_to(&directory.join(name), MAX_IGNORE_BYTES).ok()?;
        let mut builder = GitignoreBuilder::new(directory.as_path());
        for line in String::from_utf8_lossy(&bytes).lines().filter(|line| is_sane_glob(line)) {
            if let Err(error) = builder.add_line(None, line) {
                tracing::debug!(%directory, %error, "a line of {name} is no pattern");
            }
        }
        builder.build().ok()
    });
    let own: Vec<Gitignore> = own.collect();
    if own.is_empty() { above } else { Some(Rc::new(Rules { own, above })) }
}

/// Whether a pattern is one that somebody wrote: deeply nested braces take the compiler of globs out of
/// its stack.
pub(super) fn is_sane_glob(pattern: &str) -> bool {
    pattern.len() <= 1000 && pattern.matches('{').count() <= 16
}

/// Whether something is left out: the nearest rule decides.
fn is_ignored(rules: &Option<Rc<Rules>>, path: &Path, is_directory: bool) -> bool {
    let mut rules = rules.as_ref();
    while let Some(Rules { own, above }) = rules.map(AsRef::as_ref) {
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
