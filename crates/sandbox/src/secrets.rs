//! Files that file tools open only with the operator's permission: keys, passwords, and the
//! daemon's own files.

mod names;

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use names::{HARMLESS, NAMES, directories};

pub(crate) use names::is_of_packages;

/// The configuration key that opens secret files.
pub const SECRET_FILES: &str = "[tools] secret_files";

/// An invalid pattern of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{SECRET_FILES}: {0}; write a name or a path, in which * stands for any characters")]
pub struct BadPattern(String);

/// The rules for secret files, by their paths from the root of a workspace, or of a directory
/// beside it.
#[derive(Debug)]
pub(crate) struct Secrets {
    names: GlobSet,
    /// Names that do not count as secrets.
    opened_names: GlobSet,
    /// Opened paths from the root, whatever their content.
    opened_paths: GlobSet,
    /// Opened absolute paths, for directories beside workspaces.
    opened_beside: GlobSet,
    /// The daemon's own files and directories below the root, as [`plain`] writes them.
    own: Vec<PathBuf>,
    /// The path that is put in front of paths before they are compared.
    above: PathBuf,
}

impl Secrets {
    /// Files are secret by their names, or because they are in `own`, unless one of the patterns
    /// `opened` fits. A pattern without a slash applies to names, and never opens paths in `own`.
    pub(crate) fn new(opened: &[String], own: &[PathBuf]) -> Result<Self, BadPattern> {
        let (paths, names): (Vec<_>, Vec<_>) =
            opened.iter().partition(|pattern| pattern.contains('/'));
        let (beside, paths): (Vec<_>, Vec<_>) =
            paths.into_iter().partition(|pattern| pattern.starts_with('/'));
        let beside = beside.iter().map(|pattern| pattern.trim_start_matches('/').to_owned());
        let names = names.iter().map(|pattern| format!("**/{pattern}"));
        let own = own.iter().map(|path| plain(path)).collect();
        let owned =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        Ok(Self {
            names: set(owned(NAMES).into_iter(), false)?,
            opened_names: set(owned(HARMLESS).into_iter().chain(names), true)?,
            opened_paths: set(paths.into_iter().cloned(), false)?,
            opened_beside: set(beside, false)?,
            own,
            above: PathBuf::new(),
        })
    }

    /// Returns the rules for paths from a directory whose own name and place count: everything in a
    /// directory of secrets is secret, and the patterns of paths are absolute.
    pub(crate) fn below(self, root: &Path) -> Self {
        let above = root.strip_prefix("/").unwrap_or(root).to_owned();
        let own = self.own.iter().map(|own| plain(&above).join(own)).collect();
        Self { own, above, opened_paths: self.opened_beside.clone(), ..self }
    }

    fn whole(&self, path: &Path) -> PathBuf {
        self.above.join(path.strip_prefix(".").unwrap_or(path))
    }

    /// Returns `true` if the operator has opened this path, whatever its content.
    pub(crate) fn is_opened(&self, path: &Path) -> bool {
        self.opened_paths.is_match(self.whole(path))
    }

    /// Returns `true` if the operator has opened everything here, by a pattern such as
    /// `/srv/images/*`.
    pub(crate) fn opens_everything(&self) -> bool {
        self.is_opened(Path::new("\u{1}/\u{1}\u{1}"))
    }

    /// Returns `true` if files below a directory of this name are secrets because of that name.
    pub(crate) fn is_of_secrets(directory: &Path) -> bool {
        let name = directory.file_name().map(|name| plain(Path::new(name)));
        name.is_some_and(|name| directories().any(|of| name == Path::new(of)))
    }

    /// Returns the reason why a file, or a directory with everything in it, stays closed; `None` if
    /// it may be opened.
    pub(crate) fn why(&self, path: &Path, is_directory: bool) -> Option<&'static str> {
        if self.is_opened(path) {
            return None;
        }
        let path = self.whole(path);
        let plain = plain(&path);
        if self.own.iter().any(|own| plain.starts_with(own)) {
            return Some("it is the daemon's own");
        }
        let has_name = self.names.is_match(&plain) && !self.opened_names.is_match(&path);
        let is_secret = !is_directory && has_name;
        is_secret.then_some("by its name it holds a password or a key")
    }
}

