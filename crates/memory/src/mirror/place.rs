//! The place of a memory file: its name, and a safe way to read and replace it. A person may save the
//! file at any moment, so an exchange of the two files decides who was first.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use avocet_protocol::store::MemoryScope;
use avocet_supervise::fail_point::{FailMoment, pass_fail_point};
use avocet_text::in_hexadecimal;
use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

/// The most bytes of a file.
pub(super) const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// The most readable characters in a file name.
const READABLE: usize = 80;
/// Ends the name of an export that is not complete.
const PART: &str = "part";
/// Ends the name of the file that has changed places with the visible one, or is about to.
const OTHER: &str = "other";

/// The fail point at which an export and the visible file change places.
const EXCHANGE: &str = "exchange-memory-file";

/// Returns the file name of a scope, such as `person_telegram_main_7.md`. Other characters than those
/// of plain names are replaced, and a digest then keeps the name unique.
pub(super) fn file_name(scope: &MemoryScope) -> String {
    let scope = scope.to_string();
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_separator = |c: char| matches!(c, ' ' | ':');
    let readable: String =
        scope.chars().take(READABLE).map(|c| if is_plain(c) { c } else { '_' }).collect();
    let is_exact = scope.chars().all(|c| is_plain(c) || is_separator(c));
    if is_exact && readable.len() == scope.len() {
        return format!("{readable}.md");
    }
    format!("{readable}_{}.md", &digest_parts(&[scope.as_bytes()])[..16])
}

/// Returns the SHA-256 of these parts, in hexadecimal.
pub(super) fn digest_parts(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    in_hexadecimal(&digest.finalize())
}

/// The state of a file, which changes with its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    fn from_metadata(found: &fs::Metadata) -> Self {
        Self {
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// A fault of a file that a person has to correct.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum FileFault {
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it has {0} bytes; at most {MOST_BYTES} are read")]
    TooLarge(u64),
    #[error("it is not UTF-8 (at byte {0})")]
    NotText(usize),
    #[error("its heading names another scope, {0}")]
    OtherScope(MemoryScope),
    #[error("the file of {scope} has the name {expected}")]
    OtherName { scope: MemoryScope, expected: String },
    #[error("it has no heading with a scope")]
    NoScope,
    #[error("its memories need {0} bytes; a file has at most {MOST_BYTES}")]
    TooMany(usize),
    #[error("{0}")]
    Io(String),
}

impl From<io::Error> for FileFault {
    fn from(error: io::Error) -> Self {
        Self::Io(error.to_string())
    }
}

/// A file with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadFile {
    pub(super) stamp: FileStamp,
    pub(super) bytes: Vec<u8>,
}

/// A file in the directory of memory files.
#[derive(Debug, Clone)]
pub(super) struct FilePlace {
    directory: PathBuf,
    name: String,
}

/// The result of replacing a file.
#[derive(Debug)]
pub(super) enum ReplacedFile {
    Done(FileStamp),
    /// The person has saved the file meanwhile. [`FilePlace::read_other`] returns their content.
    Displaced,
}

impl FilePlace {
    pub(super) fn from_scope(directory: &Path, scope: &MemoryScope) -> Self {
        Self { directory: directory.to_owned(), name: file_name(scope) }
    }

    pub(super) fn file_name(&self) -> &str {
        &self.name
    }

    pub(super) fn file_path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    pub(super) fn read(&self) -> Result<Option<ReadFile>, FileFault> {
        check_directory(&self.directory)?;
        read(&self.file_path())
    }

    /// Reads the content that a replacement has left beside the file. It is a whole file, of a person
    /// or of an export.
    pub(super) fn read_other(&self) -> Result<Option<ReadFile>, FileFault> {
        check_directory(&self.directory)?;
        read(&self.path_of_other())
    }

    pub(super) fn has_other(&self) -> bool {
        fs::symlink_metadata(self.path_of_other()).is_ok()
    }

    pub(super) fn remove_other(&self) -> Result<(), FileFault> {
        Ok(fs::remove_file(self.path_of_other())?)
    }

