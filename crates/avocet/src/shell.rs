//! The sandbox around the agent's programs. It is probed at the start, and the same for all agents.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use avocet_config::ConfigError;
use avocet_net::{Interfaces, Proxy};
use avocet_protocol::Clock;
use avocet_sandbox::{Cgroups, Isolation, NoCgroups, ProgramSandbox, SandboxLayers, SandboxLimits};
use avocet_supervise::Group;
use avocet_tools::{Background, OpenHosts, Shell};

use crate::environment::{operator_environment, program_environment};
use crate::memories::MEMORY_FILES;
use crate::places::Configuration;
use crate::registry::open_hosts;

/// Our own program, also after its file was replaced.
const OURSELVES: &str = "/proc/self/exe";

/// Runs programs, in a sandbox or, if the operator accepts it, without one.
#[derive(Debug)]
pub(crate) struct Shells {
    /// The sandbox without a workspace.
    sandbox: Option<ProgramSandbox>,
    pub(crate) layers: SandboxLayers,
    longest: Duration,
    commands: Vec<String>,
    background: Arc<Background>,
    /// The daemon's own files and directories.
    own: Vec<PathBuf>,
    /// The file of our own program, which the next start runs.
    program: Option<PathBuf>,
    /// The directories that programs of any agent may change.
    writable: Vec<PathBuf>,
    /// `true` if the operator has opened hosts.
    wants_hosts: bool,
}

impl Shells {
    /// Probes the sandbox layers of this system. Background programs belong to the group, and to
    /// this start of the daemon. Control groups limit their sum, if available.
    pub(crate) async fn probe(
        configuration: &Configuration,
        cgroups: Option<Cgroups>,
        clock: &Arc<dyn Clock>,
        start: i64,
        group: &Group,
    ) -> Result<Self, ConfigError> {
        const MEGABYTE: u64 = 1024 * 1024;
        let settings = &configuration.settings.sandbox;
        let hosts = open_hosts(&configuration.document, &configuration.settings)?;
        let wants_hosts = !hosts.is_empty();
        let proxy = || {
            let proxy = Proxy::new(hosts, Arc::new(Interfaces::default()), clock.clone());
            Arc::new(OpenHosts::through(proxy)) as Arc<dyn avocet_sandbox::Proxy>
        };
        let sandbox = ProgramSandbox {
            writable: real(&configuration.sandbox.write),
            readable: real(&configuration.sandbox.read),
            protection: configuration.sandbox.protection.clone(),
            secrets_but: Some(configuration.settings.tools.secret_files.clone()),
            environment: program_environment(),
            proxy: wants_hosts.then(proxy),
            limits: SandboxLimits {
                processes: settings.max_processes,
                memory_bytes: settings.max_memory_megabytes.saturating_mul(MEGABYTE),
                disk_bytes: settings.max_disk_megabytes.saturating_mul(MEGABYTE),
                cpu_seconds: settings.timeout_seconds,
                ..SandboxLimits::default()
            },
            cgroups: cgroups.map(Arc::new),
            ..ProgramSandbox::new(OURSELVES, Isolation::Namespaces, clock.clone())
        };
        let layers = SandboxLayers::probe(&sandbox).await;
        let config = configuration.document.path().map(Path::to_owned).into_iter();
        let Configuration { data_dir, socket, head_file, .. } = configuration;
        let places = [data_dir, socket, head_file].map(PathBuf::clone);
        let memory = data_dir.join(MEMORY_FILES);
        let own: Vec<PathBuf> = config.chain(places).chain([memory]).collect();
        let workspaces = configuration.agents.iter().map(|agent| agent.workspace.clone());
        let workspaces: Vec<PathBuf> = workspaces.collect();
        Ok(Self {
            wants_hosts,
            writable: [real(&workspaces), sandbox.writable.clone()].concat(),
            sandbox: permitted(layers.best(), sandbox, settings.allow_unsandboxed_shell),
            layers,
            longest: Duration::from_secs(settings.timeout_seconds),
            commands: settings.commands.clone(),
            background: Arc::new(Background::new(
                start,
                Duration::from_secs(settings.background_seconds),
                clock.clone(),
                group.child("programs"),
            )),
            own: [real(&own), own].concat(),
            program: std::env::current_exe().ok().and_then(|path| path.canonicalize().ok()),
        })
    }

