//! Checks everything that a daemon needs. A running daemon checks itself; otherwise the command
//! does.

pub(crate) mod layers;
pub(crate) mod providers;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use avocet_llm::AudioHealth;
use avocet_mcp::McpClient;
use avocet_outbox::ChannelRegistry;
use avocet_protocol::channel::{ChannelWebhook, Health};
use avocet_protocol::clock::{Clock, within};
use avocet_protocol::daemon::{Check, Checkup, LastExchanges, TelemetryStatus};
use avocet_protocol::memory::{MemoryMirror, MirrorReport};
use avocet_supervise::run_blocking;
use avocet_text::plain_io;
use futures_util::future::join_all;

use crate::components::models::Models;
use crate::components::telemetry::TelemetryExporter;
use crate::components::{mcp, roots};
use crate::configuration::Configuration;
use crate::disk;
use crate::environment::read_variable;
use crate::exit::Failure;
use crate::output::{format_age, last_failure};
use crate::registry;

/// The timeout for checking the disk, or one server.
const LIMIT: Duration = Duration::from_secs(8);
/// With less space the log may fill the disk within a day.
const LOW: u64 = 256 * 1024 * 1024;
/// From this size in bytes, old content should be removed.
const LARGE: u64 = 1_000_000_000;

/// The subjects of a checkup.
#[derive(Debug, Clone)]
pub(crate) struct Examiner {
    pub(crate) configuration: Configuration,
    pub(crate) channels: Arc<ChannelRegistry>,
    pub(crate) webhooks: Vec<ChannelWebhook>,
    pub(crate) models: Arc<Models>,
    /// Constant while a process runs.
    pub(crate) walls: Vec<Check>,
    /// `None` without a daemon, or without files.
    pub(crate) mirror: Option<Arc<dyn MemoryMirror>>,
    /// `None` without a daemon.
    pub(crate) mcp: Option<Arc<McpClient>>,
    /// `true` if this process is the daemon, which knows the results of its exchanges.
    pub(crate) is_daemon: bool,
    /// `None` without a daemon, or if no traces are exported.
    pub(crate) exporter: Option<Arc<TelemetryExporter>>,
    pub(crate) audio: Arc<AudioHealth>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Examiner {
    /// Checks everything in parallel. With `offline`, skips all requests to servers.
    pub(crate) async fn examine(&self, offline: bool) -> Checkup {
        let (data, providers, channels) = tokio::join!(
            self.check_data(),
            providers::check_providers(self, offline),
            self.of_channels(offline)
        );
        let mut avocet = data;
        avocet.extend(self.check_directories());
        avocet.extend(check_linger());
        avocet.extend(self.memory_files().await);
        avocet.extend(self.check_telemetry());
        avocet.extend(mcp::check_servers(&self.configuration, self.mcp.as_deref()));
        Checkup { avocet, providers, channels, walls: self.walls.clone() }
    }

    /// Checks that a write reaches the disk, and the space that is left.
    async fn check_data(&self) -> Vec<Check> {
        let directory = self.configuration.data_dir.clone();
        let tried = run_blocking(move || disk::try_write(&directory));
        let tried = within(self.clock.as_ref(), LIMIT, tried).await;
        let data_dir = &self.configuration.data_dir;
        let data = data_dir.display();
        let fix = "give it to the daemon's user, free some space, or set data_dir";
        let written = match tried {
            Ok(Ok(Ok(true))) => Check::good("data", format!("{data} can be written to")),
            Ok(Ok(Ok(false))) => Check::good("data", format!("{data} is made at the first start")),
            Ok(Ok(Err(error))) if error.kind() == ErrorKind::ReadOnlyFilesystem => {
                let fix =
                    "make it writable; the system may have done this after an error of the disk";
                Check::bad("data", format!("the disk that holds {data} is read-only"), fix)
            }
            Ok(Ok(Err(error))) => Check::bad("data", format!("{data}: {}", plain_io(&error)), fix),
            Ok(Err(panicked)) => Check::bad("data", panicked.to_string(), fix),
            Err(_) => Check::bad(
                "data",
                format!("{data}: a write did not reach the disk within {} s", LIMIT.as_secs()),
                "check the disk",
            ),
        };
        let retention = &self.configuration.settings.retention;
        let size = check_size(avocet_store::file_bytes(data_dir), retention.is_on());
        [written].into_iter().chain(check_space(data_dir)).chain(size).collect()
    }

    fn check_directories(&self) -> Option<Check> {
        let Configuration { document, roots, .. } = &self.configuration;
        if roots.is_empty() {
            return None;
        }
        Some(match roots::check_roots(document, roots, &self.configuration.other_paths()) {
            Ok(places) => {
                Check::good("directories", format!("{} beside the workspaces", places.len()))
            }
            Err(Failure { error, .. }) => {
                Check::bad("directories", format!("{error:#}"), "correct [tools] read and write")
            }
        })
    }

    /// Reports files of the memory that a person has to correct; `None` if there are none.
    async fn memory_files(&self) -> Option<Check> {
        let report = self.mirror.as_ref()?.sync_all().await.ok()?;
        let problems = mirror_problems(&report);
        let fix = "correct the files; their edits are taken in before the next answer";
        (!problems.is_empty()).then(|| Check::fair("memory files", problems.join("; "), fix))
    }

    /// Reports the exporter of traces; `None` if it is off.
    fn check_telemetry(&self) -> Option<Check> {
        let TelemetryStatus { exchanges, behind } = self.exporter.as_ref()?.export_status();
        let now = self.clock.now();
        let success = match exchanges.success {
            Some(at) => format!("last export {}", format_age(at, now)),
            None => "no export since the start".to_owned(),
        };
        let failure = last_failure(&exchanges, now);
        let says = format!("{success}{failure}; {behind} events behind");
        let fix = "check `endpoint` and `headers` in [telemetry], and the collector; the event log \
            keeps the traces meanwhile";
        Some(match exchanges.failures_in_a_row() {
            0 => Check::good("telemetry", says),
            _ => Check::fair("telemetry", says, fix),
        })
    }

    async fn of_channels(&self, offline: bool) -> Vec<Check> {
        let probes = self.channels.all_channels().into_iter().map(async |channel| {
            let (name, account) = (channel.name(), channel.account());
            let table = format!("channels.{name}");
            let unresolved = [format!("{table}.token"), format!("{table}.{account}.token")];
            let label = format!("{name}:{account}");
            let mut found = match unresolved.iter().find_map(|key| self.unresolved(&label, key)) {
                Some(check) => vec![check],
                None if offline => Vec::new(),
                None => channel.probe().await,
            };
            let is_down = channel.health() != Health::Up;
            found.extend(self.history(&label, is_down, &channel.exchanges()));
            found
        });
        let mut found = join_all(probes).await.concat();
        found.extend(self.hosts());
        found
    }

    /// Reports the endpoints of channels whose public host is refused by the HTTP interface.
    fn hosts(&self) -> Vec<Check> {
        let Configuration { document, settings, .. } = &self.configuration;
        let Ok(Some(plan)) = registry::http_plan(document, settings) else { return Vec::new() };
        let check = |webhook: &ChannelWebhook| {
            let ChannelWebhook { channel, account, endpoint } = webhook;
            let host = endpoint.public_host();
            let check = Check::fair(
                format!("{channel}:{account}"),
                format!("[http] hosts lacks {host}, so requests for this host are refused"),
                format!(
                    "hosts = [\"{host}\"] in [http], unless the server with TLS in front sends \
                     another Host"
                ),
            );
            (!plan.serves_host(&host)).then_some(check)
        };
        self.webhooks.iter().filter_map(check).collect()
    }

    /// Reports the daemon's last exchanges with a service; `None` before the first.
    fn history(&self, name: &str, is_down: bool, last: &LastExchanges) -> Option<Check> {
        if !self.is_daemon || *last == LastExchanges::default() {
            return None;
        }
        let now = self.clock.now();
        let success = match last.success {
            Some(at) => format!("last success {}", format_age(at, now)),
            None => "no success since the start".to_owned(),
        };
        let says = format!("{success}{}", last_failure(last, now));
        Some(if is_down {
            Check::bad(name, says, "see `avocet status`, and the log of the daemon")
        } else {
            Check::good(name, says)
        })
    }

    /// Reports a service that cannot be asked, because a secret has no value in this environment.
    fn unresolved(&self, name: &str, key: &str) -> Option<Check> {
        let all = self.configuration.document.unresolved_values();
        let one = all.iter().find(|one| one.key == key)?;
        Some(Check::fair(
            name,
            format!("not asked: {}", one.error.message),
            "run `avocet doctor` while the daemon runs, or in a shell that has the value",
        ))
    }
}

/// Describes the faults of the memory's files that a person has to correct.
pub(crate) fn mirror_problems(report: &MirrorReport) -> Vec<String> {
    let MirrorReport { conflicts, problems, .. } = report;
    let conflicts = conflicts.iter().map(|memory| {
        format!("{memory} is your version of a memory that was changed meanwhile; keep one of both")
    });
    problems.iter().cloned().chain(conflicts).collect()
}

fn check_space(data_dir: &Path) -> Option<Check> {
    let free = disk::free_bytes(data_dir)?;
    let says = format!("{} free", disk::format_bytes(free));
    Some(match free {
        0..LOW => Check::fair("space", says, "free some space"),
        _ => Check::good("space", says),
    })
}

/// Recommends to remove old content from a large log; `None` if it is small.
fn check_size(bytes: u64, has_retention: bool) -> Option<Check> {
    let says = format!("the log has {}", disk::format_bytes(bytes));
    match (bytes, has_retention) {
        (0..LARGE, _) => None,
        (_, true) => Some(Check::good("log", says)),
        (_, false) => {
            let fix = "set [retention], then stop the daemon and run `avocet db vacuum`";
            Some(Check::fair("log", says, fix))
        }
    }
}

/// Checks that a daemon under the user's own systemd outlives the user's last session.
fn check_linger() -> Option<Check> {
    let cgroup = fs::read_to_string("/proc/self/cgroup").ok()?;
    linger_of(&cgroup, &read_variable("USER")?, Path::new("/var/lib/systemd/linger"))
}

/// `None` for a process that is no service of a user. `lingering` has a file for each user whose
/// services outlive the sessions.
fn linger_of(cgroup: &str, user: &str, lingering: &Path) -> Option<Check> {
    let is_service = cgroup.contains("/user@") && cgroup.contains("avocet");
    is_service.then(|| {
        if lingering.join(user).exists() {
            Check::good("linger", format!("the services of {user} run without a session"))
        } else {
            Check::fair(
                "linger",
                format!("the services of {user} end with the last session"),
                format!("loginctl enable-linger {user}"),
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn f36_linger_check_names_the_command_for_a_service_of_a_user() {
        const SERVICE: &str =
            "0::/user.slice/user-7.slice/user@7.service/app.slice/avocet.service\n";
        let lingering = TempDir::new().unwrap();
        let check = |cgroup: &str| linger_of(cgroup, "ada", lingering.path());
        let fix = Some("loginctl enable-linger ada".to_owned());
        assert_eq!(check(SERVICE).unwrap().fix, fix);
        assert_eq!(check("0::/system.slice/avocet.service\n"), None);
        fs::write(lingering.path().join("ada"), "").unwrap();
        assert_eq!(check(SERVICE).unwrap().fix, None);
    }
}
