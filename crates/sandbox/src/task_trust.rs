//! The trust of a request: what it has read limits what it writes, and what it shows limits its
//! answer.

use std::path::Path;

use avocet_protocol::access::{LeastTrust, Trust};

use crate::{Workspace, WorkspacePath};

/// The request for which a workspace is used, and the trust of the data that it has read.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskTrust {
    /// The trust of written files.
    trust: Trust,
    /// The least trust of the data read so far.
    read: LeastTrust,
    /// The least trust of the data that the requester gets to see.
    shown: LeastTrust,
    /// `true` if read data counts as shown only after a call of `note_shown`.
    is_apart: bool,
}

impl Workspace {
    /// Returns the same workspace for a request with this trust. Written files get at most that
    /// trust, and `shown` receives the least trust of the read data.
    #[must_use]
    pub fn on_behalf(&self, trust: Trust, shown: LeastTrust) -> Self {
        let mut same = self.clone();
        same.task_trust = TaskTrust { trust, shown, ..TaskTrust::default() };
        same
    }

    /// Returns the same workspace for files that are examined without being shown. Data read
    /// through it counts as shown only after [`Self::note_shown`]. Files written through it have at
    /// most the trust of the data read through it.
    #[must_use]
    pub fn examine_apart(&self) -> Self {
        let mut same = self.clone();
        same.task_trust.read = LeastTrust::default();
        same.task_trust.is_apart = true;
        same
    }

    /// Returns the least trust of the data read so far.
    #[must_use]
    pub fn least_read(&self) -> Trust {
        self.task_trust.read.get()
    }

    /// Reports the trust of data that was read through `examine_apart` and is now shown.
    pub fn note_shown(&self, trust: Trust) {
        self.task_trust.read.lower_to(trust);
        self.task_trust.shown.lower_to(trust);
    }

    /// Reports that a name is shown, with the names of the directories above it.
    pub fn note_shown_name(&self, path: &WorkspacePath) {
        self.task_trust.shown.lower_to(self.trust_of_names(path.as_path()));
    }

    /// Reports that a path is shown. Only its existing part counts: the requester gave the rest.
    pub(crate) fn note_shown_existing(&self, path: &Path) {
        let is_there = |place: &&Path| self.handle().symlink_metadata(place).is_ok();
        if let Some(place) = path.ancestors().find(is_there) {
            self.task_trust.shown.lower_to(self.trust_of_names(place));
        }
    }

    pub(crate) fn note_shown_names(&self, paths: &[String]) {
        let trusts = paths.iter().map(|path| self.trust_of_names(Path::new(path)));
        trusts.for_each(|trust| self.task_trust.shown.lower_to(trust));
    }

    /// Returns the trust of data that is written now.
    #[must_use]
    pub fn trust_of_writing(&self) -> Trust {
        self.task_trust.trust.min(self.task_trust.read.get())
    }

    pub(crate) fn note_read(&self, trust: Trust) {
        self.task_trust.read.lower_to(trust);
        if !self.task_trust.is_apart {
            self.task_trust.shown.lower_to(trust);
        }
    }
}