/// Returns a path in lower case, without differences that some file systems ignore and people
/// overlook: marks, widths and other forms of letters, characters without width, and dots and
/// spaces at the end of a name.
pub(crate) fn plain(path: &Path) -> PathBuf {
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

/// Compiles patterns in which `*` stands for any characters. In patterns of names, slashes are
/// excluded.
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
    fn secrets_match_names_in_any_case() {
        let opened = ["test.pem", "spec*", "keys/*"].map(str::to_owned);
        let secrets = Secrets::new(&opened, &[]).unwrap();
        let secret = [
            "home/.cargo/credentials.toml",
            "home/.cargo/credentials",
            "home/.gnupg/private-keys-v1.d/a.key",
            "home/.kube/config",
            "home/.netrc",
            "home/.docker/config.json",
            "home/.pypirc",
            "home/.aws/sso/cache/a.json",
            "home/.config/gcloud/credentials.db",
            "home/.azure/msal_token_cache.json",
            "home/.git-credentials",
            "home/.config/git/credentials",
            "home/.config/gh/hosts.yml",
            "home/.config/rclone/rclone.conf",
            "home/.terraform.d/credentials.tfrc.json",
            "home/.nuget/NuGet/NuGet.Config",
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
            ".env.",
            ".env . ",
            "a/\u{ff0e}\u{ff45}\u{ff4e}\u{ff56}",
            ".e\u{301}nv",
            ".e\u{200b}nv",
            "\u{feff}.env",
            ".ssh /config",
            "id_r\u{17f}a",
            "a.\u{212a}ey",
            "a.\u{24b6}/x.PEM",
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
            ".config/gh/config.yml",
            ".cargo/config.toml",
            "deep/test.pem",
            "deep/spec.pem",
            "keys/a.key",
            ".ssh",
            "environment é",
            "...",
            "a. /b ",
        ];
        for path in open {
            assert_eq!(secrets.why(Path::new(path), false), None, "{path}");
        }
        assert_eq!(secrets.why(Path::new("src/credentials"), true), None);
        let of_secrets = |path: &str| Secrets::is_of_secrets(Path::new(path));
        assert!(
            [".ssh", "a/.SSH", ".aws", ".docker", ".config/gcloud"].into_iter().all(of_secrets)
        );
        assert!(![".ssh/a", "ssh", ".docker/config.json", "src"].into_iter().any(of_secrets));
        let error = Secrets::new(&["a[".to_owned()], &[]).unwrap_err().to_string();
        assert!(error.starts_with("[tools] secret_files: "), "{error}");
    }

    #[test]
    fn secrets_include_the_daemons_files_and_directories() {
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

    #[test]
    fn secrets_beside_the_workspace_match_the_whole_path() {
        let opened = ["/srv/docs/keys/*.pem", "a.key", "srv/docs/more/*", "**/any/*"];
        let opened = opened.map(str::to_owned);
        let secrets = |root: &str| {
            Secrets::new(&opened, &[PathBuf::from("own")]).unwrap().below(Path::new(root))
        };
        for (root, path, is_secret) in [
            ("/srv/docs", "notes.md", false),
            ("/srv/docs", ".", false),
            ("/srv/docs", "keys/b.pem", false),
            ("/srv/docs", "a.key", false),
            ("/srv/docs", "b.key", true),
            ("/srv/docs", "more/b.pem", true),
            ("/srv/docs", "any/b.pem", true),
            ("/srv/docs", "own/x", true),
            ("/srv/other", "keys/b.pem", true),
            ("/srv/other", "srv/docs/keys/b.pem", true),
            ("/home/me/.ssh", "config", true),
            ("/home/me/.SSH/more", "config", true),
            ("/home/me/.docker", "config.json", true),
            ("/home/me/.docker", "config.md", false),
        ] {
            assert_eq!(
                secrets(root).why(Path::new(path), false).is_some(),
                is_secret,
                "{root} {path}"
            );
        }
        // In a workspace, only paths from its root count.
        let secrets = Secrets::new(&opened, &[]).unwrap();
        for (path, is_secret) in [
            ("srv/docs/keys/b.pem", true),
            ("srv/docs/more/b.pem", false),
            ("x/any/b.pem", false),
            ("x/a.key", false),
        ] {
            assert_eq!(secrets.why(Path::new(path), false).is_some(), is_secret, "{path}");
        }
    }
}
