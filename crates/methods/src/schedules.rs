//! The methods about schedules.

use avocet_protocol::ids::ScheduleId;
use avocet_protocol::schedule::{AddSchedule, ScheduleCommand, ShownSchedule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CallTarget, ListParams, NamesTarget, Touches, listed_rows, named_target};

/// `schedule.list`: a list of [`ShownSchedule`](avocet_protocol::schedule::ShownSchedule) without runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListSchedules {
    /// `true` to list schedules whose times have all passed, too.
    pub ended: bool,
}

/// `schedule.show`: a [`ShownSchedule`](avocet_protocol::schedule::ShownSchedule).
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

impl NamesTarget for ChangeSchedule {
    fn call_target(&self) -> CallTarget {
        CallTarget::Schedule(self.id)
    }
}

impl NamesTarget for ShowSchedule {
    fn call_target(&self) -> CallTarget {
        CallTarget::Schedule(self.id)
    }
}

impl ListParams for ListSchedules {
    type Row = ShownSchedule;
}

method!(AddSchedule = "schedule.add": Self => ShownSchedule, Operator, Touches::Everything, outside_libraries);
method!(ChangeSchedule = "schedule.change": Self => (), Operator, named_target::<Self>(), outside_libraries);
method!(ListSchedules = "schedule.list": Self => Vec<ShownSchedule>, Observer, listed_rows::<Self>(), optional_params, outside_libraries);
method!(ShowSchedule = "schedule.show": Self => ShownSchedule, Observer, named_target::<Self>(), outside_libraries);
