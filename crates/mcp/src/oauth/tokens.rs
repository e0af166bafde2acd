//! The file with the tokens of all servers, in the data directory. The daemon and commands of this
//! machine read and write it, one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use avocet_protocol::clock::Timestamp;
use avocet_protocol::ignore_result;
use avocet_supervise::run_blocking;
use avocet_text::{Secret, plain_io};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize, Serializer};

use super::endpoint::OAuthClient;
use super::exposed_secret::exposed_option;

/// The longest time before its end in which a token is renewed.
const RENEW_BEFORE_EXPIRY: Duration = Duration::from_secs(60);

/// A login with its tokens.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredLogin {
    /// The URL of the server. The tokens are sent to this URL only.
    pub(crate) url: String,
    pub(crate) resource: String,
    pub(crate) token_endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) client: OAuthClient,
    #[serde(serialize_with = "serialize_exposed")]
    pub(crate) access_token: Secret,
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "exposed_option")]
    pub(crate) refresh_token: Option<Secret>,
    /// The end of the access token, in milliseconds since 1970; `None` if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<i64>,
    /// The seconds for which the access token is valid; `None` if they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lifetime: Option<u64>,
    /// The granted scopes.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) scopes: BTreeSet<String>,
}

impl StoredLogin {
    /// The time before its end in which the access token is renewed. A short token is used for most
    /// of its time.
    pub(crate) fn renew_before_expiry(&self) -> Duration {
        let lifetime = self.lifetime.map(Duration::from_secs);
        lifetime.map_or(RENEW_BEFORE_EXPIRY, |lifetime| RENEW_BEFORE_EXPIRY.min(lifetime / 4))
    }

    /// Returns `true` if the access token is expired by then.
    pub(crate) fn has_expired(&self, by: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= by.0)
    }
}

/// The entry of a server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ServerTokens {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) login: Option<StoredLogin>,
    /// The scopes that a refused call needed; the next login asks for them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", alias = "wanted")]
    pub(crate) missing_scopes: BTreeSet<String>,
}

/// Returns scopes as requests have them (RFC 6749, section 3.3).
pub(super) fn join_scopes(scopes: &BTreeSet<String>) -> String {
    scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

pub(super) fn serialize_exposed<S: Serializer>(
    secret: &Secret,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose())
}

type Entries = BTreeMap<String, ServerTokens>;

/// The file; `None` to keep no tokens.
#[derive(Debug, Clone)]
pub(crate) struct TokenFile(Option<PathBuf>);

/// The only writer of the file, until it is dropped.
#[derive(Debug)]
pub(crate) struct TokenWriter {
    file: PathBuf,
    entries: Entries,
    _lock: File,
}

impl TokenFile {
    pub(crate) fn new(file: Option<PathBuf>) -> Self {
        Self(file)
    }

    /// Returns the entry of a server.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub(crate) fn get(&self, server: &str) -> Result<ServerTokens, String> {
        let Some(file) = &self.0 else { return Ok(ServerTokens::default()) };
        read(file).map(|mut entries| entries.remove(server).unwrap_or_default())
    }

    /// Waits until no other process writes the file, and locks and reads it.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub(crate) async fn lock_file(&self) -> Result<TokenWriter, String> {
        let Some(file) = self.0.clone() else {
            return Err("there is no data directory for the tokens".to_owned());
        };
        let locked = run_blocking(move || {
            let failed = |error: io::Error| describe_failure("lock", &file, &error);
            let lock = open_lock(&file.with_extension("lock")).map_err(failed)?;
            lock.lock().map_err(failed)?;
            let entries = read(&file)?;
            Ok(TokenWriter { file, entries, _lock: lock })
        });
        locked.await.unwrap_or_else(|error| Err(error.to_string()))
    }
}

impl TokenWriter {
    pub(crate) fn entry_of(&mut self, server: &str) -> &mut ServerTokens {
        self.entries.entry(server.to_owned()).or_default()
    }

    /// Writes the file, and lets others write it.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub(crate) fn write(mut self) -> Result<(), String> {
        self.save()
    }

    /// Writes the file as a whole.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub(crate) fn save(&mut self) -> Result<(), String> {
        self.entries.retain(|_, entry| entry.login.is_some() || !entry.missing_scopes.is_empty());
        let write = || {
            let new = self.file.with_extension(format!("{}.new", uuid::Uuid::new_v4()));
            let written = self.write_new(&new);
            if written.is_err() {
                ignore_result(fs::remove_file(&new), "the caller gets the error of the write");
            }
            written
        };
        write().map_err(|error| describe_failure("write", &self.file, &error))
    }

    /// Writes a new file with all entries in place of the old one.
    fn write_new(&self, new: &Path) -> io::Result<()> {
        let mut options = File::options();
        let mut written = options.write(true).create_new(true).mode(0o600).open(new)?;
        written.write_all(&serde_json::to_vec(&self.entries)?)?;
        leave_to_owner(&written, new)?;
        written.sync_all()?;
        fs::rename(new, &self.file)?;
        File::open(directory_of(&self.file))?.sync_all()
    }
}

/// Opens the lock: a file that only the owner of its directory may read, and makes both if they are missing.
fn open_lock(path: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory_of(path))?;
    // The user of the daemon must not lead root to another file.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut options = File::options();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
    let file = options.open(path)?;
    let own = file.metadata()?;
    if !own.is_file() || own.nlink() != 1 {
        return Err(io::Error::other("it is not a regular file with one name"));
    }
    leave_to_owner(&file, path)?;
    Ok(file)
}

/// Gives a file to the owner of its directory: a command of root leaves it to the user of the daemon.
fn leave_to_owner(file: &File, path: &Path) -> io::Result<()> {
    let (of_directory, own) = (fs::metadata(directory_of(path))?, file.metadata()?);
    if of_directory.uid() != own.uid() {
        fchown(file, Some(of_directory.uid()), Some(of_directory.gid()))?;
    }
    Ok(())
}

fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

fn read(file: &Path) -> Result<Entries, String> {
    match fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!(
                "the tokens in {} cannot be read (line {line}, column {column}); delete the file and \
                 log in again",
                file.display()
            )
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Entries::new()),
        Err(error) => Err(describe_failure("read", file, &error)),
    }
}

fn describe_failure(verb: &str, file: &Path, error: &io::Error) -> String {
    format!("cannot {verb} the tokens in {}: {}", file.display(), plain_io(error))
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
