//! How the daemon fares, for whoever asks.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_outbox::Channels;
use avocet_protocol::{
    Channel, ChannelStatus, Clock, DaemonStatus, Health, Query, Report, StoreError,
};

use crate::audit::Keeper;

/// What a report is made from.
#[derive(Debug)]
pub(crate) struct Reporter {
    pub(crate) query: Arc<dyn Query>,
    pub(crate) channels: Arc<Channels>,
    pub(crate) model: String,
    pub(crate) data_dir: String,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) started: Duration,
    pub(crate) warnings: Vec<String>,
    pub(crate) audit: Arc<Keeper>,
}

#[async_trait]
impl Report for Reporter {
    async fn report(&self) -> Result<DaemonStatus, StoreError> {
        let channels = self.channels.iter().map(|channel| ChannelStatus {
            account: format!("{}:{}", channel.name(), channel.account()),
            fault: fault(channel.as_ref()),
        });
        Ok(DaemonStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: Some(std::process::id()),
            uptime_seconds: self.clock.elapsed().saturating_sub(self.started).as_secs(),
            data_dir: self.data_dir.clone(),
            model: self.model.clone(),
            log: self.query.log_status().await?,
            audit_fault: self.audit.fault(),
            channels: channels.collect(),
            warnings: self.warnings.clone(),
        })
    }
}

/// What is wrong with a channel; none if all is well.
fn fault(channel: &dyn Channel) -> Option<String> {
    match channel.health() {
        Health::Up => None,
        Health::Down(why) => Some(why),
    }
}
