//! Notifies systemd of readiness, status and stopping, and feeds the watchdog while the daemon is
//! alive (sd_notify(3), sd_watchdog_enabled(3)). Does nothing without systemd.

mod summary;

use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use avocet_protocol::{Clock, StoreError, within};
use sd_notify::NotifyState;

use crate::daemon::RunningDaemon;
use crate::environment::environment;
use crate::stuck::Stuck;

use summary::summary;

/// The interval of life checks if systemd sets none.
const EVERY: Duration = Duration::from_mins(1);
/// The timeout for an answer of the log writer and the lanes.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest interval of new status texts.
const STATUS_EVERY: Duration = Duration::from_secs(15);
/// The time for the first exchanges of all channels. After it, the daemon is ready without them.
const CONNECTING: Duration = Duration::from_mins(1);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// `true` from the first READY until the daemon stops. In between, systemd expects news of reloads.
/// The lock is held during such news, so that none follows STOPPING.
static IS_READY: Mutex<bool> = Mutex::new(false);

fn is_ready() -> MutexGuard<'static, bool> {
    IS_READY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reports the start of a reload to systemd. A call of [`reloaded`] has to follow. Before the
/// daemon is ready, and while it stops, systemd learns nothing of a reload.
pub(crate) fn reloading() {
    let is_ready = is_ready();
    if !*is_ready {
        return;
    }
    match NotifyState::monotonic_usec_now() {
        Ok(now) => notify(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "cannot notify systemd of a reload"),
    }
}

/// Reports the end of a reload to systemd: the configuration is in use, or was refused.
pub(crate) fn reloaded() {
    let is_ready = is_ready();
    if *is_ready {
        notify(&[NotifyState::Ready]);
    }
}

pub(crate) fn stopping(status: &str) {
    *is_ready() = false;
    notify(&[NotifyState::Stopping, NotifyState::Status(status)]);
}

fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "cannot notify systemd");
    }
}

/// Reports to systemd, and feeds its watchdog while the daemon makes progress. Returns the reason
/// if the daemon has to stop: its log belongs to another process, or was deleted or replaced.
pub(crate) async fn watch(daemon: &RunningDaemon, clock: &dyn Clock) -> StoreError {
    tokio::select! {
        error = daemon.lost() => error,
        error = look_for_life(daemon, clock) => error,
        never = report(daemon, clock) => match never {},
    }
}

/// Reports that the daemon is ready, and then each change of its status.
async fn report(daemon: &RunningDaemon, clock: &dyn Clock) -> Infallible {
    if environment("NOTIFY_SOCKET").is_none() {
        return std::future::pending().await;
    }
    if within(clock, CONNECTING, first_exchanges(daemon, clock)).await.is_err() {
        tracing::warn!("some channels wait for their platform; the daemon is ready without them");
    }
    let every = sd_notify::watchdog_enabled().map_or(STATUS_EVERY, |limit| limit / 2);
    let mut shown = summary(daemon).await;
    {
        let mut is_ready = is_ready();
        notify(&[NotifyState::Ready, NotifyState::Status(&shown)]);
        *is_ready = true;
    }
    loop {
        clock.sleep(every.min(STATUS_EVERY)).await;
        let now = summary(daemon).await;
        if now != shown {
            notify(&[NotifyState::Status(&now)]);
            shown = now;
        }
    }
}

/// Waits until each channel has reached its platform, or has failed once and retries.
async fn first_exchanges(daemon: &RunningDaemon, clock: &dyn Clock) {
    while daemon.channels().all_channels().iter().any(|channel| channel.is_starting()) {
        clock.sleep(LOOK_AGAIN).await;
    }
}

async fn look_for_life(daemon: &RunningDaemon, clock: &dyn Clock) -> StoreError {
    let limit = sd_notify::watchdog_enabled();
    // Half of the limit, as sd_watchdog_enabled(3) recommends.
    let every = limit.map_or(EVERY, |limit| limit / 2);
    let timeout = limit.map_or(TIMEOUT, |limit| (limit / 4).min(TIMEOUT));
    loop {
        match within(clock, timeout, daemon.ping()).await {
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
