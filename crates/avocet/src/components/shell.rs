//! The sandbox around the agent's programs. It is probed at the start, and the same for all agents.

mod child;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use avocet_config::ConfigError;
use avocet_net::{HostsProxy, InterfaceAddresses};
use avocet_protocol::clock::Clock;
use avocet_sandbox::{
    CgroupParent, Isolation, NoCgroups, ProgramSandbox, SandboxLayers, SandboxLimits,
};
use avocet_supervise::Group;
use avocet_tools::{BackgroundPrograms, OpenHosts, ProgramSettings};

use crate::components::pictures::PictureConverter;
use crate::components::probed::ProbeMemory;
use crate::configuration::Configuration;
use crate::configuration::MEMORY_FILES;
use crate::environment::{operator_environment, program_environment};
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
    background: Arc<BackgroundPrograms>,
    /// The daemon's own files and directories.
    own: Vec<PathBuf>,
    /// The file of our own program, which the next start runs.
    program: Option<PathBuf>,
    /// The directories that programs of any agent may change.
    writable: Vec<PathBuf>,
    /// `true` if the operator has opened hosts.
    wants_hosts: bool,
    /// The sandbox to probe again, if the layers are those of the last start.
    unconfirmed: Option<(ProgramSandbox, ProbeMemory)>,
    /// A warning once the layers turned out to be others.
    outdated: OnceLock<String>,
}

impl Shells {
    /// Probes the sandbox layers of this system, without background programs of a daemon.
    pub(crate) async fn probe(
        configuration: &Configuration,
        clock: &Arc<dyn Clock>,
        group: &Group,
    ) -> Result<Self, ConfigError> {
        let sandbox = make_sandbox(configuration, None, clock)?;
        let layers = SandboxLayers::probe_layers(&sandbox).await;
        Ok(Self::new(
            configuration,
            sandbox,
            layers,
            make_background(configuration, 0, clock, group),
        ))
    }

    /// Uses the layers that the last start on this system found, or probes them. Background
    /// programs belong to the group, and to this start of the daemon. Control groups limit their
    /// sum, if available.
    pub(crate) async fn of_daemon(
        configuration: &Configuration,
        cgroups: Option<CgroupParent>,
        clock: &Arc<dyn Clock>,
        start: i64,
        group: &Group,
    ) -> Result<Self, ConfigError> {
        let sandbox = make_sandbox(configuration, cgroups, clock)?;
        let memory = ProbeMemory::new(&configuration.data_dir, &sandbox);
        let background = make_background(configuration, start, clock, group);
        if let Some(layers) = memory.read() {
            let unconfirmed = Some((sandbox.clone(), memory));
            let shells = Self::new(configuration, sandbox, layers, background);
            return Ok(Self { unconfirmed, ..shells });
        }
        let layers = SandboxLayers::probe_layers(&sandbox).await;
        memory.write(&layers);
        Ok(Self::new(configuration, sandbox, layers, background))
    }

    fn new(
        configuration: &Configuration,
        sandbox: ProgramSandbox,
        layers: SandboxLayers,
        background: Arc<BackgroundPrograms>,
    ) -> Self {
        let settings = &configuration.settings.sandbox;
        let config = configuration.document.path().map(Path::to_owned).into_iter();
        let Configuration { data_dir, socket, head_file, .. } = configuration;
        let places = [data_dir, socket, head_file].map(PathBuf::clone);
        let memory = data_dir.join(MEMORY_FILES);
        let own: Vec<PathBuf> = config.chain(places).chain([memory]).collect();
        let workspaces = configuration.agents.iter().map(|agent| agent.workspace.clone());
        let workspaces: Vec<PathBuf> = workspaces.collect();
        Self {
            wants_hosts: sandbox.proxy.is_some(),
            writable: [real_paths(&workspaces), sandbox.writable.clone()].concat(),
            sandbox: permitted_sandbox(
                layers.best_isolation(),
                sandbox,
                settings.allow_unsandboxed_shell,
            ),
            layers,
            longest: Duration::from_secs(settings.timeout_seconds),
            commands: settings.commands.clone(),
            background,
            own: [real_paths(&own), own].concat(),
            program: std::env::current_exe().ok().and_then(|path| path.canonicalize().ok()),
            unconfirmed: None,
            outdated: OnceLock::new(),
        }
    }

    /// Returns the programs that run in the background.
    pub(crate) fn background_programs(&self) -> Arc<BackgroundPrograms> {
        self.background.clone()
    }

    /// Probes the layers again if the start took those of the last one. Call this after the start.
    pub(crate) async fn confirm(&self) {
        let Some((sandbox, memory)) = &self.unconfirmed else { return };
        let layers = SandboxLayers::probe_layers(sandbox).await;
        if layers == self.layers {
            return;
        }
        memory.write(&layers);
        let SandboxLayers { namespaces, landlock } = &layers;
        let why = [namespaces, landlock].into_iter().find_map(|layer| layer.as_ref().err());
        let why = why.map_or("a layer has become available", String::as_str);
        let warning = format!(
            "the sandbox of this system has changed since the last start ({why}): programs may \
                fail; restart the daemon"
        );
        tracing::warn!("{warning}");
        self.outdated.get_or_init(|| warning);
    }

