//! Notifies systemd of readiness, status and stopping, and feeds the watchdog while the daemon is
//! alive (sd_notify(3), sd_watchdog_enabled(3)). Does nothing without systemd.

use std::time::Duration;

use avocet_protocol::{Clock, StoreError, within};
use sd_notify::NotifyState;

use crate::daemon::{RunningDaemon, Stuck};

/// The interval of life checks if systemd sets none.
const EVERY: Duration = Duration::from_mins(1);
/// The time for the writer and the lanes to answer.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn ready(status: &str) {
    notify(&[NotifyState::Ready, NotifyState::Status(status)]);
}

pub(crate) fn stopping(status: &str) {
    notify(&[NotifyState::Stopping, NotifyState::Status(status)]);
}

fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "cannot notify systemd");
    }
}

/// Checks at intervals that the daemon makes progress, and then feeds systemd's watchdog. Returns
/// the reason if the daemon has to stop: its log belongs to another process, or was deleted or
/// replaced.
pub(crate) async fn watch(daemon: &RunningDaemon, clock: &dyn Clock) -> StoreError {
    tokio::select! {
        error = daemon.lost() => error,
        error = look_for_life(daemon, clock) => error,
    }
}

async fn look_for_life(daemon: &RunningDaemon, clock: &dyn Clock) -> StoreError {
    let limit = sd_notify::watchdog_enabled();
    // Half of the limit, as sd_watchdog_enabled(3) recommends.
    let every = limit.map_or(EVERY, |limit| limit / 2);
    let patience = limit.map_or(PATIENCE, |limit| (limit / 4).min(PATIENCE));
    loop {
        match within(clock, patience, daemon.ping()).await {
            Ok(Ok(())) => {
                if limit.is_some() {
                    notify(&[NotifyState::Watchdog]);
                }
            }
            Ok(Err(Stuck::Log(error))) if error.is_final() => return error,
            Ok(Err(stuck)) => tracing::error!(%stuck, "a part of the daemon makes no progress"),
            Err(elapsed) => tracing::error!(%elapsed, "no answer from the log writer or the lanes"),
        }
        clock.sleep(every).await;
    }
}
