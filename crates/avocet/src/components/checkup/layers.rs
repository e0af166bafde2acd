//! Checks the sandbox layers around the programs of a daemon, and its user.

use std::path::Path;

use avocet_config::SandboxConfig;
use avocet_protocol::daemon::Check;
use avocet_sandbox::{Isolation, SandboxLayers};

use crate::components::shell::Shells;
use crate::configuration::Configuration;
use crate::environment::read_variable;

/// Checks a process that runs programs with these shells. An error in `cgroup` is the reason why
/// its programs have no control groups.
pub(crate) fn check_layers(
    configuration: &Configuration,
    shells: &Shells,
    cgroup: Result<(), String>,
) -> Vec<Check> {
    let refused = configuration.agents.iter().find_map(|agent| shells.unsafe_for(&agent.workspace));
    let sandbox = &configuration.settings.sandbox;
    let system = System {
        user: user_name(),
        is_root: rustix::process::geteuid().is_root(),
        limits: limits_text(sandbox),
        has_filter: Path::new("/proc/sys/kernel/seccomp").exists(),
        cgroup,
        without: sandbox.allow_unsandboxed_shell,
        refused,
        hosts: shells.hosts(),
        closed: shells.warning_of_hosts(),
    };
    of_layers(&shells.layers, &system)
}

/// Conditions in addition to the sandbox layers.
#[derive(Debug)]
struct System {
    /// The name of the daemon's user.
    user: String,
    is_root: bool,
    limits: String,
    has_filter: bool,
    /// The reason why programs have no control groups, if they have none.
    cgroup: Result<(), String>,
    /// `true` if the operator accepts programs without a sandbox.
    without: bool,
    /// The reason why a workspace has no shell in spite of a working sandbox.
    refused: Option<String>,
    /// The hosts that programs may reach.
    hosts: Option<String>,
    /// The reason why hosts that the operator has opened are closed.
    closed: Option<&'static str>,
}

fn of_layers(layers: &SandboxLayers, system: &System) -> Vec<Check> {
    const NAMESPACES: &str = "let ordinary users make user namespaces (user.max_user_namespaces, \
        kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns); in a service or a \
        container, allow unshare and mount";
    const LANDLOCK: &str = "Linux 6.12 or newer, with landlock in /sys/kernel/security/lsm; in a container, \
        allow its system calls";
    const FILTER: &str = "a kernel with CONFIG_SECCOMP_FILTER";
    let best = layers.best_isolation();
    let layer = |name: &str, layer: &Result<(), String>, gives: &str, fix| match layer {
        Ok(()) => Check::good(name, gives.to_owned()),
        // Another layer is available.
        Err(why) if best != Isolation::LimitsOnly => Check::fair(name, why.clone(), fix),
        Err(why) => Check::bad(name, why.clone(), fix),
    };
    let mut checks = vec![
        layer(
            "namespaces",
            &layers.namespaces,
            "files, processes and network of its own",
            NAMESPACES,
        ),
        layer("Landlock", &layers.landlock, "version 6 or newer", LANDLOCK),
    ];
    checks.push(if system.has_filter {
        Check::good("system calls", "filtered (seccomp)")
    } else {
        Check::bad("system calls", "the kernel filters none", FILTER)
    });
    checks.push(check_secrets(best));
    checks.push(match &system.cgroup {
        Ok(()) => Check::good("cgroup", "one for each program"),
        Err(why) => Check::fair(
            "cgroup",
            format!("none for programs: memory is limited per process, not in total ({why})"),
            "run it as a service: avocet service install",
        ),
    });
    checks.push(match (system.is_root, best) {
        (false, _) => Check::good("user", &system.user),
        (true, Isolation::Namespaces) => Check::fair(
            "user",
            format!("{}: the number of processes is limited from Linux 6.14", system.user),
            "run it as an ordinary user",
        ),
        (true, Isolation::Landlock | Isolation::LimitsOnly) => Check::fair(
            "user",
            format!("{}: nothing limits the number of processes", system.user),
            "run it as an ordinary user",
        ),
    });
    checks.push(Check::good("limits", &system.limits));
    checks.push(check_shell(best, system));
    checks.extend(check_network(best, system));
    checks
}

/// Returns the user of this process, with the user id. With `DynamicUser=` the system may not know
/// a name.
fn user_name() -> String {
    let number = rustix::process::geteuid().as_raw();
    match read_variable("USER").or_else(|| read_variable("LOGNAME")) {
        _ if number == 0 => "root".to_owned(),
        Some(name) => format!("{name} (uid {number})"),
        None => format!("uid {number}"),
    }
}

/// Describes the limits of one program, and the number of files that this process may open.
fn limits_text(sandbox: &SandboxConfig) -> String {
    let SandboxConfig { max_processes, max_memory_megabytes, timeout_seconds, .. } = sandbox;
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let files = files.map_or_else(|| "any number of".to_owned(), |files| files.to_string());
    format!(
        "a program may have at most {max_processes} processes, {max_memory_megabytes} MB of memory and {timeout_seconds} s; \
         the daemon may open {files} files"
    )
}

fn check_secrets(best: Isolation) -> Check {
    const WHY: &str = "programs see the secret files of the workspace (.env, keys)";
    match best {
        Isolation::Namespaces => {
            Check::good("secret files", "programs do not see the secret files of the workspace")
        }
        Isolation::Landlock | Isolation::LimitsOnly => Check::fair(
            "secret files",
            WHY.to_owned(),
            "namespaces, or keep them outside of the workspace",
        ),
    }
}

fn check_shell(best: Isolation, system: &System) -> Check {
    const FIX: &str = "see above, or accept that with [sandbox] allow_unsandboxed_shell = true";
    if let Some(why) = &system.refused {
        return Check::fair(
            "exec_shell",
            format!("off for a workspace: {why}"),
            "see the log of the daemon",
        );
    }
    match (best, system.without) {
        (Isolation::Namespaces, _) => Check::good("exec_shell", "on, with namespaces"),
        (Isolation::Landlock, _) => {
            Check::good("exec_shell", "on, with Landlock as the only sandbox layer")
        }
        (Isolation::LimitsOnly, false) => {
            Check::bad("exec_shell", "off: this system has no sandbox", FIX)
        }
        (Isolation::LimitsOnly, true) => Check::bad(
            "exec_shell",
            "ON WITHOUT A SANDBOX: programs may do all that the daemon's user may",
            "set [sandbox] allow_unsandboxed_shell to false",
        ),
    }
}

/// Checks the network of programs; `None` if there are no programs.
fn check_network(best: Isolation, System { without, hosts, closed, .. }: &System) -> Option<Check> {
    const FIX: &str = "namespaces (see above), or take the hosts out of [sandbox]";
    Some(match (best, hosts, closed) {
        (_, _, Some(why)) => Check::fair("network", (*why).to_owned(), FIX),
        (Isolation::LimitsOnly, ..) if !without => return None,
        (Isolation::LimitsOnly, ..) => {
            Check::fair("network", "the host's network: there is no sandbox", "see above")
        }
        (_, Some(hosts), None) => {
            Check::good("network", format!("programs reach only {hosts}, through a proxy"))
        }
        (_, None, None) => Check::good("network", "programs have none"),
    })
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;
