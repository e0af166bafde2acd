//! The methods about schedules. If no daemon runs, the program's own commands call them directly.

use avocet_protocol::{AddSchedule, ScheduleCommand, ScheduleControl, ScheduleError, ScheduleId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::values::{or_empty, read, unavailable};
use crate::wire::RpcError;

/// `schedule.list`: a list of [`ShownSchedule`](avocet_protocol::ShownSchedule) without runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListSchedules {
    /// `true` to list schedules whose times have all passed, too.
    pub ended: bool,
}

/// `schedule.show`: a [`ShownSchedule`](avocet_protocol::ShownSchedule).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowSchedule {
    /// The schedule.
    pub id: ScheduleId,
}

/// `schedule.change`: runs, pauses, resumes or removes a schedule. The result is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeSchedule {
    /// The schedule.
    pub id: ScheduleId,
    /// The command.
    pub command: ScheduleCommand,
}

/// The names of these methods. The parameters of `schedule.add` are an [`AddSchedule`].
pub(crate) const METHODS: [&str; 4] =
    ["schedule.add", "schedule.change", "schedule.list", "schedule.show"];

/// Answers one of these methods; `None` if the method is not in the list.
///
/// # Errors
/// [`RpcError`] names the fault and its correction.
pub async fn answer_about_schedules(
    control: &dyn ScheduleControl,
    method: &str,
    params: Value,
) -> Option<Result<Value, RpcError>> {
    METHODS.contains(&method).then_some(())?;
    Some(answer(control, method, params).await)
}

async fn answer(
    control: &dyn ScheduleControl,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    match method {
        "schedule.add" => {
            let request: AddSchedule = read(method, params)?;
            to_value(&control.add(&request).await.map_err(refused)?)
        }
        "schedule.change" => {
            let ChangeSchedule { id, command } = read(method, params)?;
            to_value(&control.command(id, command).await.map_err(refused)?)
        }
        "schedule.list" => {
            let ListSchedules { ended } = read(method, or_empty(params))?;
            to_value(&control.list(ended).await.map_err(refused)?)
        }
        _ => {
            let ShowSchedule { id } = read(method, params)?;
            to_value(&control.show(id).await.map_err(refused)?)
        }
    }
}

fn to_value<T: Serialize>(done: &T) -> Result<Value, RpcError> {
    serde_json::to_value(done).map_err(unavailable)
}

fn refused(error: ScheduleError) -> RpcError {
    match error {
        ScheduleError::Refused(text) => RpcError::new(RpcError::PARAMS, text),
        ScheduleError::Log(error) => unavailable(error),
    }
}
