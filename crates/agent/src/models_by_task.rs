//! The models of an agent by task.

use std::sync::Arc;

use avocet_protocol::model::Model;

/// The models of an agent by task; `None`: the main one.
#[derive(Debug, Clone, Default)]
pub struct ModelsByTask {
    /// For turns whose request has pictures, if the main model sees none.
    pub vision: Option<Arc<dyn Model>>,
    /// For turns whose request fills more than three quarters of the main model's room.
    pub long: Option<Arc<dyn Model>>,
    /// For jobs.
    pub code: Option<Arc<dyn Model>>,
}
