//! Entry points for any bytes, for the fuzz targets in `fuzz/` and for ordinary tests. They panic
//! if a property that always has to hold is violated.

use std::path::{Component, Path};

use crate::secrets::{PathKind, SecretRules};
use crate::{FileError, WorkspacePath};

/// Reads arbitrary bytes, and panics if an invariant is violated.
pub type SandboxFuzzTarget = fn(&[u8]);

/// All entry points, by the names of their fuzz targets.
pub const TARGETS: [(&str, SandboxFuzzTarget); 1] = [("path", fuzz_path)];

/// Checks paths. A resolved path is below the root, by names alone, and resolves to itself. A
/// refused path is reported as outside.
pub fn fuzz_path(data: &[u8]) {
    const ROOT: &str = "/work/space";
    const NAMED: &str = "/link/to";
    let given = String::from_utf8_lossy(data);
    let resolve = |given: &str| WorkspacePath::resolve(Path::new(ROOT), Path::new(NAMED), given);
    let secrets = SecretRules::new(&[], &[]).expect("the names of secrets are patterns");
    match resolve(&given) {
        Ok(path) => {
            let names = path.as_path().components();
            let mut names = names.skip_while(|name| *name == Component::CurDir);
            assert!(names.all(|name| matches!(name, Component::Normal(_))), "{path:?}");
            assert!(!path.to_string().contains('\0'), "{path:?}");
            assert!(path.as_given().starts_with(&path.to_string()));
            let again = resolve(&path.to_string()).map(|path| path.to_string());
            assert_eq!(again, Ok(path.to_string()));
            // A secret stays a secret below another directory, and in capitals.
            let why = |path: &Path| secrets.why_secret(path, PathKind::File);
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
