//! The port through which a long call shows that its turn makes progress.

use std::fmt;

use crate::ids::TurnId;

/// Takes signs of life of turns. The watchdog ends a daemon with a silent turn.
pub trait SignsOfLife: fmt::Debug + Send + Sync {
    /// Records a sign of life. A turn that does not run is ignored.
    fn sign(&self, turn: TurnId);
}
