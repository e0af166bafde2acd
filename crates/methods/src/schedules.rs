//! The methods about schedules.

use avocet_protocol::{AddSchedule, ScheduleCommand, ScheduleId, ShownSchedule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Touches, rows};

/// `schedule.list`: a list of [`ShownSchedule`](avocet_protocol::ShownSchedule) without runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListSchedules {
    /// `true` to list schedules whose times have all passed, too.
    pub ended: bool,
}

/// `schedule.show`: a [`ShownSchedule`](avocet_protocol::ShownSchedule).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowSchedule {
    /// The schedule.
    pub id: ScheduleId,
}

/// `schedule.change`: runs, pauses, resumes or removes a schedule. The result is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeSchedule {
    /// The schedule.
    pub id: ScheduleId,
    /// The command.
    pub command: ScheduleCommand,
}

method!(AddSchedule = "schedule.add": Self => ShownSchedule, Operator, Touches::Everything, outside_libraries);
method!(ChangeSchedule = "schedule.change": Self => (), Operator, Touches::Schedule, outside_libraries);
method!(ListSchedules = "schedule.list": Self => Vec<ShownSchedule>, Observer, rows::<ShownSchedule>(), optional_params, outside_libraries);
method!(ShowSchedule = "schedule.show": Self => ShownSchedule, Observer, Touches::Schedule, outside_libraries);
