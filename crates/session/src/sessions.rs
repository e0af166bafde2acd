//! The part between bus and outbox: takes wake-ups, runs lanes and commands.

use std::sync::Arc;
use std::time::Duration;

use avocet_bus::{WakeReceiver, WakeUp};
use avocet_protocol::ids::TurnId;
use avocet_protocol::ignore_result;
use avocet_protocol::store::StoreError;
use avocet_supervise::Group;
use avocet_supervise::fail_point::{FailMoment, pass_in_task};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use crate::approvals::Decisions;
use crate::dead_letters::DeadLetterDesk;
use crate::jobs::JobDesk;
use crate::lane::{LaneLimits, Lanes};
use crate::options::OptionDesk;
use crate::outcomes::note_outcomes;
use crate::parts::SessionParts;
use crate::stop_desk::StopDesk;
use crate::tasks::TaskControl;
use crate::{commands, expiry, stop_all};

/// The lanes, the commands, and the expiry of waits.
#[derive(Debug)]
pub struct Sessions {
    lanes: Arc<Lanes>,
    pings: flume::Sender<oneshot::Sender<()>>,
    group: Group,
}

impl Sessions {
    /// Runs the commands that were accepted before a crash, then finishes a stop of everything, then
    /// starts the lanes of sessions with work, then listens to the bus.
    ///
    /// # Errors
    /// [`StoreError`] if the log cannot be read.
    pub async fn start(
        parts: SessionParts,
        limits: LaneLimits,
        wakes: WakeReceiver,
        group: &Group,
    ) -> Result<Self, StoreError> {
        let lanes = Arc::new(Lanes::new(parts, limits, group.child_group("lanes")));
        commands::act_on_all(&lanes).await?;
        if lanes.parts.stop.current_stop().is_some() {
            // The last process may have died before it had ended all turns.
            stop_all::end_open_work(&lanes.parts, lanes.group()).await?;
        }
        lanes.wake_open_sessions().await?;

        let group = group.child_group("sessions");
        let commands = Arc::new(Notify::new());
        let (pings, pinged) = flume::bounded(1);
        let stop = group.cancel_token();
        group.spawn("commands", act_on_commands(lanes.clone(), commands.clone(), stop.clone()));
        group.spawn("expiry", expiry::watch_expiry(lanes.clone()));
        group.spawn("wakes", listen(lanes.clone(), commands, wakes, pinged, stop));
        Ok(Self { lanes, pings, group })
    }

    /// Returns the port that decides about calls waiting for approval.
    #[must_use]
    pub fn decisions(&self) -> Decisions {
        Decisions::from_lanes(&self.lanes)
    }

    /// Returns the port of the tasks.
    #[must_use]
    pub fn tasks(&self) -> TaskControl {
        TaskControl::from_lanes(&self.lanes)
    }

    /// Returns the port that stops everything.
    #[must_use]
    pub fn stop_desk(&self) -> StopDesk {
        StopDesk::from_lanes(&self.lanes)
    }

    /// Returns the port of the dead letters.
    #[must_use]
    pub fn dead_letters(&self) -> DeadLetterDesk {
        DeadLetterDesk::from_lanes(&self.lanes)
    }

    /// Returns the port through which jobs are submitted and cancelled.
    #[must_use]
    pub fn jobs(&self) -> JobDesk {
        JobDesk::from_lanes(&self.lanes)
    }

    /// Returns the port through which programs show and change the settings of conversations.
    #[must_use]
    pub fn option_desk(&self) -> OptionDesk {
        OptionDesk::from_lanes(&self.lanes)
    }

    /// Checks that turns and the wake-up listener make progress.
    ///
    /// # Errors
    /// `NotMoving` names the stuck part.
    pub async fn ping(&self) -> Result<(), NotMoving> {
        if let Some(turn) = self.lanes.find_stuck_turn() {
            return Err(NotMoving::Turn(turn));
        }
        let (sender, answer) = oneshot::channel();
        self.pings.send_async(sender).await.map_err(|_| NotMoving::Wakes)?;
        answer.await.map_err(|_| NotMoving::Wakes)
    }

    /// Stops taking turns, waits for running ones, and releases the rest to the log at
    /// the deadline.
    pub async fn stop(&self, deadline: Duration) {
        self.lanes.stop(deadline).await;
        self.group.cancel_tasks();
    }
}

/// The part that is stuck.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotMoving {
    /// A turn has run for longer than any turn may.
    #[error("{0} has run for longer than any turn may")]
    Turn(TurnId),
    /// The wake-up listener has ended.
    #[error("the lanes get no wake-ups any more")]
    Wakes,
}

/// Forwards wake-ups. Waits only for the next one.
async fn listen(
    lanes: Arc<Lanes>,
    commands: Arc<Notify>,
    wakes: WakeReceiver,
    pings: flume::Receiver<oneshot::Sender<()>>,
    stop: CancellationToken,
) {
    loop {
        let wake = tokio::select! {
            () = stop.cancelled() => return,
            ping = pings.recv_async() => {
                let Ok(ping) = ping else { return };
                ignore_result(ping.send(()), "the caller may have stopped waiting for the answer");
                continue;
            }
            () = lanes.parts.running.tasks_started.notified() => {
                if let Err(error) = lanes.wake_open_sessions().await {
                    tracing::error!(%error, "cannot list open sessions after the start of a task");
                }
                continue;
            }
            wake = wakes.next() => wake,
        };
        match wake {
            None => return,
            Some(WakeUp::Lane(session)) => {
                pass_in_task("wake", FailMoment::Before).await;
                lanes.wake(session);
            }
            Some(WakeUp::Commands) => commands.notify_one(),
            Some(WakeUp::Ended(turns)) => {
                lanes.parts.running.signal_ends(&turns);
                note_outcomes(&lanes.parts, lanes.group(), turns);
            }
            Some(WakeUp::Restarted(turn)) => lanes.parts.running.signal_restart(turn),
            Some(WakeUp::Everybody) => {
                commands.notify_one();
                if let Err(error) = lanes.wake_open_sessions().await {
                    tracing::error!(%error, "cannot list open sessions after a full wake-up queue");
                }
            }
        }
    }
}

async fn act_on_commands(lanes: Arc<Lanes>, accepted: Arc<Notify>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = accepted.notified() => {}
        }
        if let Err(error) = commands::act_on_all(&lanes).await {
            tracing::error!(%error, "cannot run commands; retrying at the next one");
        }
    }
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
