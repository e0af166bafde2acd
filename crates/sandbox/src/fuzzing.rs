//! What is run on any bytes, by the fuzz targets in `fuzz/` and by ordinary tests: it panics where
//! what always has to hold does not.

use std::path::{Component, Path};

use crate::secrets::Secrets;
use crate::{FileError, WorkspacePath};

/// Reads bytes, and panics if that is wrong.
pub type EntryPoint = fn(&[u8]);

/// Every entry point by the name of its fuzz target.
pub const TARGETS: [(&str, EntryPoint); 1] = [("path", path)];

/// A path: what is resolved is below the root, by names alone, and is the same when it is resolved again;
/// what is not says that it is outside.
pub fn path(data: &[u8]) {
    const ROOT: &str = "/work/space";
    const NAMED: &str = "/link/to";
    let given = String::from_utf8_lossy(data);
    let resolve = |given: &str| WorkspacePath::resolve(Path::new(ROOT), Path::new(NAMED), given);
    let secrets = Secrets::new(&[], &[]).expect("the names of secrets are patterns");
    match resolve(&given) {
        Ok(path) => {
            let names = path.as_path().components();
            let mut names = names.skip_while(|name| *name == Component::CurDir);
            assert!(names.all(|name| matches!(name, Component::Normal(_))), "{path:?}");
            assert!(!path.to_string().contains('\0'), "{path:?}");
            assert!(path.as_given().starts_with(&path.to_string()));
            let again = resolve(&path.to_string()).map(|path| path.to_string());
            assert_eq!(again, Ok(path.to_string()));
            // A secret stays one below another directory, and in capitals.
            let why = |path: &Path| secrets.why(path, false);
            if why(path.as_path()).is_some() {
                assert!(why(&Path::new("a").join(path.as_path())).is_some(), "{path}");
                assert!(why(Path::new(&path.to_string().to_ascii_uppercase())).is_some(), "{path}");
            }
        }
        Err(FileError::Outside { resolved, .. }) => {
            assert!(!resolved.contains('\0'), "{resolved:?}");
        }
        Err(other) => panic!("{given:?}: {other}"),
    }
}

#[cfg(test)]
#[path = "fuzzing_tests.rs"]
mod tests;
