//! Keeps the head of the audit table in a file outside of the database. A forger of the table would
//! have to change this note, and the journal, too.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::Clock;
use avocet_protocol::store::{Audit, AuditCheck, AuditHead, StoreError};
use avocet_supervise::{Group, run_blocking};
use parking_lot::Mutex;

use crate::disk;

/// The interval at which the head is noted. Each check wakes the daemon, even an idle one.
const EVERY: Duration = Duration::from_mins(5);

/// The result of comparing a table with its noted head.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Checked {
    pub(crate) rows: u64,
    /// Number of rows with an erased text.
    pub(crate) erased: u64,
    pub(crate) head: Option<AuditHead>,
    /// `None` if no head was noted.
    pub(crate) noted: Option<AuditHead>,
    /// The fault, and the remedy.
    pub(crate) fault: Option<String>,
}

/// Checks a table against the head that was noted in a file.
pub(crate) async fn check_audit(audit: &dyn Audit, file: &Path) -> Result<Checked, StoreError> {
    let noted = match read(file) {
        Ok(noted) => noted,
        Err(error) => {
            let AuditCheck { rows, erased, head, fault } = audit.check_audit(None).await?;
            let unreadable = format!("the head in {} cannot be read ({error})", file.display());
            let fault = fault.map_or(unreadable, |fault| fault.to_string());
            return Ok(Checked { rows, erased, head, noted: None, fault: Some(fault) });
        }
    };
    let AuditCheck { rows, erased, head, fault } = audit.check_audit(noted.as_ref()).await?;
    Ok(Checked { rows, erased, head, noted, fault: fault.map(|fault| fault.to_string()) })
}

/// Returns the number of the row that was noted in a file; `None` if it is unknown.
pub(crate) fn noted_sequence(file: &Path) -> Option<i64> {
    read(file).ok().flatten().map(|head| head.sequence)
}

/// Notes the head while a daemon runs.
pub(crate) struct Keeper {
    audit: Arc<dyn Audit>,
    file: PathBuf,
    state: Mutex<KeeperState>,
}

#[derive(Debug, Default)]
struct KeeperState {
    noted: Option<AuditHead>,
    fault: Option<String>,
    /// `true` once the log reports that the file cannot be written.
    complained: bool,
}

impl Keeper {
    /// Checks the table, and notes its head from then on.
    pub(crate) fn start(
        audit: &Arc<impl Audit + 'static>,
        file: &Path,
        clock: &Arc<dyn Clock>,
        group: &Group,
    ) -> Arc<Self> {
        let (audit, file) = (audit.clone(), file.to_owned());
        let keeper = Arc::new(Self { audit, file, state: Mutex::default() });
        let (at_work, clock, stop) = (keeper.clone(), clock.clone(), group.cancel_token());
        group.spawn("audit", async move {
            at_work.check().await;
            loop {
                at_work.note_head().await;
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = clock.sleep(EVERY) => {}
                }
            }
        });
        keeper
    }

    /// Returns the known fault of the table, if any.
    pub(crate) fn known_fault(&self) -> Option<String> {
        self.state.lock().fault.clone()
    }

    async fn check(&self) {
        let fault = match check_audit(self.audit.as_ref(), &self.file).await {
            Ok(checked) => checked.fault,
            Err(error) => Some(format!("it cannot be read ({error})")),
        };
        if let Some(fault) = &fault {
            tracing::warn!(
                fault,
                head_file = %self.file.display(),
                "the audit table was changed, or replaced by an older one; run `avocet audit \
                    verify`. The noted head stays until you remove it"
            );
        }
        self.state.lock().fault = fault;
    }

    /// Notes the head if it has changed. After a mismatch the old note stays: it is the proof.
    pub(crate) async fn note_head(&self) {
        let changed = match self.audit.audit_head().await {
            Ok(head) if head == self.state.lock().noted => return,
            Ok(_) => self.audit.durable_audit_head().await,
            Err(error) => Err(error),
        };
        let head = match changed {
            Ok(Some(head)) => head,
            Ok(None) | Err(StoreError::Closed) => return,
            Err(error) => return tracing::warn!(%error, "cannot note the head of the audit table"),
        };
        tracing::info!(sequence = head.sequence, hash = head.hash, "audit head");
        let is_whole = {
            let mut state = self.state.lock();
            state.noted = Some(head.clone());
            state.fault.is_none()
        };
        if is_whole {
            self.write(head).await;
        }
    }

    async fn write(&self, head: AuditHead) {
        let file = self.file.clone();
        let written = run_blocking(move || write(&file, &head)).await;
        let Err(error) = written.unwrap_or_else(|panicked| Err(io::Error::other(panicked.0)))
        else {
            return;
        };
        let first = !std::mem::replace(&mut self.state.lock().complained, true);
        if first {
            tracing::warn!(
                head_file = %self.file.display(), %error,
                "the head of the audit table is in this log alone; set [audit] head_file"
            );
        }
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").field("file", &self.file).field("state", &self.state).finish()
    }
}

/// Reads the head from a file; `None` if the file is missing.
fn read(file: &Path) -> io::Result<Option<AuditHead>> {
    match fs::read_to_string(file) {
        Ok(text) => text.parse().map(Some).map_err(io::Error::other),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces the noted head atomically.
fn write(file: &Path, head: &AuditHead) -> io::Result<()> {
    disk::replace_file(file, format!("{head}\n").as_bytes())
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
