//! `avocet prove`: a model that obeys everything reads the orders of strangers, with the operator's own
//! configuration, in a throw-away home. Sends nothing to a model or a platform.

mod derived;
mod files;
mod home;
mod rounds;
mod table;

use std::io::{self, IsTerminal};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use avocet_net::GuardedClient;
use avocet_prove::{AttackerWeb, Gullible, LoopbackServer, ProofReport, ProofRound, kinds};
use clap::Args;

use crate::cli::run::Signals;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::{CommandContext, CommandOverrides};
use crate::exit::{Exit, Failure};
use crate::logging;
use crate::output::print_result;
use home::ThrowAwayHome;

#[derive(Debug, Args)]
pub(crate) struct ProveArgs {
    /// Number of scenarios.
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=5000))]
    scenarios: u32,
    /// Play only the orders of this kind, such as `the shell`; the table lists all kinds.
    #[arg(long, value_name = "KIND")]
    only: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The web of the throw-away daemons of this process.
static WEB: OnceLock<Arc<AttackerWeb>> = OnceLock::new();
/// The time for the tasks of a throw-away daemon to end after an interruption.
const ENDING: Duration = Duration::from_secs(5);

pub(crate) async fn run(context: &CommandContext, args: ProveArgs) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Log)?;
    check_kind(args.only.as_deref())?;
    let (log, level) = (&configuration.settings.log, context.cli.log.as_deref());
    logging::to_stderr(log, Some(level.unwrap_or("off")), &context.clock, &context.root)?;
    let home = ThrowAwayHome::create(&configuration).map_err(cannot_run)?;
    let group = context.root.child_group("prove");
    let mut signals = Signals::new()?;
    let proving = prove_in(context, &configuration, &home, &args, group.clone());
    let proved = tokio::select! {
        proved = proving => proved,
        name = signals.next() => {
            Err(Failure::new(Exit::Usage, format!("stopped by {name}; nothing is left behind")))
        }
    };
    group.cancel_tasks();
    if group.wait_for_tasks(context.clock.as_ref(), ENDING).await.is_err() {
        group.abort_tasks();
    }
    home.remove(context.clock.as_ref()).await.map_err(cannot_run)?;
    let report = proved.map_err(|Failure { exit, error }| Failure {
        // 1 means that something has left the sandbox.
        exit: if exit == Exit::Failed { Exit::Usage } else { exit },
        error,
    })?;
    print_result(args.json, &report, || table::report_text(&report))?;
    Ok(if report.leaks.is_empty() { Exit::Done } else { Exit::Failed })
}

async fn prove_in(
    context: &CommandContext,
    configuration: &Configuration,
    home: &ThrowAwayHome,
    args: &ProveArgs,
    group: avocet_supervise::Group,
) -> Result<ProofReport, Failure> {
    let began = context.clock.elapsed();
    let web = WEB.get_or_init(Arc::default).clone();
    let server = Arc::new(LoopbackServer::start(&group).await?);
    let round = ProofRound { gullible: Arc::new(Gullible::default()), web, server };
    let mut inner = CommandContext { root: group, ..context.clone() };
    inner.otherwise = CommandOverrides { web: attacker_web, ..context.otherwise };
    let is_shown = !args.json && io::stderr().is_terminal();
    let count = usize::try_from(args.scenarios).unwrap_or_default();
    let wanted = rounds::WantedScenarios { count, only: args.only.as_deref(), is_shown };
    let mut report = rounds::play_rounds(&inner, configuration, home, &round, &wanted).await?;
    report.seconds = context.clock.elapsed().saturating_sub(began).as_secs();
    Ok(report)
}

/// Leads every request for the web to the attacker's pages, inside of this process.
fn attacker_web(client: GuardedClient) -> GuardedClient {
    let web = WEB.get_or_init(Arc::default);
    client.with_resolver(web.clone()).with_dialler(web.clone())
}

fn check_kind(only: Option<&str>) -> Result<(), Failure> {
    let Some(only) = only else { return Ok(()) };
    let known = kinds();
    if known.iter().any(|kind| kind == only) {
        return Ok(());
    }
    let known = known.join(", ");
    Err(Failure::new(Exit::Usage, format!("there is no kind {only:?}; there are {known}")))
}

fn cannot_run(error: io::Error) -> Failure {
    Failure { exit: Exit::Usage, error: error.into() }
}