    fn path_of_other(&self) -> PathBuf {
        self.hidden_path(OTHER)
    }

    fn hidden_path(&self, ending: &str) -> PathBuf {
        self.directory.join(format!(".{}.{ending}", self.name))
    }

    /// Returns the present stamp; `None` if there is no file.
    pub(super) fn current_stamp(&self) -> Option<FileStamp> {
        fs::symlink_metadata(self.file_path()).ok().map(|found| FileStamp::from_metadata(&found))
    }

    /// Replaces the content `before` of the file.
    pub(super) fn replace_content(
        &self,
        before: Option<&ReadFile>,
        bytes: &[u8],
    ) -> Result<ReplacedFile, FileFault> {
        make_directory(&self.directory)?;
        let (part, other, path) = (self.hidden_path(PART), self.path_of_other(), self.file_path());
        let stamp = write_synced(&part, bytes)?;
        if before.is_none() {
            return match renameat_with(CWD, &part, CWD, &path, RenameFlags::NOREPLACE) {
                Ok(()) => self.stamp_after_rename(stamp),
                Err(Errno::EXIST) => {
                    fs::remove_file(&part)?;
                    Ok(ReplacedFile::Displaced)
                }
                Err(error) => Err(io::Error::from(error).into()),
            };
        }
        fs::rename(&part, &other)?;
        pass_fail_point(EXCHANGE, FailMoment::Before);
        match renameat_with(CWD, &other, CWD, &path, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => {
                // The person has removed the file: the next comparison makes it again.
                fs::remove_file(&other)?;
                return Ok(ReplacedFile::Displaced);
            }
            Err(error) => {
                fs::remove_file(&other)?;
                return Err(io::Error::from(error).into());
            }
        }
        pass_fail_point(EXCHANGE, FailMoment::After);
        let displaced = read(&other)?;
        if displaced.map(|file| file.bytes) != before.map(|file| file.bytes.clone()) {
            return Ok(ReplacedFile::Displaced);
        }
        fs::remove_file(&other)?;
        self.stamp_after_rename(stamp)
    }

    /// Returns the stamp of the export after its renames.
    fn stamp_after_rename(&self, written: FileStamp) -> Result<ReplacedFile, FileFault> {
        File::open(&self.directory)?.sync_all()?;
        // A rename changes the time of the last change only.
        let now = self
            .current_stamp()
            .filter(|now| FileStamp { changed: written.changed, ..*now } == written);
        Ok(now.map_or(ReplacedFile::Displaced, ReplacedFile::Done))
    }

    /// Gives the content beside the file a visible name.
    pub(super) fn keep_other(&self) -> Result<PathBuf, FileFault> {
        for number in 1..100 {
            let kept = self.directory.join(format!("{}.kept-{number}", self.name));
            match renameat_with(CWD, self.path_of_other(), CWD, &kept, RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(kept),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
        Err(FileFault::Io(format!("there are 99 files {}.kept-…; remove some", self.name)))
    }
}

/// Makes the directory, for its owner only. A link is refused: it could lead to a place that the agent
/// can read.
fn make_directory(directory: &Path) -> Result<(), FileFault> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.into()),
    }
    check_directory(directory)
}

/// Fails if the path of the directory is something else.
fn check_directory(directory: &Path) -> Result<(), FileFault> {
    match fs::symlink_metadata(directory) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(FileFault::Io(format!("{} is not a directory", directory.display()))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Reads a regular file; `None` if it does not exist. Links are not followed.
pub(super) fn read(path: &Path) -> Result<Option<ReadFile>, FileFault> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Err(FileFault::NotAFile);
        }
        Err(error) => return Err(error.into()),
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(FileFault::NotAFile);
    }
    if found.len() > MOST_BYTES {
        return Err(FileFault::TooLarge(found.len()));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        length if length > MOST_BYTES => Err(FileFault::TooLarge(length)),
        _ => Ok(Some(ReadFile { stamp: FileStamp::from_metadata(&found), bytes })),
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<FileStamp> {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(FileStamp::from_metadata(&file.metadata()?))
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
