//! The parts of the daemon that begin work at set times.

use std::sync::Arc;

use avocet_jobs::{RunnerParts, ScheduleService};
use avocet_memory::MemoryConsolidator;
use avocet_protocol::daemon::Live;
use avocet_supervise::Group;

use crate::components::models::Models;
use crate::components::ports::DaemonPorts;
use crate::components::schedules::AgentChecklists;
use crate::components::{consolidation, schedules};
use crate::configuration::Configuration;
use crate::exit::Failure;

/// The parts that begin work at set times.
pub(crate) struct Timers {
    pub(crate) schedules: ScheduleService,
    pub(crate) consolidator: Live<MemoryConsolidator>,
}

impl Timers {
    /// Starts both. The schedules of the configuration are stored first.
    pub(crate) async fn start(
        configuration: &Configuration,
        ports: &DaemonPorts,
        models: &Models,
        group: &Group,
    ) -> Result<Self, Failure> {
        let DaemonPorts { store, channels, deliverer, bus, workspaces, clock, .. } = ports;
        let runner = RunnerParts {
            schedules: store.clone(),
            destinations: channels.clone(),
            deliveries: Arc::new(deliverer.clone()),
            lanes: bus.clone(),
            checklists: Arc::new(AgentChecklists::new(configuration, workspaces)?),
            clock: clock.clone(),
        };
        let schedules = schedules::start(configuration, bus, runner, group).await?;
        let consolidator =
            Live::new(consolidation::make_consolidator(configuration, models, store, clock)?);
        let regular = &configuration.settings.memory.consolidation;
        let work = Arc::new(consolidator.clone());
        consolidation::start(regular, store.clone(), work, clock, group)?;
        Ok(Self { schedules, consolidator })
    }
}
