//! The words between a lane and its turns.

use avocet_protocol::chat::SessionId;

/// The work of a lane after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneWork {
    /// The session has no work. New work wakes the lane.
    None,
    /// The session may have work.
    Open,
}

/// Wakes lanes. The lanes stand above the turns, which therefore know them by this port only.
pub(crate) trait WakeLane: Sync {
    fn wake_lane(&self, session: SessionId);
}
