//! `avocet acp`: an editor talks to the agent through the Agent Client Protocol.

use std::fmt;
use std::io::{self, BufReader};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_acp::{AcpParts, ConnectDaemon, EditorProfile, StdioLines, serve};
use avocet_gateway::Client;
use avocet_sandbox::RootAccess;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::cli::reach::{STARTING, join_or_start};
use crate::cli::run::Signals;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::connection::{LOOK_AGAIN, connect_daemon};
use crate::context::CommandContext;
use crate::daemon::running::RunningDaemon;
use crate::exit::{Exit, Failure};
use crate::logging;

/// The time for running answers to finish after the editor leaves.
const DRAIN: Duration = Duration::from_secs(5);

pub(crate) async fn run(context: &CommandContext) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Daemon)?;
    let (log, level) = (&configuration.settings.log, context.cli.log.as_deref());
    // Standard output carries the protocol alone.
    logging::to_stderr(log, level, &context.clock, &context.root)?;
    let mut signals = Signals::new()?;
    let profiles = configuration.agents.iter().map(|agent| EditorProfile {
        name: agent.profile.name.clone(),
        workspace: agent.workspace.clone(),
    });
    let changeable = configuration.roots.iter().filter(|root| root.access == RootAccess::Change);
    let daemon = Arc::new(EditorDaemon {
        context: context.clone(),
        configuration: configuration.clone(),
        state: Mutex::default(),
    });
    let parts = AcpParts {
        connector: daemon.clone(),
        profiles: profiles.collect(),
        beside: changeable.map(|root| root.path.clone()).collect(),
        commands: avocet_session::commands().collect(),
        version: env!("CARGO_PKG_VERSION"),
        clock: context.clock.clone(),
        group: context.root.clone(),
    };
    let lines = StdioLines::start(BufReader::new(io::stdin()), io::stdout(), &context.root)?;
    let served = tokio::select! {
        served = serve(parts, lines) => served,
        _ = signals.next() => Ok(()),
    };
    if let Some(started) = daemon.state.lock().await.started.take() {
        started.stop(DRAIN, &CancellationToken::new()).await;
    }
    served.map(|()| Exit::Done).map_err(|error| {
        Failure::new(Exit::Failed, format!("the connection to the editor failed: {error}"))
    })
}

/// Connects sessions to the running daemon, or to one that runs as long as the editor.
#[derive(Debug)]
struct EditorDaemon {
    context: CommandContext,
    configuration: Configuration,
    /// Locked while a session connects, so that two sessions do not start two daemons.
    state: Mutex<DaemonState>,
}

#[derive(Default)]
struct DaemonState {
    started: Option<RunningDaemon>,
    /// `true` after the first connection. A lost daemon has time to come back.
    has_connected: bool,
}

impl fmt::Debug for DaemonState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DaemonState").field("has_started", &self.started.is_some()).finish()
    }
}

#[async_trait]
impl ConnectDaemon for EditorDaemon {
    async fn connect(&self) -> Result<Client, String> {
        let mut state = self.state.lock().await;
        let connected = self.connect_or_start(&mut state).await;
        state.has_connected |= connected.is_ok();
        connected.map_err(|failure| {
            format!("cannot connect to the daemon of Avocet: {:#}", failure.error)
        })
    }
}

impl EditorDaemon {
    async fn connect_or_start(&self, state: &mut DaemonState) -> Result<Client, Failure> {
        if state.has_connected
            && let Some(client) = self.reconnect_daemon().await?
        {
            return Ok(client);
        }
        let (client, started) = join_or_start(&self.context, &self.configuration, false).await?;
        if started.is_some() {
            state.started = started;
        }
        Ok(client)
    }

    /// Waits until a lost daemon runs again; `None` if it stays away.
    async fn reconnect_daemon(&self) -> Result<Option<Client>, Failure> {
        let clock = self.context.clock.as_ref();
        let began = clock.elapsed();
        loop {
            let client = connect_daemon(&self.context, &self.configuration).await?;
            if client.is_some() || clock.elapsed().saturating_sub(began) > STARTING {
                return Ok(client);
            }
            clock.sleep(LOOK_AGAIN).await;
        }
    }
}
