//! The chat of an editor's session, and the profile that answers it. Both follow from the directory
//! in which the editor works. The id of a session holds them, so that a later process finds them.

use std::path::{Path, PathBuf};

use avocet_protocol::chat::SessionId;

/// The beginning of the names of these chats.
const CHATS: &str = SessionId::OF_EDITORS;
/// Stands for `/` in an id, and ends its parts.
const SLASH: char = '+';

/// A profile of the configuration, and the directory of its file tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorProfile {
    /// The name of its table.
    pub name: String,
    /// The directory.
    pub workspace: PathBuf,
}

/// Returns the pattern of the sessions that the profile answers for editors.
#[must_use]
pub fn session_pattern(profile: &str) -> String {
    format!("{CHATS}{profile}{SLASH}*")
}

/// The directories that an editor can work in.
#[derive(Debug, Clone)]
pub(crate) struct EditorPlaces {
    /// The default profile first.
    profiles: Vec<EditorProfile>,
    /// Directories that file tools may change beside the workspaces.
    beside: Vec<PathBuf>,
}

/// The chat and the directories of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionPlace {
    pub(crate) session: SessionId,
    pub(crate) workspace: PathBuf,
    /// The directory of the editor; `None` if the id does not hold it.
    pub(crate) cwd: Option<PathBuf>,
    /// `true` if file tools may change the directory of the editor.
    pub(crate) is_covered: bool,
}

impl EditorPlaces {
    pub(crate) fn new(profiles: Vec<EditorProfile>, beside: &[PathBuf]) -> Self {
        let profiles = profiles.into_iter().map(|EditorProfile { name, workspace }| {
            EditorProfile { name, workspace: real(&workspace) }
        });
        let beside = beside.iter().map(|path| real(path)).collect();
        Self { profiles: profiles.collect(), beside }
    }

    /// Makes a new session of an editor in `cwd`. The profile with the innermost workspace around
    /// `cwd` answers it, otherwise the default profile.
    pub(crate) fn new_session(&self, cwd: &Path, key: &str) -> Result<SessionPlace, String> {
        if !cwd.is_absolute() {
            return Err(format!("cwd {:?} is not an absolute path", cwd.display().to_string()));
        }
        let cwd = real(cwd);
        let around = self.profiles.iter().filter(|one| cwd.starts_with(&one.workspace));
        // Of equal workspaces, the first: it is the one of the default profile.
        let best = around.rev().max_by_key(|one| one.workspace.components().count());
        let profile = best.or(self.profiles.first()).ok_or("no profile is configured")?;
        let start = format!("{CHATS}{}{SLASH}{key}", profile.name);
        let named = encode(&cwd).and_then(|path| format!("{start}{path}").parse().ok());
        let session = match named {
            Some(session) => session,
            // The path is too long for an id.
            None => SessionId::parse(&start).map_err(|error| error.to_string())?,
        };
        let is_covered = self.covers(&profile.workspace, &cwd);
        Ok(SessionPlace {
            session,
            workspace: profile.workspace.clone(),
            cwd: Some(cwd),
            is_covered,
        })
    }

    /// Reads the id of a session; `None` if it is not of an editor.
    pub(crate) fn find_place(&self, id: &str) -> Option<SessionPlace> {
        let mut parts = id.strip_prefix(CHATS)?.splitn(3, SLASH);
        let (name, _key) = (parts.next()?, parts.next()?);
        let profile = self.profiles.iter().find(|one| one.name == name);
        let workspace = profile.or(self.profiles.first())?.workspace.clone();
        let cwd = parts.next().map(decode);
        let is_covered = cwd.as_ref().is_none_or(|cwd| self.covers(&workspace, cwd));
        Some(SessionPlace { session: id.parse().ok()?, workspace, cwd, is_covered })
    }

    /// Returns `true` if an editor's path names this directory.
    pub(crate) fn is_same(path: &Path, cwd: &Path) -> bool {
        path == cwd || real(path) == cwd
    }

    fn covers(&self, workspace: &Path, cwd: &Path) -> bool {
        cwd.starts_with(workspace) || self.beside.iter().any(|beside| cwd.starts_with(beside))
    }
}

