//! Notifies systemd of reloads and of stopping (sd_notify(3)). Does nothing without systemd.

mod summary;
pub(crate) mod watch;

use parking_lot::{Mutex, MutexGuard};
use sd_notify::NotifyState;

/// `true` from the first READY until the daemon stops. In between, systemd expects news of reloads.
/// The lock is held during such news, so that none follows STOPPING.
static IS_READY: Mutex<bool> = Mutex::new(false);

fn is_ready() -> MutexGuard<'static, bool> {
    IS_READY.lock()
}

/// Reports the start of a reload to systemd. A call of [`notify_reload_end`] has to follow. Before the
/// daemon is ready, and while it stops, systemd learns nothing of a reload.
pub(crate) fn notify_reload_start() {
    let is_ready = is_ready();
    if !*is_ready {
        return;
    }
    match NotifyState::monotonic_usec_now() {
        Ok(now) => notify_manager(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "cannot notify systemd of a reload"),
    }
}

/// Reports the end of a reload to systemd: the configuration is in use, or was refused.
pub(crate) fn notify_reload_end() {
    let is_ready = is_ready();
    if *is_ready {
        notify_manager(&[NotifyState::Ready]);
    }
}

pub(crate) fn notify_stop(status: &str) {
    *is_ready() = false;
    notify_manager(&[NotifyState::Stopping, NotifyState::Status(status)]);
}

fn notify_manager(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "cannot notify systemd");
    }
}