    /// Returns a warning about the sandbox, in one sentence; `None` if all is well.
    pub(crate) fn warning(&self) -> Option<String> {
        let SandboxLayers { namespaces, landlock } = &self.layers;
        let why =
            [namespaces, landlock].map(|layer| layer.as_ref().err().map_or("", String::as_str));
        let [namespaces, landlock] = why;
        Some(match (self.layers.best(), &self.sandbox) {
            (Isolation::Namespaces, _) => return None,
            (Isolation::Landlock, _) => format!(
                "this system has no namespaces ({namespaces}): Landlock is the only sandbox layer \
                    of programs. They see the secret files of their workspace, and their changes \
                    at protected paths are set aside only after they have ended"
            ),
            (Isolation::LimitsOnly, None) => format!(
                "exec_shell is off: this system has no sandbox for programs (namespaces: \
                    {namespaces}; Landlock: {landlock})"
            ),
            (Isolation::LimitsOnly, Some(_)) => format!(
                "PROGRAMS RUN WITHOUT A SANDBOX and may do all that the daemon's user may: \
                    [sandbox] allow_unsandboxed_shell is true, and this system has no sandbox \
                    (namespaces: {namespaces}; Landlock: {landlock})"
            ),
        })
    }

    /// Returns the hosts that programs may reach.
    pub(crate) fn hosts(&self) -> Option<String> {
        self.sandbox.as_ref()?.opened().map(|proxy| proxy.hosts())
    }

    /// Returns a warning about the open hosts, in one sentence; `None` if they are reachable, or
    /// none are configured.
    pub(crate) fn warning_of_hosts(&self) -> Option<&'static str> {
        if !self.wants_hosts {
            return None;
        }
        match (self.layers.best(), &self.sandbox) {
            (Isolation::Namespaces, _) => None,
            (Isolation::Landlock, _) => Some(
                "[sandbox] hosts has no effect: it needs namespaces, which this system lacks; \
                    programs have no network",
            ),
            (Isolation::LimitsOnly, None) => {
                Some("[sandbox] hosts has no effect: exec_shell is off, and no programs run")
            }
            (Isolation::LimitsOnly, Some(_)) => Some(
                "[sandbox] hosts has no effect: without a sandbox programs reach every host that \
                    the daemon's user can",
            ),
        }
    }

    /// Returns the shell of a workspace; `None` if it would be unsafe or has no sandbox.
    pub(crate) fn of(&self, workspace: &Path) -> Option<Shell> {
        if let Some(why) = self.unsafe_for(workspace) {
            tracing::warn!(workspace = %workspace.display(), why, "exec_shell is off");
            return None;
        }
        let sandbox = self.sandbox.as_ref()?;
        let writable = [&[workspace.to_owned()], &sandbox.writable[..]].concat();
        let sandbox = Arc::new(ProgramSandbox { writable, ..sandbox.clone() });
        Some(Shell {
            longest: self.longest,
            commands: self.commands.clone(),
            background: self.background.clone(),
            outside: Arc::new(self.outside(&sandbox)),
            sandbox,
        })
    }

    /// Returns the way to run the operator's own commands: with the daemon's network and files, and
    /// with the same limits.
    fn outside(&self, sandbox: &ProgramSandbox) -> ProgramSandbox {
        ProgramSandbox {
            isolation: Isolation::LimitsOnly,
            environment: operator_environment(),
            proxy: None,
            ..sandbox.clone()
        }
    }

    /// Returns the reason why this workspace has no shell although others may have one.
    pub(crate) fn unsafe_for(&self, workspace: &Path) -> Option<String> {
        let sandbox = self.sandbox.as_ref()?;
        let writable = [&[workspace.to_owned()], &sandbox.writable[..]].concat();
        let (path, why) = self.unsafe_place(&writable, &sandbox.readable)?;
        Some(format!("{}: {why}", path.display()))
    }

    /// Finds a path that would break the sandbox. A program can move and replace everything below a
    /// directory that it may change, and mislead the next program.
    fn unsafe_place<'a>(
        &'a self,
        writable: &'a [PathBuf],
        readable: &'a [PathBuf],
    ) -> Option<(&'a Path, &'static str)> {
        let seen = || writable.iter().chain(readable);
        let own = self.own.iter().find(|path| seen().any(|root| path.starts_with(root)));
        let program =
            self.program.iter().find(|path| writable.iter().any(|root| path.starts_with(root)));
        let swapped = seen()
            .find(|path| self.writable.iter().any(|root| *path != root && path.starts_with(root)));
        let of = |path: &'a PathBuf, why| (path.as_path(), why);
        own.map(|path| of(path, "programs could read this of the daemon: choose another workspace"))
            .or_else(|| {
                program.map(|path| {
                    of(path, "programs could replace this file of the daemon: install it elsewhere")
                })
            })
            .or_else(|| {
                swapped.map(|path| {
                    of(
                        path,
                        "it is below another directory that programs may change: name the \
                        upper one only",
                    )
                })
            })
    }
}

/// Divides the control groups that systemd has delegated to the daemon among its programs. Only the
/// daemon may call this, because the process is moved into a group of its own.
///
/// # Errors
/// The reason why there are none, which is logged.
pub(crate) fn control_groups() -> Result<Cgroups, NoCgroups> {
    let divided = Cgroups::delegated().and_then(Cgroups::divide);
    divided.inspect_err(|why| match why {
        // Normal when started by hand or in a container.
        NoCgroups::Unknown | NoCgroups::NotOurs(_) => {
            tracing::debug!(%why, "programs have no control groups of their own");
        }
        NoCgroups::Weak(..) | NoCgroups::Failed(..) => {
            tracing::warn!(%why, "programs have no control groups that limit them");
        }
    })
}

