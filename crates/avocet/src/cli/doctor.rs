//! `avocet doctor`: checks everything that the daemon needs, and names the remedies. A running
//! daemon checks itself: its user, its secrets and its sandbox differ from those of the command.

use std::fs::OpenOptions;
use std::sync::Arc;
use std::time::Duration;

use avocet_gateway::{Client, ClientError, Doctor, ShowStatus};
use avocet_llm::AudioHealth;
use avocet_outbox::ChannelRegistry;
use avocet_protocol::clock::within;
use avocet_protocol::daemon::{Check, CheckState, Checkup, DaemonStatus};
use avocet_protocol::store::{Query, StopAll};
use avocet_sandbox::CgroupParent;
use avocet_store::DATABASE;
use avocet_text::{PlainTable, plain_io};
use clap::Args;

use crate::cli::reach::open_log_read_only;
use crate::components::checkup::{Examiner, layers};
use crate::components::models::Models;
use crate::components::shell::Shells;
use crate::components::stop_text::check_stop;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::connection::connect_daemon;
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::print_result;
use crate::registry;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Do not contact providers and platforms.
    #[arg(long)]
    offline: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The timeout for a daemon that checks itself.
const LIMIT: Duration = Duration::from_secs(30);
/// The fix for a daemon that does not answer.
const SEE_LOG: &str = "see its log, and restart it";
/// The names of checks whose fix is in the configuration.
const CONFIGURATION: [&str; 2] = ["configuration", "directories"];

pub(crate) async fn run(context: &CommandContext, doctor: DoctorArgs) -> Result<Exit, Failure> {
    let DoctorArgs { offline, json } = doctor;
    let configuration = match Configuration::load(context, ConfigurationUse::Daemon) {
        Ok(configuration) => configuration,
        Err(Failure { exit, error }) => {
            let says = format!("{error:#}");
            let check = Check::bad(
                "configuration",
                says,
                "correct it, and run `avocet doctor` again; nothing else was checked",
            );
            let checkup = Checkup { avocet: vec![check], ..Checkup::default() };
            print_result(json, &checkup, || checkup_text(&checkup))?;
            return Ok(exit);
        }
    };
    let path = configuration.document.path();
    let path =
        path.map_or("none; the defaults apply".to_owned(), |path| path.display().to_string());
    let mut own = vec![Check::good("configuration", path)];
    let mut checkup = match connect_daemon(context, &configuration).await {
        Err(failure) => {
            own.push(unreachable_check(&failure));
            Checkup::default()
        }
        Ok(Some(client)) => {
            let asked = of_daemon(&client, &configuration, offline, &mut own);
            let answered = within(context.clock.as_ref(), LIMIT, asked).await;
            match answered {
                Ok(checkup) => checkup?,
                Err(_) => {
                    let says = format!("does not answer within {} s", LIMIT.as_secs());
                    own.push(Check::bad("daemon", says, SEE_LOG));
                    Checkup::default()
                }
            }
        }
        Ok(None) => {
            let at = configuration.socket.display();
            let says = format!("no daemon answers at {at}; the rest is checked from this shell");
            own.push(Check::fair(
                "daemon",
                says,
                "start it: avocet run; if it runs, pass its --config to this command",
            ));
            own.extend(check_database(context, &configuration).await);
            if let Ok(Some(log)) = open_log_read_only(context, &configuration) {
                own.extend(log.current_stop().as_ref().as_ref().map(check_stop));
            }
            of_this_process(context, offline).await?
        }
    };
    own.append(&mut checkup.avocet);
    checkup.avocet = own;
    print_result(json, &checkup, || checkup_text(&checkup))?;
    Ok(checkup_exit(&checkup))
}

/// Reports a daemon that this command cannot ask.
fn unreachable_check(Failure { exit, error }: &Failure) -> Check {
    let fix = match exit {
        // The daemon is well: its socket is closed to this user.
        Exit::Failed => "nothing else was checked; run this command as that user",
        _ => SEE_LOG,
    };
    Check::bad("daemon", format!("{error:#}"), fix)
}

/// Returns the daemon's own checkup.
async fn of_daemon(
    client: &Client,
    configuration: &Configuration,
    offline: bool,
    own: &mut Vec<Check>,
) -> Result<Checkup, Failure> {
    let status: DaemonStatus = client.call::<ShowStatus>(&ShowStatus::default()).await?;
    let at = configuration.socket.display();
    let (version, pid) = (&status.version, status.pid.unwrap_or_default());
    own.push(Check::good("daemon", format!("process {pid}, version {version}, answers at {at}")));
    match client.call::<Doctor>(&Doctor { offline }).await {
        Ok(checkup) => Ok(checkup),
        Err(ClientError::Refused(refusal)) => {
            let says = format!("version {version} cannot check itself ({refusal})");
            own.push(Check::fair("checkup", says, "restart the daemon with this version"));
            Ok(Checkup::default())
        }
        Err(error) => Err(error.into()),
    }
}

