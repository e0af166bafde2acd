//! Reports the state of the daemon over the socket.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::channel::{Channel, Health};
use avocet_protocol::chat::SessionId;
use avocet_protocol::daemon::{
    ChannelStatus, Check, Checkup, DaemonStatus, LastExchanges, Live, ProviderStatus, Report,
    TelemetryStatus,
};
use avocet_protocol::ignore_result;
use avocet_protocol::store::{Query, StopAll, StoreError};
use avocet_protocol::tool::McpServers;
use avocet_session::Agents;
use avocet_text::Redactor;

use crate::components::audit::Keeper;
use crate::components::budgets::FactWarnings;
use crate::components::checkup::Examiner;
use crate::components::mcp;
use crate::components::ports::DaemonPorts;
use crate::components::stop_text::{HOW_TO_RESUME, check_stop, describe_stop};
use crate::components::telemetry::TelemetryExporter;
use crate::daemon::copies::Copies;
use crate::daemon::reload::ReloadState;
use crate::{disk, redaction};

/// The sources of a report.
#[derive(Debug)]
pub(crate) struct Reporter {
    pub(crate) ports: DaemonPorts,
    pub(crate) examiner: Live<Examiner>,
    pub(crate) agents: Live<Agents>,
    pub(crate) reloads: Live<ReloadState>,
    pub(crate) facts: Live<FactWarnings>,
    pub(crate) started: Duration,
    pub(crate) audit: Arc<Keeper>,
    /// `None` if no copies are made at intervals.
    pub(crate) copies: Option<Arc<Copies>>,
    /// `None` if no traces are exported.
    pub(crate) exporter: Option<Arc<TelemetryExporter>>,
}

#[async_trait]
impl Report for Reporter {
    async fn report(&self) -> Result<DaemonStatus, StoreError> {
        let DaemonPorts { store, shells, clock, .. } = &self.ports;
        let examiner = self.examiner.now();
        let Examiner { configuration, channels, models, mcp, .. } = &*examiner;
        let servers = mcp.as_ref().map(|mcp| mcp.servers()).unwrap_or_default();
        let of_servers = servers.iter().filter_map(mcp::server_problem);
        let data_dir: &Path = &configuration.data_dir;
        if store.last_writes().failures_in_a_row() > 0 && !disk::refuses_writes(data_dir) {
            // Without pending writes, only this attempt finds out that there is room again.
            ignore_result(
                store.try_write().await,
                "the store counts a failure, and this status shows it",
            );
        }
        let redactor = redaction::shared_redactor();
        let providers = configuration.settings.providers.keys();
        let providers =
            providers.map(|name| redact_provider(models.health().provider_status(name), &redactor));
        let copies_fail = self.copies.as_ref().and_then(|copies| copies.last_fault());
        let shells_changed = shells.outdated();
        Ok(DaemonStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: Some(std::process::id()),
            uptime_seconds: clock.elapsed().saturating_sub(self.started).as_secs(),
            data_dir: configuration.data_dir.display().to_string(),
            model: self.agents.now().agents.default().run.models.main.name().to_owned(),
            log: store.log_status().await?,
            audit_fault: self.audit.known_fault(),
            log_check: store.current_check(),
            disk: disk::disk_status(data_dir, store.last_writes()),
            providers: providers.collect(),
            channels: channels
                .all_channels()
                .iter()
                .map(|one| channel_status(one.as_ref(), &redactor))
                .collect(),
            telemetry: self
                .exporter
                .as_ref()
                .map(|one| redact_telemetry(one.export_status(), &redactor)),
            warnings: store
                .current_stop()
                .iter()
                .map(|stop| format!("{}; {HOW_TO_RESUME}", describe_stop(stop)))
                .chain(shells.warning())
                .chain(shells_changed)
                .chain(copies_fail)
                .chain(of_servers)
                .chain(self.reloads.now().warnings())
                .chain(self.facts.now().sentences.iter().cloned())
                .collect(),
        })
    }

    async fn model_of(&self, session: &SessionId) -> Result<String, StoreError> {
        let status = self.ports.store.session_status(session).await?;
        Ok(self.agents.now().model_of_session(session, &status))
    }

    async fn checkup(&self, offline: bool) -> Checkup {
        let redactor = redaction::shared_redactor();
        let mut found = self.examiner.now().examine(offline).await;
        let stop = self.ports.store.current_stop();
        found.avocet.extend(stop.as_ref().as_ref().map(check_stop));
        let Checkup { avocet, providers, channels, walls } = &mut found;
        for check in [avocet, providers, channels, walls].into_iter().flatten() {
            let Check { says, fix, .. } = check;
            *says = redactor.redact(says).into_owned();
            *fix = fix.take().map(|fix| redactor.redact(&fix).into_owned());
        }
        found
    }
}

fn redact_provider(status: ProviderStatus, redactor: &Redactor) -> ProviderStatus {
    ProviderStatus {
        fault: status.fault.map(|fault| redactor.redact(&fault).into_owned()),
        requests: redact_exchanges(status.requests, redactor),
        ..status
    }
}

fn channel_status(channel: &dyn Channel, redactor: &Redactor) -> ChannelStatus {
    ChannelStatus {
        account: format!("{}:{}", channel.name(), channel.account()),
        fault: match channel.health() {
            Health::Up => None,
            Health::Down(why) => Some(redactor.redact(&why).into_owned()),
        },
        exchanges: redact_exchanges(channel.exchanges(), redactor),
    }
}

fn redact_telemetry(status: TelemetryStatus, redactor: &Redactor) -> TelemetryStatus {
    TelemetryStatus { exchanges: redact_exchanges(status.exchanges, redactor), ..status }
}

/// Redacts errors here, because the asking commands do not know the daemon's secrets.
fn redact_exchanges(mut last: LastExchanges, redactor: &Redactor) -> LastExchanges {
    if let Some(failure) = &mut last.failure {
        failure.reason = redactor.redact(&failure.reason).into_owned();
    }
    last
}
