//! Traces the symbolic links of a path: control over any place on the way gives control over the
//! target.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Links that are followed; more count as a circle (as in Linux).
const LINKS: usize = 40;

/// Returns every place that a path passes through: directories, the links among them, and at last
/// the target. Each is absolute and free of links except for its last name. Missing places are
/// passed by name.
///
/// # Errors
/// If the path is empty, or the working directory is not known.
pub fn trace_symlinks(path: &Path) -> io::Result<Vec<PathBuf>> {
    let names = |path: &Path| -> Vec<OsString> {
        path.components().rev().map(|name| name.as_os_str().to_owned()).collect()
    };
    let mut open = names(&std::path::absolute(path)?);
    let (mut here, mut passed, mut links) = (PathBuf::new(), Vec::new(), 0);
    while let Some(name) = open.pop() {
        match Path::new(&name).components().next() {
            Some(Component::ParentDir) => drop(here.pop()),
            Some(Component::CurDir) => {}
            // An absolute target replaces the path so far.
            _ => here.push(&name),
        }
        passed.push(here.clone());
        if let Ok(target) = here.read_link()
            && links < LINKS
        {
            links += 1;
            here.pop();
            open.extend(names(&target));
        }
    }
    Ok(passed)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn trace_symlinks_lists_the_links_of_a_path_and_their_targets() {
        let directory = TempDir::new().unwrap();
        let here = directory.path().canonicalize().unwrap();
        fs::create_dir_all(here.join("a/b")).unwrap();
        fs::create_dir(here.join("c")).unwrap();
        for (link, target) in [
            ("a/up", "../c".into()),
            ("two", here.join("a/up")),
            ("gone", "none/x".into()),
            ("round", "round".into()),
        ] {
            symlink(target, here.join(link)).unwrap();
        }
        let all = here.components().count();
        for (path, expected) in [
            ("a/b", &["a", "a/b"][..]),
            ("a/./b/", &["a", "a/b"]),
            ("a/b/../../c", &["a", "a/b", "a", "", "c"]),
            ("a/up/new", &["a", "a/up", "", "c", "c/new"]),
            ("gone", &["gone", "none", "none/x"]),
        ] {
            let passed = trace_symlinks(&here.join(path)).unwrap();
            let passed: Vec<&Path> =
                passed[all..].iter().map(|place| place.strip_prefix(&here).unwrap()).collect();
            assert_eq!(passed, expected.iter().map(Path::new).collect::<Vec<_>>(), "{path}");
        }
        let passed = trace_symlinks(&here.join("two/d")).unwrap();
        assert!([here.join("two"), here.join("a/up")].iter().all(|link| passed.contains(link)));
        assert_eq!(passed.last(), Some(&here.join("c/d")));
        assert!(trace_symlinks(&here.join("round")).unwrap().len() > LINKS, "it comes to an end");
    }
}
