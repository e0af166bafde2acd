//! The dependencies of the built-in tools.

use std::sync::Arc;

use avocet_protocol::access::Roles;
use avocet_protocol::bus::Destinations;
use avocet_protocol::clock::Clock;
use avocet_protocol::schedule::Calendar;
use avocet_protocol::store::{History, KeptResults, Memories, Schedules, Tasks};
use avocet_protocol::tool::{Editors, Skills};
use avocet_sandbox::WorkspaceRoots;
use jiff::tz::TimeZone;

use super::program_settings::ProgramSettings;
use crate::WebAccess;

/// The dependencies of the built-in tools.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each field is the part of its type")]
pub struct BuiltinParts {
    pub roots: Arc<WorkspaceRoots>,
    pub editors: Arc<dyn Editors>,
    pub memories: Arc<dyn Memories>,
    pub history: Arc<dyn History>,
    pub kept_results: Arc<dyn KeptResults>,
    pub destinations: Arc<dyn Destinations>,
    pub roles: Arc<dyn Roles>,
    pub skills: Arc<dyn Skills>,
    /// `None` if no sandbox layer works.
    pub shell: Option<ProgramSettings>,
    pub web: Arc<WebAccess>,
    /// The zone of the times that a model reads.
    pub zone: TimeZone,
    pub tasks: Arc<dyn Tasks>,
    /// The names of the profiles that may work on a task in this workspace.
    pub profiles: Arc<[String]>,
    pub schedules: Arc<dyn Schedules>,
    pub calendar: Arc<dyn Calendar>,
    pub clock: Arc<dyn Clock>,
}