/// Resolves the links in paths; missing paths stay as they are.
fn real(paths: &[PathBuf]) -> Vec<PathBuf> {
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    paths.iter().map(real).collect()
}

/// Returns the sandbox with the available layers. Without layers: only if the operator accepts it.
fn permitted(
    isolation: Isolation,
    sandbox: ProgramSandbox,
    allow_unsandboxed: bool,
) -> Option<ProgramSandbox> {
    let is_permitted = isolation != Isolation::LimitsOnly || allow_unsandboxed;
    is_permitted.then_some(ProgramSandbox { isolation, ..sandbox })
}

#[cfg(test)]
mod tests {
    use avocet_supervise::SystemClock;

    use super::*;

    fn background() -> Arc<Background> {
        let (clock, group) = (Arc::new(SystemClock::new()), Group::new("test"));
        Arc::new(Background::new(1, Duration::ZERO, clock, group))
    }

    #[test]
    fn unsafe_place_is_a_path_that_exposes_the_daemons_files() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let shells = Shells {
            sandbox: None,
            layers: SandboxLayers { namespaces: Ok(()), landlock: Ok(()) },
            longest: Duration::ZERO,
            commands: Vec::new(),
            background: background(),
            own: paths(&["/home/me/.config/avocet.toml", "/data"]),
            program: Some("/opt/me/bin/avocet".into()),
            writable: paths(&["/data/workspace", "/srv/a", "/srv/a/b", "/out"]),
            wants_hosts: false,
        };
        let table: [(&[&str], &[&str], bool); 10] = [
            (&["/data/workspace"], &[], true),
            (&["/data/workspace", "/out"], &["/home/me/.cargo"], true),
            (&["/home/me"], &[], false),
            (&["/srv/a"], &["/home"], false),
            (&["/data"], &[], false),
            (&["/srv/a"], &[], true),
            (&["/srv/a/b"], &[], false),
            (&["/srv/a"], &["/out/x"], false),
            (&["/opt/me"], &[], false),
            (&["/srv/a"], &["/opt/me/bin"], true),
        ];
        for (writable, readable, is_safe) in table {
            let (writable, readable) = (paths(writable), paths(readable));
            let found = shells.unsafe_place(&writable, &readable);
            assert_eq!(found.is_none(), is_safe, "{writable:?} {readable:?}: {found:?}");
        }
    }

    #[test]
    fn shell_without_sandbox_layers_needs_consent_and_warns() {
        let no = |why: &str| Err(why.to_owned());
        let table = [
            ((Ok(()), no("old")), false, Some(Isolation::Namespaces), None, ""),
            (
                (no("denied"), Ok(())),
                false,
                Some(Isolation::Landlock),
                Some("this system has no namespaces (denied)"),
                "[sandbox] hosts has no effect: it needs namespaces",
            ),
            (
                (no("denied"), no("old")),
                false,
                None,
                Some("exec_shell is off"),
                "[sandbox] hosts has no effect: exec_shell is off",
            ),
            (
                (no("denied"), no("old")),
                true,
                Some(Isolation::LimitsOnly),
                Some("PROGRAMS RUN WITHOUT A SANDBOX"),
                "[sandbox] hosts has no effect",
            ),
            ((Ok(()), Ok(())), true, Some(Isolation::Namespaces), None, ""),
        ];
        for ((namespaces, landlock), without, expected, warning, of_hosts) in table {
            let layers = SandboxLayers { namespaces, landlock };
            let clock = Arc::new(avocet_testkit::ManualClock::default());
            let sandbox = ProgramSandbox::new(OURSELVES, Isolation::Namespaces, clock);
            let shells = Shells {
                sandbox: permitted(layers.best(), sandbox, without),
                layers,
                longest: Duration::ZERO,
                commands: Vec::new(),
                background: background(),
                own: Vec::new(),
                program: None,
                writable: Vec::new(),
                wants_hosts: true,
            };
            let shell = shells.of(Path::new("/work"));
            assert_eq!(
                shell.map(|shell| shell.sandbox.isolation),
                expected,
                "{:?} {without}",
                shells.layers
            );
            let said = shells.warning();
            assert_eq!(said.is_some(), warning.is_some(), "{said:?}");
            assert!(said.unwrap_or_default().starts_with(warning.unwrap_or_default()));
            let hosts = shells.warning_of_hosts();
            assert_eq!(hosts.is_some(), warning.is_some(), "{hosts:?}");
            assert!(hosts.unwrap_or_default().starts_with(of_hosts), "{hosts:?}");
            assert_eq!(Shells { wants_hosts: false, ..shells }.warning_of_hosts(), None);
        }
    }
}
