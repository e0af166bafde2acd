//! The program: its command line, the one registry of components, and the wiring.

mod cli;
mod command_line;
mod components;
mod configuration;
mod connection;
mod context;
mod daemon;
mod disk;
mod environment;
mod exit;
mod hardening;
mod help;
mod input;
mod logging;
mod output;
mod parts;
mod redaction;
#[cfg(test)]
mod reference_tests;
mod registry;
mod setup;
#[cfg(test)]
mod skills_tests;
mod stderr;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::ignore_result;
use avocet_supervise::{Group, SystemClock};
use clap::error::ErrorKind;

pub use context::{AddTools, CommandOverrides};

use cli::run::RunArgs;
use command_line::{Cli, Command};
use context::CommandContext;
use exit::{Exit, Failure};
use setup::init::InitEnd;

/// The most threads for tasks. A task waits most of its time, so a few threads run thousands.
const MOST_WORKERS: usize = 4;
/// The most threads for blocking work, such as reading files.
const BLOCKING_THREADS: usize = 16;
/// The time after which an idle thread for blocking work ends.
const KEPT_IDLE: Duration = Duration::from_secs(2);

/// Runs the program as the command line says.
#[must_use]
pub fn main(otherwise: CommandOverrides) -> ExitCode {
    if let Some(ended) = avocet_sandbox::run_stage() {
        return ended;
    }
    if is_version_only() {
        return print_version();
    }
    redaction::in_panics();
    if let Err(error) = hardening::leave_no_dumps() {
        output::print_error(&format!(
            "cannot disable core dumps; a dump may contain secrets ({error})"
        ));
    }
    let Cli { global, command } = match help::parse_arguments(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return report_usage(&error),
    };
    if let Some(Command::Help { command }) = &command {
        return report_usage(&help::help_of(command));
    }
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    runtime.worker_threads(worker_count(cores));
    // Each thread keeps memory of its own. More blocking work waits in a queue.
    runtime.max_blocking_threads(BLOCKING_THREADS).thread_keep_alive(KEPT_IDLE);
    let runtime = match runtime.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::print_error(&format!("cannot start threads: {error}"));
            return Exit::Failed.into();
        }
    };
    let clock = Arc::new(SystemClock::new());
    let context = CommandContext { cli: global, clock, root: Group::new("avocet"), otherwise };
    let done = runtime.block_on(run(command, &context));
    context.root.cancel_tasks();
    // A thread that still waits for keyboard input must not delay the end.
    runtime.shutdown_background();
    let exit = done.unwrap_or_else(|Failure { exit, error }| {
        output::print_error(&format!("{error:#}"));
        exit
    });
    stderr::flush();
    exit.into()
}

/// Returns the command line, for manual pages.
#[must_use]
pub fn command_line() -> clap::Command {
    help::root_command()
}

/// Returns the number of threads for tasks. One core is left for the writer and the readers of the
/// log. With a thread for each core, tasks would move between the threads at every wake-up.
fn worker_count(cores: usize) -> usize {
    cores.saturating_sub(1).clamp(1, MOST_WORKERS)
}

/// Returns `true` for `avocet --version`, which needs no parser.
fn is_version_only() -> bool {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next();
    let is_version = first.is_some_and(|first| first == "--version" || first == "-V");
    is_version && arguments.next().is_none()
}

/// Prints what [`Cli`] prints for `--version`.
fn print_version() -> ExitCode {
    let line = parts::version_line();
    ignore_result(
        std::io::Write::write_all(&mut std::io::stdout(), format!("{line}\n").as_bytes()),
        "a reader that stops early is no failure",
    );
    ExitCode::SUCCESS
}

