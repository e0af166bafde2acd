//! The trust of a file or a directory, in words, and a person's decision about it.

use std::borrow::Cow;
use std::path::Path;

use avocet_protocol::access::Trust;
use cap_std::fs::File;
use rustix::fs::{Mode, XattrFlags, fchmod, fremovexattr, fstat, lremovexattr, lsetxattr};
use rustix::io::Errno;

use crate::attributes::{MARK, TREE, handle_of, with_write_permission};
use crate::file_trust::{INBOX, of_place};
use crate::untrusted_tree::{is_in_tree, is_tree};
use crate::{FileError, Workspace, WorkspacePath};

const LOW: &[u8] = b"low";
const NO_MARK: &str = "has no mark as untrusted";
const NO_ATTRIBUTES: &str =
    "its file system has no extended attributes, so it cannot be told apart from untrusted files";

/// The trust of a file or a directory, and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedTrust {
    /// The trust.
    pub trust: Trust,
    /// The reason, phrased to follow the name of the file.
    pub why: Cow<'static, str>,
}

/// The reason that keeps even an unmarked file untrusted.
enum UntrustedBy {
    Beside,
    Inbox,
    /// The file is in a directory that a person has marked.
    Tree,
    /// Something untrusted was written to the workspace and could not be marked.
    Workspace,
}

impl Workspace {
    /// Returns the trust of a regular file or a directory, as far as this process knows.
    ///
    /// # Errors
    /// [`FileError`] as for reading.
    pub fn explain_trust(&self, path: &WorkspacePath) -> Result<ExplainedTrust, FileError> {
        if self.is_directory(path) {
            return self.explain_directory(path);
        }
        let (file, _) = self.examine_apart().open_regular(path)?;
        Ok(self.explain_file(path, &file))
    }

    /// Removes the mark of a file after a person has read the file. For a directory, removes the
    /// marks of everything in it. Returns the trust before the removal. A program that runs in
    /// another process may still change the file, and so have it marked again.
    ///
    /// # Errors
    /// [`FileError`] as for reading, and [`FileError::Refused`] if the path is untrusted for
    /// another reason than a mark.
    pub fn mark_trusted(&self, path: &WorkspacePath) -> Result<Trust, FileError> {
        if self.is_directory(path) {
            return self.mark_directory_trusted(path);
        }
        let (file, _) = self.examine_apart().open_regular(path)?;
        if let Some(why) = self.why_kept_untrusted(path, self.untrusted_by(path, Some(&file))) {
            return self.refuse_mark(path, &why);
        }
        let before = self.trust_of(path, &file);
        match remove_mark(&file) {
            Ok(()) | Err(Errno::NODATA) => Ok(before),
            Err(Errno::OPNOTSUPP) if before == Trust::Full => Ok(before),
            Err(Errno::OPNOTSUPP) => self.refuse_mark(path, NO_ATTRIBUTES),
            Err(error) => Err(self.file_error(path, &error.into())),
        }
    }

    /// Marks a file as untrusted on a person's decision. For a directory, this covers everything
    /// that is or will be in it. Returns the trust before the mark; for a directory, that of the
    /// directory as a whole.
    ///
    /// # Errors
    /// [`FileError`] as for reading, and [`FileError::Refused`] if marking fails.
    pub fn mark_untrusted(&self, path: &WorkspacePath) -> Result<Trust, FileError> {
        let is_directory = self.is_directory(path);
        let before = match self.explain_trust(path)?.trust {
            // Only files in the directory were untrusted so far; the directory itself was trusted.
            Trust::Low
                if is_directory
                    && self.untrusted_by(path, None).is_none()
                    && !self.is_marked_tree(path) =>
            {
                Trust::Full
            }
            before => before,
        };
        if !self.keeps_marks() {
            return match before {
                Trust::Full => self.refuse_mark(path, NO_ATTRIBUTES),
                before => Ok(before),
            };
        }
        let marked = if is_directory {
            let place = handle_of(self.handle()).join(path.as_path()).join(".");
            lsetxattr(place, TREE, LOW, XattrFlags::empty())
        } else {
            let parent = match path.parent() {
                None => self.handle().try_clone(),
                Some(parent) => self.handle().open_dir(parent),
            };
            let parent = parent.map_err(|error| self.file_error(path, &error))?;
            let lowered = self.provenance.lower_trust(&parent, Some(path.as_path()), Trust::Low);
            lowered.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
        };
        marked.map_err(|error| self.file_error(path, &error.into()))?;
        Ok(before)
    }

