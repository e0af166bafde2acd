//! The methods about schedules. If no daemon runs, the program's own commands call them directly.

use avocet_methods::{AddSchedule, ChangeSchedule, ListSchedules, ShowSchedule};
use avocet_protocol::schedule::{ScheduleControl, ScheduleError};

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::unavailable;
use crate::wire::RpcError;

impl<'a> From<MethodCall<'a>> for &'a dyn ScheduleControl {
    fn from(call: MethodCall<'a>) -> Self {
        call.parts.schedules.as_ref()
    }
}

impl RunMethod for AddSchedule {
    type Ports<'a> = &'a dyn ScheduleControl;

    async fn run(control: Self::Ports<'_>, request: Self) -> Answered<Self> {
        Reply::with_whole(&control.add(&request).await.map_err(refused)?)
    }
}

impl RunMethod for ChangeSchedule {
    type Ports<'a> = &'a dyn ScheduleControl;

    async fn run(control: Self::Ports<'_>, Self { id, command }: Self) -> Answered<Self> {
        Reply::with_whole(&control.command(id, command).await.map_err(refused)?)
    }
}

impl RunMethod for ListSchedules {
    type Ports<'a> = &'a dyn ScheduleControl;

    async fn run(control: Self::Ports<'_>, Self { ended }: Self) -> Answered<Self> {
        Reply::with_whole(&control.list(ended).await.map_err(refused)?)
    }
}

impl RunMethod for ShowSchedule {
    type Ports<'a> = &'a dyn ScheduleControl;

    async fn run(control: Self::Ports<'_>, Self { id }: Self) -> Answered<Self> {
        Reply::with_whole(&control.show(id).await.map_err(refused)?)
    }
}

fn refused(error: ScheduleError) -> RpcError {
    match error {
        ScheduleError::Refused(text) => RpcError::new(RpcError::PARAMS, text),
        ScheduleError::Log(error) => unavailable(error),
    }
}
