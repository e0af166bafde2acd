//! The schedules of the fake daemon: one, `s1`, of its only chat.

use async_trait::async_trait;
use avocet_protocol::access::Trust;
use avocet_protocol::chat::{ChatKind, Sender};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::ScheduleId;
use avocet_protocol::schedule::{
    AddSchedule, CatchUp, Recurrence, Schedule, ScheduleCommand, ScheduleControl, ScheduleError,
    ScheduleOwner, ScheduleRule, ScheduleState, ScheduledWork, ShownSchedule,
};
use avocet_protocol::store::StoreError;

use super::{FakeDaemon, session};

const SCHEDULE: ScheduleId = ScheduleId(1);

fn shown() -> ShownSchedule {
    let owner = ScheduleOwner {
        address: session().address(),
        chat: ChatKind::Private,
        sender: Sender::new("uid:0".parse().unwrap()),
        roles: Vec::new(),
    };
    let schedule = Schedule {
        id: SCHEDULE,
        name: None,
        state: ScheduleState::Paused,
        reason: None,
        owner,
        rule: ScheduleRule {
            recurrence: Recurrence::Once(Timestamp(5)),
            zone: "Europe/Berlin".to_owned(),
        },
        work: ScheduledWork::Text("tea".to_owned()),
        agent: None,
        catch_up: CatchUp::Once,
        quiet: false,
        trust: Trust::Full,
        next_at: None,
        made_at: Timestamp(1),
    };
    let times = "once".to_owned();
    ShownSchedule { schedule, times, next: Vec::new(), runs: Vec::new() }
}

#[async_trait]
impl ScheduleControl for FakeDaemon {
    async fn add(&self, request: &AddSchedule) -> Result<ShownSchedule, ScheduleError> {
        Err(ScheduleError::Refused(format!("no schedule for {}", request.chat)))
    }

    async fn list(&self, _: bool) -> Result<Vec<ShownSchedule>, ScheduleError> {
        Ok(vec![shown()])
    }

    async fn show(&self, id: ScheduleId) -> Result<ShownSchedule, ScheduleError> {
        if id == SCHEDULE {
            return Ok(shown());
        }
        Err(ScheduleError::Refused(format!("there is no {id}")))
    }

    async fn command(&self, id: ScheduleId, _: ScheduleCommand) -> Result<(), ScheduleError> {
        if id == SCHEDULE {
            return Ok(());
        }
        Err(ScheduleError::Log(StoreError::Closed))
    }
}