/// Checks that a daemon could open its database; `None` if no daemon ever ran.
async fn check_database(context: &CommandContext, configuration: &Configuration) -> Option<Check> {
    let readable = async {
        let Some(log) = open_log_read_only(context, configuration)? else { return Ok(None) };
        log.log_status().await?;
        Ok::<_, Failure>(Some(()))
    };
    let path = configuration.data_dir.join(DATABASE);
    let fix = "repair this before you start the daemon";
    let fault = match readable.await {
        Ok(found) => {
            found?;
            let opened = OpenOptions::new().write(true).open(&path);
            opened.err().map(|error| format!("{}: {}", path.display(), plain_io(&error)))
        }
        Err(Failure { error, .. }) => Some(format!("{error:#}")),
    };
    Some(match fault {
        None => Check::good("database", format!("{} can be read and written", path.display())),
        Some(fault) => Check::bad("database", fault, fix),
    })
}

/// Returns the checkup of a daemon that would be started in this shell.
async fn of_this_process(context: &CommandContext, offline: bool) -> Result<Checkup, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Log)?;
    let Configuration { document, settings, .. } = &configuration;
    let shells = Shells::probe(&configuration, &context.clock, &context.root).await?;
    let cgroup = CgroupParent::find_delegated().map(drop).map_err(|why| why.to_string());
    let channels = registry::make_channels(document, settings, &context.clock)?.channels;
    let webhooks = registry::channel_webhooks(&channels);
    let channels = channels.into_iter().map(|one| one.channel).collect();
    let examiner = Examiner {
        channels: Arc::new(ChannelRegistry::new(channels)),
        webhooks,
        models: Arc::new(Models::from_configuration(&configuration, context.clock.clone())?),
        walls: layers::check_layers(&configuration, &shells, cgroup),
        mirror: None,
        mcp: None,
        is_daemon: false,
        exporter: None,
        audio: Arc::new(AudioHealth::new(context.clock.clone())),
        clock: context.clock.clone(),
        configuration,
    };
    Ok(examiner.examine(offline).await)
}

/// Chooses the exit code. Faults of the configuration come first, then services that are down, then
/// the sandbox.
pub(crate) fn checkup_exit(checkup: &Checkup) -> Exit {
    let bad = |checks: &[Check], is_meant: fn(&str) -> bool| {
        checks.iter().any(|check| check.state == CheckState::Bad && is_meant(&check.name))
    };
    let Checkup { avocet, providers, channels, walls } = checkup;
    if bad(avocet, |name| CONFIGURATION.contains(&name)) {
        Exit::Configuration
    } else if bad(avocet, |_| true) || bad(providers, |_| true) || bad(channels, |_| true) {
        Exit::Down
    } else if bad(walls, |name| ["namespaces", "Landlock"].contains(&name)) {
        Exit::NoSandbox
    } else {
        Exit::Done
    }
}

/// Formats one line for each check, with a sign.
pub(crate) fn checkup_text(checkup: &Checkup) -> String {
    let mut text = String::new();
    for (title, checks) in checkup.sections().filter(|(_, checks)| !checks.is_empty()) {
        text.push_str(&format!("{title}\n"));
        let mut table = PlainTable::default();
        for Check { name, state, says, fix } in checks {
            let sign = match state {
                CheckState::Good => "✓",
                CheckState::Fair => "!",
                CheckState::Bad => "✗",
            };
            let fix = fix.as_ref().map(|fix| format!(" -> {fix}")).unwrap_or_default();
            // The padding lets the sections of a usual checkup share their columns.
            table.row([format!("  {sign} {name:13}"), format!("{says}{fix}")]);
        }
        text.push_str(&table.to_string());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(name: &str) -> Check {
        Check::bad(name, "it is not there", "make it")
    }

    #[test]
    fn exit_ranks_configuration_before_outages_before_the_sandbox() {
        let walls = vec![bad("namespaces"), bad("Landlock"), bad("exec_shell")];
        let no_sandbox = Checkup { walls, ..Checkup::default() };
        let down = Checkup { channels: vec![bad("telegram:main")], ..no_sandbox.clone() };
        let wrong = Checkup { avocet: vec![bad("directories")], ..down.clone() };
        let disk = Checkup { avocet: vec![bad("data")], ..Checkup::default() };
        let fair = Checkup {
            avocet: vec![Check::fair("daemon", "none", "avocet run")],
            walls: vec![Check::fair("namespaces", "none", "see above"), bad("system calls")],
            ..Checkup::default()
        };
        let table = [
            (no_sandbox, Exit::NoSandbox),
            (down, Exit::Down),
            (wrong, Exit::Configuration),
            (disk, Exit::Down),
            (fair, Exit::Done),
        ];
        for (checkup, expected) in table {
            assert_eq!(checkup_exit(&checkup), expected, "{checkup:?}");
        }
    }

    #[test]
    fn unreachable_daemon_is_restarted_only_if_it_does_not_answer() {
        let fix = |exit| unreachable_check(&Failure::new(exit, "cannot connect")).fix.unwrap();
        assert_eq!(fix(Exit::TryLater), SEE_LOG);
        assert_eq!(fix(Exit::NoDaemon), SEE_LOG);
        assert!(!fix(Exit::Failed).contains("restart"));
    }

    #[test]
    fn text_has_one_line_for_each_check() {
        let checkup = Checkup {
            avocet: vec![Check::good("configuration", "none")],
            providers: vec![Check::bad("local/x", "says \u{1b}[2J\nmore", "avocet ask me hello")],
            ..Checkup::default()
        };
        assert_eq!(
            checkup_text(&checkup),
            "avocet\n  ✓ configuration  none\nproviders\n  ✗ local/x        says [2J more -> \
                avocet ask me \
             hello\n"
        );
    }
}
