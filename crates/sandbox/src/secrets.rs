//! Files that no file tool opens unless the operator says so: keys, passwords, and what is the daemon's own.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// The key of the configuration that opens them.
pub const SECRET_FILES: &str = "[tools] secret_files";

/// Names that keys and passwords have, whatever the case.
const NAMES: [&str; 21] = [
    "**/.env",
    "**/.env.*",
    "**/id_rsa",
    "**/id_dsa",
    "**/id_ecdsa",
    "**/id_ecdsa_sk",
    "**/id_ed25519",
    "**/id_ed25519_sk",
    "**/*.pem",
    "**/*.key",
    "**/*.p12",
    "**/*.pfx",
    "**/.netrc",
    "**/.npmrc",
    "**/.pypirc",
    "**/.pgpass",
    "**/credentials",
    "**/.git-credentials",
    "**/.aws/credentials",
    "**/.docker/config.json",
    "**/.ssh/**",
];

/// What has such a name and is none: it shows which keys there are.
const HARMLESS: [&str; 1] = ["**/.env.example"];

/// A pattern of the configuration that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{SECRET_FILES}: {0}; write a name or a path, in which * stands for any characters")]
pub struct BadPattern(String);

/// Which files are secret, by their paths from the root of a workspace.
#[derive(Debug)]
pub(crate) struct Secrets {
    names: GlobSet,
    /// Names that are none.
    opened_names: GlobSet,
    /// Paths that are open, whatever lies there.
    opened_paths: GlobSet,
    /// The daemon's own files and directories below the root, in small letters.
    own: Vec<PathBuf>,
}

impl Secrets {
    /// Secret is what has the name of a secret, or is or lies in one of `own`; what fits one of the
    /// patterns `opened` is not. A pattern without a slash is that of a name, and opens nothing of `own`.
    pub(crate) fn new(opened: &[String], own: &[PathBuf]) -> Result<Self, BadPattern> {
        let (paths, names): (Vec<_>, Vec<_>) =
            opened.iter().partition(|pattern| pattern.contains('/'));
        let paths = paths.iter().map(|pattern| pattern.trim_start_matches('/').to_owned());
        let names = names.iter().map(|pattern| format!("**/{pattern}"));
        let own = own.iter().map(|path| lower(path)).collect();
        let harmless = HARMLESS.into_iter().map(str::to_owned);
        Ok(Self {
            names: set(NAMES.into_iter().map(str::to_owned), false)?,
            opened_names: set(harmless.chain(names), true)?,
            opened_paths: set(paths, false)?,
            own,
        })
    }

    /// Why a file, or a directory with all that is in it, is not opened; none if it is.
    pub(crate) fn why(&self, path: &Path, is_directory: bool) -> Option<&'static str> {
        let path = path.strip_prefix(".").unwrap_or(path);
        if self.opened_paths.is_match(path) {
            return None;
        }
        let small = lower(path);
        if self.own.iter().any(|own| small.starts_with(own)) {
            return Some("it is the daemon's own");
        }
        let has_name = self.names.is_match(path) && !self.opened_names.is_match(path);
        let is_secret = !is_directory && has_name;
        is_secret.then_some("by its name it holds a password or a key")
    }
}

fn lower(path: &Path) -> PathBuf {
    path.to_string_lossy().to_lowercase().into()
}

/// Patterns in which `*` stands for any characters, slashes included unless they are of names.
fn set(patterns: impl Iterator<Item = String>, of_names: bool) -> Result<GlobSet, BadPattern> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let mut glob = GlobBuilder::new(&pattern);
        let glob = glob.case_insensitive(true).literal_separator(of_names).build();
        set.add(glob.map_err(|error| BadPattern(error.to_string()))?);
    }
    set.build().map_err(|error| BadPattern(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_in_whatever_case() {
        let opened = ["test.pem", "spec*", "keys/*"].map(str::to_owned);
        let secrets = Secrets::new(&opened, &[]).unwrap();
        let secret = [
            ".env",
            "a/.ENV",
            ".env.local",
            "home/.ssh/known_hosts",
            ".ssh/deep/x",
            "id_rsa",
            "ID_ED25519",
            "a/b.pem",
            "b.Key",
            ".aws/credentials",
            ".npmrc",
            "more/keys/a.key",
            "specs/prod/.env",
        ];
        for path in secret {
            assert!(secrets.why(Path::new(path), false).is_some(), "{path}");
        }
        let open = [
            ".env.example",
            ".environment",
            "id_rsa.pub",
            "src/key.rs",
            "credentials.md",
            "deep/test.pem",
            "deep/spec.pem",
            "keys/a.key",
            ".ssh",
        ];
        for path in open {
            assert_eq!(secrets.why(Path::new(path), false), None, "{path}");
        }
        assert_eq!(secrets.why(Path::new("src/credentials"), true), None);
        let error = Secrets::new(&["a[".to_owned()], &[]).unwrap_err().to_string();
        assert!(error.starts_with("[tools] secret_files: "), "{error}");
    }

    #[test]
    fn what_is_the_daemons_own_is_secret_with_all_that_is_in_it() {
        let own = [PathBuf::from("state/avocet"), PathBuf::from("config.toml")];
        let opened = ["state/avocet/notes/*", "avocet*"].map(str::to_owned);
        let secrets = Secrets::new(&opened, &own).unwrap();
        for path in ["Config.toml", "./config.toml", "state/avocet", "state/avocet/avocet.db-wal"] {
            assert!(secrets.why(Path::new(path), true).is_some(), "{path}");
        }
        for path in ["config.toml.md", "state/avocets", "state", "state/avocet/notes/a"] {
            assert_eq!(secrets.why(Path::new(path), false), None, "{path}");
        }
    }
}
