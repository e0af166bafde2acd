//! The connections of the daemon to the outside, before anything runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use avocet_bus::{Bus, BusParts, WakeReceiver};
use avocet_http::HttpPlan;
use avocet_outbox::{ChannelRegistry, Deliverer};
use avocet_protocol::access::Roles;
use avocet_protocol::bus::Deliveries;
use avocet_protocol::channel::{Attach, ChannelWebhook};
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::{AccountName, ChannelName};
use avocet_store::SqliteStore;
use avocet_supervise::Group;
use avocet_web::{KeptFiles, ProgramFileStore, UploadStore};

use crate::components::clients::operator_ids;
use crate::components::workspaces::{AgentWorkspaces, WorkspaceLogs};
use crate::configuration::Configuration;
use crate::exit::{Exit, Failure};
use crate::registry;

/// The connections to the outside: the bus, and the channels with their outbox.
pub(crate) struct Connections {
    pub(crate) channels: Arc<ChannelRegistry>,
    pub(crate) workspaces: Arc<AgentWorkspaces>,
    pub(crate) deliverer: Deliverer,
    pub(crate) bus: Arc<Bus>,
    pub(crate) accounts: ServedAccounts,
}

/// The accounts that others than the daemon serve, and their files.
pub(crate) struct ServedAccounts {
    /// The accounts that clients attach to.
    pub(crate) attach: BTreeMap<(ChannelName, AccountName), Arc<dyn Attach>>,
    /// The programs that serve accounts as children of the daemon.
    pub(crate) programs: Vec<registry::ChannelProgram>,
    /// The files that people upload in the web console, and programs over HTTP.
    pub(crate) files: KeptFiles,
    /// The endpoints of channels.
    pub(crate) webhooks: Vec<ChannelWebhook>,
}

impl Connections {
    /// Builds the channels, the outbox and the bus. Neither sends nor receives yet. The wake-ups are
    /// those of the bus.
    pub(crate) async fn open(
        configuration: &Configuration,
        store: &Arc<SqliteStore>,
        clock: &Arc<dyn Clock>,
        group: &Group,
    ) -> Result<(Self, WakeReceiver), Failure> {
        let registry::Channels { channels: mut configured, admission } =
            configured_channels(configuration, clock)?;
        let files = kept_files(configuration, clock);
        // Of two channels for one account, the later one serves the account.
        let web = registry::web_channel(Some(files.clone()));
        configured.push(web.map_err(|error| Failure::new(Exit::Failed, error.to_string()))?);
        let accounts = ServedAccounts {
            attach: attachable_accounts(&configured),
            programs: configured.iter().filter_map(|one| one.program.clone()).collect(),
            files,
            webhooks: registry::channel_webhooks(&configured),
        };
        let channels = configured.into_iter().map(|one| one.channel).collect();
        let channels = Arc::new(ChannelRegistry::new(channels));
        let workspaces = Arc::new(AgentWorkspaces::open(
            configuration,
            WorkspaceLogs { turns: store.clone(), jobs: store.clone() },
        )?);
        let deliverer = Deliverer::new(
            store.clone(),
            channels.clone(),
            workspaces.clone(),
            clock.clone(),
            group.child_group("outbox"),
        );
        let deliveries: Arc<dyn Deliveries> = Arc::new(deliverer.clone());
        let (bus, wakes) = Bus::open(BusParts {
            admission,
            inbox: store.clone(),
            outbox: store.clone(),
            people: store.clone(),
            destinations: channels.clone(),
            deliveries: deliveries.clone(),
            clock: clock.clone(),
        })
        .await?;
        let bus = Arc::new(bus);
        let roles: Arc<dyn Roles> = bus.clone();
        deliverer.report_closed_chats(&roles, &deliveries);
        warn_without_owner(&bus);
        Ok((Self { channels, workspaces, deliverer, bus, accounts }, wakes))
    }
}

/// Makes the channels of a configuration. The admission has the named clients that are operators.
pub(crate) fn configured_channels(
    configuration: &Configuration,
    clock: &Arc<dyn Clock>,
) -> Result<registry::Channels, Failure> {
    let Configuration { document, settings, .. } = configuration;
    let registry::Channels { channels, admission } =
        registry::make_channels(document, settings, clock)?;
    let mut operators = operator_ids(settings);
    let http = registry::http_plan(document, settings)?;
    operators.extend(http.iter().flat_map(HttpPlan::operators).cloned());
    Ok(registry::Channels { channels, admission: admission.with_operators(operators) })
}

/// Logs the accounts that lack an owner.
pub(crate) fn warn_without_owner(bus: &Bus) {
    for account in bus.without_owner() {
        tracing::warn!(
            account,
            "the account has no owner: its chats have no tools for files and programs, and no person \
                can admit others; add yourself to its `owners`, or write to it and run \
                `avocet pair approve CODE --owner`"
        );
    }
}

fn kept_files(configuration: &Configuration, clock: &Arc<dyn Clock>) -> KeptFiles {
    let limit = configuration.settings.attachments.max_megabytes.saturating_mul(1024 * 1024);
    let uploads = UploadStore::new(configuration.uploads(), limit, clock.clone());
    let programs = ProgramFileStore::new(configuration.program_files(), limit, clock.clone());
    KeptFiles { uploads: Arc::new(uploads), programs: Arc::new(programs) }
}

/// Returns the accounts that clients attach to.
fn attachable_accounts(
    configured: &[registry::ConfiguredChannel],
) -> BTreeMap<(ChannelName, AccountName), Arc<dyn Attach>> {
    let attach = |one: &registry::ConfiguredChannel| {
        Some(((one.channel.name(), one.channel.account()), one.attach.clone()?))
    };
    configured.iter().filter_map(attach).collect()
}