    fn is_directory(&self, path: &WorkspacePath) -> bool {
        self.handle().metadata(path.as_path()).is_ok_and(|found| found.is_dir())
    }

    fn refuse_mark<T>(&self, path: &WorkspacePath, detail: &str) -> Result<T, FileError> {
        let (path, detail) = (path.as_given(), detail.to_owned());
        Err(FileError::Refused { path, detail })
    }

    fn explain_directory(&self, path: &WorkspacePath) -> Result<ExplainedTrust, FileError> {
        let why = match self.untrusted_by(path, None) {
            Some(by) => Some(by.reason_text().to_owned()),
            None if self.is_marked_tree(path) => {
                Some("is marked as untrusted, with everything in it".to_owned())
            }
            None => match self.untrusted_in(path)? {
                0 => None,
                files => Some(format!("has {files} untrusted files in it")),
            },
        };
        Ok(match why {
            Some(why) => ExplainedTrust { trust: Trust::Low, why: why.into() },
            None => ExplainedTrust { trust: Trust::Full, why: NO_MARK.into() },
        })
    }

    fn mark_directory_trusted(&self, path: &WorkspacePath) -> Result<Trust, FileError> {
        if let Some(why) = self.why_kept_untrusted(path, self.untrusted_by(path, None)) {
            return self.refuse_mark(path, &why);
        }
        let before = self.explain_trust(path)?.trust;
        if !self.keeps_marks() {
            return Ok(before);
        }
        let unmarked = |done| match done {
            Ok(()) | Err(Errno::NODATA | Errno::NOENT | Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(std::io::Error::from(error)),
        };
        let root = handle_of(self.handle());
        let own = root.join(path.as_path()).join(".");
        let done = [MARK, TREE].iter().try_for_each(|mark| unmarked(lremovexattr(&own, *mark)));
        let done = done.and_then(|()| {
            let start = if path.is_root() { Path::new("") } else { path.as_path() };
            self.look_at_all_below(start.to_owned(), |directory, below, found| {
                if !(found.is_file() || found.is_dir()) || of_place(below) < Trust::Full {
                    return Ok(());
                }
                let place = self.provenance.place_in(directory, below);
                let name = below.file_name().unwrap_or_default();
                [MARK, TREE].iter().try_for_each(|mark| {
                    unmarked(with_write_permission(directory, name, || lremovexattr(&place, *mark)))
                })
            })
        });
        done.map_err(|error| self.file_error(path, &error))?;
        Ok(before)
    }

    fn is_marked_tree(&self, path: &WorkspacePath) -> bool {
        is_tree(&handle_of(self.handle()).join(path.as_path()))
    }

    /// Returns the number of untrusted files in a directory.
    fn untrusted_in(&self, path: &WorkspacePath) -> Result<usize, FileError> {
        let start = if path.is_root() { Path::new("") } else { path.as_path() };
        let mut untrusted = 0;
        let looked = self.look_at_all_below(start.to_owned(), |directory, below, found| {
            if found.is_file() {
                let name = below.file_name().unwrap_or_default();
                let trust =
                    self.provenance.trust_of_entry(directory, name).min(self.trust_at(below));
                untrusted += usize::from(trust < Trust::Full);
            }
            Ok(())
        });
        looked.map_err(|error| self.file_error(path, &error))?;
        Ok(untrusted)
    }

    fn explain_file(&self, path: &WorkspacePath, file: &File) -> ExplainedTrust {
        let trust = self.trust_of(path, file);
        let why = match (self.untrusted_by(path, Some(file)), trust) {
            (Some(by), _) => by.reason_text(),
            (None, Trust::Low) => "has content from unknown people",
            (None, Trust::User) => "has content from somebody who may speak and is not an owner",
            (None, Trust::Full) => NO_MARK,
        };
        ExplainedTrust { trust, why: why.into() }
    }

    fn untrusted_by(&self, path: &WorkspacePath, file: Option<&File>) -> Option<UntrustedBy> {
        let place = file.and_then(|file| self.path_of_opened(file));
        let place = place.unwrap_or_else(|| path.as_path().to_owned());
        let is_inbox = |path: &Path| of_place(path) < Trust::Full || path == Path::new(INBOX);
        let root = handle_of(self.handle());
        let is_in_tree = |path: &Path| {
            let above = path.parent().filter(|_| path != Path::new("."));
            above.is_some_and(|above| is_in_tree(&root, above))
        };
        let places = [place.as_path(), path.as_path()];
        if self.beside.is_some() {
            return Some(UntrustedBy::Beside);
        }
        if places.iter().any(|path| is_inbox(path)) {
            return Some(UntrustedBy::Inbox);
        }
        if self.keeps_marks() && places.iter().any(|path| is_in_tree(path)) {
            return Some(UntrustedBy::Tree);
        }
        (self.provenance.highest_trust() < Trust::Full).then_some(UntrustedBy::Workspace)
    }

    /// Returns the reason why a person cannot make this path trusted.
    fn why_kept_untrusted(&self, path: &WorkspacePath, by: Option<UntrustedBy>) -> Option<String> {
        let what = if self.is_directory(path) { "directory" } else { "file" };
        Some(match by? {
            UntrustedBy::Beside => "it is outside the workspaces, where others also write, so its \
                content is always untrusted; read it, then copy it into a workspace"
                .to_owned(),
            UntrustedBy::Inbox => "it came with a message, and files below inbox/ are always \
                untrusted; read it, then copy it to another place in the workspace"
                .to_owned(),
            UntrustedBy::Tree => format!(
                "this {what} is in a directory that is marked as untrusted with everything in it; \
                    remove that mark first: avocet trust --believe DIRECTORY"
            ),
            UntrustedBy::Workspace => self.why_workspace_is_untrusted(),
        })
    }

    fn why_workspace_is_untrusted(&self) -> String {
        let why = if self.keeps_marks() {
            "untrusted content was written there and could not be marked"
        } else {
            "its file system has no extended attributes, and untrusted content was written there"
        };
        let note = match self.provenance.unmarked_note() {
            Some(note) => format!(
                "; check all of its files, then remove {} and restart the daemon",
                note.display()
            ),
            None => String::new(),
        };
        format!("all files of this workspace are untrusted now: {why}{note}")
    }
}

impl UntrustedBy {
    fn reason_text(&self) -> &'static str {
        match self {
            Self::Beside => "is outside the workspaces, where others also write",
            Self::Inbox => "came with a message",
            Self::Tree => "is in a directory that is marked as untrusted",
            Self::Workspace => "is in a workspace whose files are all untrusted",
        }
    }
}

fn remove_mark(file: &File) -> Result<(), Errno> {
    let unmark = || fremovexattr(file, MARK);
    match unmark() {
        // Like marking, this needs write permission on the file.
        Err(Errno::ACCESS) => {
            let mode = Mode::from_raw_mode(fstat(file)?.st_mode);
            fchmod(file, mode | Mode::WUSR)?;
            let unmarked = unmark();
            fchmod(file, mode)?;
            unmarked
        }
        unmarked => unmarked,
    }
}

#[cfg(test)]
#[path = "trust_level_tests.rs"]
mod tests;
