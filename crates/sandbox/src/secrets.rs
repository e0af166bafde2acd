//! Files that file tools open only with the operator's permission: keys, passwords, and the
//! daemon's own files.

mod names;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::config_keys::SECRET_FILES;
use crate::entry_kind::EntryKind;
use names::{HARMLESS, NAMES, secret_directories};

pub(crate) use names::is_of_packages;

/// The names of secret files. They compile at the first use, because a start needs none of them. If
/// they did not compile, every file would count as secret.
static SECRET_NAMES: LazyLock<Option<GlobSet>> =
    LazyLock::new(|| compile_fixed(NAMES, PatternKind::Paths));
/// The harmless names among those.
static HARMLESS_NAMES: LazyLock<Option<GlobSet>> =
    LazyLock::new(|| compile_fixed(HARMLESS, PatternKind::Names));

/// An invalid pattern of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{SECRET_FILES}: {0}; write a name or a path, in which * stands for any characters")]
pub struct BadPattern(String);

/// The kind of a path in the rules for secrets. A directory is no secret by its own name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    File,
    Directory,
}

impl From<EntryKind> for PathKind {
    fn from(kind: EntryKind) -> Self {
        if kind == EntryKind::Directory { Self::Directory } else { Self::File }
    }
}

/// The rules for secret files, by their paths from the root of a workspace, or of a directory
/// beside it.
#[derive(Debug)]
pub(crate) struct SecretRules {
    /// Names that do not count as secrets here.
    opened_names: GlobSet,
    /// Opened paths from the root, whatever their content.
    opened_paths: GlobSet,
    /// Opened absolute paths, for directories beside workspaces.
    opened_beside: GlobSet,
    /// The daemon's own files and directories below the root, as [`plain_path`] writes them.
    own: Vec<PathBuf>,
    /// The path that is put in front of paths before they are compared.
    above: PathBuf,
}

impl SecretRules {
    /// Files are secret by their names, or because they are in `own`, unless one of the patterns
    /// `opened` fits. A pattern without a slash applies to names, and never opens paths in `own`.
    pub(crate) fn new(opened: &[String], own: &[PathBuf]) -> Result<Self, BadPattern> {
        let (paths, names): (Vec<_>, Vec<_>) =
            opened.iter().partition(|pattern| pattern.contains('/'));
        let (beside, paths): (Vec<_>, Vec<_>) =
            paths.into_iter().partition(|pattern| pattern.starts_with('/'));
        let beside = beside.iter().map(|pattern| pattern.trim_start_matches('/').to_owned());
        let names = names.iter().map(|pattern| format!("**/{pattern}"));
        let own = own.iter().map(|path| plain_path(path)).collect();
        Ok(Self {
            opened_names: compile_patterns(names, PatternKind::Names)?,
            opened_paths: compile_patterns(paths.into_iter().cloned(), PatternKind::Paths)?,
            opened_beside: compile_patterns(beside, PatternKind::Paths)?,
            own,
            above: PathBuf::new(),
        })
    }

    /// Returns the rules for paths from a directory whose own name and place count: everything in a
    /// directory of secrets is secret, and the patterns of paths are absolute.
    pub(crate) fn with_directory(self, root: &Path) -> Self {
        let above = root.strip_prefix("/").unwrap_or(root).to_owned();
        let own = self.own.iter().map(|own| plain_path(&above).join(own)).collect();
        Self { own, above, opened_paths: self.opened_beside.clone(), ..self }
    }

    fn whole_path(&self, path: &Path) -> PathBuf {
        self.above.join(path.strip_prefix(".").unwrap_or(path))
    }

    /// Returns `true` if the operator has opened this path, whatever its content.
    pub(crate) fn is_opened(&self, path: &Path) -> bool {
        self.opened_paths.is_match(self.whole_path(path))
    }

    /// Returns `true` if the operator has opened everything here, by a pattern such as
    /// `/srv/images/*`.
    pub(crate) fn opens_everything(&self) -> bool {
        self.is_opened(Path::new("\u{1}/\u{1}\u{1}"))
    }

    /// Returns `true` if files below a directory of this name are secrets because of that name.
    pub(crate) fn is_of_secrets(directory: &Path) -> bool {
        let name = directory.file_name().map(|name| plain_path(Path::new(name)));
        name.is_some_and(|name| secret_directories().any(|of| name == Path::new(of)))
    }

    /// Returns the reason why a file, or a directory with everything in it, stays closed; `None` if
    /// it may be opened.
    pub(crate) fn why_secret(&self, path: &Path, kind: PathKind) -> Option<&'static str> {
        if self.is_opened(path) {
            return None;
        }
        let path = self.whole_path(path);
        let plain = plain_path(&path);
        if self.own.iter().any(|own| plain.starts_with(own)) {
            return Some("it is the daemon's own");
        }
        let has_name = || {
            let has = SECRET_NAMES.as_ref().is_none_or(|names| names.is_match(&plain));
            let is_harmless = || HARMLESS_NAMES.as_ref().is_some_and(|names| names.is_match(&path));
            has && !is_harmless() && !self.opened_names.is_match(&path)
        };
        let is_secret = kind == PathKind::File && has_name();
        is_secret.then_some("by its name it holds a password or a key")
    }
}

/// Returns a path in lower case, without differences that some file systems ignore and people
/// overlook: marks, widths and other forms of letters, characters without width, and dots and
/// spaces at the end of a name.
pub(crate) fn plain_path(path: &Path) -> PathBuf {
    let small = path.to_string_lossy().to_lowercase();
    let ends = |name: &str| name.ends_with(['.', ' ']);
    if small.bytes().all(|byte| byte.is_ascii_graphic()) && !small.split('/').any(ends) {
        return small.into();
    }
    let letters: String = small.nfkd().filter(|letter| !is_unseen(*letter)).collect();
    let names = letters.to_lowercase();
    let names = names.split('/').map(|name| match name.trim_end_matches(['.', ' ']) {
        "" => name,
        trimmed => trimmed,
    });
    names.collect::<Vec<_>>().join("/").into()
}

/// Returns `true` for marks on letters and for invisible characters: format characters, fillers,
/// and variation selectors.
fn is_unseen(letter: char) -> bool {
    const FILLERS: [char; 5] = ['\u{34f}', '\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}'];
    is_combining_mark(letter)
        || letter.is_control()
        || FILLERS.contains(&letter)
        || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}')
        || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(letter, '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}')
}

/// The meaning of `*` in a pattern: any characters, in patterns of names except for slashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternKind {
    Names,
    Paths,
}

/// Compiles patterns of the source.
fn compile_fixed(patterns: &[&str], kind: PatternKind) -> Option<GlobSet> {
    compile_patterns(patterns.iter().map(|&pattern| pattern.to_owned()), kind).ok()
}

fn compile_patterns(
    patterns: impl Iterator<Item = String>,
    kind: PatternKind,
) -> Result<GlobSet, BadPattern> {
    let of_names = kind == PatternKind::Names;
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let mut glob = GlobBuilder::new(&pattern);
        let glob = glob.case_insensitive(true).literal_separator(of_names).build();
        set.add(glob.map_err(|error| BadPattern(error.to_string()))?);
    }
    set.build().map_err(|error| BadPattern(error.to_string()))
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