    /// Returns a warning if the layers are no longer those of the start.
    pub(crate) fn outdated(&self) -> Option<String> {
        self.outdated.get().cloned()
    }

    /// Returns a warning about the sandbox, in one sentence; `None` if there is no problem.
    pub(crate) fn warning(&self) -> Option<String> {
        let SandboxLayers { namespaces, landlock } = &self.layers;
        let why =
            [namespaces, landlock].map(|layer| layer.as_ref().err().map_or("", String::as_str));
        let [namespaces, landlock] = why;
        Some(match (self.layers.best_isolation(), &self.sandbox) {
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
        self.sandbox.as_ref()?.opened_hosts().map(|proxy| proxy.hosts_text())
    }

    /// Returns a warning about the open hosts, in one sentence; `None` if they are reachable, or
    /// none are configured.
    pub(crate) fn warning_of_hosts(&self) -> Option<&'static str> {
        if !self.wants_hosts {
            return None;
        }
        match (self.layers.best_isolation(), &self.sandbox) {
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
    pub(crate) fn program_settings(&self, workspace: &Path) -> Option<ProgramSettings> {
        if let Some(why) = self.unsafe_for(workspace) {
            tracing::warn!(workspace = %workspace.display(), why, "exec_shell is off");
            return None;
        }
        let sandbox = self.sandbox.as_ref()?;
        let writable = [&[workspace.to_owned()], &sandbox.writable[..]].concat();
        let sandbox = Arc::new(ProgramSandbox { writable, ..sandbox.clone() });
        Some(ProgramSettings {
            longest: self.longest,
            commands: self.commands.clone(),
            background: self.background.clone(),
            outside: Arc::new(self.for_operator(&sandbox)),
            sandbox,
        })
    }

    /// Returns the converter of pictures; `None` if it would run without a sandbox.
    pub(crate) fn picture_converter(&self, directory: PathBuf) -> Option<PictureConverter> {
        let has_layers = self.layers.best_isolation() != Isolation::LimitsOnly;
        let sandbox = self.sandbox.as_ref().filter(|_| has_layers)?;
        Some(PictureConverter::new(sandbox, directory))
    }

    /// Returns the way to run the operator's own commands: with the daemon's network and files, and
    /// with the same limits.
    fn for_operator(&self, sandbox: &ProgramSandbox) -> ProgramSandbox {
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
/// daemon may call this, because the process is moved into its own group.
///
/// # Errors
/// The reason why there are none, which is logged.
pub(crate) fn control_groups() -> Result<CgroupParent, NoCgroups> {
    let divided = CgroupParent::find_delegated().and_then(CgroupParent::move_daemon_aside);
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

/// Returns the sandbox of the configuration, before its layers are known.
fn make_sandbox(
    configuration: &Configuration,
    cgroups: Option<CgroupParent>,
    clock: &Arc<dyn Clock>,
) -> Result<ProgramSandbox, ConfigError> {
    const MEGABYTE: u64 = 1024 * 1024;
    let settings = &configuration.settings.sandbox;
    let hosts = open_hosts(&configuration.document, &configuration.settings)?;
    let wants_hosts = !hosts.is_empty();
    let proxy = || {
        let proxy = HostsProxy::new(hosts, Arc::new(InterfaceAddresses::default()), clock.clone());
        Arc::new(OpenHosts::from_proxy(proxy)) as Arc<dyn avocet_sandbox::ProgramProxy>
    };
    Ok(ProgramSandbox {
        writable: real_paths(&configuration.sandbox.write),
        readable: real_paths(&configuration.sandbox.read),
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
    })
}

/// Returns the place of background programs.
fn make_background(
    configuration: &Configuration,
    start: i64,
    clock: &Arc<dyn Clock>,
    group: &Group,
) -> Arc<BackgroundPrograms> {
    let longest = Duration::from_secs(configuration.settings.sandbox.background_seconds);
    Arc::new(BackgroundPrograms::new(start, longest, clock.clone(), group.child_group("programs")))
}

/// Resolves the links in paths; missing paths stay as they are.
fn real_paths(paths: &[PathBuf]) -> Vec<PathBuf> {
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    paths.iter().map(real).collect()
}

/// Returns the sandbox with the available layers. Without layers: only if the operator accepts it.
fn permitted_sandbox(
    isolation: Isolation,
    sandbox: ProgramSandbox,
    allow_unsandboxed: bool,
) -> Option<ProgramSandbox> {
    let is_permitted = isolation != Isolation::LimitsOnly || allow_unsandboxed;
    is_permitted.then_some(ProgramSandbox { isolation, ..sandbox })
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
