//! `avocet service`: the daemon as a service of systemd, for one user or for the system.

mod manager;
mod unit;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use avocet_text::PlainTable;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::{print_result, print_text, print_warning};
use manager::{ServiceManager, does_linger};
use unit::{FoundUnit, UNIT, UnitFile};

#[derive(Debug, Subcommand)]
pub(crate) enum ServiceCommand {
    /// Write the unit of the service, and enable and start it. The unit starts this program with the
    /// configuration that this command reads. A unit that you have changed is kept.
    Install(ServiceInstall),
    /// Show the log of the service.
    Logs(ServiceLogs),
    /// Show the state of the service. Exits with 69 if it does not run.
    Status(ServiceStatus),
    /// Stop and disable the service, and remove its unit. Data and configuration stay.
    Uninstall(ServiceUninstall),
}

#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ScopeArgs {
    /// The service of the system, with an account of its own. Changes need root.
    #[arg(long)]
    pub(crate) system: bool,
}

#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ServiceInstall {
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    /// Print the unit and the commands without any change.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write and enable the unit without starting the service.
    #[arg(long)]
    pub(crate) no_start: bool,
    /// Replace a unit that was changed; the changed one is kept as avocet.service.before.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServiceLogs {
    #[command(flatten)]
    scope: ScopeArgs,
    /// Wait for new lines until Ctrl-C.
    #[arg(long, short)]
    follow: bool,
    /// Number of the last lines.
    #[arg(long, short = 'n', default_value_t = 50, value_name = "COUNT")]
    lines: u32,
}

#[derive(Debug, Args)]
pub(crate) struct ServiceStatus {
    #[command(flatten)]
    scope: ScopeArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServiceUninstall {
    #[command(flatten)]
    scope: ScopeArgs,
    /// Print the commands without any change.
    #[arg(long)]
    dry_run: bool,
    /// Remove the unit although it was changed.
    #[arg(long)]
    force: bool,
}

/// The manager that runs a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceScope {
    User,
    System,
}

impl From<ScopeArgs> for ServiceScope {
    fn from(ScopeArgs { system }: ScopeArgs) -> Self {
        if system { Self::System } else { Self::User }
    }
}

impl ServiceScope {
    /// Returns the words of a command about this service.
    fn command(self, name: &str) -> String {
        match self {
            Self::User => format!("avocet service {name}"),
            Self::System => format!("avocet service {name} --system"),
        }
    }
}

pub(crate) fn run(context: &CommandContext, command: &ServiceCommand) -> Result<Exit, Failure> {
    match command {
        ServiceCommand::Install(args) => install_service(context, *args),
        ServiceCommand::Logs(ServiceLogs { scope, follow, lines }) => {
            ServiceManager { scope: (*scope).into() }.print_log(*lines, *follow)
        }
        ServiceCommand::Status(ServiceStatus { scope, json }) => {
            show_status((*scope).into(), *json)
        }
        ServiceCommand::Uninstall(args) => uninstall_service(args),
    }
}

/// Installs and starts the service.
pub(crate) fn install_service(
    context: &CommandContext,
    args: ServiceInstall,
) -> Result<Exit, Failure> {
    let scope = ServiceScope::from(args.scope);
    let manager = ServiceManager { scope };
    let unit = UnitFile::new(context, scope)?;
    let enable = if args.no_start { "enable" } else { "enable --now" };
    let commands = ["daemon-reload".to_owned(), format!("{enable} {UNIT}")];
    if args.dry_run {
        let runs = commands.map(|command| format!("{}\n", manager.command_line(&command))).concat();
        let path = unit.path.display();
        print_text(&format!(
            "This would write {path}:\n\n{}\nThis would run:\n\n{runs}",
            unit.text
        ))?;
        return Ok(Exit::Done);
    }
    check_rights(scope)?;
    check_packaged(scope)?;
    manager.check()?;
    let found = unit.found()?;
    write(&unit, found, args.force)?;
    for command in commands {
        manager.systemctl(&command.split(' ').collect::<Vec<_>>())?;
    }
    print_text(&installed_text(manager, found, args.no_start))?;
    warn_of_user_service(scope);
    Ok(Exit::Done)
}

