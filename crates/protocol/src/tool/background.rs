//! The port of programs that outlive the call that started them.

use std::fmt;

/// Ends the programs of all sessions that run in the background.
pub trait EndPrograms: fmt::Debug + Send + Sync {
    /// Kills all of them with their children. Returns before they have ended.
    fn kill_all(&self);
}
