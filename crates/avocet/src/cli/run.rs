//! `avocet run`: the daemon.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::daemon::running::{RunningDaemon, StartOptions};
use crate::daemon::systemd;
use crate::exit::{Exit, Failure};
use crate::logging;

#[derive(Debug, Default, Args)]
pub(crate) struct RunArgs {
    /// Start with an empty database although the last one is damaged or missing. Nothing is
    /// deleted.
    #[arg(long)]
    start_empty: bool,
}

pub(crate) async fn run(context: &CommandContext, run: RunArgs) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Everything)?;
    let (log, level) = (&configuration.settings.log, context.cli.log.as_deref());
    logging::to_stderr(log, level, &context.clock, &context.root)?;
    let (mut signals, is_reload_asked) = (Signals::new()?, AtomicBool::new(false));
    let daemon = tokio::select! {
        daemon = RunningDaemon::start(context, &configuration, StartOptions::with_all_channels(run.start_empty)) => daemon?,
        name = signals.next_stop(|| is_reload_asked.store(true, Ordering::Relaxed)) => {
            tracing::info!(signal = name, "stopped before it was ready");
            return Ok(Exit::Done);
        }
    };
    let settings = &configuration.settings;
    let model = settings.agents.defaults.answering_model();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        data_dir = %configuration.data_dir.display(),
        socket = %configuration.socket.display(),
        model,
        "ready"
    );

    if is_reload_asked.into_inner() {
        daemon.reloader().ask();
    }
    let ended = tokio::select! {
        name = signals.next_stop(|| daemon.reloader().ask()) => {
            // End the intake first: readers of the log line below rely on it.
            daemon.end_intake();
            tracing::info!(signal = name, "stopping; running answers may finish");
            Ok(Exit::Done)
        }
        error = systemd::watch::watch_daemon(&daemon, context.clock.as_ref()) => Err(Failure::from(error)),
    };
    let hurry = CancellationToken::new();
    match &ended {
        Ok(_) => systemd::notify_stop("stopping; running answers may finish"),
        Err(failure) => {
            systemd::notify_stop(&format!("stopping: {}", failure.error));
            // Answers that finish now could not be stored.
            hurry.cancel();
        }
    }
    let drain = daemon.reloader().drain();
    let stopping = daemon.stop(drain, &hurry);
    tokio::pin!(stopping);
    tokio::select! {
        () = &mut stopping => {}
        _ = signals.next_stop(|| ()) => {
            hurry.cancel();
            stopping.await;
        }
    }
    tracing::info!("stopped");
    ended
}

/// The signals that stop the daemon.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    /// `true` if the daemon runs in a terminal, whose end the signal means.
    is_in_terminal: bool,
}

impl Signals {
    pub(crate) fn new() -> Result<Self, Failure> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            is_in_terminal: io::stdin().is_terminal(),
        })
    }

    /// Waits for the next signal that stops the daemon, and returns its name. Outside of a terminal,
    /// SIGHUP asks for a reload.
    async fn next_stop(&mut self, reload: impl Fn()) -> &'static str {
        loop {
            match self.next().await {
                "SIGHUP" if !self.is_in_terminal => reload(),
                name => return name,
            }
        }
    }

    /// Waits for the next signal, and returns its name.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.hang_up.recv() => "SIGHUP",
        }
    }
}