/// Writes the unit, and says so.
fn write(unit: &UnitFile, found: FoundUnit, force: bool) -> Result<(), Failure> {
    let path = unit.path.display();
    match found {
        FoundUnit::Same => return print_text(&format!("{path} is up to date\n")),
        FoundUnit::Changed if !force => {
            let message = format!(
                "{path} was changed, so it stays as it is; put your settings into a drop-in \
                 (`systemctl edit`) and give --force to replace the file"
            );
            return Err(Failure::new(Exit::Failed, message));
        }
        FoundUnit::Missing | FoundUnit::Outdated | FoundUnit::Changed => {}
    }
    match unit.write(found)? {
        Some(kept) => {
            print_text(&format!("kept the changed unit as {}\nwrote {path}\n", kept.display()))
        }
        None => print_text(&format!("wrote {path}\n")),
    }
}

fn installed_text(manager: ServiceManager, found: FoundUnit, no_start: bool) -> String {
    let scope = manager.scope;
    let mut text = String::from(if no_start {
        "The service is enabled and starts with the next boot or login.\n"
    } else {
        "The service is enabled and runs.\n"
    });
    let mut commands = vec![scope.command("status"), scope.command("logs --follow")];
    if no_start {
        commands.insert(0, manager.command_line(&format!("start {UNIT}")));
    } else if matches!(found, FoundUnit::Outdated | FoundUnit::Changed) {
        text.push_str("A daemon that was running keeps its settings until it is restarted.\n");
        commands.insert(0, manager.command_line(&format!("restart {UNIT}")));
    }
    text.push_str("Next commands:\n");
    text.extend(commands.iter().map(|command| format!("  {command}\n")));
    text
}

/// Warns if the service of a user ends with the login, or runs as root.
fn warn_of_user_service(scope: ServiceScope) {
    if scope == ServiceScope::System {
        return;
    }
    if rustix::process::getuid().is_root() {
        print_warning(
            "this is a service of root, with all its rights; `avocet service install --system` \
             makes one with an account of its own",
        );
    }
    if !does_linger() {
        print_warning(
            "the service ends when you log out, and does not start at boot; run `loginctl \
             enable-linger` to keep it running",
        );
    }
}

fn uninstall_service(args: &ServiceUninstall) -> Result<Exit, Failure> {
    let scope = ServiceScope::from(args.scope);
    let manager = ServiceManager { scope };
    let path = unit::unit_path(scope)?;
    let found = unit::inspect_unit(&path, "")?;
    let shown = path.display();
    if args.dry_run {
        let [disable, reload] = [&format!("disable --now {UNIT}"), "daemon-reload"]
            .map(|command| manager.command_line(command));
        print_text(&format!("This would run `{disable}`, remove {shown}, and run `{reload}`.\n"))?;
        return Ok(Exit::Done);
    }
    if found == FoundUnit::Missing {
        return Err(Failure::new(Exit::Failed, not_installed(scope, &path)));
    }
    check_rights(scope)?;
    if found == FoundUnit::Changed && !args.force {
        let message =
            format!("{shown} was changed, so it is not removed; give --force to remove it");
        return Err(Failure::new(Exit::Failed, message));
    }
    let reached = manager.check();
    if reached.is_ok() {
        manager.systemctl(&["disable", "--now", UNIT])?;
    }
    fs::remove_file(&path).map_err(|error| unit::cannot_write(&path, &error))?;
    let done = match reached {
        Ok(()) => {
            manager.systemctl(&["daemon-reload"])?;
            "stopped the service and removed"
        }
        Err(Failure { error, .. }) => {
            unit::remove_links(&path)?;
            print_warning(&format!("the service was not stopped: {error:#}"));
            "removed"
        }
    };
    print_text(&format!(
        "{done} {shown}\nThe data and the configuration stay; `avocet config check` names their \
         places.\n"
    ))?;
    Ok(Exit::Done)
}

