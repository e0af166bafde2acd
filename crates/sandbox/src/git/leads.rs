//! Finds the paths to which the configuration of a repository leads git: other directories of
//! hooks, and further configuration.

use std::path::{Component, Path, PathBuf};

use super::config::ConfigEntry;

/// Returns the paths, absolute and without `..`. `config` is the file of the entries, in `git_dir`.
/// Paths relative to a home are left out, because programs have another home.
pub(crate) fn paths_git_follows(
    entries: &[ConfigEntry],
    config: &Path,
    git_dir: &Path,
) -> Vec<PathBuf> {
    let value_of =
        |section, name| entries.iter().rev().find_map(move |entry| entry.value_of(section, name));
    // Hooks run in the directory of the checked-out files; in a bare repository, that is the git
    // directory.
    let is_in_dot_git = git_dir.file_name().is_some_and(|name| name == ".git");
    let checked_out = match value_of("core", "worktree") {
        Some(worktree) => git_dir.join(worktree),
        None if is_in_dot_git => git_dir.parent().unwrap_or(git_dir).to_owned(),
        None => git_dir.to_owned(),
    };
    let hooks = entries.iter().filter_map(|entry| entry.value_of("core", "hookspath"));
    let included = entries.iter().filter_map(|entry| {
        entry.value_of("include", "path").or_else(|| entry.value_of("includeif", "path"))
    });
    let beside = config.parent().unwrap_or(git_dir);
    let hooks = hooks.filter(|path| is_plain(path)).map(|path| checked_out.join(path));
    let included = included.filter(|path| is_plain(path)).map(|path| beside.join(path));
    hooks.chain(included).map(|path| without_dots(&path)).collect()
}

fn is_plain(path: &str) -> bool {
    !path.is_empty() && !path.starts_with(['~', '%'])
}

/// Removes `.` and `..` from a path. This is correct if all directories on the way are real,
/// without links.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::super::config::parse_config;
    use super::*;

    #[test]
    fn leads_are_directories_of_hooks_and_further_configuration() {
        let text = |text: &str| text.replace(' ', "\n\t");
        for (config, git_dir, entries, expected) in [
            ("/w/a/.git/config", "/w/a/.git", "[core] hooksPath=.husky/_", &["/w/a/.husky/_"][..]),
            ("/w/a/.git/config", "/w/a/.git", "[core] hooksPath=../b/./hooks", &["/w/b/hooks"]),
            ("/w/a/.git/config", "/w/a/.git", "[core] hooksPath=/w/x", &["/w/x"]),
            ("/w/b.git/config", "/w/b.git", "[core] hooksPath=x", &["/w/b.git/x"]),
            (
                "/w/.git/modules/s/config",
                "/w/.git/modules/s",
                "[core] worktree=../../../s hooksPath=x",
                &["/w/s/x"],
            ),
            ("/w/a/.git/config", "/w/a/.git", "[include] path=../.gitconfig", &["/w/a/.gitconfig"]),
            ("/w/a/.gitconfig", "/w/a/.git", "[includeIf.x] path=more", &["/w/a/more"]),
            ("/w/a/.git/config", "/w/a/.git", "[core] hooksPath=~/x [include] path=", &[]),
            ("/w/a/.git/config", "/w/a/.git", "[core] bare=false", &[]),
        ] {
            let entries = parse_config(&text(entries)).unwrap();
            let found = paths_git_follows(&entries, Path::new(config), Path::new(git_dir));
            assert_eq!(
                found,
                expected.iter().map(PathBuf::from).collect::<Vec<_>>(),
                "{entries:?}"
            );
        }
    }
}
