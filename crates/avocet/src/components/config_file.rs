//! The text of the configuration file: reads it, checks another text, and replaces it.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use avocet_config::{ConfigDocument, ConfigError, UnresolvedValue};
use avocet_protocol::daemon::{
    ConfigCheck, ConfigFault, ConfigFileError, ConfigText, MAX_CONFIG_BYTES, ShownConfig,
};
use avocet_protocol::ignore_result;
use avocet_sandbox::digest_bytes;
use avocet_text::plain_io;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use tracing::dispatcher::{Dispatch, with_default};

use crate::components::mistakes::check_mistakes;
use crate::components::workspaces::check_directories;
use crate::configuration::{Configuration, ConfigurationUse, last_version};
use crate::context::CommandContext;
use crate::environment::read_variable;
use crate::exit::Failure;

/// Reads the text of the file and its digest. A missing file has the empty text.
///
/// # Errors
/// [`ConfigFileError`] if the file cannot be read, is too long, or is not UTF-8.
pub(crate) fn read_config_file(path: &Path) -> Result<ShownConfig, ConfigFileError> {
    let bytes = read(path)?;
    if bytes.len() > MAX_CONFIG_BYTES {
        return Err(ConfigFileError::TooLong(bytes.len()));
    }
    let digest = digest_bytes(&bytes);
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("{} is not UTF-8 text (at byte {at})", path.display());
        ConfigFileError::Failed(message)
    })?;
    let is_writable = Target::resolve(path).is_ok();
    Ok(ShownConfig {
        path: path.display().to_string(),
        text: ConfigText(text),
        digest,
        is_writable,
    })
}

/// Reads the file; without a file, the empty text.
fn read(path: &Path) -> Result<Vec<u8>, ConfigFileError> {
    fs::read(path).or_else(|error| match error.kind() {
        ErrorKind::NotFound => Ok(Vec::new()),
        _ => {
            let (path, error) = (path.display(), plain_io(&error));
            Err(ConfigFileError::Failed(format!("cannot read {path}: {error}; check its owner")))
        }
    })
}

/// Checks a text as if it stood in the file. The daemon's log and redactor stay as they are, because
/// the text is not in use.
pub(crate) fn check_config_text(
    context: &CommandContext,
    path: &Path,
    text: String,
) -> Result<ConfigCheck, ConfigFileError> {
    if text.len() > MAX_CONFIG_BYTES {
        return Err(ConfigFileError::TooLong(text.len()));
    }
    let references = ConfigurationUse::Check.used_references();
    let checked = with_default(&Dispatch::none(), || -> Result<Configuration, Failure> {
        let path = Some(path.to_owned());
        let document = ConfigDocument::parse_with(text, path, &read_variable, references)?;
        let configuration =
            Configuration::from_document(context, document, ConfigurationUse::Check)?;
        check_directories(&configuration)?;
        check_mistakes(&configuration)?;
        Ok(configuration)
    });
    Ok(match checked {
        Ok(configuration) => {
            let unresolved = configuration.document.unresolved_values().iter();
            let warnings = unresolved.map(|UnresolvedValue { key, error }| ConfigFault {
                key: Some(key.clone()),
                ..describe_fault(error)
            });
            ConfigCheck { faults: Vec::new(), warnings: warnings.collect() }
        }
        Err(failure) => {
            ConfigCheck { faults: vec![fault_of_failure(&failure)], warnings: Vec::new() }
        }
    })
}

/// Returns a failure with the line and the key that it names.
pub(crate) fn fault_of_failure(failure: &Failure) -> ConfigFault {
    match failure.error.downcast_ref::<ConfigError>() {
        Some(error) => describe_fault(error),
        None => ConfigFault { line: None, key: None, message: format!("{:#}", failure.error) },
    }
}

fn describe_fault(ConfigError { place, key, message, .. }: &ConfigError) -> ConfigFault {
    let line = place.map(|(line, _)| line);
    ConfigFault { line, key: key.clone(), message: message.clone() }
}

/// Checks a text and writes it, if the digest of the file is still the known one. Returns the new
/// digest.
pub(crate) fn save_config_text(
    context: &CommandContext,
    path: &Path,
    text: &str,
    known: &str,
) -> Result<String, ConfigFileError> {
    let ConfigCheck { faults, .. } = check_config_text(context, path, text.to_owned())?;
    if !faults.is_empty() {
        return Err(ConfigFileError::Unusable(faults));
    }
    let target = Target::resolve(path).map_err(|why| unwritable_error(path, &why))?;
    let last = read(path)?;
    if digest_bytes(&last) != known {
        return Err(ConfigFileError::Changed(path.display().to_string()));
    }
    let replaced = target.replace(&last, text.as_bytes());
    replaced.map_err(|error| unwritable_error(path, &plain_io(&error)))?;
    Ok(digest_bytes(text.as_bytes()))
}

fn unwritable_error(path: &Path, why: &str) -> ConfigFileError {
    let directory = path.parent().unwrap_or(path).display();
    ConfigFileError::Failed(format!(
        "cannot write {}: {why}; edit the file as its owner, or let the user of the daemon write into \
             {directory} (in a unit of systemd: ReadWritePaths={directory})",
        path.display()
    ))
}