/// Explains that there is no unit, and names the service of the other scope if there is one.
fn not_installed(scope: ServiceScope, path: &Path) -> String {
    let other = match scope {
        ServiceScope::User => ServiceScope::System,
        ServiceScope::System => ServiceScope::User,
    };
    let hint = match unit::packaged_unit() {
        Some(packaged) if scope == ServiceScope::System => {
            format!("{} belongs to a package, so remove that package", packaged.display())
        }
        _ if unit::unit_path(other).is_ok_and(|path| path.exists()) => match other {
            ServiceScope::System => "the service of the system needs --system".to_owned(),
            ServiceScope::User => "the service of this user needs no --system".to_owned(),
        },
        _ => format!("`{}` writes it", scope.command("install")),
    };
    format!("there is no {}; {hint}", path.display())
}

fn show_status(scope: ServiceScope, json: bool) -> Result<Exit, Failure> {
    let properties = ServiceManager { scope }.properties()?;
    let value = |name: &str| properties.get(name).map_or("", String::as_str);
    if value("FragmentPath").is_empty() {
        return Err(Failure::new(Exit::NoDaemon, not_installed(scope, &unit::unit_path(scope)?)));
    }
    let lingers = (scope == ServiceScope::User).then(does_linger);
    let report = json!({
        "unit": value("FragmentPath"),
        "enabled": value("UnitFileState") == "enabled",
        "state": value("ActiveState"),
        "pid": value("MainPID").parse::<u32>().ok().filter(|pid| *pid > 0),
        "status": value("StatusText"),
        "restarts": value("NRestarts").parse::<u32>().ok(),
        "lingers": lingers,
    });
    print_result(json, &report, || status_rows(&properties, lingers))?;
    // While systemd starts or stops it, the daemon is a process, too.
    Ok(if value("ActiveState") == "active" { Exit::Done } else { Exit::NoDaemon })
}

fn status_rows(properties: &BTreeMap<String, String>, lingers: Option<bool>) -> String {
    let value = |name: &str| properties.get(name).cloned().unwrap_or_default();
    let process = match value("MainPID").as_str() {
        "" | "0" => String::new(),
        pid => format!(", process {pid}"),
    };
    let state = format!("{} ({}){process}", value("ActiveState"), value("SubState"));
    let lingers = lingers.map(|lingers| {
        if lingers {
            "the service runs without a login".to_owned()
        } else {
            "the service ends when you log out; run `loginctl enable-linger`".to_owned()
        }
    });
    let all = [
        ("unit", value("FragmentPath")),
        ("at boot", value("UnitFileState")),
        ("state", state),
        ("status", value("StatusText")),
        ("restarts", value("NRestarts")),
        ("logout", lingers.unwrap_or_default()),
    ];
    let known = all.into_iter().filter(|(_, value)| !value.is_empty());
    known.map(|(name, value)| [name.to_owned(), value]).collect::<PlainTable>().to_string()
}

/// Refuses a change of the system's services without root.
fn check_rights(scope: ServiceScope) -> Result<(), Failure> {
    if scope == ServiceScope::User || rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let message =
        "the service of the system can only be changed by root; run this command with sudo";
    Err(Failure::new(Exit::Failed, message))
}

/// Refuses to hide the unit of a package behind one in `/etc`.
fn check_packaged(scope: ServiceScope) -> Result<(), Failure> {
    let Some(path) = unit::packaged_unit().filter(|_| scope == ServiceScope::System) else {
        return Ok(());
    };
    let message = format!(
        "{} belongs to a package; run `systemctl enable --now avocet` to start its service",
        path.display()
    );
    Err(Failure::new(Exit::Failed, message))
}