impl SessionPlace {
    /// Returns the absolute path of a file as tools name it.
    pub(crate) fn absolute(&self, path: &str) -> PathBuf {
        self.workspace.join(path.trim_start_matches("./"))
    }

    /// Returns the name of a file for tools: relative to the workspace if it lies there.
    pub(crate) fn for_tools(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.workspace).unwrap_or(path);
        below.display().to_string()
    }
}

/// Resolves symbolic links, if the directory exists.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Writes an absolute path in the characters of an id; `None` if the path is not UTF-8.
fn encode(path: &Path) -> Option<String> {
    let mut written = String::new();
    for c in path.to_str()?.chars() {
        match c {
            '/' => written.push(SLASH),
            '.' if written.ends_with('.') => written.push_str("%2E"),
            '-' | '_' | '.' => written.push(c),
            c if c.is_alphanumeric() => written.push(c),
            c => {
                let mut buffer = [0; 4];
                for byte in c.encode_utf8(&mut buffer).bytes() {
                    written.push_str(&format!("%{byte:02X}"));
                }
            }
        }
    }
    Some(written)
}

/// Reads a path of [`encode`] without its first slash.
fn decode(written: &str) -> PathBuf {
    let mut bytes = vec![b'/'];
    let mut rest = written.as_bytes();
    while let [first, behind @ ..] = rest {
        let escaped = (*first == b'%').then(|| behind.get(..2)).flatten();
        let escaped = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(if *first == SLASH as u8 { b'/' } else { *first });
                rest = behind;
            }
        }
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> EditorPlaces {
        let profile = |name: &str, workspace: &str| EditorProfile {
            name: name.to_owned(),
            workspace: workspace.into(),
        };
        let profiles = vec![
            profile("default", "/srv/agent"),
            profile("outer", "/code"),
            profile("shop", "/code/my shop"),
            profile("twin", "/code/my shop"),
        ];
        EditorPlaces::new(profiles, &["/also".into()])
    }

    #[track_caller]
    fn check(cwd: &str, id: &str, covered: bool) {
        let place = places().new_session(Path::new(cwd), "k1").unwrap();
        assert_eq!((place.session.as_str(), place.is_covered), (id, covered));
        assert_eq!(places().find_place(id), Some(place));
    }

    #[test]
    fn new_session_takes_the_profile_of_the_innermost_workspace() {
        check("/code/my shop/src", "terminal:local:acp-shop+k1+code+my%20shop+src", true);
        check("/code", "terminal:local:acp-outer+k1+code", true);
        check("/elsewhere", "terminal:local:acp-default+k1+elsewhere", false);
        check("/also/there", "terminal:local:acp-default+k1+also+there", true);
        check("/code/a..b/c+d%", "terminal:local:acp-outer+k1+code+a.%2Eb+c%2Bd%25", true);
    }

    #[test]
    fn new_session_refuses_a_relative_path_and_leaves_out_a_long_one() {
        assert!(places().new_session(Path::new("src"), "k1").is_err());
        let long = format!("/code/{}", "x".repeat(300));
        let place = places().new_session(Path::new(&long), "k1").unwrap();
        assert_eq!(place.session.as_str(), "terminal:local:acp-outer+k1");
        assert_eq!(places().find_place(place.session.as_str()).unwrap().cwd, None);
    }

    #[test]
    fn of_refuses_ids_of_other_chats() {
        for id in ["terminal:local:me", "terminal:local:acp-", "telegram:bot:acp-default+k1", ""] {
            assert_eq!(places().find_place(id), None, "{id}");
        }
    }

    #[test]
    fn absolute_and_for_tools_name_the_same_file() {
        let place = places().find_place("terminal:local:acp-outer+k1+code").unwrap();
        assert_eq!(place.absolute("./src/a.rs"), Path::new("/code/src/a.rs"));
        assert_eq!(place.absolute("/etc/hosts"), Path::new("/etc/hosts"));
        assert_eq!(place.for_tools(Path::new("/code/src/a.rs")), "src/a.rs");
        assert_eq!(place.for_tools(Path::new("/etc/hosts")), "/etc/hosts");
    }
}
