//! Paths as models write them, resolved from the root of the workspace without looking at the disk.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::FileError;

/// PATH_MAX of Linux.
const MAX_PATH_BYTES: usize = 4096;

/// A path below the workspace, or below a directory beside it, relative to that root, without `.`
/// and `..`. Its existence, and links that lead out of the workspace, are checked when it is
/// opened.
#[derive(Debug, Clone)]
pub struct WorkspacePath {
    relative: PathBuf,
    /// The path as written.
    given: String,
    /// The root, if it is a directory beside the workspace: paths are then shown with it.
    beside: Option<Arc<Path>>,
}

impl WorkspacePath {
    /// Resolves `given` from `root`, the root of a workspace. An absolute path is accepted if it is
    /// inside `root`, or inside `named`, the root's path before links were resolved.
    pub(crate) fn resolve(root: &Path, named: &Path, given: &str) -> Result<Self, FileError> {
        let outside = |resolved: PathBuf| FileError::Outside {
            input: given.to_owned(),
            resolved: resolved.display().to_string(),
            same_name: Vec::new(),
            roots: Vec::new(),
        };
        // Longer paths fail in every system call.
        if given.len() > MAX_PATH_BYTES {
            let end = given.floor_char_boundary(100);
            return Err(outside(root.join(format!("{}…", &given[..end]))));
        }
        if given.contains('\0') {
            return Err(outside(root.join(given.replace('\0', "\u{2400}"))));
        }
        let below = Path::new(given).strip_prefix(named).unwrap_or(Path::new(given));
        // Most paths are of this form, which cannot lead out.
        if below.components().all(|component| matches!(component, Component::Normal(_))) {
            let relative = below.components().collect();
            return Ok(Self { relative, given: given.to_owned(), beside: None });
        }
        let resolved = normalise_path(&root.join(below));
        match resolved.strip_prefix(root) {
            Ok(relative) => {
                Ok(Self { relative: relative.to_owned(), given: given.to_owned(), beside: None })
            }
            Err(_) => Err(outside(resolved)),
        }
    }

    /// Returns the same path below a directory beside the workspace.
    pub(crate) fn with_beside_root(self, root: Option<&Arc<Path>>) -> Self {
        Self { beside: root.cloned(), ..self }
    }

    /// Returns the path relative to the root; `.` for the root itself.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        if self.relative.as_os_str().is_empty() { Path::new(".") } else { &self.relative }
    }

    /// Returns the path for an error, with the given form if that differs.
    #[must_use]
    pub fn as_given(&self) -> String {
        let (path, given) = (self.to_string(), &self.given);
        if path == *given || given.is_empty() {
            path
        } else {
            format!("{path} (given as {given:?})")
        }
    }

    /// Returns the path of an entry of this directory.
    #[must_use]
    pub fn join_name(&self, name: &str) -> Self {
        let relative = self.relative.join(name);
        let path = Self { relative, given: String::new(), beside: self.beside.clone() };
        Self { given: path.to_string(), ..path }
    }

    /// Returns the directory that holds the path; `None` if that is the root.
    pub(crate) fn parent(&self) -> Option<&Path> {
        self.relative.parent().filter(|parent| !parent.as_os_str().is_empty())
    }

    pub(crate) fn is_root(&self) -> bool {
        self.relative.as_os_str().is_empty()
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.beside {
            None => self.as_path().display().fmt(f),
            Some(root) => root
                .components()
                .chain(self.relative.components())
                .collect::<PathBuf>()
                .display()
                .fmt(f),
        }
    }
}

/// Removes `.` and `..` by names alone, without following links.
fn normalise_path(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

pub(crate) fn wrong_kind(path: &WorkspacePath, expected: &'static str) -> FileError {
    FileError::WrongKind { path: path.as_given(), expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(given: &str) -> Result<WorkspacePath, FileError> {
        WorkspacePath::resolve(Path::new("/work/space"), Path::new("/link/to"), given)
    }

    #[track_caller]
    fn check(given: &str, expected: Result<&str, &str>) {
        let resolved = resolved(given);
        let shown = resolved.as_ref().map(ToString::to_string).map_err(ToString::to_string);
        let expected = expected.map(str::to_owned).map_err(|resolved| {
            format!(
                "{given:?} resolves to {resolved}, which is outside the workspace; give full \
                 relative paths from the workspace root, such as src/main.rs"
            )
        });
        assert_eq!(shown, expected);
    }

    #[test]
    fn resolve_makes_paths_relative_to_the_root() {
        check("a.txt", Ok("a.txt"));
        check("./src//main.rs", Ok("src/main.rs"));
        check("src/../README.md", Ok("README.md"));
        check("", Ok("."));
        check(".", Ok("."));
        check("a/..", Ok("."));
        check("..a/b..", Ok("..a/b.."));
        check("src//./main.rs/", Ok("src/main.rs"));
        check(".//a", Ok("a"));
    }

    #[test]
    fn as_given_shows_the_input_if_it_is_written_differently() {
        for (given, shown) in [
            ("src/main.rs", "src/main.rs"),
            ("./src//main.rs", "src/main.rs (given as \"./src//main.rs\")"),
            ("/work/space/a", "a (given as \"/work/space/a\")"),
            ("", "."),
        ] {
            let path = resolved(given).unwrap();
            assert_eq!(path.as_given(), shown);
        }
    }

    #[test]
    fn resolve_accepts_an_absolute_path_inside() {
        check("/work/space/src/main.rs", Ok("src/main.rs"));
        check("/work/space", Ok("."));
        check("/work/../work/space/a", Ok("a"));
        check("/link/to/a", Ok("a"));
        check("/link/to", Ok("."));
    }

    #[test]
    fn resolve_of_a_path_outside_shows_its_target() {
        check("../secret", Err("/work/secret"));
        check("a/../../secret", Err("/work/secret"));
        check("/etc/passwd", Err("/etc/passwd"));
        check("/work/spaceship", Err("/work/spaceship"));
        check("/link/../a", Err("/a"));
        check("/link/to/../a", Err("/work/a"));
        check("../../../../../../etc/passwd", Err("/etc/passwd"));
        check("/work/space/../other", Err("/work/other"));
        check("a\0b", Err("/work/space/a\u{2400}b"));
    }
}
