//! The programs of systemd: `systemctl`, `loginctl` and `journalctl`.

use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};

use super::ServiceScope;
use super::unit::UNIT;
use crate::environment::read_variable;
use crate::exit::{Exit, Failure};

/// The properties that `avocet service status` reads.
const PROPERTIES: [&str; 7] = [
    "ActiveState",
    "FragmentPath",
    "MainPID",
    "NRestarts",
    "StatusText",
    "SubState",
    "UnitFileState",
];

/// The manager of a scope's services.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServiceManager {
    pub(super) scope: ServiceScope,
}

impl ServiceManager {
    /// Returns the command line of `systemctl` with these arguments, as a person would type it.
    pub(super) fn command_line(self, arguments: &str) -> String {
        match self.scope {
            ServiceScope::User => format!("systemctl --user {arguments}"),
            ServiceScope::System => format!("systemctl {arguments}"),
        }
    }

    /// Runs `systemctl`. Returns its output.
    ///
    /// # Errors
    /// [`Failure`] with the reason that `systemctl` prints.
    pub(super) fn systemctl(self, arguments: &[&str]) -> Result<String, Failure> {
        self.answer(arguments)?.map_err(|reason| {
            let message = format!("`{}` failed: {reason}", self.command_line(&arguments.join(" ")));
            Failure::new(Exit::Failed, message)
        })
    }

    /// Runs `systemctl`. Returns its output, or the reason that it prints for its failure.
    fn answer(self, arguments: &[&str]) -> Result<Result<String, String>, Failure> {
        let of_user = (self.scope == ServiceScope::User).then_some("--user");
        let all: Vec<&str> = of_user.into_iter().chain(arguments.iter().copied()).collect();
        let Output { status, stdout, stderr } = run_program("systemctl", &all)?;
        if status.success() {
            return Ok(Ok(String::from_utf8_lossy(&stdout).into_owned()));
        }
        let reason = String::from_utf8_lossy(&stderr);
        let reason = reason.lines().map(str::trim).filter(|line| !line.is_empty());
        Ok(Err(reason.collect::<Vec<_>>().join(" ")))
    }

    /// Checks that systemd runs services of this scope here. After `su`, and in containers, it often
    /// does not.
    ///
    /// # Errors
    /// [`Failure`] with the ways to a service.
    pub(super) fn check(self) -> Result<(), Failure> {
        self.answer(&["show", "--property=Version"])?
            .map(drop)
            .map_err(|reason| self.unreachable_failure(&reason))
    }

    fn unreachable_failure(self, reason: &str) -> Failure {
        let message = match self.scope {
            ServiceScope::User => {
                let user = read_variable("USER").or_else(|| read_variable("LOGNAME"));
                let user = user.unwrap_or_else(|| match rustix::process::getuid().as_raw() {
                    0 => "root".to_owned(),
                    number => number.to_string(),
                });
                format!(
                    "systemd runs no user services for {user} here: {reason}; log in with ssh \
                     instead of su, run `loginctl enable-linger {user}`, or use `sudo avocet service \
                     install --system`"
                )
            }
            ServiceScope::System => format!(
                "systemd runs no services here: {reason}; start the daemon with `avocet run`"
            ),
        };
        Failure::new(Exit::NoDaemon, message)
    }

    /// Returns the properties of the unit. An unknown unit has properties, too.
    pub(super) fn properties(self) -> Result<BTreeMap<String, String>, Failure> {
        let list = format!("--property={}", PROPERTIES.join(","));
        let shown = self.answer(&["show", &list, UNIT])?;
        let shown = shown.map_err(|reason| self.unreachable_failure(&reason))?;
        let pairs = shown.lines().filter_map(|line| line.split_once('='));
        Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Prints the log of the service until its end; with `follow`, until it is interrupted.
    pub(super) fn print_log(self, lines: u32, follow: bool) -> Result<Exit, Failure> {
        let unit = match self.scope {
            ServiceScope::User => format!("--user-unit={UNIT}"),
            ServiceScope::System => format!("--unit={UNIT}"),
        };
        if let Err(unreachable) = self.check() {
            // The journal may have lines from a time when systemd could be reached.
            let last = run_program("journalctl", &["--quiet", "--no-pager", "--lines=1", &unit])?;
            if last.stdout.is_empty() {
                return Err(unreachable);
            }
        }
        let mut command = Command::new("journalctl");
        command.args(["--no-pager", &format!("--lines={lines}"), &unit]);
        command.args(follow.then_some("--follow")).stdin(Stdio::null());
        let status = command.status().map_err(|error| cannot_run("journalctl", &error))?;
        Ok(if status.success() { Exit::Done } else { Exit::Failed })
    }
}

/// Returns `true` if the services of this user run without a login (loginctl(1), `enable-linger`).
pub(super) fn does_linger() -> bool {
    let user = rustix::process::getuid().as_raw().to_string();
    let shown = run_program("loginctl", &["show-user", "--property=Linger", "--value", &user]);
    shown.is_ok_and(|shown| shown.stdout.trim_ascii() == b"yes")
}

fn run_program(program: &str, arguments: &[&str]) -> Result<Output, Failure> {
    let ran = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    ran.map_err(|error| cannot_run(program, &error))
}

fn cannot_run(program: &str, error: &std::io::Error) -> Failure {
    let message = format!("cannot run {program}: {error}; this command needs systemd");
    Failure::new(Exit::Failed, message)
}
