//! Notifies systemd of readiness and status, and feeds the watchdog while the daemon is alive
//! (sd_notify(3), sd_watchdog_enabled(3)).

use std::convert::Infallible;
use std::time::Duration;

use avocet_protocol::clock::{Clock, within};
use avocet_protocol::store::StoreError;
use sd_notify::NotifyState;

use crate::daemon::running::RunningDaemon;
use crate::daemon::stuck::Stuck;
use crate::environment::read_variable;

use super::summary::daemon_summary;
use super::{is_ready, notify_manager};

/// The interval of life checks if systemd sets none.
const EVERY: Duration = Duration::from_mins(1);
/// The timeout for an answer of the log writer and the lanes.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest interval of new status texts.
const STATUS_EVERY: Duration = Duration::from_secs(15);
/// The time for the first exchanges of all channels. After it, the daemon is ready without them.
const CONNECTING: Duration = Duration::from_mins(1);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Reports to systemd, and feeds its watchdog while the daemon makes progress. Returns the reason
/// if the daemon has to stop: its log belongs to another process, or was deleted or replaced.
pub(crate) async fn watch_daemon(daemon: &RunningDaemon, clock: &dyn Clock) -> StoreError {
    tokio::select! {
        error = daemon.wait_until_lost() => error,
        error = look_for_life(daemon, clock) => error,
        never = report_status(daemon, clock) => match never {},
    }
}

/// Reports that the daemon is ready, and then each change of its status.
async fn report_status(daemon: &RunningDaemon, clock: &dyn Clock) -> Infallible {
    if read_variable("NOTIFY_SOCKET").is_none() {
        return std::future::pending().await;
    }
    if within(clock, CONNECTING, first_exchanges(daemon, clock)).await.is_err() {
        tracing::warn!("some channels wait for their platform; the daemon is ready without them");
    }
    let every = sd_notify::watchdog_enabled().map_or(STATUS_EVERY, |limit| limit / 2);
    let mut shown = daemon_summary(daemon).await;
    {
        let mut is_ready = is_ready();
        notify_manager(&[NotifyState::Ready, NotifyState::Status(&shown)]);
        *is_ready = true;
    }
    loop {
        clock.sleep(every.min(STATUS_EVERY)).await;
        let now = daemon_summary(daemon).await;
        if now != shown {
            notify_manager(&[NotifyState::Status(&now)]);
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
                    notify_manager(&[NotifyState::Watchdog]);
                }
            }
            Ok(Err(Stuck::Log(error))) if error.is_final() => return error,
            Ok(Err(stuck)) => tracing::error!(%stuck, "a part of the daemon makes no progress"),
            Err(elapsed) => tracing::error!(%elapsed, "no answer from the log writer or the lanes"),
        }
        clock.sleep(every).await;
    }
}
