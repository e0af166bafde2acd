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

use std::future::ready;
use std::pin::Pin;
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
    let done = runtime.block_on(run_command(command.unwrap_or_default(), &context));
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

/// A command that runs.
type RunningCommand<'c> = Pin<Box<dyn Future<Output = Result<Exit, Failure>> + 'c>>;

/// Refuses a command of a part that this program was built without.
#[cfg(not(all(feature = "acp", feature = "prove")))]
fn refuse_left_out(part: &str) -> RunningCommand<'static> {
    Box::pin(ready(Err(Failure::new(Exit::Configuration, parts::describe_left_out(part)))))
}

/// Runs a command. Each has a box of its own, so that a short one does not take the memory of the
/// largest, and its code exists once.
fn run_command(command: Command, context: &CommandContext) -> RunningCommand<'_> {
    match command {
        #[cfg(feature = "acp")]
        Command::Acp => Box::pin(cli::acp::run(context)),
        #[cfg(not(feature = "acp"))]
        Command::Acp => refuse_left_out("acp"),
        Command::Agents(agents) => Box::pin(ready(cli::agents::run(context, &agents))),
        Command::Approvals(approvals) => Box::pin(cli::approvals::run(context, approvals)),
        Command::Ask(ask) => Box::pin(cli::ask::run(context, ask)),
        Command::Audit(audit) => Box::pin(cli::audit::run(context, audit)),
        Command::Backup(backup) => Box::pin(cli::copies::back_up_log(context, backup)),
        Command::Chat(chat) => Box::pin(cli::chat::run(context, chat)),
        Command::Completions { shell } => {
            Box::pin(ready(cli::completions::run(shell, &mut help::root_command())))
        }
        Command::Config(command) => {
            Box::pin(async move { setup::config::run(context, &command).await })
        }
        Command::Db(command) => Box::pin(cli::db::run(context, command)),
        Command::Dead(command) => Box::pin(cli::dead::run(context, command)),
        Command::Doctor(doctor) => Box::pin(cli::doctor::run(context, doctor)),
        Command::Events(events) => Box::pin(cli::events::run(context, events)),
        // Handled before the start of the runtime.
        Command::Help { .. } => Box::pin(ready(Ok(Exit::Done))),
        Command::Init(init) => Box::pin(async move {
            match setup::init::run(context, *init).await? {
                InitEnd::Done(exit) => Ok(exit),
                InitEnd::RunDaemon => cli::run::run(context, RunArgs::default()).await,
            }
        }),
        Command::Job(command) => Box::pin(cli::jobs::run(context, command)),
        Command::Link(link) => Box::pin(cli::people::link_session(context, link)),
        Command::Mcp(command) => Box::pin(cli::mcp::run(context, command)),
        Command::Memory(command) => Box::pin(cli::memory::run(context, command)),
        Command::Models(args) => Box::pin(cli::models::run(context, args)),
        Command::Pair(command) => Box::pin(cli::people::run_pair(context, command)),
        Command::People(command) => Box::pin(cli::people::run_people(context, command)),
        Command::Recover(recover) => Box::pin(cli::copies::recover_log(context, recover)),
        Command::Replay(replay) => Box::pin(cli::replay::run(context, replay)),
        Command::Restore(restore) => Box::pin(cli::copies::restore_log(context, restore)),
        Command::Resume(all) => Box::pin(cli::stop_all::resume_everything(context, all)),
        Command::Rules(rules) => Box::pin(cli::rules::run(context, rules)),
        Command::Run(run) => Box::pin(cli::run::run(context, run)),
        Command::Schedule(command) => Box::pin(cli::schedule::run(context, command)),
        Command::Send(send) => Box::pin(cli::send::run(context, send)),
        Command::Service(service) => Box::pin(ready(setup::service::run(context, &service))),
        Command::Sessions(command) => Box::pin(cli::sessions::run(context, command)),
        Command::Skills(command) => Box::pin(cli::skills::run(context, command)),
        Command::Status(status) => Box::pin(cli::status::run(context, status)),
        Command::Stop(all) => Box::pin(cli::stop_all::stop_everything(context, all)),
        Command::Subscribers(command) => Box::pin(cli::events::run_subscribers(context, command)),
        Command::Prompt(prompt) => Box::pin(cli::prompt::run(context, prompt)),
        #[cfg(feature = "prove")]
        Command::Prove(prove) => Box::pin(cli::prove::run(context, prove)),
        #[cfg(not(feature = "prove"))]
        Command::Prove(_) => refuse_left_out("prove"),
        Command::Tasks(tasks) => Box::pin(cli::tasks::run(context, tasks)),
        Command::Trace(trace) => Box::pin(cli::trace::run(context, trace)),
        Command::Top => Box::pin(cli::top::run(context)),
        Command::Trust(trust) => Box::pin(async move { cli::trust::run(context, &trust).await }),
        Command::Update(update) => Box::pin(setup::update::run(context, update)),
        Command::Usage(usage) => Box::pin(cli::usage::run(context, usage)),
        Command::Web(web) => Box::pin(cli::web::run(context, web)),
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
