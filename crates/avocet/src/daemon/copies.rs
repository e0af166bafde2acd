//! Copies of the database that the daemon makes at intervals (`[backup]`).

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::{Clock, Timestamp};
use avocet_store::{CancelCopy, CopyDone, CopyError, OpenError, back_up};
use avocet_supervise::{Group, run_blocking};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use parking_lot::Mutex;

use crate::exit::Failure;

/// The time from a failed copy to the next attempt, unless copies are made more often.
const RETRY: Duration = Duration::from_mins(15);

/// The name of a copy, in UTC.
const NAME: &str = "avocet-%Y%m%dT%H%M%SZ.db";
/// The ending of a copy that a crash interrupted.
const PART: &str = ".part";

/// The directory for copies, their interval, and the number to keep.
#[derive(Debug, Clone)]
pub(crate) struct BackupPlan {
    pub(crate) data_dir: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) every: Duration,
    pub(crate) keep: usize,
}

/// Makes the copies while a daemon runs.
#[derive(Debug)]
pub(crate) struct Copies {
    plan: BackupPlan,
    clock: Arc<dyn Clock>,
    failing: Mutex<Option<Failing>>,
}

/// The failed attempts since the last successful copy.
#[derive(Debug)]
struct Failing {
    why: String,
    times: u32,
}

impl Copies {
    /// Makes copies from now on, the first one when the newest copy in the directory is old enough.
    pub(crate) fn start(plan: BackupPlan, clock: &Arc<dyn Clock>, group: &Group) -> Arc<Self> {
        let copies = Arc::new(Self { plan, clock: clock.clone(), failing: Mutex::default() });
        let (at_work, stop) = (copies.clone(), group.cancel_token());
        group.spawn("copies", async move {
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = at_work.clock.sleep(at_work.pause()) => {}
                }
                let cancel = CancelCopy::default();
                let copy = at_work.copy(&cancel);
                tokio::pin!(copy);
                tokio::select! {
                    () = &mut copy => {}
                    () = stop.cancelled() => {
                        cancel.cancel_copy();
                        copy.await;
                        return;
                    }
                }
            }
        });
        copies
    }

    /// Returns the error of the last copy; `None` if the copy succeeded.
    pub(crate) fn last_fault(&self) -> Option<String> {
        let state = self.failing.lock();
        let Failing { why, times } = state.as_ref()?;
        let directory = self.plan.directory.display();
        Some(format!("copies of the database in {directory} fail ({times} times so far): {why}"))
    }

    /// Returns the time until the next copy.
    fn pause(&self) -> Duration {
        let BackupPlan { directory, every, .. } = &self.plan;
        if self.failing.lock().is_some() {
            return RETRY.min(*every);
        }
        // The newest copy has a time in the future if the clock was set back since.
        let newest = list_copies(directory).ok().and_then(|copies| Some(copies.last()?.0));
        let due = newest.map_or(Timestamp(0), |newest| newest.after(*every));
        let left = u64::try_from(due.0.saturating_sub(self.clock.now().0)).unwrap_or(0);
        Duration::from_millis(left).min(*every)
    }

    async fn copy(&self, cancel: &CancelCopy) {
        let (plan, now, cancel) = (self.plan.clone(), self.clock.now(), cancel.clone());
        let made = run_blocking(move || plan.copy(now, &cancel)).await;
        match made.map_err(Failure::from).and_then(|made| made.map_err(Failure::from)) {
            Ok(Some((file, CopyDone { bytes, messages }))) => {
                let file = file.display();
                tracing::info!(%file, bytes, messages, "the database was copied");
                *self.failing.lock() = None;
            }
            Ok(None) => {}
            Err(failure) => self.note_failure(format!("{:#}", failure.error)),
        }
    }

    /// Logs a failure once; later attempts that fail alike are counted.
    fn note_failure(&self, why: String) {
        let mut state = self.failing.lock();
        let times = state.as_ref().map_or(1, |failing| failing.times.saturating_add(1));
        if state.as_ref().is_none_or(|failing| failing.why != why) {
            let directory = self.plan.directory.display();
            let retry = RETRY.min(self.plan.every).as_secs();
            tracing::warn!(%directory, "cannot copy the database: {why}; retrying in {retry} s");
        }
        *state = Some(Failing { why, times });
    }
}

impl BackupPlan {
    /// Makes a copy and deletes surplus ones. Returns `None` if it was cancelled.
    fn copy(
        &self,
        now: Timestamp,
        cancel: &CancelCopy,
    ) -> Result<Option<(PathBuf, CopyDone)>, CopyError> {
        let directory = &self.directory;
        let unusable = |error| OpenError::Directory { path: directory.clone(), error };
        make_directory(directory).and_then(|()| delete_parts(directory)).map_err(unusable)?;
        let file = directory.join(name(now));
        match back_up(&self.data_dir, &file, now, cancel) {
            Err(CopyError::Cancelled) => Ok(None),
            Err(error) => Err(error),
            Ok(copied) => {
                self.delete_old().map_err(unusable)?;
                Ok(Some((file, copied)))
            }
        }
    }

    fn delete_old(&self) -> io::Result<()> {
        let copies = list_copies(&self.directory)?;
        let old = copies.len().saturating_sub(self.keep);
        copies[..old].iter().try_for_each(|(_, file)| fs::remove_file(file))
    }
}

fn make_directory(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

fn name(at: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    moment.strftime(NAME).to_string()
}

/// Returns the time of a copy from its name; `None` if the file is not one of these copies.
fn made_at(name: &str) -> Option<Timestamp> {
    let at = DateTime::strptime(NAME, name).ok()?.to_zoned(TimeZone::UTC).ok()?;
    Some(Timestamp(at.timestamp().as_millisecond()))
}

/// Returns the copies in a directory, the oldest first.
fn list_copies(directory: &Path) -> io::Result<Vec<(Timestamp, PathBuf)>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut copies = Vec::new();
    for entry in entries {
        let entry = entry?;
        if let Some(at) = entry.file_name().to_str().and_then(made_at) {
            copies.push((at, entry.path()));
        }
    }
    copies.sort();
    Ok(copies)
}

/// Deletes copies that a crash left unfinished.
fn delete_parts(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let file_name = entry.file_name();
        let of = file_name.to_str().and_then(|name| name.strip_suffix(PART));
        if of.and_then(made_at).is_some() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "copies_tests.rs"]
mod tests;
