//! How far a file is believed, in words, and a person's word that it may be.

use avocet_protocol::Trust;
use cap_std::fs::File;
use rustix::fs::{Mode, fchmod, fremovexattr, fstat};
use rustix::io::Errno;

use crate::provenance::{MARK, of_place};
use crate::{FileError, Workspace, WorkspacePath};

/// How far a file is believed, and why no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// How far.
    pub trust: Trust,
    /// Why, to be put behind the name of the file.
    pub why: &'static str,
}

/// What keeps a file from being believed, whatever its mark says.
enum Bar {
    Beside,
    Inbox,
    /// Something foreign could not be marked.
    Workspace,
}

impl Workspace {
    /// How far a regular file is believed, as far as this process knows.
    ///
    /// # Errors
    /// [`FileError`] as for reading.
    pub fn standing(&self, path: &WorkspacePath) -> Result<Standing, FileError> {
        let (file, _) = self.apart().open_regular(path)?;
        Ok(self.standing_of(path, &file))
    }

    /// A person has read a file: takes its mark away. Returns how far it was believed before. A program that
    /// runs in another process may have changed it, or change it, and have it marked again.
    ///
    /// # Errors
    /// [`FileError`] as for reading, and [`FileError::Refused`] where no mark is what keeps it from being
    /// believed.
    pub fn believe(&self, path: &WorkspacePath) -> Result<Trust, FileError> {
        let (file, _) = self.apart().open_regular(path)?;
        let refused = |detail: &str| {
            Err(FileError::Refused { path: path.as_given(), detail: detail.to_owned() })
        };
        match self.bar(path, &file) {
            Some(Bar::Beside) => {
                return refused(
                    "it is outside the workspaces, where others write, too, and what is read there is never \
                     believed; once you have read it, copy it into a workspace",
                );
            }
            Some(Bar::Inbox) => {
                return refused(
                    "it came with a message, and what is below inbox/ is never believed; once you have read \
                     it, copy it to elsewhere in the workspace",
                );
            }
            Some(Bar::Workspace) => return refused(&self.why_nothing()),
            None => {}
        }
        let before = self.trust_of(path, &file);
        match unmark(&file) {
            Ok(()) | Err(Errno::NODATA) => Ok(before),
            Err(Errno::OPNOTSUPP) if before == Trust::Full => Ok(before),
            Err(Errno::OPNOTSUPP) => refused(
                "its file system keeps no extended attributes, so it cannot be told from others",
            ),
            Err(error) => Err(self.error(path, &error.into())),
        }
    }

    fn standing_of(&self, path: &WorkspacePath, file: &File) -> Standing {
        let trust = self.trust_of(path, file);
        let why = match (self.bar(path, file), trust) {
            (Some(Bar::Beside), _) => "is outside the workspaces, where others write, too",
            (Some(Bar::Inbox), _) => "came with a message",
            (Some(Bar::Workspace), _) => "is in a workspace of which nothing is believed any more",
            (None, Trust::Low) => "has words in it that anybody may have written",
            (None, Trust::User) => "has words in it of somebody who may speak and is no owner",
            (None, Trust::Full) => "has no mark of others' words",
        };
        Standing { trust, why }
    }

    fn bar(&self, path: &WorkspacePath, file: &File) -> Option<Bar> {
        let place = self.place(file).unwrap_or_else(|| path.as_path().to_owned());
        let is_foreign = [place.as_path(), path.as_path()].map(of_place).contains(&Trust::Low);
        match () {
            () if self.beside.is_some() => Some(Bar::Beside),
            () if is_foreign => Some(Bar::Inbox),
            () if self.provenance.most() < Trust::Full => Some(Bar::Workspace),
            () => None,
        }
    }

    fn why_nothing(&self) -> String {
        let why = match self.marks() {
            true => "something foreign was written there that could not be marked",
            false => {
                "its file system keeps no extended attributes, and something foreign was written there"
            }
        };
        let note = match self.provenance.note() {
            Some(note) => format!(
                "; once you have looked at all of its files, remove {} and start the daemon anew",
                note.display()
            ),
            None => String::new(),
        };
        format!("nothing of this workspace is believed any more: {why}{note}")
    }
}

fn unmark(file: &File) -> Result<(), Errno> {
    let unmark = || fremovexattr(file, MARK);
    match unmark() {
        // As for marking: only what may be written to.
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
#[path = "belief_tests.rs"]
mod tests;
