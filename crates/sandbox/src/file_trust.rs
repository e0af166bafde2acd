//! The trust of a file or a directory by its mark, its place, and the programs that may be changing
//! it.

use std::io;
use std::path::Path;

use avocet_protocol::access::Trust;
use avocet_text::{is_odd_list, is_odd_name, is_part_of_order};
use cap_std::fs::{Dir, File};

use crate::attributes::handle_of;
use crate::untrusted_tree::is_in_tree;
use crate::{Workspace, WorkspacePath};

/// The directory of files that came with messages. They are untrusted even without a mark.
pub(crate) const INBOX: &str = "inbox";

impl Workspace {
    /// Returns the trust of a file that is open for reading.
    pub(crate) fn trust_of(&self, path: &WorkspacePath, file: &File) -> Trust {
        self.trust_of_opened(path, file, self.path_of_opened(file).as_deref())
    }

    /// Returns the trust of an open file, whose place `/proc` shows in this way.
    pub(crate) fn trust_of_opened(
        &self,
        path: &WorkspacePath,
        file: &File,
        place: Option<&Path>,
    ) -> Trust {
        let marked = self.provenance.trust_of_file(file);
        let being_written = match file.metadata() {
            Ok(found) => self.provenance.least_running(|run| run.can_have_changed(&found)),
            Err(_) => Trust::Low,
        };
        marked.min(being_written).min(self.trust_of_place(path, place))
    }

    /// Returns the least trust of the names in a directory, in the order of its list. Only odd names
    /// and odd lists count, because an ordinary one says nothing that a reader could follow.
    pub(crate) fn trust_of_entries(
        &self,
        path: &WorkspacePath,
        directory: &Dir,
        entries: &[(&str, bool)],
    ) -> Trust {
        let of_place = self.trust_of_place(path, self.path_of_opened(directory).as_deref());
        let trust_of_entry = |(name, can_be_marked): &(&str, bool)| {
            // Entries that cannot be marked have the trust of their directory.
            let name = if *can_be_marked { name } else { "." };
            of_place.min(self.provenance.trust_of_entry(directory, name.as_ref()))
        };
        let odd = entries.iter().filter(|(name, _)| is_odd_name(name)).map(trust_of_entry);
        let least = odd.fold(Trust::Full, Trust::min);
        let names: Vec<&str> = entries.iter().map(|(name, _)| *name).collect();
        if least == Trust::Low || !is_odd_list(&names) {
            return least;
        }
        // The names alone were judged first, because the trust of each entry is read from the disk.
        // Names of trusted entries keep their places, and say nothing.
        let mut untrusted = names;
        for (name, entry) in untrusted.iter_mut().zip(entries) {
            if !is_part_of_order(name) || trust_of_entry(entry) == Trust::Full {
                *name = "";
            }
        }
        if is_odd_list(&untrusted) { Trust::Low } else { least }
    }

    /// Returns the least trust of the odd names in a path.
    pub(crate) fn trust_of_names(&self, path: &Path) -> Trust {
        let names =
            path.ancestors().filter_map(|place| Some((place.parent()?, place.file_name()?)));
        let mut names = names.filter(|(_, name)| is_odd_name(&name.to_string_lossy())).peekable();
        if names.peek().is_none() {
            return Trust::Full;
        }
        let trusts = names.map(|(parent, name)| {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            match self.handle().open_dir(parent) {
                Ok(directory) => self.provenance.trust_of_entry(&directory, name),
                // The directory has gone since.
                Err(_) => Trust::Low,
            }
        });
        trusts.fold(self.trust_at(path), Trust::min)
    }

    /// Returns the trust by the path alone. It is low for files that came with a message, and for
    /// directories that a person has marked as untrusted.
    pub(crate) fn trust_at(&self, path: &Path) -> Trust {
        let is_in_tree = self.keeps_marks() && is_in_tree(&handle_of(self.handle()), path);
        if is_in_tree { Trust::Low } else { of_place(path) }
    }

    /// Returns the trust by the place of something open, and by the path under which it was opened.
    fn trust_of_place(&self, path: &WorkspacePath, place: Option<&Path>) -> Trust {
        let of_path = self.trust_at(path.as_path());
        match place {
            Some(place) if place != path.as_path() => of_path.min(self.trust_at(place)),
            _ => of_path,
        }
    }

    /// Makes a directory and those above it, and marks the new ones.
    pub(crate) fn make_directories(&self, path: &Path, trust: Trust) -> io::Result<()> {
        let is_new = |place: &&Path| !place.as_os_str().is_empty() && !self.handle().exists(place);
        let new: Vec<&Path> = path.ancestors().take_while(is_new).collect();
        self.handle().create_dir_all(path)?;
        for place in new {
            self.provenance.mark_directory(&self.handle().open_dir(place)?, trust)?;
        }
        Ok(())
    }

    /// Returns the trust of an entry of a directory, by its mark and by its place. An entry that is
    /// untrusted by its place is marked, so that it stays untrusted wherever a program moves it.
    pub(crate) fn settled_trust(
        &self,
        directory: &Dir,
        path: &Path,
        place: Trust,
    ) -> io::Result<Trust> {
        if place < Trust::Full && self.keeps_marks() {
            self.provenance.lower_trust(directory, Some(path), place)?;
        }
        let name = path.file_name().unwrap_or_default();
        Ok(place.min(self.provenance.trust_of_entry(directory, name)))
    }
}

/// Returns the trust by a path from the root. The inbox directory itself is trusted.
pub(crate) fn of_place(path: &Path) -> Trust {
    match path.strip_prefix(INBOX) {
        Ok(below) if !below.as_os_str().is_empty() => Trust::Low,
        _ => Trust::Full,
    }
}
