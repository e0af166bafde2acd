//! The directories that have unreviewed changes, each of one conversation.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use avocet_protocol::chat::SessionId;
use parking_lot::Mutex;

use super::KeepError;
use super::index::KeptIndex;

/// The claims of all conversations with copies, by the names of their directories.
#[derive(Debug)]
pub(super) struct DirectoryClaims(Mutex<BTreeMap<String, Claim>>);

/// The directories with changes of one conversation.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    /// `None` if an earlier version of the program made the copies.
    pub(super) session: Option<SessionId>,
    roots: BTreeSet<PathBuf>,
}

impl DirectoryClaims {
    /// Reads the claims of the copies below a directory.
    pub(super) fn read(directory: &Path) -> Self {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let claims = names.map(|name| {
            let index = KeptIndex::read(&directory.join(&name)).unwrap_or_default();
            let claim = Claim { roots: index.roots(), session: index.session };
            (name, claim)
        });
        Self(Mutex::new(claims.collect()))
    }

    /// Returns `true` if a conversation has copies.
    pub(super) fn contains(&self, name: &str) -> bool {
        let claims = self.0.lock();
        !claims.is_empty() && claims.contains_key(name)
    }

    /// Claims directories for the changes of a conversation until their review. With changes of two
    /// conversations in one directory, undoing one of them would bring back a part of the other.
    pub(super) fn add_roots(
        &self,
        name: &str,
        session: &SessionId,
        roots: &BTreeSet<PathBuf>,
    ) -> Result<(), KeepError> {
        let mut claims = self.0.lock();
        if others_within(&claims, name, roots).next().is_some() {
            return Err(KeepError::Busy);
        }
        let new = || Claim { session: None, roots: BTreeSet::new() };
        let claim = claims.entry(name.to_owned()).or_insert_with(new);
        claim.session = Some(session.clone());
        claim.roots.extend(roots.iter().cloned());
        Ok(())
    }

    /// Returns the claims of other conversations in these directories, with their names.
    pub(super) fn find_others(
        &self,
        name: &str,
        roots: &BTreeSet<PathBuf>,
    ) -> Vec<(String, Claim)> {
        let claims = self.0.lock();
        let others = others_within(&claims, name, roots);
        others.map(|(other, claim)| (other.clone(), claim.clone())).collect()
    }

    /// Returns the conversations with copies that are known by their ids.
    pub(super) fn sessions(&self) -> Vec<SessionId> {
        self.0.lock().values().filter_map(|claim| claim.session.clone()).collect()
    }

    pub(super) fn remove(&self, name: &str) {
        self.0.lock().remove(name);
    }
}

/// The claims of other conversations that these directories are in, or that are in them.
fn others_within<'c>(
    claims: &'c BTreeMap<String, Claim>,
    name: &'c str,
    roots: &'c BTreeSet<PathBuf>,
) -> impl Iterator<Item = (&'c String, &'c Claim)> {
    let is_within = |claimed: &PathBuf| {
        roots.iter().any(|one| one.starts_with(claimed) || claimed.starts_with(one))
    };
    let others = claims.iter().filter(move |(other, _)| *other != name);
    others.filter(move |(_, claim)| claim.roots.iter().any(is_within))
}