/// Prints the requested help, or the fault in the command line. The latter is cleaned, since
/// arguments may contain text from elsewhere.
fn report_usage(error: &clap::Error) -> ExitCode {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // A command without its subcommand is a question for help, although its exit code is 2.
        stderr::write(&error.render().to_string());
    } else if error.use_stderr() {
        let text = error.render().to_string();
        output::print_error(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
    } else {
        ignore_result(error.print(), "a reader that stops early, as in `| head`, is no failure");
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

async fn run(command: Option<Command>, context: &CommandContext) -> Result<Exit, Failure> {
    match command.unwrap_or_default() {
        #[cfg(feature = "acp")]
        Command::Acp => cli::acp::run(context).await,
        #[cfg(not(feature = "acp"))]
        Command::Acp => Err(Failure::new(Exit::Configuration, parts::describe_left_out("acp"))),
        Command::Agents(agents) => cli::agents::run(context, &agents),
        Command::Approvals(approvals) => cli::approvals::run(context, approvals).await,
        Command::Ask(ask) => cli::ask::run(context, ask).await,
        Command::Audit(audit) => cli::audit::run(context, audit).await,
        Command::Backup(backup) => cli::copies::back_up_log(context, backup).await,
        Command::Chat(chat) => cli::chat::run(context, chat).await,
        Command::Completions { shell } => cli::completions::run(shell, &mut help::root_command()),
        Command::Config(command) => setup::config::run(context, &command).await,
        Command::Db(command) => cli::db::run(context, command).await,
        Command::Dead(command) => cli::dead::run(context, command).await,
        Command::Doctor(doctor) => cli::doctor::run(context, doctor).await,
        Command::Events(events) => cli::events::run(context, events).await,
        // Handled before the start of the runtime.
        Command::Help { .. } => Ok(Exit::Done),
        Command::Init(init) => match setup::init::run(context, *init).await? {
            InitEnd::Done(exit) => Ok(exit),
            InitEnd::RunDaemon => cli::run::run(context, RunArgs::default()).await,
        },
        Command::Job(command) => cli::jobs::run(context, command).await,
        Command::Link(link) => cli::people::link_session(context, link).await,
        Command::Mcp(command) => cli::mcp::run(context, command).await,
        Command::Memory(command) => cli::memory::run(context, command).await,
        Command::Models(args) => cli::models::run(context, args).await,
        Command::Pair(command) => cli::people::run_pair(context, command).await,
        Command::People(command) => cli::people::run_people(context, command).await,
        Command::Recover(recover) => cli::copies::recover_log(context, recover).await,
        Command::Replay(replay) => cli::replay::run(context, replay).await,
        Command::Restore(restore) => cli::copies::restore_log(context, restore).await,
        Command::Resume(all) => cli::stop_all::resume_everything(context, all).await,
        Command::Rules(rules) => cli::rules::run(context, rules).await,
        Command::Run(run) => cli::run::run(context, run).await,
        Command::Schedule(command) => cli::schedule::run(context, command).await,
        Command::Send(send) => cli::send::run(context, send).await,
        Command::Service(service) => setup::service::run(context, &service),
        Command::Sessions(command) => cli::sessions::run(context, command).await,
        Command::Skills(command) => cli::skills::run(context, command).await,
        Command::Status(status) => cli::status::run(context, status).await,
        Command::Stop(all) => cli::stop_all::stop_everything(context, all).await,
        Command::Subscribers(command) => cli::events::run_subscribers(context, command).await,
        Command::Prompt(prompt) => cli::prompt::run(context, prompt).await,
        #[cfg(feature = "prove")]
        Command::Prove(prove) => cli::prove::run(context, prove).await,
        #[cfg(not(feature = "prove"))]
        Command::Prove(_) => {
            Err(Failure::new(Exit::Configuration, parts::describe_left_out("prove")))
        }
        Command::Tasks(tasks) => cli::tasks::run(context, tasks).await,
        Command::Trace(trace) => cli::trace::run(context, trace).await,
        Command::Top => cli::top::run(context).await,
        Command::Trust(trust) => cli::trust::run(context, &trust).await,
        Command::Update(update) => setup::update::run(context, update).await,
        Command::Usage(usage) => cli::usage::run(context, usage).await,
        Command::Web(web) => cli::web::run(context, web).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_leave_one_core_to_the_log() {
        for (cores, expected) in [(1, 1), (2, 1), (4, 3), (64, 4)] {
            assert_eq!(worker_count(cores), expected, "{cores}");
        }
    }
}