/// The configuration file as a command reads and replaces it.
#[derive(Debug)]
pub(crate) struct FileText {
    pub(crate) path: PathBuf,
    /// The text; empty if there is no file.
    pub(crate) text: String,
    digest: String,
}

impl FileText {
    pub(crate) fn read(path: PathBuf) -> Result<Self, ConfigFileError> {
        let ShownConfig { text: ConfigText(text), digest, .. } = read_config_file(&path)?;
        Ok(Self { path, text, digest })
    }

    /// Checks that this process can replace the file.
    ///
    /// # Errors
    /// [`ConfigFileError::Failed`] with the reason.
    pub(crate) fn check_writable(&self) -> Result<(), ConfigFileError> {
        Target::resolve(&self.path).map(drop).map_err(|why| unwritable_error(&self.path, &why))
    }

    /// Checks that the file is a place for secrets: no other user of the system can read it.
    ///
    /// # Errors
    /// [`ConfigFileError::Failed`] with the ways to keep a secret.
    pub(crate) fn check_private(&self) -> Result<(), ConfigFileError> {
        if !fs::metadata(&self.path).is_ok_and(|file| file.mode() & 0o004 != 0) {
            return Ok(());
        }
        let path = self.path.display();
        Err(ConfigFileError::Failed(format!(
            "every user of this system can read {path}, so no secret is written into it; run `chmod 600 \
             {path}` if the daemon runs as the owner of the file, or write a reference such as \
             \"${{credential:telegram}}\" (LoadCredential= in the unit of a service)"
        )))
    }

    /// Checks a new text and writes it, if the file is still the one that was read.
    pub(crate) fn replace(
        &self,
        context: &CommandContext,
        text: &str,
    ) -> Result<(), ConfigFileError> {
        save_config_text(context, &self.path, text, &self.digest).map(drop)
    }
}

/// A file that this process can replace.
struct Target {
    /// The file itself, after all symbolic links.
    file: PathBuf,
    /// The owner and the mode to keep; `None` for a new file.
    like: Option<Metadata>,
}

impl Target {
    /// Finds the file and checks the rights. The error is the reason why it cannot be replaced.
    fn resolve(path: &Path) -> Result<Self, String> {
        let file = match fs::canonicalize(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => {
                let existing = path.ancestors().skip(1).find(|above| above.exists());
                may_write(existing.unwrap_or(Path::new("/")))?;
                return Ok(Self { file: path.to_owned(), like: None });
            }
            Err(error) => return Err(plain_io(&error)),
        };
        let like = fs::metadata(&file).map_err(|error| plain_io(&error))?;
        if !like.is_file() {
            return Err("it is not a regular file".to_owned());
        }
        // `accessat` lets root write to a read-only file, so the mode is checked as well.
        if like.mode() & 0o222 == 0 {
            return Err(format!("it is read-only (mode {:o})", like.mode() & 0o7777));
        }
        let user = rustix::process::geteuid();
        if !user.is_root() && like.uid() != user.as_raw() {
            return Err(format!(
                "it belongs to the user {}, and this process runs as {}",
                like.uid(),
                user.as_raw()
            ));
        }
        may_write(&file)?;
        file.parent().map_or(Ok(()), may_write)?;
        Ok(Self { file, like: Some(like) })
    }

    /// Writes the last version and the new one. A crash leaves the old file or the new one.
    fn replace(&self, last: &[u8], new: &[u8]) -> io::Result<()> {
        if self.like.is_some() {
            self.put_beside(&last_version(&self.file), last)?;
        } else if let Some(directory) = self.file.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        self.put_beside(&self.file, new)
    }

    fn put_beside(&self, file: &Path, content: &[u8]) -> io::Result<()> {
        let directory = file.parent().unwrap_or(Path::new("/"));
        let temporary = directory.join(format!(".avocet-config-{}.new", uuid::Uuid::new_v4()));
        let mut options = File::options();
        let mut written = options.write(true).create_new(true).mode(0o600).open(&temporary)?;
        let mut finish = || {
            written.write_all(content)?;
            if let Some(like) = &self.like {
                let made = written.metadata()?;
                if (made.uid(), made.gid()) != (like.uid(), like.gid()) {
                    fchown(&written, Some(like.uid()), Some(like.gid()))?;
                }
                let mode = fs::Permissions::from_mode(like.mode() & 0o777);
                written.set_permissions(mode)?;
            }
            written.sync_all()?;
            fs::rename(&temporary, file)
        };
        if let Err(error) = finish() {
            ignore_result(fs::remove_file(&temporary), "the caller gets the error of the write");
            return Err(error);
        }
        File::open(directory)?.sync_all()
    }
}

/// Checks the rights of this process to write a file, or into a directory.
fn may_write(path: &Path) -> Result<(), String> {
    let mut access = Access::WRITE_OK;
    if path.is_dir() {
        access |= Access::EXEC_OK;
    }
    accessat(CWD, path, access, AtFlags::EACCESS)
        .map_err(|error| format!("{}: {}", path.display(), plain_io(&error.into())))
}

#[cfg(test)]
#[path = "config_file_tests.rs"]
mod tests;
