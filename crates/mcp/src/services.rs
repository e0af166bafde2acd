//! The services of the daemon for a server's own requests.

use std::sync::Arc;

use avocet_protocol::model::SampleModel;
use avocet_protocol::tool::{AskPerson, SignsOfLife, Workspaces};
use avocet_protocol::turn::TurnEvents;

/// The services of the daemon for the own requests of servers. A request without its service is
/// refused.
#[derive(Debug, Clone, Default)]
pub struct McpServices {
    /// Asks people in chats.
    pub people: Option<Arc<dyn AskPerson>>,
    /// Shows the progress of calls.
    pub events: Option<Arc<dyn TurnEvents>>,
    /// Keeps the pictures and recordings of results.
    pub workspaces: Option<Arc<dyn Workspaces>>,
    /// Asks models.
    pub models: Option<Arc<dyn SampleModel>>,
    /// Takes the signs of life of calls.
    pub turns: Option<Arc<dyn SignsOfLife>>,
}
