//! `avocet update`: names the way to update the program, by how it was installed. It asks no server.

use std::fs;
use std::path::{Path, PathBuf};

use avocet_gateway::ShowStatus;
use avocet_protocol::daemon::DaemonStatus;
use clap::Args;
use serde::Serialize;

use crate::configuration::{Configuration, ConfigurationUse};
use crate::connection::connect_daemon;
use crate::context::CommandContext;
use crate::environment::{home_directory, read_variable};
use crate::exit::{Exit, Failure};
use crate::output::print_result;

/// The list of files of the Debian package.
const PACKAGE_FILES: &str = "/var/lib/dpkg/info/avocet.list";
/// Files that exist only in containers.
const CONTAINER_FILES: [&str; 2] = ["/.dockerenv", "/run/.containerenv"];
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Show the versions and the way to update. This is the default, since the program never
    /// replaces itself.
    #[arg(long)]
    check: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The way in which the program came to this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Installation {
    Container,
    Debian,
    Cargo,
    /// Built in its source directory.
    Source,
    /// Copied to its place.
    Copied,
}

/// The facts that tell the ways apart.
#[derive(Debug, Default)]
struct InstallFacts {
    program: PathBuf,
    is_container: bool,
    /// The paths of the Debian package, one a line; empty without it.
    package_files: String,
    /// The directories into which cargo installs.
    cargo_bins: Vec<PathBuf>,
}

/// The versions and the way to update.
#[derive(Debug, Serialize)]
struct UpdateReport {
    version: &'static str,
    /// `None` if no daemon runs.
    daemon: Option<String>,
    program: PathBuf,
    installation: Installation,
    /// Commands and other steps, in order.
    steps: Vec<String>,
}

pub(crate) async fn run(context: &CommandContext, args: UpdateArgs) -> Result<Exit, Failure> {
    let facts = InstallFacts::of_this_program()?;
    let installation = facts.installation();
    let UpdateArgs { json, check: _ } = args;
    let report = UpdateReport {
        version: VERSION,
        daemon: daemon_version(context).await,
        steps: installation.steps_for(&facts.program),
        program: facts.program,
        installation,
    };
    print_result(json, &report, || report.text())
}

/// Asks the running daemon for its version. `None` without a daemon, or if it cannot be reached.
async fn daemon_version(context: &CommandContext) -> Option<String> {
    let configuration = Configuration::load(context, ConfigurationUse::Daemon).ok()?;
    let client = connect_daemon(context, &configuration).await.ok()??;
    let status: DaemonStatus = client.call::<ShowStatus>(&ShowStatus::default()).await.ok()?;
    Some(status.version)
}

impl InstallFacts {
    fn of_this_program() -> Result<Self, Failure> {
        let cargo_home = read_variable("CARGO_HOME").map(PathBuf::from);
        let roots = [
            read_variable("CARGO_INSTALL_ROOT").map(PathBuf::from),
            cargo_home.or_else(|| home_directory().map(|home| home.join(".cargo"))),
        ];
        Ok(Self {
            program: std::env::current_exe()?,
            is_container: CONTAINER_FILES.iter().any(|file| Path::new(file).exists()),
            package_files: fs::read_to_string(PACKAGE_FILES).unwrap_or_default(),
            cargo_bins: roots.into_iter().flatten().map(|root| root.join("bin")).collect(),
        })
    }

    fn installation(&self) -> Installation {
        let Self { program, is_container, package_files, cargo_bins } = self;
        let directory = program.parent();
        let is_build =
            |path: &&Path| path.ends_with("target/debug") || path.ends_with("target/release");
        if package_files.lines().any(|line| Path::new(line) == program) {
            Installation::Debian
        } else if cargo_bins.iter().any(|bin| Some(bin.as_path()) == directory) {
            Installation::Cargo
        } else if directory.filter(is_build).is_some() {
            Installation::Source
        } else if *is_container {
            Installation::Container
        } else {
            Installation::Copied
        }
    }
}

impl Installation {
    fn description(self) -> &'static str {
        match self {
            Self::Container => "it is part of a container image",
            Self::Debian => "it was installed by the Debian package",
            Self::Cargo => "it was installed by cargo",
            Self::Source => "it was built in its source directory",
            Self::Copied => "it was copied to its place",
        }
    }

    fn steps_for(self, program: &Path) -> Vec<String> {
        let steps: &[&str] = match self {
            Self::Container => &["build or pull the new image", "start the container from it"],
            Self::Debian => &["sudo apt install ./avocet_VERSION_ARCHITECTURE.deb"],
            Self::Cargo => &["cargo install --locked --path crates/avocet"],
            Self::Source => &["git pull", "cargo build --release"],
            Self::Copied => {
                &["cargo build --release", "sudo install -m 755 target/release/avocet PROGRAM"]
            }
        };
        let program = program.display().to_string();
        steps.iter().map(|step| step.replace("PROGRAM", &program)).collect()
    }
}

impl UpdateReport {
    fn text(&self) -> String {
        let Self { version, daemon, program, installation, steps } = self;
        let daemon = match daemon {
            None => "no daemon runs".to_owned(),
            Some(daemon) if daemon == version => {
                "the running daemon has the same version".to_owned()
            }
            Some(daemon) => {
                format!("the running daemon is {daemon}; restart it to use this program")
            }
        };
        let program = program.display();
        let steps: String = steps.iter().map(|step| format!("  {step}\n")).collect();
        format!(
            "This program is avocet {version}; {daemon}.\n\
             {program}: {}.\n\
             Versions and their changes are in CHANGELOG.md of the source; nothing was asked of a \
             server.\n\
             To update, first copy the log (avocet backup before-upgrade.db), then:\n{steps}\
             Then restart the daemon.\n",
            installation.description()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installation_follows_from_the_path_of_the_program() {
        let facts = |program: &str, is_container| InstallFacts {
            program: program.into(),
            is_container,
            package_files: "/.\n/usr/bin/avocet\n".to_owned(),
            cargo_bins: vec!["/home/ada/.cargo/bin".into()],
        };
        let table = [
            ("/usr/bin/avocet", false, Installation::Debian),
            ("/usr/bin/avocet", true, Installation::Debian),
            ("/home/ada/.cargo/bin/avocet", false, Installation::Cargo),
            ("/src/avocet/target/release/avocet", false, Installation::Source),
            ("/usr/local/bin/avocet", true, Installation::Container),
            ("/usr/local/bin/avocet", false, Installation::Copied),
        ];
        for (program, is_container, expected) in table {
            assert_eq!(facts(program, is_container).installation(), expected, "{program}");
        }
    }

    #[test]
    fn update_report_names_versions_and_steps() {
        let report = |daemon: Option<&str>, installation: Installation| UpdateReport {
            version: "1.2.3",
            daemon: daemon.map(str::to_owned),
            program: "/usr/local/bin/avocet".into(),
            installation,
            steps: installation.steps_for(Path::new("/usr/local/bin/avocet")),
        };
        insta::assert_snapshot!(report(Some("1.2.2"), Installation::Copied).text());
        insta::assert_snapshot!(report(None, Installation::Debian).text());
    }
}
